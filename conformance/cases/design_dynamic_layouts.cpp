// SPDX-License-Identifier: Apache-2.0
// Graphs of two or three nodes with dynamic sizes: a layer or a sum, a permutation, and an op with dims, or with an operand
// that is broadcast. Plugins that record a permutation instead of executing it lower the reader in another layout than the
// one that they claimed it in. Each reader comes with each dimension and with the dynamic sizes at several places.
#include "conformance/cases/design_dynamic_layouts.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/cases/design_convolution.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::none_arg;
using graph::value_arg;

constexpr etb_dtype kDtype = ETB_DTYPE_FLOAT32;

// Nodes before the reader: a sum of a value with itself, before or after a permutation, or a convolution.
struct Layout {
  const char* word;
  Numbers order;  // of the permutation; empty: none
  bool is_sum_last = false;
  bool has_convolution = false;

  size_t rank() const { return has_convolution ? 4 : order.size(); }
};

const Layout kLayouts[] = {{"turned_201", {2, 0, 1}, true},
                           {"turned_120", {1, 2, 0}, false},
                           {"turned_2013", {2, 0, 1, 3}, false},
                           {"turned_0312", {0, 3, 1, 2}, true},
                           {"convolution", {}, false, true}};

// A reader of the value. `dim` is a dimension of it.
enum class Reader {
  kMaximum,
  kMean,
  kMeanOfTwo,
  kSoftmax,
  kSelect,
  kJoin,
  kPad,
  kAddTail,
  kAddRow,
  kMerge,
  kUnsqueeze,
  kLinear,
  kProduct,
  kNorm,
  kWindow,
  kNearest
};

struct ReaderFacts {
  Reader reader;
  const char* op;
  const char* word;
  bool has_dim;     // comes with each dimension
  size_t rank = 0;  // 0: any
};

constexpr ReaderFacts kReaders[] = {
    {Reader::kMaximum, "aten.amax.default", "maximum", true},
    {Reader::kMean, "aten.mean.dim", "mean", true},
    {Reader::kMeanOfTwo, "aten.mean.dim", "mean_of_two", true},
    {Reader::kSoftmax, "aten._softmax.default", "softmax", true},
    {Reader::kSelect, "aten.select_copy.int", "select", true},
    {Reader::kJoin, "aten.cat.default", "join", true},
    {Reader::kPad, "aten.constant_pad_nd.default", "pad", false},
    {Reader::kAddTail, "aten.add.Tensor", "add_tail", false},
    {Reader::kAddRow, "aten.add.Tensor", "add_row", false},
    {Reader::kMerge, "aten.view_copy.default", "merge", false},
    {Reader::kUnsqueeze, "aten.unsqueeze_copy.default", "unsqueeze", true},
    {Reader::kLinear, "aten.linear.default", "linear", false},
    {Reader::kProduct, "aten.bmm.default", "product", false, 3},
    {Reader::kNorm, "aten._native_batch_norm_legit_no_training.default", "norm", false},
    {Reader::kWindow, "aten.max_pool2d_with_indices.default", "window", false, 4},
    {Reader::kNearest, "aten.upsample_nearest2d.vec", "nearest", false, 4}};

// The value that the reader gets.
struct Turned {
  uint32_t value = 0;
  Shape shape;
};

Shape turned_shape(const Layout& layout, const Shape& from) {
  Shape out = from;
  for (size_t d = 0; d < layout.order.size(); ++d)
    out.sizes[d] = from.sizes[static_cast<size_t>(layout.order[d])];
  return out;
}

Turned add_layout(FormNodes& nodes, const Layout& layout, const Shape& from) {
  Turned x{0, from};
  const auto add_sum = [&] {
    x.value =
        nodes.add("aten.add.Tensor", {value_arg(x.value, "self"), value_arg(x.value, "other")}, x.shape);
  };
  if (layout.has_convolution) {
    const Convolution c = even_convolution(kDtype, {from.sizes[1], from.sizes[1], 1}, {1, 1}, 1);
    x.value = nodes.add("aten.convolution.default", convolution_args(c, 0, 1, none_arg("bias")), x.shape);
    return x;
  }
  if (!layout.is_sum_last) add_sum();
  x.shape = turned_shape(layout, from);
  x.value = nodes.add("aten.permute_copy.default",
                      {value_arg(x.value, "self"), ints_arg(layout.order, "dims")}, x.shape);
  if (layout.is_sum_last) add_sum();
  return x;
}

// Adds the operands that the reader has of its own, for a value of these sizes.
void add_operands(OpForm& form, Reader reader, const Sizes& sizes) {
  const auto add = [&](const Sizes& of, bool is_constant, const Domain& domain = {}) {
    const Values values = is_constant && reader == Reader::kNorm ? Values::kStatistical : Values::kExact;
    form.operands.push_back({{kDtype, of, {}}, values, domain, is_constant});
  };
  switch (reader) {
    case Reader::kAddTail:
      return add({sizes.end() - 2, sizes.end()}, false);
    case Reader::kAddRow:
      return add({sizes.back()}, false);
    case Reader::kLinear:
      return add({5, sizes.back()}, true);
    case Reader::kProduct:
      return add({sizes[0], sizes[2], 4}, false);
    case Reader::kNorm:
      for (const Domain& domain : {Domain{0.25, 2}, Domain{-1, 1}, Domain{-1, 1}, Domain{0.5, 2}})
        add({sizes[1]}, true, domain);
      return;
    default:
      return;
  }
}

Shape without_dims(const Shape& shape, size_t first, size_t count) {
  Shape out = shape;
  out.sizes.erase(out.sizes.begin() + static_cast<std::ptrdiff_t>(first),
                  out.sizes.begin() + static_cast<std::ptrdiff_t>(first + count));
  return out;
}

double count_of(const Shape& shape, size_t first, size_t count) {
  double out = 1;
  for (size_t d = first; d < first + count; ++d) out *= static_cast<double>(shape.sizes[d]);
  return out;
}

// Adds an op with dims.
void add_dim_reader(OpForm& form, FormNodes& nodes, const Turned& x, Reader reader, size_t dim) {
  const auto d = static_cast<int64_t>(dim);
  const size_t count = reader == Reader::kMeanOfTwo ? 2 : 1;
  const graph::ArgumentDesc self = value_arg(x.value, "self");
  switch (reader) {
    case Reader::kMaximum:
      nodes.add(form.op, {self, ints_arg({d}, "dim"), bool_arg(false, "keepdim")},
                without_dims(x.shape, dim, 1));
      return;
    case Reader::kMean:
    case Reader::kMeanOfTwo: {
      const Numbers dims = count == 1 ? Numbers{d} : Numbers{d, d + 1};
      nodes.add(form.op, {self, ints_arg(dims, "dim"), bool_arg(false, "keepdim")},
                without_dims(x.shape, dim, count));
      form.error_model =
          rounded_model(4, 4 * std::sqrt(count_of(x.shape, dim, count)) + 4, fixed_magnitude(160));
      return;
    }
    case Reader::kSoftmax:
      nodes.add(form.op, {self, int_arg(d, "dim"), bool_arg(false, "half_to_float")}, x.shape);
      form.error_model = rounded_model(4, 4 * std::sqrt(count_of(x.shape, dim, 1)) + 600, fixed_magnitude(1));
      return;
    case Reader::kSelect:
      nodes.add(form.op, {self, int_arg(d, "dim"), int_arg(0, "index")}, without_dims(x.shape, dim, 1));
      return;
    case Reader::kUnsqueeze: {
      Shape wide = x.shape;
      wide.sizes.insert(wide.sizes.begin() + d, 1);
      nodes.add(form.op, {self, int_arg(d, "dim")}, wide);
      return;
    }
    default: {
      Shape joined = x.shape;
      joined.sizes[dim] *= 2;
      nodes.add(form.op, {graph::values_arg({x.value, x.value}, "tensors"), int_arg(d, "dim")}, joined);
    }
  }
}

// Adds an op of images.
void add_image_reader(OpForm& form, FormNodes& nodes, const Turned& x, Reader reader) {
  const graph::ArgumentDesc self = value_arg(x.value, "self");
  if (reader == Reader::kNearest) {
    Shape wide = x.shape;
    wide.sizes[2] *= 2;
    wide.sizes[3] *= 2;
    nodes.add(
        form.op,
        {value_arg(x.value, "input"), none_arg("output_size"), graph::floats_arg({2, 2}, "scale_factors")},
        wide);
    return;
  }
  const uint32_t made =
      nodes.add(form.op,
                {self, ints_arg({3, 3}, "kernel_size"), ints_arg({1, 1}, "stride"),
                 ints_arg({1, 1}, "padding"), ints_arg({1, 1}, "dilation"), bool_arg(false, "ceil_mode")},
                std::vector<Shape>{x.shape, {ETB_DTYPE_INT64, x.shape.sizes, {}}});
  form.outputs = {made - static_cast<uint32_t>(form.operands.size())};
}

void add_norm(OpForm& form, FormNodes& nodes, const Turned& x, uint32_t parameter) {
  const Shape empty{kDtype, {0}, {}};
  const uint32_t made =
      nodes.add(form.op,
                {value_arg(x.value, "input"), value_arg(parameter, "weight"),
                 value_arg(parameter + 1, "bias"), value_arg(parameter + 2, "running_mean"),
                 value_arg(parameter + 3, "running_var"), float_arg(0.1, "momentum"), float_arg(1e-5, "eps")},
                std::vector<Shape>{x.shape, empty, empty});
  form.outputs = {made - static_cast<uint32_t>(form.operands.size())};
  form.error_model = rounded_model(4, 12, fixed_magnitude(500));
}

// Adds an op with an operand of its own, or with the sizes of its result. `own` is the first own operand.
void add_other_reader(OpForm& form, FormNodes& nodes, const Turned& x, Reader reader, uint32_t own) {
  const graph::ArgumentDesc self = value_arg(x.value, "self");
  Shape result = x.shape;
  switch (reader) {
    case Reader::kPad:
      result.sizes.back() += 3;
      nodes.add(form.op, {self, ints_arg({1, 2}, "pad"), float_arg(0, "value")}, result);
      return;
    case Reader::kMerge:
      result.sizes = {x.shape.sizes[0], x.shape.numel() / std::max<int64_t>(x.shape.sizes[0], 1)};
      nodes.add(form.op, {self, ints_arg({x.shape.sizes[0], -1}, "size")}, result);
      return;
    case Reader::kLinear:
      result.sizes.back() = 5;
      nodes.add(form.op, {value_arg(x.value, "input"), value_arg(own, "weight"), none_arg("bias")}, result);
      return;
    case Reader::kProduct:
      result.sizes.back() = 4;
      nodes.add(form.op, {self, value_arg(own, "mat2")}, result);
      return;
    case Reader::kNorm:
      return add_norm(form, nodes, x, own);
    case Reader::kWindow:
    case Reader::kNearest:
      return add_image_reader(form, nodes, x, reader);
    default:
      nodes.add(form.op, {self, value_arg(own, "other")}, x.shape);
  }
}

OpForm form_of(const Sizes& sizes, const Layout& layout, const ReaderFacts& facts, size_t dim) {
  OpForm form;
  form.op = facts.op;
  form.word = std::string(layout.word) + "." + facts.word + (facts.has_dim ? "_" + std::to_string(dim) : "");
  form.error_model = exact_model(Rule::kExactValue);
  const Shape shape{kDtype, sizes, {}};
  form.operands = {{shape, Values::kExact}};
  if (layout.has_convolution)
    form.operands.push_back({{kDtype, {sizes[1], sizes[1], 1, 1}, {}}, Values::kExact, {}, true});
  const auto own = static_cast<uint32_t>(form.operands.size());
  add_operands(form, facts.reader, turned_shape(layout, shape).sizes);
  FormNodes nodes(form.nodes, form.operands.size());
  const Turned x = add_layout(nodes, layout, shape);
  if (facts.has_dim)
    add_dim_reader(form, nodes, x, facts.reader, dim);
  else
    add_other_reader(form, nodes, x, facts.reader, own);
  return form;
}

// A map of an image's height and width, which both change, beside a convolution or a permutation of the image.
OpForm form_with_map(const Sizes& map, bool has_convolution) {
  constexpr int64_t kChannels = 3;
  OpForm form;
  form.op = "aten.add.Tensor";
  form.word = has_convolution ? "convolution.map" : "turned_image.map";
  form.error_model = exact_model(Rule::kExactValue);
  const Shape image{kDtype, {2, kChannels, map[0], map[1]}, {}},
      last{kDtype, {2, map[0], map[1], kChannels}, {}};
  form.operands = {{{kDtype, map, {}}, Values::kExact}, {has_convolution ? image : last, Values::kExact}};
  if (has_convolution)
    form.operands.push_back({{kDtype, {kChannels, kChannels, 1, 1}, {}}, Values::kExact, {}, true});
  FormNodes nodes(form.nodes, form.operands.size());
  const Convolution c = even_convolution(kDtype, {kChannels, kChannels, 1}, {1, 1}, 1);
  const uint32_t y =
      has_convolution
          ? nodes.add("aten.convolution.default", convolution_args(c, 1, 2, none_arg("bias")), image)
          : nodes.add("aten.permute_copy.default", {value_arg(1, "self"), ints_arg({0, 3, 1, 2}, "dims")},
                      image);
  nodes.add(form.op, {value_arg(y, "self"), value_arg(0, "other")}, image);
  return form;
}

}  // namespace

void add_dynamic_layout_designs(CaseList& out) {
  for (const bool has_convolution : {true, false})
    for (const Order order : {Order::kGrowing, Order::kMixed})
      add_dynamic_form(
          out, kDtype, [=](const Sizes& map) { return form_with_map(map, has_convolution); }, {4, 5},
          Moving::kAll, order);
  constexpr Moving kMoving[] = {Moving::kFirst, Moving::kMiddle, Moving::kLast, Moving::kOuter, Moving::kAll};
  constexpr Order kOrders[] = {Order::kGrowing, Order::kShrinking, Order::kMixed};
  size_t at = 0;
  for (const Layout& layout : kLayouts)
    for (const ReaderFacts& facts : kReaders) {
      if (facts.rank != 0 && facts.rank != layout.rank()) continue;
      const size_t dims = !facts.has_dim                       ? 1
                          : facts.reader == Reader::kMeanOfTwo ? layout.rank() - 1
                                                               : layout.rank();
      for (const Moving moving : kMoving)
        for (size_t dim = 0; dim < dims; ++dim) {
          // Every dimension of a reduction, of other ops one for each place of the dynamic sizes.
          const bool is_reduction = facts.reader <= Reader::kMeanOfTwo;
          if (!is_reduction && dims > 1 && dim != static_cast<size_t>(moving) % dims) continue;
          const Maker maker = [&layout, &facts, dim](const Sizes& sizes) {
            return form_of(sizes, layout, facts, dim);
          };
          add_dynamic_form(out, kDtype, maker, layout.rank() == 3 ? Sizes{3, 4, 5} : Sizes{2, 3, 4, 5},
                           moving, kOrders[at++ % std::size(kOrders)]);
        }
    }
}

}  // namespace etb::conformance
