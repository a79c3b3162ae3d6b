// SPDX-License-Identifier: Apache-2.0
// The resampling of one axis whose sizes are known only at run time: positions and weights are computed by the program.
#pragma once

#include "partitioner_sdk/passes/axis_weights.hpp"

namespace etb::passes {

// The sizes of an axis; `scale` is 0 if none is given.
struct AxisSizes {
  Dim in, out;
  double scale = 0;
  bool aligns_corners = false;
};

// Resamples dimension `dim` of floats. 16-bit floats are computed in float32; the caller converts them.
class AxisSampler {
 public:
  AxisSampler(Builder& b, const AxisSizes& sizes, size_t dim, Dtype dtype)
      : b_(b), sizes_(sizes), dim_(static_cast<int64_t>(dim)), dtype_(dtype) {}

  // The element at the corner of each output element, or "exact" at its centre.
  ValueId nearest(ValueId x, bool is_exact);
  ValueId linear(ValueId x);
  ValueId cubic(ValueId x);
  // With a filter as wide as the step.
  ValueId smoothed(ValueId x, Filter filter);

 private:
  ValueId step(Dtype dtype);
  ValueId positions();
  // 0, 1, ..., count - 1.
  ValueId counted(Dim count, Dtype dtype);
  ValueId gathered(ValueId x, ValueId place);
  ValueId weighted(ValueId x, ValueId weight);

  Builder& b_;
  AxisSizes sizes_;
  int64_t dim_;
  Dtype dtype_;
};

}  // namespace etb::passes
