// SPDX-License-Identifier: Apache-2.0
//
// One row of a plugin's op table, the test of a node against its row, and the answer for a node. Part of etb/cpp/compile.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "etb/aot.h"
#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/guard.hpp"
#include "etb/cpp/tensor.hpp"

namespace etb {

using graph::Graph;
using graph::Node;
using graph::Value;

inline constexpr etb_dtype kFloat32Only[] = {ETB_DTYPE_FLOAT32};

// One op that a plugin accepts. The base tests every node against its row before the plugin's own claim()
// sees it. The same rows are the op table that the host lists, so the table cannot promise a node that
// partitioning rejects.
struct OpRow {
  const char* op;                                    // "aten.add.Tensor"
  std::span<const etb_dtype> dtypes = kFloat32Only;  // dtypes of the first tensor operand
  uint32_t min_rank = 0;  // ranks and layouts hold for each tensor operand and each tensor result
  uint32_t max_rank = ETB_MAX_RANK;
  uint32_t layouts = ETB_LAYOUT_CONTIGUOUS;
  bool dynamic_sizes = false;
  const char* constraint = "";  // the condition that claim() checks beyond the row, one sentence
  // Quantisation schemes of tensors that the op computes on, named as quant_scheme_text does; empty: plain tensors only. Such a
  // tensor is an integer with a quantisation in the image, and `dtypes` has its integer type, or a plugin that claims by
  // itself finds it between dequantize and quantize nodes. claim() checks scales and zero points (Value::quant).
  std::span<const char* const> quant_schemes = {};
};

// "per-tensor", "per-channel", ...: the names of ETB_GRAPH_QUANT_* (etb/graph_kinds.def).
constexpr const char* quant_scheme_text(uint32_t scheme) noexcept {
  switch (scheme) {
#define ETB_GRAPH_QUANT_SCHEME(name, value, text) \
  case value:                                     \
    return text;
#include "etb/graph_kinds.def"
    default:
      return "unknown scheme";
  }
}

// The answer for one node. Reasons are the words of etb_reject: "attribute", "quant", ... or reverse DNS.
struct Claim {
  static Claim yes(double cost_ns = 0) { return {true, 0, cost_ns, "", ""}; }
  // Claims the node as a region of its own: no other node comes into its payload.
  static Claim alone(double cost_ns = 0) { return {true, ETB_CLAIM_OWN_REGION, cost_ns, "", ""}; }
  static Claim no(const char* reason, std::string text) { return {false, 0, 0, reason, std::move(text)}; }

  bool is_claimed;
  uint32_t flags;  // ETB_CLAIM_*
  double cost_ns;  // 0: unknown
  const char* reason;
  std::string text;
};

namespace detail {

inline bool has_layout(const etb_graph_spec& spec, uint32_t layouts) {
  bool contiguous = true, channels_last = spec.rank >= 3;
  for (uint32_t i = 0; i < spec.rank; ++i) {
    const uint32_t last = i + 1 == spec.rank ? 1 : i + 1;
    contiguous = contiguous && spec.dim_order[i] == i;
    channels_last = channels_last && spec.dim_order[i] == (i == 0 ? 0 : last);
  }
  return (layouts & ETB_LAYOUT_ANY) != 0 || (contiguous && (layouts & ETB_LAYOUT_CONTIGUOUS) != 0) ||
         (channels_last && (layouts & ETB_LAYOUT_CHANNELS_LAST) != 0);
}

// Compares the quantisation scheme of a value with those of the row.
inline Claim check_scheme(const Value& value, const OpRow& row, const std::string& where) {
  if (!value.is_quantized()) return Claim::yes();
  if (row.quant_schemes.empty()) return Claim::no("quant", where + "quantized, expected a plain tensor");
  const std::string_view scheme = quant_scheme_text(value.quant().scheme);
  std::string expected;
  for (const char* const taken : row.quant_schemes) {
    if (scheme == taken) return Claim::yes();
    (expected += expected.empty() ? "" : " or ") += taken;
  }
  return Claim::no("quant", where + "quantized " + std::string(scheme) + ", expected " + expected);
}

inline Claim check_value(const Value& value, const OpRow& row) {
  const etb_graph_spec spec = value.spec();
  const std::string where = "'" + std::string(value.name()) + "': ";
  if (Claim claim = check_scheme(value, row, where); !claim.is_claimed) return claim;
  if (spec.rank < row.min_rank || spec.rank > row.max_rank)
    return Claim::no("rank", where + "rank " + std::to_string(spec.rank) + ", expected " +
                                 std::to_string(row.min_rank) + " to " + std::to_string(row.max_rank));
  if (spec.dynamic_dims != 0 && !row.dynamic_sizes)
    return Claim::no("dynamic", where + "dynamic sizes, expected static ones");
  if (!has_layout(spec, row.layouts)) return Claim::no("layout", where + "dim order not taken");
  return Claim::yes();
}

// Judges a node of the row's op by the row alone.
inline Claim check_row(const Node& node, const OpRow& row) {
  bool is_first = true;
  for (const Value& value : node.operands()) {
    if (!value.is_tensor()) continue;
    if (is_first) {
      const auto dtype = static_cast<etb_dtype>(value.spec().dtype);
      bool is_taken = false;
      for (const etb_dtype taken : row.dtypes) is_taken = is_taken || taken == dtype;
      if (!is_taken) return Claim::no("dtype", "'" + std::string(value.name()) + "': " + dtype_text(dtype));
      is_first = false;
    }
    if (Claim claim = check_value(value, row); !claim.is_claimed) return claim;
  }
  for (const Value& value : node.results()) {
    if (!value.is_tensor()) continue;
    if (Claim claim = check_value(value, row); !claim.is_claimed) return claim;
  }
  return Claim::yes();
}

// Returns the row of an op, NULL when the plugin does not accept the op.
inline const OpRow* find_row(std::span<const OpRow> rows, std::string_view op) {
  for (const OpRow& row : rows)
    if (op == row.op) return &row;
  return nullptr;
}

}  // namespace detail

// Passes the op table to the sink.
inline Status put_op_rows(std::span<const OpRow> rows, const etb_op_sink* sink) {
  ETB_TRY(ETB_ACCEPT(etb_op_sink, sink, put));
  for (const OpRow& row : rows) {
    etb_op_capability item{};
    item.struct_size = ETB_INIT_SIZE(etb_op_capability);
    item.flags = row.dynamic_sizes ? ETB_OP_DYNAMIC_SIZES : 0;
    item.op = row.op;
    item.dtypes = row.dtypes.data();
    item.dtype_count = static_cast<uint32_t>(row.dtypes.size());
    item.min_rank = row.min_rank;
    item.max_rank = row.max_rank;
    item.layouts = row.layouts;
    item.quant_schemes = row.quant_schemes.empty() ? nullptr : row.quant_schemes.data();
    item.quant_scheme_count = static_cast<uint32_t>(row.quant_schemes.size());
    item.constraint = row.constraint;
    ETB_TRY(from_host(sink->put(sink->ctx, &item), "op sink"));
  }
  return {};
}

}  // namespace etb
