// ops.def as the rows that the plugin base lists and checks.
#pragma once

#include "etb/cpp/compile.hpp"

namespace etb::xnnpack {

inline constexpr etb_dtype kFloats[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16};
inline constexpr etb_dtype kInt8Only[] = {ETB_DTYPE_INT8};
inline constexpr etb_dtype kCopied[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64,
                                        ETB_DTYPE_INT64, ETB_DTYPE_INT32};

inline constexpr OpRow kOpRows[] = {
#define ETB_XNN_OP(op, lower, quantised, dtypes, min_rank, max_rank, constraint) \
  {op, dtypes, min_rank, max_rank, ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST, true, constraint},
#include "plugins/xnnpack/ops/ops.def"
#undef ETB_XNN_OP
};

}  // namespace etb::xnnpack
