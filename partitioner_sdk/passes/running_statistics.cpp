// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/running_statistics.hpp"

namespace etb::passes {

namespace {

ValueId mixed(Builder& b, ValueId old, ValueId fresh, double momentum) {
  const Dtype dtype = b.spec(old).dtype;
  if (b.spec(fresh).dtype != dtype)
    fresh = b.call("aten._to_copy.default", {ValueRef{fresh}}, {{"dtype", dtype}});
  const ValueId kept = b.call("aten.mul.Tensor", {ValueRef{old}, 1 - momentum});
  const ValueId added = b.call("aten.mul.Tensor", {ValueRef{fresh}, momentum});
  return b.call("aten.add.Tensor", {ValueRef{added}, ValueRef{kept}});
}

}  // namespace

RunningStatistics updated_statistics(Builder& b, ValueId input, NormGroups groups, double momentum,
                                     const RunningStatistics& old) {
  const bool is_per_image = groups == NormGroups::kChannelsOfImages;
  Dims axes;
  for (size_t i = is_per_image ? 2 : 0; i < b.spec(input).rank(); ++i)
    if (i != 1) axes.emplace_back(static_cast<int64_t>(i));
  const auto over_images = [&](ValueId statistic) {
    return is_per_image ? b.call("aten.mean.dim", {ValueRef{statistic}, Dims{Dim(0)}}) : statistic;
  };
  const ValueId mean = b.call("aten.mean.dim", {ValueRef{input}, Argument(axes)});
  const ValueId variance =
      b.call("aten.var.correction", {ValueRef{input}, Argument(axes)}, {{"correction", Dim(1)}});
  return {mixed(b, old.mean, over_images(mean), momentum),
          mixed(b, old.variance, over_images(variance), momentum)};
}

}  // namespace etb::passes
