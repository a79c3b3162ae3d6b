// SPDX-License-Identifier: Apache-2.0
// An op that GPU plugins support: one row, beside the function that lowers it (compile/ops/). Claims, the op table and
// compilation read only these rows.
#pragma once

#include <span>
#include <string_view>

#include "plugins/gpu/compile/lowering_context.hpp"

namespace etb::gpu {

inline constexpr etb_dtype kBoolOnly[] = {ETB_DTYPE_BOOL};
inline constexpr etb_dtype kFloats[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16};
inline constexpr etb_dtype kFloatOrBool[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BOOL};
inline constexpr etb_dtype kInt8Only[] = {ETB_DTYPE_INT8};

struct Op {
  const char* name;
  Status (*lower)(LoweringContext&);  // or rejects with a reason; checks what the row cannot express
  uint32_t min_rank = 0;
  uint32_t max_rank = kMaxRank;
  const char* constraint = "";  // for the docs: demands of `lower` beyond the row, in sentences
  bool is_preserved = false;    // asks the compiler not to decompose it
  std::span<const etb_dtype> dtypes = kFloats;  // dtypes of the first operand
  bool is_decoder = false;                      // the result is a constant
};

// The rows of one file of ops/, named after the file: `extern const OpList pool_ops = kRows;`.
using OpList = std::span<const Op>;

// Returns NULL for an unsupported op.
const Op* find_op(std::string_view name);

// For the plugin base: the rows in the order of the build list, and the names of preserved ops.
std::span<const OpRow> op_rows();
std::span<const char* const> preserved_ops();

// Returns the answer for a node that a function rejected with an error of reject().
Claim to_claim(const Error& error);

// compile/claims.cpp, compile/region.cpp: what a plugin's partition and compile do.
[[nodiscard]] Status claim_nodes(const Graph& graph, const PartitionSink& sink, const Target& target);
[[nodiscard]] Result<Artifact> compile_region(const Region& region);

}  // namespace etb::gpu
