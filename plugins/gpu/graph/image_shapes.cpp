// SPDX-License-Identifier: Apache-2.0
// Rules of sizes of convolutions, pools, and images of other sizes.
#include <algorithm>

#include "plugins/gpu/graph/shape_rules.hpp"

namespace etb::gpu {

namespace {

// Sizes of windows over an image: each at least 1 where it must be, and small enough for sums of 32 bits.
bool is_window(int64_t kernel, int64_t stride, int64_t dilation, int64_t padding) {
  constexpr int64_t kMost = 1 << 14;
  return kernel >= 1 && stride >= 1 && dilation >= 1 && padding >= 0 && kernel <= kMost && stride <= kMost &&
         dilation <= kMost && padding <= kMost;
}

// Number of windows along one dimension; 0 if none fits.
uint32_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding,
                      bool rounds_up) {
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  int64_t count = (room + (rounds_up ? stride - 1 : 0)) / stride + 1;
  // The last window begins inside the image or its left padding.
  if (rounds_up && (count - 1) * stride >= size + padding) --count;
  return static_cast<uint32_t>(count);
}

}  // namespace

Status infer_convolution(const Sizes& sizes, Shape& out) {
  const Shape &in = sizes.input(0), &weight = sizes.input(1);
  if (in.rank != 4 || weight.rank != 4) return mismatch("convolution, expected rank 4");
  const int64_t groups = sizes.number(field::kGroups);
  if (groups < 1 || weight.sizes[0] == 0 || weight.sizes[0] % groups != 0 ||
      in.sizes[1] != weight.sizes[1] * groups)
    return mismatch("groups that do not divide the channels");
  if (!sizes.is_constant(1)) return mismatch("weight, expected a constant");
  if (sizes.node.inputs.size() == 3) {
    const Shape& bias = sizes.input(2);
    if (bias.rank != 1 || bias.sizes[0] != weight.sizes[0])
      return mismatch("bias, expected one number a channel");
  }
  out.rank = 4;
  out.sizes[0] = in.sizes[0];
  out.sizes[1] = weight.sizes[0];
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t kernel = weight.sizes[2 + i], stride = sizes.number(field::kStride + i),
                  dilation = sizes.number(field::kDilation + i), padding = sizes.number(field::kPadding + i);
    if (!is_window(kernel, stride, dilation, padding)) return mismatch("window out of range");
    out.sizes[2 + i] = window_count(in.sizes[2 + i], kernel, stride, dilation, padding, false);
  }
  return {};
}

Status infer_pool(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  if (in.rank != 3 && in.rank != 4) return mismatch("pool, expected rank 3 or 4");
  out = in;
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t kernel = sizes.number(field::kKernel + i), stride = sizes.number(field::kPoolStride + i),
                  dilation = sizes.number(field::kPoolDilation + i),
                  padding = sizes.number(field::kPoolPadding + i);
    if (!is_window(kernel, stride, dilation, padding) || padding > kernel / 2)
      return mismatch("window out of range");
    uint32_t& size = out.sizes[out.rank - 2 + i];
    size = window_count(size, kernel, stride, dilation, padding, sizes.number(field::kCeiling) != 0);
  }
  return {};
}

Status infer_adaptive(const Sizes& sizes, Shape& out) {
  const Shape& in = sizes.input(0);
  if (in.rank != 3 && in.rank != 4) return mismatch("pool, expected rank 3 or 4");
  out = in;
  for (uint32_t i = 0; i < 2; ++i) {
    if (sizes.number(i) < 0) return mismatch("a negative size");
    out.sizes[out.rank - 2 + i] = static_cast<uint32_t>(sizes.number(i));
  }
  return {};
}

// columns [images * groups, channels of a group * taps, pixels], bias [channels], image [images, ..., height, width]
Status infer_fold(const Sizes& sizes, Shape& out) {
  const Shape &columns = sizes.input(0), &bias = sizes.input(1), &image = sizes.input(2);
  if (columns.rank != 3 || bias.rank != 1 || image.rank != 4 || bias.sizes[0] == 0)
    return mismatch("fold, expected columns, bias and an image");
  out.rank = 4;
  out.sizes[0] = image.sizes[0];
  out.sizes[1] = bias.sizes[0];
  uint64_t taps = 1;
  for (uint32_t i = 0; i < 2; ++i) {
    constexpr int64_t kMost = 1 << 24;
    const int64_t kernel = sizes.number(field::kFoldKernel + i),
                  stride = sizes.number(field::kFoldStride + i),
                  padding = sizes.number(field::kFoldPadding + i),
                  dilation = sizes.number(field::kFoldDilation + i),
                  more = sizes.number(field::kOutputPadding + i), size = image.sizes[2 + i];
    if (!is_window(kernel, stride, dilation, padding) || more < 0 || more >= std::max(stride, dilation) ||
        size == 0 || size > kMost)
      return mismatch("window out of range");
    const int64_t made = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
    if (made < 0 || made > kMost) return mismatch("size out of range");
    out.sizes[2 + i] = static_cast<uint32_t>(made);
    taps *= static_cast<uint64_t>(kernel);
  }
  if (columns.sizes[2] != image.product(2, 4) ||
      uint64_t{columns.sizes[0]} * columns.sizes[1] != uint64_t{out.sizes[0]} * out.sizes[1] * taps)
    return mismatch("columns of other sizes than the image's");
  return {};
}

Status infer_resize(const Sizes& sizes, Shape& out) {
  out = sizes.input(0);
  if (out.rank != 4) return mismatch("resize, expected rank 4");
  for (uint32_t i = 0; i < 2; ++i) {
    const int32_t size = sizes.number(field::kHeight + i);
    if (size < 0 || size > 1 << 24) return mismatch("size out of range");
    if (size != 0 && out.sizes[2 + i] == 0) return mismatch("an image without pixels");
    out.sizes[2 + i] = static_cast<uint32_t>(size);
  }
  return {};
}

}  // namespace etb::gpu
