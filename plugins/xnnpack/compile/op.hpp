// SPDX-License-Identifier: Apache-2.0
// An op that the plugin supports: one row, beside the function that lowers it (ops/). Claims, the op table
// and compilation read only these rows.
#pragma once

#include <span>
#include <string_view>

#include "etb/cpp/compile.hpp"

namespace etb::xnnpack {

class LoweringContext;
using LowerFunction = Status (*)(LoweringContext&);

// Behaviour of an op on int8 tensors: none, moves values at their scale, or computes a result with its own
// scale.
enum class QuantKind { kFloatOnly, kMoves, kComputes };

inline constexpr etb_dtype kFloats[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16};
inline constexpr etb_dtype kInt8Only[] = {ETB_DTYPE_INT8};

inline constexpr uint32_t kMaxRank = 6;  // XNN_MAX_TENSOR_DIMS

enum Trait : uint32_t {
  kFolds = 1,           // folds constants into a constant, without a node
  kMovesConstants = 2,  // int8 constants, too
  kClamps = 4,          // may be fused into the node before it, which then may compute at its scale
  kPreserved = 8,       // asks the compiler not to decompose: one node here, many when decomposed
  kStartsChain =
      16,  // part of a linear layer with a dynamically quantised input: its nodes are useful only together
  kInChain = 32,
  kEndsChain = 64,
  kStatic = 128,  // takes static sizes only
};

// Rules of an op that hold for each of its nodes.
struct OpRules {
  QuantKind quantised = QuantKind::kFloatOnly;
  std::span<const etb_dtype> dtypes = kFloats;
  uint32_t min_rank = 0;
  uint32_t max_rank = kMaxRank;
  const char* constraint = "";  // for the docs: demands of `lower` beyond the row, in sentences
  uint32_t traits = 0;
  std::string_view bias = "bias";  // the tensor argument that may be floats when the others are integers
};

// Made by op_row (ops/ops.hpp).
struct Op : OpRules {
  const char* name;
  LowerFunction lower;  // or rejects with a reason; checks what the row cannot express
};

// The rows of one file of ops/, named after the file: `extern const OpList softmax_ops = kRows;`.
using OpList = std::span<const Op>;

// Returns NULL for an unsupported op.
const Op* find_op(std::string_view name);
bool has_trait(std::string_view name, uint32_t traits);

// For the plugin base: the rows in the order of the build list, and the names of preserved ops.
std::span<const OpRow> op_rows();
std::span<const char* const> preserved_ops();

}  // namespace etb::xnnpack
