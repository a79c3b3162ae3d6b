// SPDX-License-Identifier: Apache-2.0
// Operators over rows and windows: softmax, norms, sums, pools, sizes of images.
#include <algorithm>
#include <array>
#include <cmath>

#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace {

constexpr uint32_t kMostMade = 1 << 20;  // numbers that a lowering makes up

template <bool is_logarithm>
Status lower_softmax(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const uint32_t dim, call.dim(1, std::max(call.declared(0).shape.rank, 1u)));
  return call.define_floats(
      call.add(Operator::kSoftmax, {x}, {static_cast<int32_t>(dim), is_logarithm ? 1 : 0}));
}

// ---- Norms

Result<uint32_t> floats_or(CallContext& call, uint32_t at, float missing, uint32_t count) {
  if (!call.is_null(at)) return call.floats(at);
  if (count > kMostMade)
    return unsupported("argument ", at, ": ", count, " numbers, expected at most ", kMostMade);
  Shape shape;
  shape.rank = 1;
  shape.sizes[0] = count;
  return call.add_floats(std::vector<float>(count, missing), shape);
}

Status lower_layer_norm(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::vector<int64_t> sizes, call.integers(1));
  const Shape& shape = call.declared(0).shape;
  if (sizes.empty() || sizes.size() > shape.rank)
    return bad("argument 1: ", sizes.size(), " sizes of rank ", shape.rank);
  const uint32_t count = shape.product(shape.rank - static_cast<uint32_t>(sizes.size()), shape.rank);
  ETB_ASSIGN(const uint32_t weight, floats_or(call, 2, 1, count));
  ETB_ASSIGN(const uint32_t bias, floats_or(call, 3, 0, count));
  ETB_ASSIGN(const double eps, call.number(4));
  return call.define_floats(call.add(Operator::kLayerNorm, {x, weight, bias},
                                     {static_cast<int32_t>(sizes.size())}, {to_float(eps)}));
}

uint32_t add_mean(CallContext& call, uint32_t x, uint32_t mask) {
  return call.add(Operator::kReduce, {x},
                  {static_cast<int32_t>(Reduction::kMean), static_cast<int32_t>(mask), 1});
}

// x / sqrt(mean(x * x) + eps) over the last dimension, times the weight.
Status lower_rms_norm(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const uint32_t weight, call.floats(1));
  ETB_ASSIGN(const double eps, call.number(2));
  const uint32_t rank = call.declared(0).shape.rank;
  if (rank == 0) return bad("argument 0: rank 0");
  const uint32_t squares = call.add_binary(BinaryFunction::kMul, x, x);
  const uint32_t raised =
      call.add_binary(BinaryFunction::kAdd, add_mean(call, squares, 1u << (rank - 1)), call.add_number(eps));
  const uint32_t scaled =
      call.add_binary(BinaryFunction::kMul, x, call.add_unary(UnaryFunction::kRsqrt, raised));
  return call.define_floats(call.add_binary(BinaryFunction::kMul, scaled, weight));
}

// Each group is a row [images, groups, channels of a group * pixels].
Status lower_group_norm(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const int64_t groups, call.integer(6));
  ETB_ASSIGN(const double eps, call.number(7));
  const Shape& shape = call.declared(0).shape;
  if (shape.rank < 2 || groups < 1 || groups > int64_t{shape.sizes[1]} || shape.sizes[1] % groups != 0)
    return bad("argument 6: ", groups, " groups");
  const auto count = static_cast<uint32_t>(groups);
  Shape rows, images, channels;
  rows.rank = images.rank = 3;
  rows.sizes = {shape.sizes[0], count, shape.product(1, shape.rank) / count};
  images.sizes = {shape.sizes[0], shape.sizes[1], shape.product(2, shape.rank)};
  channels.rank = 2;
  channels.sizes = {shape.sizes[1], 1};
  const uint32_t grouped = call.add_reshape(x, rows);
  const uint32_t centred = call.add_binary(BinaryFunction::kSub, grouped, add_mean(call, grouped, 4));
  const uint32_t variance = add_mean(call, call.add_binary(BinaryFunction::kMul, centred, centred), 4);
  const uint32_t raised = call.add_binary(BinaryFunction::kAdd, variance, call.add_number(eps));
  const uint32_t scale = call.add_unary(UnaryFunction::kRsqrt, raised);
  uint32_t made = call.add_reshape(call.add_binary(BinaryFunction::kMul, centred, scale), images);
  if (!call.is_null(1)) {
    ETB_ASSIGN(const uint32_t weight, call.floats(1));
    made = call.add_binary(BinaryFunction::kMul, made, call.add_reshape(weight, channels));
  }
  if (!call.is_null(2)) {
    ETB_ASSIGN(const uint32_t bias, call.floats(2));
    made = call.add_binary(BinaryFunction::kAdd, made, call.add_reshape(bias, channels));
  }
  return call.define_floats(call.add_reshape(made, shape));
}

Status lower_batch_norm(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  if (call.declared(0).shape.rank < 2) return bad("argument 0: rank ", call.declared(0).shape.rank);
  const uint32_t count = call.declared(0).shape.sizes[1];
  ETB_ASSIGN(const uint32_t weight, floats_or(call, 1, 1, count));
  ETB_ASSIGN(const uint32_t bias, floats_or(call, 2, 0, count));
  ETB_ASSIGN(const uint32_t mean, call.floats(3));
  ETB_ASSIGN(const uint32_t variance, call.floats(4));
  ETB_ASSIGN(const double eps, call.number(6));
  return call.define_floats(
      call.add(Operator::kBatchNorm, {x, weight, bias, mean, variance}, {}, {to_float(eps)}));
}

// ---- Sums

Result<uint32_t> dims_of(const CallContext& call, uint32_t at, uint32_t rank) {
  ETB_ASSIGN(const std::vector<int64_t> dims, call.integers(at));
  uint32_t mask = dims.empty() ? (1u << rank) - 1 : 0;
  for (const int64_t dim : dims) {
    const int64_t from_front = dim < 0 ? dim + rank : dim;
    if (from_front < 0 || from_front >= std::max<int64_t>(rank, 1))
      return bad("argument ", at, ": dimension ", dim, " of ", rank);
    if (rank > 0) mask |= 1u << from_front;
  }
  return mask;
}

template <Reduction reduction>
Status lower_reduce(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const uint32_t mask, dims_of(call, 1, call.declared(0).shape.rank));
  ETB_ASSIGN(const bool keeps_dims, call.flag(2));
  return call.define_floats(
      call.add(Operator::kReduce, {x},
               {static_cast<int32_t>(reduction), static_cast<int32_t>(mask), keeps_dims ? 1 : 0}));
}

// The position of an extreme in one dimension, or among all elements.
template <Reduction reduction>
Status lower_position(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  const Shape& shape = call.declared(0).shape;
  uint32_t mask = (1u << shape.rank) - 1;
  if (!call.is_null(1)) {
    ETB_ASSIGN(const uint32_t dim, call.dim(1, std::max(shape.rank, 1u)));
    mask &= 1u << dim;
  }
  uint64_t count = 1;
  for (uint32_t d = 0; d < shape.rank; ++d) count *= (mask >> d & 1) != 0 ? shape.sizes[d] : 1;
  ETB_ASSIGN(const bool keeps_dims, call.flag(2));
  const uint32_t made =
      call.add(Operator::kReduce, {x},
               {static_cast<int32_t>(reduction), static_cast<int32_t>(mask), keeps_dims ? 1 : 0});
  return call.define(made, static_cast<double>(count));
}

// ---- Windows

Status add_pool(CallContext& call, uint32_t x, bool is_mean, const std::vector<int64_t>& kernel,
                uint32_t first, const std::vector<int64_t>& dilation, std::array<int64_t, 3> rest) {
  ETB_ASSIGN(const std::vector<int64_t> stride, call.pair(first, kernel));
  ETB_ASSIGN(const std::vector<int64_t> padding, call.pair(first + 1, {0, 0}));
  std::vector<int32_t> ints = {is_mean ? 1 : 0};
  for (const auto* numbers : {&kernel, &stride, &padding, &dilation}) {
    for (const int64_t number : *numbers) {
      if (number < 0 || number > 1 << 14) return bad("a window of ", number);
      ints.push_back(static_cast<int32_t>(number));
    }
  }
  for (const int64_t number : rest) ints.push_back(static_cast<int32_t>(number));
  return call.define_floats(call.add(Operator::kPool, {x}, std::move(ints)));
}

Status lower_max_pool(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::vector<int64_t> kernel, call.pair(1, {}));
  ETB_ASSIGN(const std::vector<int64_t> dilation, call.pair(4, {1, 1}));
  ETB_ASSIGN(const bool rounds_up, call.flag(5));
  return add_pool(call, x, false, kernel, 2, dilation, {rounds_up ? 1 : 0, 0, 0});
}

// Rows or columns of a pool's result.
int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t dilation) {
  const int64_t rest = size - dilation * (kernel - 1) - 1;
  return rest < 0 ? 0 : rest / stride + 1;
}

// The second result of a pool: positions of the maxima in their images. Images of each number of the window are joined, so that the
// position among them says which it was.
Status add_pool_positions(CallContext& call, uint32_t x, const std::vector<int64_t>& kernel) {
  constexpr int64_t kMostNumbers = 64;
  ETB_ASSIGN(const std::vector<int64_t> stride, call.pair(2, kernel));
  ETB_ASSIGN(const std::vector<int64_t> padding, call.pair(3, {0, 0}));
  ETB_ASSIGN(const std::vector<int64_t> dilation, call.pair(4, {1, 1}));
  ETB_ASSIGN(const bool rounds_up, call.flag(5));
  const Shape in = call.declared(0).shape;
  const bool has_known_sizes = in.rank == 4 && padding[0] == 0 && padding[1] == 0 && !rounds_up;
  if (!has_known_sizes) return unsupported("positions of maxima of a pool with padding or rounded sizes");
  std::array<int64_t, 2> counts{};
  for (uint32_t i = 0; i < 2; ++i) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 ||
        std::max({kernel[i], stride[i], dilation[i]}) > 1 << 14)
      return bad("a window of ", kernel[i]);
    counts[i] = pooled_size(in.sizes[2 + i], kernel[i], stride[i], dilation[i]);
  }
  if (kernel[0] * kernel[1] > kMostNumbers || counts[0] < 1 || counts[1] < 1 ||
      counts[0] * counts[1] > int64_t{kMostMade})
    return unsupported("positions of maxima in windows of ", kernel[0] * kernel[1], " numbers");
  std::vector<uint32_t> images;
  std::vector<float> offsets, corners;
  for (int64_t ky = 0; ky < kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < kernel[1]; ++kx) {
      uint32_t image = x;
      for (int32_t i = 0; i < 2; ++i) {
        const auto start = static_cast<int32_t>((i == 0 ? ky : kx) * dilation[static_cast<size_t>(i)]),
                   step = static_cast<int32_t>(stride[static_cast<size_t>(i)]);
        const int32_t end = start + (static_cast<int32_t>(counts[static_cast<size_t>(i)]) - 1) * step + 1;
        image = call.add(Operator::kSlice, {image}, {2 + i, start, end, step});
      }
      images.push_back(image);
      offsets.push_back(static_cast<float>(ky * dilation[0] * in.sizes[3] + kx * dilation[1]));
    }
  }
  for (int64_t y = 0; y < counts[0]; ++y)
    for (int64_t column = 0; column < counts[1]; ++column)
      corners.push_back(static_cast<float>(y * stride[0] * in.sizes[3] + column * stride[1]));
  const auto numbers = static_cast<uint32_t>(images.size()), pixels = static_cast<uint32_t>(corners.size());
  const uint32_t planes = in.product(0, 2);
  Shape table, corner, joined, result;
  table.rank = 1;
  table.sizes = {numbers};
  corner.rank = 2;
  corner.sizes = {1, pixels};
  joined.rank = 3;
  joined.sizes = {in.sizes[0], numbers, in.sizes[1] * pixels};
  result.rank = 2;
  result.sizes = {planes, pixels};
  const uint32_t parts = call.add_reshape(call.add(Operator::kCat, std::move(images), {1}), joined);
  const uint32_t first =
      call.add(Operator::kReduce, {parts}, {static_cast<int32_t>(Reduction::kArgMaximum), 2, 0});
  const uint32_t flat = call.add(Operator::kReshape, {first}, {kInferredSize});
  const uint32_t offset =
      call.add(Operator::kGather, {call.add_floats(std::move(offsets), table), flat}, {0, 1});
  const uint32_t made = call.add_binary(BinaryFunction::kAdd, call.add_reshape(offset, result),
                                        call.add_floats(std::move(corners), corner));
  ETB_ASSIGN(const FileTensor* declared, call.find_result(1));
  return call.define(call.add_reshape(made, declared->shape), static_cast<double>(in.sizes[2]) * in.sizes[3],
                     1);
}

Status lower_max_pool_with_indices(CallContext& call) {
  ETB_TRY(lower_max_pool(call));
  if (call.result_count() < 2 || !call.is_read(1)) return {};
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::vector<int64_t> kernel, call.pair(1, {}));
  return add_pool_positions(call, x, kernel);
}

Status lower_avg_pool(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::vector<int64_t> kernel, call.pair(1, {}));
  ETB_ASSIGN(const bool rounds_up, call.flag(4));
  ETB_ASSIGN(const bool counts_padding, call.flag(5));
  int64_t divisor = 0;
  if (!call.is_null(6)) {
    ETB_ASSIGN(divisor, call.integer(6));
    if (divisor < 1 || divisor > INT32_MAX) return unsupported("argument 6: ", divisor);
  }
  return add_pool(call, x, true, kernel, 2, {1, 1}, {rounds_up ? 1 : 0, counts_padding ? 1 : 0, divisor});
}

Status lower_adaptive_pool(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::vector<int64_t> sizes, call.pair(1, {}));
  for (const int64_t size : sizes)
    if (size < 0 || size > 1 << 14) return bad("argument 1: ", size);
  return call.define_floats(call.add(Operator::kAdaptiveMeanPool, {x},
                                     {static_cast<int32_t>(sizes[0]), static_cast<int32_t>(sizes[1])}));
}

// ---- Sizes of images

// The position in the image for each result is scale * (position + offset) - offset.
struct Axis {
  float scale, offset;
};

Status add_resize(CallContext& call, bool is_linear, bool aligns_corners, uint32_t scales_at) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const FileTensor* made, call.find_result());
  const Shape &in = call.declared(0).shape, &out = made->shape;
  if (in.rank != 4 || out.rank != 4) return unsupported("argument 0: rank ", in.rank, ", expected 4");
  std::vector<double> scales;
  if (!call.is_null(scales_at)) {
    ETB_ASSIGN(scales, call.numbers(scales_at));
    if (scales.size() != 2) return bad("argument ", scales_at, ": ", scales.size(), " numbers, expected 2");
  }
  std::vector<float> floats;
  for (uint32_t i = 0; i < 2; ++i) {
    const double from = in.sizes[2 + i], to = out.sizes[2 + i];
    double scale = to == 0 ? 1 : from / to;
    if (aligns_corners) {
      scale = to > 1 ? (from - 1) / (to - 1) : 0;
    } else if (!scales.empty() && scales[i] > 0) {
      scale = 1 / scales[i];
    }
    floats.push_back(to_float(scale));
    floats.push_back(is_linear && !aligns_corners ? 0.5f : 0.0f);
  }
  return call.define_floats(
      call.add(Operator::kResize, {x},
               {is_linear ? 1 : 0, static_cast<int32_t>(out.sizes[2]), static_cast<int32_t>(out.sizes[3])},
               std::move(floats)));
}

Status lower_nearest(CallContext& call) { return add_resize(call, false, false, 2); }
Status lower_bilinear(CallContext& call) {
  ETB_ASSIGN(const bool aligns_corners, call.flag(2));
  return add_resize(call, true, aligns_corners, 3);
}

// [N, C * r * r, H, W] becomes [N, C, H * r, W * r].
Status lower_pixel_shuffle(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const int64_t factor, call.integer(1));
  ETB_ASSIGN(const FileTensor* made, call.find_result());
  const Shape& in = call.declared(0).shape;
  if (in.rank < 3 || factor < 1 || factor > 1 << 10 || in.sizes[in.rank - 3] % (factor * factor) != 0)
    return bad("argument 1: ", factor, " for rank ", in.rank);
  const auto r = static_cast<uint32_t>(factor);
  Shape split;
  split.rank = 6;
  split.sizes = {in.product(0, in.rank - 3), in.sizes[in.rank - 3] / (r * r), r, r, in.sizes[in.rank - 2],
                 in.sizes[in.rank - 1]};
  const uint32_t moved = call.add(Operator::kPermute, {call.add_reshape(x, split)}, {0, 1, 4, 2, 5, 3});
  return call.define_floats(call.add_reshape(moved, made->shape));
}

constexpr OfficialOp kRows[] = {
    {"aten._softmax.default", 4, 4, lower_softmax<false>},
    {"aten._log_softmax.default", 4, 4, lower_softmax<true>},
    {"aten.native_layer_norm.default", 6, 6, lower_layer_norm},
    {"aten.native_group_norm.default", 9, 9, lower_group_norm},
    {"et_vk.rms_norm.default", 4, 4, lower_rms_norm},
    {"aten._native_batch_norm_legit_no_training.default", 8, 8, lower_batch_norm},
    {"aten.sum.dim_IntList", 5, 5, lower_reduce<Reduction::kSum>},
    {"aten.mean.dim", 5, 5, lower_reduce<Reduction::kMean>},
    {"aten.amax.default", 4, 4, lower_reduce<Reduction::kMaximum>},
    {"aten.amin.default", 4, 4, lower_reduce<Reduction::kMinimum>},
    {"aten.argmax.default", 4, 4, lower_position<Reduction::kArgMaximum>},
    {"aten.argmin.default", 4, 4, lower_position<Reduction::kArgMinimum>},
    {"aten.max_pool2d.default", 7, 7, lower_max_pool},
    {"aten.max_pool2d_with_indices.default", 7, 7, lower_max_pool_with_indices},
    {"aten.avg_pool2d.default", 8, 8, lower_avg_pool},
    {"aten._adaptive_avg_pool2d.default", 3, 3, lower_adaptive_pool},
    {"aten.upsample_nearest2d.vec", 4, 4, lower_nearest},
    {"aten.upsample_bilinear2d.vec", 5, 5, lower_bilinear},
    {"aten.pixel_shuffle.default", 3, 3, lower_pixel_shuffle},
};

}  // namespace

extern const OfficialOpList rows_calls = kRows;

}  // namespace etb::gpu
