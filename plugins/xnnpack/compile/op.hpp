// An op that the plugin takes: one row, beside the function that lowers it (ops/). Claims, the op table and compilation read the rows and nothing else.
#pragma once

#include <span>
#include <string_view>

#include "etb/cpp/compile.hpp"

namespace etb::xnnpack {

class Lowering;
using LowerFunction = Status (*)(Lowering&);

// What an op does with tensors of int8: nothing; hands them on with the scale they have; computes with a scale of its own for the result.
enum class QuantKind { kFloatOnly, kMoves, kComputes };

inline constexpr etb_dtype kFloats[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16};
inline constexpr etb_dtype kInt8Only[] = {ETB_DTYPE_INT8};

inline constexpr uint32_t kMaxRank = 6;  // XNN_MAX_TENSOR_DIMS

enum Trait : uint32_t {
  kFolds = 1,           // of constants it makes a constant, without a node
  kMovesConstants = 2,  // of int8 constants, too
  kClamps = 4,          // may become part of the node before it, so the scale of a result may come after it
  kPreserved = 8,       // the compiler shall not decompose it: whole it is one node here, taken apart many
  kStartsChain =
      16,  // of a linear layer whose input is quantised at run time: nodes that are worth nothing apart
  kInChain = 32,
  kEndsChain = 64,
};

struct Op {
  const char* name;
  LowerFunction lower;  // or refuses, with a reason; says what the row cannot
  QuantKind quantised = QuantKind::kFloatOnly;
  std::span<const etb_dtype> dtypes = kFloats;
  uint32_t min_rank = 0;
  uint32_t max_rank = kMaxRank;
  const char* constraint = "";  // for readers: what `lower` demands beyond the row, in sentences
  uint32_t traits = 0;
};

// The rows of one file of ops/, by the name of the file: `extern const OpList softmax_ops = kRows;`.
using OpList = std::span<const Op>;

// NULL for an op that the plugin does not take.
const Op* find_op(std::string_view name);
bool has_trait(std::string_view name, uint32_t traits);

// For the plugin base; the rows in the order of the build list, and the names of those that are preserved.
std::span<const OpRow> op_rows();
std::span<const char* const> preserved_ops();

}  // namespace etb::xnnpack
