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
  struct Row {
    Convolution convolution;
    bool is_back = false;
  };
  const auto batch = [](Row & row) -> auto& { return row.convolution.batch; };
  const auto channels = [](Row & row) -> auto& { return row.convolution.channels; };
  const auto dtype = [](Row & row) -> auto& { return row.convolution.dtype; };
  DesignOf<Row> design({even_convolution(ETB_DTYPE_FLOAT32, {}, {1, 1}, 1)});
  add_window(design, &Row::convolution,
             {{{5, 7}, {8, 8}, {11, 6}},
              {{3, 3}, {1, 1}, {2, 3}, {4, 2}},
              {{1, 1}, {2, 1}, {2, 2}, {1, 3}},
              {{0, 0}, {1, 1}, {1, 0}, {0, 2}},
              {{1, 1}, {1, 2}}});
  design.add(channels, {{3, 1, 1}, {1, 1, 1}, {8, 1, 1}});
  design.add(batch, {1, 2});
  design.add(&Row::is_back, {false, true});
  design.add(dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64});
  for (const Row& row : design.rows("windows"))
    add_form(out, row.convolution.dtype, windows_form(row.convolution, row.is_back));
}

}  // namespace etb::conformance
