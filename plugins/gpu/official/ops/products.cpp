// SPDX-License-Identifier: Apache-2.0
// Products and convolutions.
#include <array>
#include <initializer_list>
#include <limits>

#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kMostWindow = 1 << 14;  // of kernels, strides, padding and dilation, as in graph/shapes.cpp

uint32_t add_product(CallContext& call, std::vector<uint32_t> inputs, bool is_transposed) {
  return call.add(Operator::kMatmul, std::move(inputs), {is_transposed ? 1 : 0},
                  {1, 1, -kInfinity, kInfinity});
}

// x [..., K] times the transposed weight [N, K].
Status lower_linear(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(uint32_t weight, call.floats(1));
  if (call.declared(1).shape.rank != 2)
    return bad("argument 1: rank ", call.declared(1).shape.rank, ", expected 2");
  const bool is_constant = call.is_constant(weight);
  if (!is_constant) weight = call.add(Operator::kPermute, {weight}, {1, 0});
  std::vector<uint32_t> inputs = {x, weight};
  if (!call.is_null(2)) {
    ETB_ASSIGN(const uint32_t bias, call.floats(2));
    inputs.push_back(bias);
  }
  return call.define_floats(add_product(call, std::move(inputs), is_constant));
}

Status lower_mm(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.floats(0));
  ETB_ASSIGN(const uint32_t b, call.floats(1));
  return call.define_floats(add_product(call, {a, b}, false));
}

Status lower_addmm(CallContext& call) {
  ETB_ASSIGN(const uint32_t bias, call.floats(0));
  ETB_ASSIGN(const uint32_t a, call.floats(1));
  ETB_ASSIGN(const uint32_t b, call.floats(2));
  ETB_ASSIGN(const double beta, call.number(3));
  ETB_ASSIGN(const double alpha, call.number(4));
  return call.define_floats(call.add(Operator::kMatmul, {a, b, bias}, {0},
                                     {to_float(alpha), to_float(beta), -kInfinity, kInfinity}));
}

// ---- Convolutions

struct Convolution {
  uint32_t x = kNoValue, weight = kNoValue, bias = kNoValue;
  Shape in = {}, filters = {};
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool is_transposed = false;
  float low = -kInfinity, high = kInfinity;
};

Result<std::vector<int64_t>> window(const CallContext& call, uint32_t at, size_t count, int64_t least) {
  ETB_ASSIGN(std::vector<int64_t> numbers, call.integers(at));
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  if (numbers.size() != count)
    return bad("argument ", at, ": ", numbers.size(), " integers, expected ", count);
  for (const int64_t number : numbers)
    if (number < least || number > kMostWindow) return bad("argument ", at, ": ", number);
  return numbers;
}

Result<Convolution> read_convolution(CallContext& call) {
  Convolution made;
  ETB_ASSIGN(made.x, call.floats(0));
  ETB_ASSIGN(made.weight, call.floats(1));
  if (!call.is_null(2)) {
    ETB_ASSIGN(made.bias, call.floats(2));
  }
  made.in = call.declared(0).shape;
  made.filters = call.declared(1).shape;
  if ((made.in.rank != 3 && made.in.rank != 4) || made.filters.rank != made.in.rank)
    return unsupported("argument 0: rank ", made.in.rank, ", expected 3 or 4");
  const size_t count = made.in.rank - 2;
  ETB_ASSIGN(made.stride, window(call, 3, count, 1));
  ETB_ASSIGN(made.padding, window(call, 4, count, 0));
  ETB_ASSIGN(made.dilation, window(call, 5, count, 1));
  ETB_ASSIGN(made.is_transposed, call.flag(6));
  ETB_ASSIGN(made.output_padding, window(call, 7, count, 0));
  ETB_ASSIGN(made.groups, call.integer(8));
  const uint32_t outputs = made.filters.sizes[0];
  if (made.groups < 1 || made.groups > int64_t{outputs}) return bad("argument 8: ", made.groups);
  return made;
}

// Rows become images of height 1.
Status raise_rank(CallContext& call, Convolution& made) {
  if (made.in.rank == 4) return {};
  const auto raised = [](const Shape& shape) {
    Shape out;
    out.rank = 4;
    out.sizes = {shape.sizes[0], shape.sizes[1], 1, shape.sizes[2]};
    return out;
  };
  made.x = call.add(Operator::kReshape, {made.x}, {kCopiedSize, kCopiedSize - 1, 1, kCopiedSize - 2});
  made.in = raised(made.in);
  made.filters = raised(made.filters);
  if (call.is_constant(made.weight)) {
    ETB_ASSIGN(made.weight, call.reshaped_constant(made.weight, made.filters));
  } else {
    made.weight = call.add_reshape(made.weight, made.filters);
  }
  made.stride.insert(made.stride.begin(), 1);
  made.padding.insert(made.padding.begin(), 0);
  made.dilation.insert(made.dilation.begin(), 1);
  made.output_padding.insert(made.output_padding.begin(), 0);
  return {};
}

// Filters [I, O / groups, H, W] become [O, I / groups, H, W], each turned by half.
std::vector<float> turned(const std::vector<float>& from, const Shape& shape, uint32_t groups) {
  const size_t inputs = shape.sizes[0] / groups, outputs = shape.sizes[1],
               area = size_t{shape.sizes[2]} * shape.sizes[3];
  std::vector<float> to(from.size());
  for (size_t g = 0; g < groups; ++g)
    for (size_t i = 0; i < inputs; ++i)
      for (size_t o = 0; o < outputs; ++o)
        for (size_t k = 0; k < area; ++k)
          to[((g * outputs + o) * inputs + i) * area + area - 1 - k] =
              from[((g * inputs + i) * outputs + o) * area + k];
  return to;
}

// A transposed convolution is one of stride 1 over the image with zeros between its pixels.
Status undo_transposition(CallContext& call, Convolution& made) {
  const auto groups = static_cast<uint32_t>(made.groups);
  if (made.filters.sizes[0] % groups != 0)
    return bad("argument 8: ", groups, " groups of ", made.filters.sizes[0]);
  ETB_ASSIGN(const std::vector<float> numbers, call.constant_floats(1));
  if (numbers.size() != made.filters.numel()) return bad("argument 1: ", numbers.size(), " numbers");
  Shape filters = made.filters;
  filters.sizes[0] = made.filters.sizes[1] * groups;
  filters.sizes[1] = made.filters.sizes[0] / groups;
  made.weight = call.add_floats(turned(numbers, made.filters, groups), filters);
  made.filters = filters;
  Shape image = made.in;
  std::vector<int32_t> pads;  // from the last dimension on
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t d = 3 - i;
    const auto stride = static_cast<uint32_t>(made.stride[1 - i]);
    const int64_t reach = made.dilation[1 - i] * (int64_t{filters.sizes[d]} - 1);
    if (stride > 1) {
      Shape spread;
      spread.rank = 3;
      spread.sizes = {image.product(0, d + 1), 1, image.product(d + 1, 4)};
      if (uint64_t{image.sizes[d]} * stride > kMaxNumel) return bad("argument 3: ", stride);
      const uint32_t rows = call.add_reshape(made.x, spread);
      // Zeros after each row; pads count from the last dimension.
      const uint32_t padded =
          call.add(Operator::kPad, {rows}, {0, 0, 0, static_cast<int32_t>(stride) - 1}, {0});
      image.sizes[d] *= stride;
      made.x = call.add_reshape(padded, image);
    }
    const int64_t before = reach - made.padding[1 - i],
                  after = before + made.output_padding[1 - i] - (int64_t{stride} - 1);
    pads.push_back(static_cast<int32_t>(before));
    pads.push_back(static_cast<int32_t>(after));
  }
  made.x = call.add(Operator::kPad, {made.x}, std::move(pads), {0});
  made.stride = {1, 1};
  made.padding = {0, 0};
  return {};
}

// ---- Filters that are computed or passed: no kernel packs them in a run. The pixels below each number of a filter become an image,
// and each group is a product of its filters with these images.

Shape shape_of(std::initializer_list<uint64_t> sizes) {
  Shape shape;
  for (const uint64_t size : sizes) shape.sizes[shape.rank++] = static_cast<uint32_t>(size);
  return shape;
}

// Rows and columns of the result; 0 if the filters do not fit.
std::array<uint64_t, 2> result_sizes(const Convolution& made) {
  std::array<uint64_t, 2> sizes{};
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t reach = made.dilation[i] * (int64_t{made.filters.sizes[2 + i]} - 1) + 1,
                  rest = int64_t{made.in.sizes[2 + i]} + 2 * made.padding[i] - reach;
    sizes[i] = rest < 0 ? 0 : static_cast<uint64_t>(rest / made.stride[i] + 1);
  }
  return sizes;
}

// The pixels of an image that one number of the filters multiplies: image [N, I, H, W] becomes [N, I, rows, columns].
uint32_t add_pixels(CallContext& call, const Convolution& made, uint32_t image, std::array<uint64_t, 2> first,
                    std::array<uint64_t, 2> counts) {
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t start = static_cast<int64_t>(first[i]) * made.dilation[i],
                  end = start + (static_cast<int64_t>(counts[i]) - 1) * made.stride[i] + 1;
    image = call.add(Operator::kSlice, {image},
                     {static_cast<int32_t>(2 + i), static_cast<int32_t>(start), static_cast<int32_t>(end),
                      static_cast<int32_t>(made.stride[i])});
  }
  return image;
}

// Images [N, I, rows, columns] for each number of the filters, as one factor [N * groups, numbers * I / groups, pixels].
uint32_t add_columns(CallContext& call, const Convolution& made, std::array<uint64_t, 2> counts) {
  uint32_t image = made.x;
  if (made.padding[0] != 0 || made.padding[1] != 0) {
    const auto rows = static_cast<int32_t>(made.padding[0]), columns = static_cast<int32_t>(made.padding[1]);
    image = call.add(Operator::kPad, {image}, {columns, columns, rows, rows}, {0});
  }
  std::vector<uint32_t> images;
  for (uint64_t ky = 0; ky < made.filters.sizes[2]; ++ky)
    for (uint64_t kx = 0; kx < made.filters.sizes[3]; ++kx)
      images.push_back(add_pixels(call, made, image, {ky, kx}, counts));
  const uint64_t batch = made.in.sizes[0], groups = static_cast<uint64_t>(made.groups),
                 inputs = made.filters.sizes[1], pixels = counts[0] * counts[1], numbers = images.size();
  const uint32_t joined = call.add(Operator::kCat, std::move(images), {1});
  const uint32_t split = call.add_reshape(joined, shape_of({batch, numbers, groups, inputs, pixels}));
  const uint32_t turned = call.add(Operator::kPermute, {split}, {0, 2, 1, 3, 4});
  return call.add_reshape(turned, shape_of({batch * groups, numbers * inputs, pixels}));
}

// Filters [O, I / groups, H, W] as the other factor [N * groups, O / groups, numbers * I / groups].
uint32_t add_filter_rows(CallContext& call, const Convolution& made) {
  const uint64_t batch = made.in.sizes[0], groups = static_cast<uint64_t>(made.groups),
                 outputs = made.filters.sizes[0] / groups, inputs = made.filters.sizes[1],
                 numbers = uint64_t{made.filters.sizes[2]} * made.filters.sizes[3];
  const uint32_t split = call.add_reshape(made.weight, shape_of({groups, outputs, inputs, numbers}));
  const uint32_t turned = call.add(Operator::kPermute, {split}, {0, 1, 3, 2});
  const uint64_t length = groups * outputs * inputs * numbers;
  uint32_t rows = turned;
  if (batch > 1)
    rows = call.add_expand(call.add_reshape(turned, shape_of({1, length})), shape_of({1, length}),
                           shape_of({batch, length}));
  return call.add_reshape(rows, shape_of({batch * groups, outputs, numbers * inputs}));
}

Result<uint32_t> add_window_products(CallContext& call, const Convolution& made) {
  constexpr uint64_t kMostNumbers = 64;  // parts of a join
  const uint64_t batch = made.in.sizes[0], outputs = made.filters.sizes[0],
                 numbers = uint64_t{made.filters.sizes[2]} * made.filters.sizes[3];
  const std::array<uint64_t, 2> counts = result_sizes(made);
  if (made.is_transposed) return unsupported("argument 1: computed or passed filters that are transposed");
  if (numbers == 0 || numbers > kMostNumbers)
    return unsupported("argument 1: computed or passed filters of ", numbers, " numbers, expected 1 to ",
                       kMostNumbers);
  const auto groups = static_cast<uint64_t>(made.groups);
  if (outputs % groups != 0 || made.in.sizes[1] != made.filters.sizes[1] * groups ||
      made.in.sizes[1] == 0 || batch == 0 || counts[0] == 0 || counts[1] == 0)
    return bad("argument 1: filters that do not fit the image");
  const uint64_t most = batch * made.in.sizes[1] * numbers;
  if (most > kMaxNumel || counts[0] * counts[1] > kMaxNumel / most)
    return unsupported("argument 0: too many elements for computed filters");
  const uint32_t rows = add_filter_rows(call, made), columns = add_columns(call, made, counts);
  uint32_t result = call.add_reshape(add_product(call, {rows, columns}, false),
                                     shape_of({batch, outputs, counts[0], counts[1]}));
  if (made.bias != kNoValue) {
    const uint32_t bias = call.add_reshape(made.bias, shape_of({outputs, 1, 1}));
    result = call.add_binary(BinaryFunction::kAdd, result, bias);
  }
  const bool has_limits = made.low != -kInfinity || made.high != kInfinity;
  return has_limits ? call.add_unary(UnaryFunction::kClamp, result, made.low, made.high) : result;
}

Result<uint32_t> add_kernel_convolution(CallContext& call, Convolution& made) {
  if (made.is_transposed) ETB_TRY(undo_transposition(call, made));
  std::vector<uint32_t> inputs = {made.x, made.weight};
  if (made.bias != kNoValue) inputs.push_back(made.bias);
  std::vector<int32_t> ints;
  for (const auto* numbers : {&made.stride, &made.padding, &made.dilation})
    for (const int64_t number : *numbers) ints.push_back(static_cast<int32_t>(number));
  ints.push_back(static_cast<int32_t>(made.groups));
  return call.add(Operator::kConvolution, std::move(inputs), std::move(ints), {made.low, made.high});
}

Status add_convolution(CallContext& call, Convolution made) {
  const bool is_row = made.in.rank == 3;
  if (made.is_transposed && is_row) return unsupported("argument 6: a transposed convolution of rank 3");
  ETB_TRY(raise_rank(call, made));
  ETB_ASSIGN(uint32_t result, call.is_constant(made.weight) ? add_kernel_convolution(call, made)
                                                            : add_window_products(call, made));
  if (is_row)
    result = call.add(Operator::kReshape, {result}, {kCopiedSize, kCopiedSize - 1, kCopiedSize - 3});
  return call.define_floats(result);
}

Status lower_convolution(CallContext& call) {
  ETB_ASSIGN(Convolution made, read_convolution(call));
  return add_convolution(call, std::move(made));
}

Status lower_convolution_with_clamp(CallContext& call) {
  ETB_ASSIGN(Convolution made, read_convolution(call));
  if (!call.is_null(9)) {
    ETB_ASSIGN(const double low, call.number(9));
    made.low = to_float(low);
  }
  if (!call.is_null(10)) {
    ETB_ASSIGN(const double high, call.number(10));
    made.high = to_float(high);
  }
  if (made.low != made.low || made.high != made.high || made.low > made.high)
    return bad("arguments 9 and 10: ", made.low, " to ", made.high);
  return add_convolution(call, std::move(made));
}

constexpr OfficialOp kRows[] = {
    {"aten.linear.default", 4, 4, lower_linear},
    {"aten.mm.default", 3, 3, lower_mm},
    {"aten.bmm.default", 3, 3, lower_mm},
    {"aten.addmm.default", 6, 6, lower_addmm},
    {"aten.convolution.default", 10, 10, lower_convolution},
    {"et_vk.conv_with_clamp.default", 12, 12, lower_convolution_with_clamp},
};

}  // namespace

extern const OfficialOpList products_calls = kRows;

}  // namespace etb::gpu
