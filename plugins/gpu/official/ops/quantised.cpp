// SPDX-License-Identifier: Apache-2.0
// Operators on int8 codes. Codes are floats on the device; sums of their products are exact up to 2^24.
#include <cmath>
#include <limits>

#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Codes {
  double scale = 1;
  int64_t zero_point = 0;
};

Result<Codes> read_codes(const CallContext& call, uint32_t at) {
  Codes codes;
  ETB_ASSIGN(codes.scale, call.number(at));
  ETB_ASSIGN(codes.zero_point, call.integer(at + 1));
  if (!(codes.scale > 0) || !std::isfinite(codes.scale)) return bad("argument ", at, ": scale ", codes.scale);
  if (codes.zero_point < -128 || codes.zero_point > 255)
    return bad("argument ", at + 1, ": ", codes.zero_point);
  return codes;
}

Status check_codes(CallContext& call, uint32_t at) {
  const ElementType type = call.declared(at).type;
  if (type != ElementType::kInt8 && type != ElementType::kUint8)
    return unsupported("argument ", at, ": ", to_text(type), ", expected int8 or uint8");
  return {};
}

// Codes without their zero point.
uint32_t add_centred(CallContext& call, uint32_t x, int64_t zero_point) {
  return zero_point == 0
             ? x
             : call.add_binary(BinaryFunction::kSub, x, call.add_number(static_cast<double>(zero_point)));
}

struct Range {
  double low = -128, high = 127;
};

// round(x / scale) + zero point, limited. As PyTorch, by a product with the reciprocal.
Status define_codes(CallContext& call, uint32_t x, const Codes& codes, Range range = {}) {
  ETB_ASSIGN(const FileTensor* made, call.find_result());
  const bool is_signed = made->type == ElementType::kInt8;
  if (!is_signed && made->type != ElementType::kUint8)
    return unsupported("result: ", to_text(made->type), ", expected int8 or uint8");
  if (range.low < (is_signed ? -128 : 0) || range.high > (is_signed ? 127 : 255) ||
      !(range.low <= range.high))
    return bad("codes from ", range.low, " to ", range.high);
  const uint32_t scaled = call.add_binary(BinaryFunction::kMul, x, call.add_number(1 / codes.scale));
  const uint32_t rounded = call.add_unary(UnaryFunction::kRound, scaled);
  const uint32_t moved =
      call.add_binary(BinaryFunction::kAdd, rounded, call.add_number(static_cast<double>(codes.zero_point)));
  return call.define_exact(
      call.add_unary(UnaryFunction::kClamp, moved, to_float(range.low), to_float(range.high)),
      is_signed ? 128 : 255);
}

Status lower_quantise(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const Codes codes, read_codes(call, 1));
  Range range;
  ETB_ASSIGN(range.low, call.number(3));
  ETB_ASSIGN(range.high, call.number(4));
  return define_codes(call, x, codes, range);
}

Status lower_dequantise(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(check_codes(call, 0));
  ETB_ASSIGN(const Codes codes, read_codes(call, 1));
  return call.define_floats(call.add_binary(BinaryFunction::kMul, add_centred(call, x, codes.zero_point),
                                            call.add_number(codes.scale)));
}

// Constants become floats at load, so that products can pack them.
Status lower_dequantise_channels(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(check_codes(call, 0));
  const Shape shape = call.declared(0).shape;
  ETB_ASSIGN(const uint32_t axis, call.dim(3, shape.rank));
  ETB_ASSIGN(const std::vector<float> scales, call.constant_floats(1));
  std::vector<float> zero_points(scales.size(), 0.0f);
  if (!call.is_null(2)) {
    ETB_ASSIGN(zero_points, call.constant_floats(2));
  }
  if (scales.size() != shape.sizes[axis] || zero_points.size() != scales.size())
    return bad("argument 1: ", scales.size(), " scales for ", shape.sizes[axis]);
  if (!call.is_constant(x)) return unsupported("argument 0: computed or passed, expected a constant");
  ETB_ASSIGN(std::vector<float> numbers, call.constant_floats(0));
  const uint32_t inner = shape.product(axis + 1, shape.rank);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t channel = i / inner % scales.size();
    numbers[i] = (numbers[i] - zero_points[channel]) * scales[channel];
  }
  return call.define_floats(call.add_floats(std::move(numbers), shape));
}

// ---- Products of codes: a sum of each channel times its scale, plus its bias, as codes again

struct Channels {
  Codes in, out;
  uint32_t count = 0;
  bool has_relu = false;
};

// `sums` of the shape [N, channels, ...]: `shape` is that of a channel's number in it.
Status define_channels(CallContext& call, uint32_t sums, const Channels& channels, const Shape& shape,
                       uint32_t scales_at, uint32_t bias_at) {
  ETB_ASSIGN(std::vector<float> scales, call.constant_floats(scales_at));
  if (scales.size() < channels.count) return bad("argument ", scales_at, ": ", scales.size(), " scales");
  scales.resize(channels.count);
  for (float& scale : scales) scale = to_float(scale * channels.in.scale);
  uint32_t made = call.add_binary(BinaryFunction::kMul, sums, call.add_floats(std::move(scales), shape));
  if (!call.is_null(bias_at)) {
    ETB_ASSIGN(std::vector<float> bias, call.constant_floats(bias_at));
    if (bias.size() < channels.count) return bad("argument ", bias_at, ": ", bias.size(), " numbers");
    bias.resize(channels.count);
    made = call.add_binary(BinaryFunction::kAdd, made, call.add_floats(std::move(bias), shape));
  }
  if (channels.has_relu) made = call.add_unary(UnaryFunction::kClamp, made, 0, kInfinity);
  return define_codes(call, made, channels.out);
}

Result<bool> has_relu(const CallContext& call, uint32_t at) {
  ETB_ASSIGN(const std::string_view activation, call.text(at));
  if (activation != "none" && activation != "relu")
    return unsupported("argument ", at, ": '", std::string(activation.substr(0, 32)), "'");
  return activation == "relu";
}

// Filters [O, H, W, I], rows padded, or [H, W, O] if depthwise, become [O, I, H, W].
std::vector<float> ordered(const std::vector<float>& from, const Shape& shape, uint32_t row,
                           bool is_depthwise) {
  std::vector<float> to(shape.numel());
  const uint32_t inputs = shape.sizes[1], area = shape.sizes[2] * shape.sizes[3];
  size_t at = 0;
  for (uint32_t o = 0; o < shape.sizes[0]; ++o)
    for (uint32_t i = 0; i < inputs; ++i)
      for (uint32_t k = 0; k < area; ++k)
        to[at++] =
            is_depthwise ? from[size_t{k} * shape.sizes[0] + o] : from[size_t{o} * row + k * inputs + i];
  return to;
}

template <bool is_depthwise>
Status lower_convolution(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(check_codes(call, 0));
  const Shape &in = call.declared(0).shape, &out = call.result().shape;
  if (in.rank != 4 || out.rank != 4) return unsupported("argument 0: rank ", in.rank, ", expected 4");
  Channels channels;
  ETB_ASSIGN(channels.in, read_codes(call, 1));
  ETB_ASSIGN(channels.out, read_codes(call, 6));
  ETB_ASSIGN(channels.has_relu, has_relu(call, 14));
  channels.count = out.sizes[1];
  ETB_ASSIGN(const int64_t groups, call.integer(13));
  ETB_ASSIGN(const std::vector<int64_t> kernel, call.pair(9, {}));
  if (groups < 1 || groups > in.sizes[1] || in.sizes[1] % groups != 0) return bad("argument 13: ", groups);
  std::vector<int32_t> ints;
  for (const uint32_t at : {10u, 11u, 12u, 9u}) {
    ETB_ASSIGN(const std::vector<int64_t> pair, call.pair(at, {}));
    for (const int64_t number : pair) {
      if (number < 0 || number > 1 << 14) return bad("argument ", at, ": ", number);
      if (at != 9) ints.push_back(static_cast<int32_t>(number));
    }
  }
  ints.push_back(static_cast<int32_t>(groups));
  ETB_ASSIGN(const std::vector<float> codes, call.constant_floats(3));
  Shape filters;
  filters.rank = 4;
  filters.sizes = {channels.count, in.sizes[1] / static_cast<uint32_t>(groups),
                   static_cast<uint32_t>(kernel[0]), static_cast<uint32_t>(kernel[1])};
  const uint32_t row = channels.count == 0 ? 0 : static_cast<uint32_t>(codes.size() / channels.count);
  const uint64_t needed = uint64_t{filters.sizes[1]} * filters.sizes[2] * filters.sizes[3];
  if (needed == 0 || row < needed || (is_depthwise && filters.sizes[1] != 1))
    return bad("argument 3: ", codes.size(), " codes for ", channels.count, " filters of ", needed);
  const uint32_t weight = call.add_floats(ordered(codes, filters, row, is_depthwise), filters);
  const uint32_t sums =
      call.add(Operator::kConvolution, {add_centred(call, x, channels.in.zero_point), weight},
               std::move(ints), {-kInfinity, kInfinity});
  Shape shape;
  shape.rank = 3;
  shape.sizes = {channels.count, 1, 1};
  return define_channels(call, sums, channels, shape, 5, 8);
}

Status lower_linear(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(check_codes(call, 0));
  const Shape &in = call.declared(0).shape, &out = call.result().shape;
  if (in.rank == 0 || out.rank == 0) return bad("argument 0: rank ", in.rank);
  Channels channels;
  ETB_ASSIGN(channels.in, read_codes(call, 1));
  ETB_ASSIGN(channels.out, read_codes(call, 6));
  ETB_ASSIGN(channels.has_relu, has_relu(call, 9));
  channels.count = out.sizes[out.rank - 1];
  const uint32_t depth = in.sizes[in.rank - 1];
  ETB_ASSIGN(const std::vector<float> codes, call.constant_floats(3));
  const uint32_t row = channels.count == 0 ? 0 : static_cast<uint32_t>(codes.size() / channels.count);
  if (depth == 0 || row < depth)
    return bad("argument 3: ", codes.size(), " codes for ", channels.count, " rows of ", depth);
  Shape filters;
  filters.rank = 4;
  filters.sizes = {channels.count, depth, 1, 1};
  std::vector<float> numbers = ordered(codes, filters, row, false);
  filters.rank = 2;
  const uint32_t sums =
      call.add(Operator::kMatmul,
               {add_centred(call, x, channels.in.zero_point), call.add_floats(std::move(numbers), filters)},
               {1}, {1, 1, -kInfinity, kInfinity});
  Shape shape;
  shape.rank = 1;
  shape.sizes = {channels.count};
  return define_channels(call, sums, channels, shape, 5, 8);
}

Status lower_add(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.tensor(0));
  ETB_ASSIGN(const uint32_t b, call.tensor(1));
  ETB_TRY(check_codes(call, 0));
  ETB_TRY(check_codes(call, 1));
  ETB_ASSIGN(const Codes of_a, read_codes(call, 2));
  ETB_ASSIGN(const Codes of_b, read_codes(call, 4));
  ETB_ASSIGN(const Codes out, read_codes(call, 6));
  ETB_ASSIGN(const double alpha, call.number(8));
  const auto real = [&](uint32_t x, const Codes& codes) {
    return call.add_binary(BinaryFunction::kMul, add_centred(call, x, codes.zero_point),
                           call.add_number(codes.scale));
  };
  return define_codes(
      call, call.add_binary(BinaryFunction::kAdd, real(a, of_a), real(b, of_b), to_float(alpha)), out);
}

// ---- Rows of floats whose codes are chosen in a run, and weights of 4 bits

// Sizes of the operand without the last, each by its position, and 1.
uint32_t add_column(CallContext& call, uint32_t x, uint32_t rank) {
  std::vector<int32_t> sizes;
  for (uint32_t d = 0; d < rank; ++d) sizes.push_back(kCopiedSize - static_cast<int32_t>(d));
  sizes.push_back(1);
  return call.add(Operator::kReshape, {x}, std::move(sizes));
}

Status check_row_block(const CallContext& call, uint32_t at, const Shape& shape) {
  ETB_ASSIGN(const std::vector<int64_t> block, call.integers(at));
  if (shape.rank == 0 || block.size() != shape.rank)
    return bad("argument ", at, ": ", block.size(), " sizes for rank ", shape.rank);
  for (uint32_t d = 0; d + 1 < shape.rank; ++d)
    if (block[d] != 1) return unsupported("argument ", at, ": blocks of several rows");
  if (block.back() != int64_t{shape.sizes[shape.rank - 1]})
    return unsupported("argument ", at, ": parts of rows");
  return {};
}

// The scale and zero point of each row, so that its codes cover 0, its least and its largest number.
Status lower_choose_codes(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  const Shape& shape = call.declared(0).shape;
  ETB_ASSIGN(const std::string_view mapping, call.text(1));
  if (mapping != "ASYMMETRIC")
    return unsupported("argument 1: '", std::string(mapping.substr(0, 32)), "', expected ASYMMETRIC");
  ETB_TRY(check_row_block(call, 2, shape));
  Range range;
  ETB_ASSIGN(range.low, call.number(4));
  ETB_ASSIGN(range.high, call.number(5));
  if (!(range.low >= -128 && range.low < range.high && range.high <= 127))
    return bad("codes from ", range.low, " to ", range.high);
  double least = std::numeric_limits<float>::min();
  if (!call.is_null(6)) {
    ETB_ASSIGN(least, call.number(6));
  }
  ETB_ASSIGN(const bool keeps_dims, call.flag(9));
  if (keeps_dims) return unsupported("argument 9: scales of the operand's rank");
  ETB_ASSIGN(const FileTensor* zero_point, call.find_result(1));
  if (call.result_count() != 2 || kind_of(zero_point->type) != NumberKind::kInteger)
    return bad("results: expected a scale and an integer for each row");
  const auto extreme = [&](Reduction reduction, BinaryFunction with_zero) {
    const uint32_t of_row =
        call.add(Operator::kReduce, {x},
                 {static_cast<int32_t>(reduction), static_cast<int32_t>(1u << (shape.rank - 1)), 0});
    return call.add_binary(with_zero, of_row, call.add_number(0));
  };
  const uint32_t low = extreme(Reduction::kMinimum, BinaryFunction::kMinimum);
  const uint32_t high = extreme(Reduction::kMaximum, BinaryFunction::kMaximum);
  const uint32_t width = call.add_binary(BinaryFunction::kSub, high, low);
  const uint32_t scale =
      call.add_binary(BinaryFunction::kMaximum,
                      call.add_binary(BinaryFunction::kDiv, width, call.add_number(range.high - range.low)),
                      call.add_number(least));
  const uint32_t steps =
      call.add_unary(UnaryFunction::kRound, call.add_binary(BinaryFunction::kDiv, low, scale));
  const uint32_t zero = call.add_unary(
      UnaryFunction::kClamp, call.add_binary(BinaryFunction::kSub, call.add_number(range.low), steps),
      to_float(range.low), to_float(range.high));
  ETB_TRY(call.define_floats(scale));
  return call.define_exact(zero, 128, 1);
}

// Two codes in a byte, the even one in its low half, each plus 8; a scale for each group of a row's codes, [groups, rows].
Result<uint32_t> add_unpacked(CallContext& call, uint32_t codes_at, uint32_t scales_at, uint32_t group_at,
                              const Shape& weight) {
  ETB_ASSIGN(const std::vector<float> codes, call.constant_floats(codes_at));
  ETB_ASSIGN(const std::vector<float> scales, call.constant_floats(scales_at));
  if (call.declared(codes_at).type != ElementType::kUint8)
    return unsupported("argument ", codes_at, ": ", to_text(call.declared(codes_at).type),
                       ", expected uint8");
  const Shape packed = call.declared(codes_at).shape, groups = call.declared(scales_at).shape;
  ETB_ASSIGN(const int64_t group, call.integer(group_at));
  const uint32_t rows = weight.sizes[0], depth = weight.sizes[1];
  if (depth == 0 || packed.rank != 2 || packed.sizes[0] != rows || uint64_t{packed.sizes[1]} * 2 < depth)
    return bad("argument ", codes_at, ": expected ", rows, " rows of ", depth, " codes");
  if (group < 1 || groups.rank != 2 || groups.sizes[1] < rows || (depth - 1) / group >= groups.sizes[0])
    return bad("argument ", scales_at, ": expected scales of ", rows, " rows for groups of ", group);
  // Another name of a constant may declare other sizes, and another type.
  if (codes.size() != packed.numel() || scales.size() != groups.numel())
    return bad("arguments ", codes_at, " and ", scales_at, ": constants of other sizes");
  for (const float code : codes)
    if (!(code >= 0 && code <= 255)) return bad("argument ", codes_at, ": a code of ", code);
  std::vector<float> numbers(weight.numel());
  for (uint32_t n = 0; n < rows; ++n)
    for (uint32_t k = 0; k < depth; ++k) {
      const auto byte = static_cast<uint32_t>(codes[size_t{n} * packed.sizes[1] + k / 2]);
      const int code = static_cast<int>(k % 2 == 0 ? byte & 15u : byte >> 4) - 8;
      const size_t part = static_cast<size_t>(k / group);
      numbers[size_t{n} * depth + k] = static_cast<float>(code) * scales[part * groups.sizes[1] + n];
    }
  return call.add_floats(std::move(numbers), weight);
}

// The product of the weight and of the numbers that the row's codes represent, as in PyTorch. Argument 4, the sums of the weight's codes, is not needed.
Status lower_linear_of_rows(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(uint32_t scale, call.floats(1));
  ETB_ASSIGN(uint32_t zero_point, call.tensor(2));
  ETB_TRY(check_codes(call, 2));
  const Shape &in = call.declared(0).shape, &out = call.result().shape;
  if (in.rank == 0 || out.rank != in.rank || call.declared(1).shape.rank + 1 != in.rank ||
      call.declared(2).shape.rank + 1 != in.rank)
    return bad("argument 0: rank ", in.rank);
  Shape weight;
  weight.rank = 2;
  weight.sizes = {out.sizes[out.rank - 1], in.sizes[in.rank - 1]};
  ETB_ASSIGN(const uint32_t numbers, add_unpacked(call, 3, 5, 6, weight));
  scale = add_column(call, scale, in.rank - 1);
  zero_point = add_column(call, zero_point, in.rank - 1);
  // As PyTorch, by a product with the reciprocal.
  const uint32_t scaled = call.add_binary(BinaryFunction::kMul, x,
                                          call.add_binary(BinaryFunction::kDiv, call.add_number(1), scale));
  const uint32_t moved =
      call.add_binary(BinaryFunction::kAdd, call.add_unary(UnaryFunction::kRound, scaled), zero_point);
  const uint32_t centred = call.add_binary(
      BinaryFunction::kSub, call.add_unary(UnaryFunction::kClamp, moved, -128, 127), zero_point);
  std::vector<uint32_t> inputs = {call.add_binary(BinaryFunction::kMul, centred, scale), numbers};
  if (!call.is_null(7)) {
    ETB_ASSIGN(const uint32_t bias, call.floats(7));
    inputs.push_back(bias);
  }
  return call.define_floats(
      call.add(Operator::kMatmul, std::move(inputs), {1}, {1, 1, -kInfinity, kInfinity}));
}

constexpr OfficialOp kRows[] = {
    {"torchao.choose_qparams_affine.default", 11, 11, lower_choose_codes},
    {"et_vk.linear_dq8ca_q4gsw.default", 9, 9, lower_linear_of_rows},
    {"quantized_decomposed.quantize_per_tensor.default", 7, 7, lower_quantise},
    {"quantized_decomposed.dequantize_per_tensor.default", 8, 8, lower_dequantise},
    {"quantized_decomposed.dequantize_per_channel.default", 9, 9, lower_dequantise_channels},
    {"et_vk.q8ta_conv2d.default", 16, 16, lower_convolution<false>},
    {"et_vk.q8ta_conv2d_pw.default", 16, 16, lower_convolution<false>},
    {"et_vk.q8ta_conv2d_dw.default", 16, 16, lower_convolution<true>},
    {"et_vk.q8ta_linear.default", 11, 11, lower_linear},
    {"et_vk.q8ta_linear_gemv.default", 11, 11, lower_linear},
    {"et_vk.q8ta_add.default", 10, 10, lower_add},
};

}  // namespace

extern const OfficialOpList quantised_calls = kRows;

}  // namespace etb::gpu
