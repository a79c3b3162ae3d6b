// SPDX-License-Identifier: Apache-2.0
// A correct plugin for the processor, and many faulty ones: the build defines ETB_FAULT=n. ../fault_rows.def
// describes each fault and the check that must detect it.
#pragma once

#include "tests/conformance/fault_plugin/delegate.hpp"

namespace faulty {

inline constexpr etb_dtype kNumbers[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8};
inline constexpr etb_dtype kSummed[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8, ETB_DTYPE_UINT8};
inline constexpr uint32_t kBothLayouts = ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST;

struct Plugin {
  using Delegate = faulty::Delegate;
  static constexpr uint32_t kFlags = ETB_PLUGIN_UNLOADABLE;
  static constexpr etb::OptionRow kOptions[] = {
      etb::i64_option("threads", 1, 1, 64, ETB_OBJECT_PLUGIN, "How many threads one run may use; one does."),
      etb::bool_option("fast", false, ETB_OBJECT_DELEGATE, "Nothing: there is no faster way."),
      etb::bool_option("x-lose-device", false, ETB_OBJECT_RUN, "The device is lost in this run, for tests.")};
  static constexpr etb::OpRow kOps[] = {
      {.op = "aten.add.Tensor", .dtypes = kNumbers, .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.mul.Tensor", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.relu.default", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.ceil.default", .layouts = kBothLayouts},
      {.op = "aten.neg.default", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.maximum.default", .layouts = kBothLayouts},
      {.op = "aten.clamp.default", .layouts = kBothLayouts},
      {.op = "aten.mm.default"},
      {.op = "aten.convolution.default", .min_rank = 0, .max_rank = 4, .layouts = kBothLayouts},
      {.op = "quantized_decomposed.quantize_per_tensor.default"},
      {.op = "aten.sum.dim_IntList", .dtypes = kSummed},
  };

  int64_t threads = 1;
  int instance = 0;

  etb::Status get_option(std::string_view, etb_option& out) const {
    out.i64 = threads;
    return {};
  }
  etb::Status set_option(const etb::Options&) { return {}; }

  static etb::Result<Plugin> make(const etb::Host& host, const etb::Options& options);
  etb::Claim claim(const etb::Node& node) const;
  etb::Result<etb::Artifact> compile(const etb::Region& region) const;

  etb::Verdict check_payload(const etb_payload_check& check) const {
    if (has_fault(93)) return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "of another release"};
    if (has_fault(94)) return {ETB_VERDICT_OPTIMAL, 0, ""};
    etb::ByteReader prefix(etb::to_span(check.prefix));
    if (prefix.read<uint32_t>() != kMagic)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "not of this plugin"};
    return {ETB_VERDICT_OPTIMAL, 0, ""};
  }

  const void* get_extension(uint32_t, std::string_view) const {
    return has_fault(37) ? &partition_count : nullptr;
  }
};

// Faults of the boundary: copies of the base's tables, with other functions.
void wrap_tables(etb_plugin_table& table);

}  // namespace faulty
