// SPDX-License-Identifier: Apache-2.0
// im2col and col2im. There are no kernels: the reference is a convolution whose filters have a single 1 each, for
// col2im a transposed one. Products with 0 and 1 are exact, and sums of small integers too.
#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::ints_arg;
using graph::value_arg;

// [channels * window, channels, height, width] with one 1 in each filter.
Derive one_hot_filters(const Shape& shape) {
  return [shape](const std::vector<TensorData>&) {
    const int64_t filter = shape.numel() / shape.sizes[0];
    return filled(shape, [=](int64_t i) { return i % filter == i / filter ? 1.0 : 0.0; });
  };
}

std::vector<graph::ArgumentDesc> window_args(const Convolution& c) {
  return {ints_arg(c.kernel, "kernel_size"), ints_arg(c.dilation, "dilation"), ints_arg(c.padding, "padding"),
          ints_arg(c.stride, "stride")};
}

// `c` is the convolution of im2col, from the image to the columns; col2im is its transpose.
OpForm windows_form(Convolution c, bool is_back) {
  c.channels.out = c.channels.in * c.kernel[0] * c.kernel[1];
  const Shape image = c.input_shape(), columns = c.result_shape();
  const Numbers grid = c.result_size();
  const Shape flat{c.dtype, {c.batch, c.channels.out, grid[0] * grid[1]}, {}};
  const Shape filters{c.dtype, {c.channels.out, c.channels.in, c.kernel[0], c.kernel[1]}, {}};
  OpForm form;
  form.op = is_back ? "aten.col2im.default" : "aten.im2col.default";
  form.operands = {{is_back ? flat : image, Values::kExact}};
  form.args = {value_arg(0, "self")};
  if (is_back) form.args.push_back(ints_arg(c.size, "output_size"));
  for (graph::ArgumentDesc& arg : window_args(c)) form.args.push_back(std::move(arg));
  form.results = {is_back ? image : flat};
  form.error_model = exact_model(Rule::kExactValue);
  form.reference.constants = {one_hot_filters(filters)};
  FormNodes nodes(form.reference.nodes, 2);
  const auto view = [&](uint32_t x, const Shape& to) {
    return nodes.add("aten.view_copy.default", {value_arg(x, "self"), ints_arg(to.sizes, "size")}, to);
  };
  if (!is_back) {
    view(nodes.add("aten.convolution.default", convolution_args(c, 0, 1, graph::none_arg("bias")), columns),
         flat);
    return form;
  }
  const uint32_t unfolded = view(0, columns);
  Convolution back = c;
  back.is_transposed = true;
  for (size_t i = 0; i < 2; ++i)
    back.output_padding[i] =
        c.size[i] - ((grid[i] - 1) * c.stride[i] - 2 * c.padding[i] + c.dilation[i] * (c.kernel[i] - 1) + 1);
  nodes.add("aten.convolution.default", convolution_args(back, unfolded, 1, graph::none_arg("bias")), image);
  return form;
}

}  // namespace

void add_window_designs(CaseList& out) {
  Design design;
  const auto size = design.add<Numbers>({{5, 7}, {8, 8}, {11, 6}});
  const auto kernel = design.add<Numbers>({{3, 3}, {1, 1}, {2, 3}, {4, 2}});
  const auto stride = design.add<Numbers>({{1, 1}, {2, 1}, {2, 2}, {1, 3}}),
             padding = design.add<Numbers>({{0, 0}, {1, 1}, {1, 0}, {0, 2}}),
             dilation = design.add<Numbers>({{1, 1}, {1, 2}});
  const auto channels = design.add<int64_t>({3, 1, 8});
  const auto batch = design.add<int64_t>({1, 2});
  const auto is_back = design.add<bool>({false, true});
  const auto dtype =
      design.add<etb_dtype>({ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64});
  for (const Levels& row : design.rows("windows")) {
    Convolution c = even_convolution(dtype(row), {channels(row), 1, 1}, size(row), 1);
    c.batch = batch(row);
    c.kernel = kernel(row);
    c.stride = stride(row);
    c.padding = padding(row);
    c.dilation = dilation(row);
    add_form(out, c.dtype, windows_form(c, is_back(row)));
  }
}

}  // namespace etb::conformance
