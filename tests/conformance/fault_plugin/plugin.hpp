// SPDX-License-Identifier: Apache-2.0
// A correct plugin for the processor, and many faulty ones: the build defines ETB_FAULT=n. ../fault_rows.def
// describes each fault and the check that must detect it.
#pragma once

#include "tests/conformance/fault_plugin/delegate.hpp"

namespace faulty {

inline constexpr etb_dtype kNumbers[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8};
inline constexpr etb_dtype kSummed[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8, ETB_DTYPE_UINT8};
inline constexpr uint32_t kBothLayouts = ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST;

// Memory of a device that states it (fault 589).
inline constexpr int64_t kDeviceBytes = int64_t{1} << 33;

// Another device that states its memory (fault 617).
inline constexpr int64_t kDeviceKib = int64_t{1} << 16;

inline constexpr const char* kModes[] = {"plain", "careful"};

// An option that may change between runs.
constexpr etb::OptionRow changeable(etb::OptionRow row) {
  row.mutable_when = ETB_OPTION_BETWEEN;
  return row;
}

struct Plugin {
  using Delegate = faulty::Delegate;
  static constexpr uint32_t kFlags = ETB_PLUGIN_UNLOADABLE | ETB_PLUGIN_SANDBOX_OK;
  static constexpr etb::OptionRow kOptions[] = {
      etb::i64_option("threads", 1, 1, 64, ETB_OBJECT_PLUGIN, "How many threads one run may use; one does."),
      changeable(etb::i64_option("level", 1, 0, 3, ETB_OBJECT_PLUGIN, "Nothing: there is one level.")),
      changeable(etb::bool_option("fast", false, ETB_OBJECT_DELEGATE, "Nothing: there is no faster way.")),
      changeable(
          etb::text_option("mode", "plain", ETB_OBJECT_DELEGATE, "Nothing: both are careful.", kModes)),
      etb::f64_option("share", 1, 0, 1, ETB_OBJECT_DEVICE, "Part of the device to use; it is always all."),
      etb::i64_option("slot", 0, 0, 7, ETB_OBJECT_CONTEXT, "Nothing: contexts have no place."),
      etb::text_option("tag", "", ETB_OBJECT_RUN, "Name of the run for logs, which do not exist."),
      etb::bool_option("x-lose-device", false, ETB_OBJECT_RUN, "The device is lost in this run, for tests.")};
  static constexpr etb::OpRow kOps[] = {
      {.op = "aten.add.Tensor",
       .dtypes = kNumbers,
       .layouts = kBothLayouts,
       .dynamic_sizes = true,
       .constraint = "alpha is 1"},
      {.op = "aten.mul.Tensor", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.relu.default", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.ceil.default", .layouts = kBothLayouts},
      {.op = "aten.neg.default", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.maximum.default", .layouts = kBothLayouts},
      {.op = "aten.clamp.default", .layouts = kBothLayouts},
      {.op = "aten.mm.default"},
      {.op = "aten.convolution.default",
       .min_rank = 0,
       .max_rank = 4,
       .layouts = kBothLayouts,
       .constraint = "two spatial dimensions, not transposed, float32"},
      {.op = "quantized_decomposed.quantize_per_tensor.default"},
      {.op = "aten.sum.dim_IntList", .dtypes = kSummed, .constraint = "over the last dimension"},
  };

  static constexpr const char* kPreserveOps[] = {"aten.clamp.default"};

  int64_t threads = 1;
  int64_t level = 1;
  int instance = 0;

  etb::Status get_option(std::string_view key, etb_option& out) const {
    out.i64 = key == "level" ? level : threads;
    return {};
  }
  etb::Status set_option(const etb::Options& options) {
    level = options.get_i64("level");
    return {};
  }

  // Two halves of the processor.
  etb::Status enumerate(const etb::DeviceSink& sink) const;

  static etb::Result<Plugin> make(const etb::Host& host, const etb::Options& options);
  etb::Claim claim(const etb::Node& node) const;
  etb::Result<etb::Artifact> compile(const etb::Region& region) const;

  etb::Verdict check_payload(const etb_payload_check& check) const {
    if (has_fault(93)) return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "of another release"};
    if (has_fault(94)) return {ETB_VERDICT_OPTIMAL, 0, ""};
    etb::ByteReader prefix(etb::to_span(check.prefix));
    if (prefix.read<uint32_t>() != kMagic)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "not of this plugin"};
    if (!has_fault(376) && prefix.read<uint32_t>() != kFormat)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, "of another version"};
    return {ETB_VERDICT_OPTIMAL, 0, ""};
  }

  const void* get_extension(uint32_t object_kind, std::string_view id) const;
};

// The objects that the base makes for handles.
inline Plugin& plugin_of(etb_plugin* handle) {
  return reinterpret_cast<etb::detail::PluginObject<Plugin>*>(handle)->impl;
}
inline Delegate::Context& context_of(etb_context* handle) {
  return reinterpret_cast<etb::detail::ContextObject<Plugin>*>(handle)->impl;
}

// Copies of the tables that query returns. They may be changed until then.
struct Tables {
  etb_plugin_table plugin;
  etb_device_table device;
  etb_delegate_table delegate;
  etb_aot_table aot;
};

// Fault 402: stores a number in cache/1, and believes what is found there.
void read_cache(const etb::Host& host);
inline bool has_another_number = false;

// Adds execute_async.
void add_async_runs(Tables& tables);
// Adds the optional functions dry_check, estimate and execute_async.
void add_optional_functions(Tables& tables);

// Makes execute accept memory of buffer/1 (extensions.cpp).
void accept_buffers(Tables& tables);

// Faults of the boundary: other functions in the tables.
void wrap_tables(Tables& tables);

// Faults 202 to 249 (call_faults.cpp).
void break_calls(Tables& tables);

// Faults 370 to 386 of the tables (neighbour_faults.cpp).
void break_neighbours(Tables& tables);

// Faults 450 to 464 of the tables (later_faults.cpp).
void break_later(Tables& tables);

// Faults 411 to 417 of the tables (host_faults.cpp).
void break_for_some_hosts(Tables& tables);

// borrowed_faults.cpp: faults 465 to 469.
void keep_borrowed_arguments(Tables& tables);

// argument_faults.cpp: faults 471 to 482.
void take_arguments_as_usual(Tables& tables);
// account_faults.cpp: faults 495 to 505.
void break_accounts(Tables& tables);
// choice_faults.cpp: faults 537 to 540, 544 and 545.
void break_choices(Tables& tables);
// refusal_faults.cpp: faults 547 to 560 and 562 to 565.
void break_refusals(Tables& tables);
// later_refusals.cpp: faults 566 to 570.
void break_later_refusals(Tables& tables);
// promise_faults.cpp: faults 571 to 575 and 582.
void break_promised_facts(Tables& tables);
// stated_faults.cpp: faults 593 to 601.
void break_stated_facts(Tables& tables);
// stop_faults.cpp: faults 576 to 579.
void forget_stops(Tables& tables);
// missed_faults.cpp: faults 610, 612, 616 and 617.
void break_missed(Tables& tables);

// In the library `breakable`: replaces the function that the environment names (broken_function.cpp).
void break_function(Tables& tables);

}  // namespace faulty
