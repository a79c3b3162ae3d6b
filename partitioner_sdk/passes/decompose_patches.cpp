// SPDX-License-Identifier: Apache-2.0
// Image patches to columns (im2col), columns to images (col2im), and pooled elements back to their positions
// (unpool).
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "ops/col2im.hpp"
#include "ops/im2col.hpp"
#include "ops/max_unpool2d.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// One axis of a window that moves over an image.
struct Window {
  int64_t size = 0, dilation = 0, padding = 0, stride = 0;
  int64_t image = 0, steps = 0;  // `image` excludes the padding
};

// Reads entry `i` of one or two numbers; false after an error.
bool read_number(const Dims& dims, size_t i, int64_t& out_number) {
  if (dims.empty() || dims.size() > 2 || !dims.back().is_static()) return false;
  out_number = (dims.size() == 2 ? dims[i] : dims[0]).value();
  return true;
}

template <class A>
bool read_windows(const A& a, const Dims& image, Window (&windows)[2]) {
  for (size_t i = 0; i < 2; ++i) {
    if (!read_number(a.kernel_size().dims(), i, windows[i].size) ||
        !read_number(a.dilation().dims(), i, windows[i].dilation) ||
        !read_number(a.padding().dims(), i, windows[i].padding) ||
        !read_number(a.stride().dims(), i, windows[i].stride))
      return false;
    Window& window = windows[i];
    if (image.size() != 2 || !image[i].is_static() || window.stride <= 0) return false;
    window.image = image[i].value();
    ops::Numbers sizes;
    const auto error = ops::count_positions(
        sizes, window.image, {window.size, window.stride, window.dilation, window.padding, window.padding},
        ops::WindowRounding::kDown, &window.steps);
    if (error != ops::WindowError::kNone || sizes.has_overflowed() || window.size <= 0) return false;
  }
  return true;
}

// Returns the padded row (or column) that each element of each window reads: [size, steps], and `trailing`
// dimensions of size 1.
ValueId window_index(Builder& b, const Window& window, size_t trailing) {
  std::vector<int64_t> index;
  for (int64_t i = 0; i < window.size; ++i) {
    for (int64_t step = 0; step < window.steps; ++step)
      index.push_back(i * window.dilation + step * window.stride);
  }
  std::vector<int64_t> sizes = {window.size, window.steps};
  sizes.insert(sizes.end(), trailing, 1);
  return add_elements(b, Dtype::INT64, std::move(sizes), index);
}

ir::ValueList window_indices(Builder& b, const Window (&windows)[2]) {
  return {{ir::kNoValue, ir::kNoValue, window_index(b, windows[0], 2), window_index(b, windows[1], 0)}};
}

// [N, C * kernel, steps].
Values im2col(Builder& b, const ops::im2col_default<Call>& a) {
  Dims sizes = a.self().spec().sizes;
  const bool is_single = sizes.size() == 3;
  if (is_single) sizes.insert(sizes.begin(), Dim(1));
  Window windows[2];
  if (sizes.size() != 4 || !read_windows(a, {sizes[2], sizes[3]}, windows)) {
    a.fail(
        "the input is no image of static size, or kernel_size, dilation, padding and stride are not one or "
        "two "
        "constants each");
    return {};
  }
  ValueId x = is_single ? b.call("aten.unsqueeze.default", {a.self(), Dim(0)}) : a.self();
  const Dims pad = {Dim(windows[1].padding), Dim(windows[1].padding), Dim(windows[0].padding),
                    Dim(windows[0].padding)};
  if (windows[0].padding != 0 || windows[1].padding != 0)
    x = b.call("aten.constant_pad_nd.default", {ValueRef{x}, Argument(pad), Dim(0)});
  const ValueId read = b.call("aten.index.Tensor", {ValueRef{x}, window_indices(b, windows)});
  const ValueId turned =
      b.call("aten.permute.default", {ValueRef{read}, Dims{Dim(0), Dim(1), Dim(2), Dim(4), Dim(3), Dim(5)}});
  Dims out = {sizes[0], b.symbols().mul(sizes[1], windows[0].size * windows[1].size),
              Dim(windows[0].steps * windows[1].steps)};
  if (is_single) out.erase(out.begin());
  return {reshape(b, turned, std::move(out))};
}

// Overlapping elements are summed.
Values col2im(Builder& b, const ops::col2im_default<Call>& a) {
  Dims sizes = a.self().spec().sizes;
  const bool is_single = sizes.size() == 2;
  if (is_single) sizes.insert(sizes.begin(), Dim(1));
  Window windows[2];
  if (sizes.size() != 3 || !read_windows(a, a.output_size().dims(), windows)) {
    a.fail(
        "the input has no columns of an image of static size, or kernel_size, dilation, padding and stride "
        "are "
        "not one or two constants each");
    return {};
  }
  const Dim channels = b.symbols().floor_div(sizes[1], windows[0].size * windows[1].size);
  const ValueId cut = reshape(b, a.self(),
                              {sizes[0], channels, Dim(windows[0].size), Dim(windows[1].size),
                               Dim(windows[0].steps), Dim(windows[1].steps)});
  const ValueId turned =
      b.call("aten.permute.default", {ValueRef{cut}, Dims{Dim(0), Dim(1), Dim(2), Dim(4), Dim(3), Dim(5)}});
  const Dims image = {sizes[0], channels, Dim(windows[0].image + 2 * windows[0].padding),
                      Dim(windows[1].image + 2 * windows[1].padding)};
  const ValueId empty =
      b.call("aten.full.default", {Argument(image), Dim(0)}, {{"dtype", a.self().spec().dtype}});
  ValueId out =
      b.call("aten.index_put.default", {ValueRef{empty}, window_indices(b, windows), ValueRef{turned}, true});
  for (size_t i = 0; i < 2; ++i) {
    const Window& window = windows[i];
    if (window.padding == 0) continue;
    out = b.call("aten.slice.Tensor", {ValueRef{out}, Dim(static_cast<int64_t>(i) + 2), Dim(window.padding),
                                       Dim(window.padding + window.image)});
  }
  return {is_single ? b.call("aten.squeeze.dim", {ValueRef{out}, Dim(0)}) : out};
}

Values max_unpool2d(Builder& b, const ops::max_unpool2d_default<Call>& a) {
  const Dims sizes = a.self().spec().sizes, image = a.output_size().dims();
  if (sizes.size() < 3 || image.size() != 2) return {};
  Dims lead(sizes.begin(), sizes.end() - 2), out = lead, line = lead, read = lead;
  out.insert(out.end(), image.begin(), image.end());
  line.push_back(b.symbols().mul(image[0], image[1]));
  read.push_back(b.symbols().mul(sizes[sizes.size() - 2], sizes.back()));
  const ValueId empty =
      b.call("aten.full.default", {Argument(line), Dim(0)}, {{"dtype", a.self().spec().dtype}});
  const ValueId index = reshape(b, a.indices(), read), values = reshape(b, a.self(), read);
  const ValueId placed =
      b.call("aten.scatter.src", {ValueRef{empty}, Dim(-1), ValueRef{index}, ValueRef{values}});
  return {reshape(b, placed, std::move(out))};
}

}  // namespace

std::span<const Decomposition> patch_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::col2im_default, col2im>(),
      row<ops::im2col_default, im2col>(),
      row<ops::max_unpool2d_default, max_unpool2d>(),
  };
  return kRows;
}

}  // namespace etb::passes
