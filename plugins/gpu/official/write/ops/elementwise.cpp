// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, comparisons and logic. They compute where their operand is: in a buffer or a texture.
#include <cmath>
#include <limits>

#include "plugins/gpu/official/write/region_writer.hpp"

namespace etb::gpu {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `numbers`: values of the file that follow the operand.
uint32_t unary(NodeWriter& node, const char* op, uint32_t x, std::vector<uint32_t> numbers = {}) {
  const Shape shape = node.shape(x);
  const ElementType type = node.tensor(x).type;
  const bool is_flat = shape.rank > kMostOperandRank;
  const uint32_t operand = is_flat ? node.view(x, flattened(shape)) : x;
  const Storage storage = node.storage_of(operand);
  numbers.insert(numbers.begin(), node.in(operand, storage));
  const uint32_t made = node.call(op, std::move(numbers), node.shape(operand), storage, type);
  return is_flat ? node.view(made, shape) : made;
}

// The official runtime's operator has the name of the op.
Status write_unary(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  return node.define(unary(node, std::string(node.node().op_name()).c_str(), x));
}

// ---- Two operands

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out;
  out.rank = std::max(a.rank, b.rank);
  const auto size = [&](const Shape& from, uint32_t d) {
    return d + from.rank < out.rank ? 1 : from.sizes[d + from.rank - out.rank];
  };
  for (uint32_t d = 0; d < out.rank; ++d) out.sizes[d] = size(a, d) == 1 ? size(b, d) : size(a, d);
  return out;
}

// A constant with ones before its sizes.
uint32_t raised(NodeWriter& node, uint32_t id, uint32_t rank) {
  const Shape from = node.shape(id);
  if (!node.is_constant(id) || from.rank >= rank) return id;
  Shape to;
  to.rank = rank;
  for (uint32_t d = 0; d < rank; ++d)
    to.sizes[d] = d + from.rank < rank ? 1 : from.sizes[d + from.rank - rank];
  return node.reshaped_constant(id, to);
}

// A texture if one operand is in one and both have the rank of the result.
Storage common_storage(const NodeWriter& node, uint32_t a, uint32_t b, const Shape& out) {
  const bool is_texture = node.storage_of(a) == kChannelTexture || node.storage_of(b) == kChannelTexture;
  const bool fits = node.shape(a).rank == out.rank && node.shape(b).rank == out.rank && fits_texture(out);
  return is_texture && fits ? kChannelTexture : kRowMajorBuffer;
}

struct Operands {
  uint32_t a, b;  // values of the file
  Shape shape;
  Storage storage;
};

Operands meet(NodeWriter& node, uint32_t a, uint32_t b) {
  const Shape shape = broadcast(node.shape(a), node.shape(b));
  a = raised(node, a, shape.rank);
  b = raised(node, b, shape.rank);
  const Storage storage = common_storage(node, a, b, shape);
  const uint32_t first = node.in(a, storage);
  return {first, node.in(b, storage), shape, storage};
}

uint32_t binary(NodeWriter& node, const char* op, uint32_t a, uint32_t b) {
  const Operands met = meet(node, a, b);
  return node.call(op, {met.a, met.b}, met.shape, met.storage);
}

uint32_t sum(NodeWriter& node, const char* op, uint32_t a, uint32_t b, double alpha) {
  const Operands met = meet(node, a, b);
  return node.call(op, {met.a, met.b, node.file().add_number(alpha)}, met.shape, met.storage);
}

Result<std::pair<uint32_t, uint32_t>> read_pair(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t a, node.floats_or_number("self"));
  ETB_ASSIGN(const uint32_t b, node.floats_or_number("other"));
  return std::pair(a, b);
}

template <bool is_difference>
Status write_sum(NodeWriter& node) {
  ETB_ASSIGN(const auto operands, read_pair(node));
  ETB_ASSIGN(const double alpha, node.args().number("alpha", 1));
  return node.define(sum(node, is_difference ? "aten.sub.Tensor" : "aten.add.Tensor", operands.first,
                         operands.second, alpha));
}

Status write_product(NodeWriter& node) {
  ETB_ASSIGN(const auto operands, read_pair(node));
  return node.define(binary(node, "aten.mul.Tensor", operands.first, operands.second));
}

Status write_quotient(NodeWriter& node) {
  ETB_ASSIGN(const auto operands, read_pair(node));
  return node.define(binary(node, "aten.div.Tensor", operands.first, operands.second));
}

Status write_minimum(NodeWriter& node) {
  ETB_ASSIGN(const auto operands, read_pair(node));
  return node.define(binary(node, "aten.minimum.default", operands.first, operands.second));
}

// The runtime has no maximum.
Status write_maximum(NodeWriter& node) {
  ETB_ASSIGN(const auto operands, read_pair(node));
  const uint32_t a = unary(node, "aten.neg.default", operands.first),
                 b = unary(node, "aten.neg.default", operands.second);
  return node.define(unary(node, "aten.neg.default", binary(node, "aten.minimum.default", a, b)));
}

Status write_square(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  return node.define(binary(node, "aten.mul.Tensor", x, x));
}

Status write_reciprocal(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  return node.define(binary(node, "aten.div.Tensor", node.add_number(1), x));
}

// GLSL's pow has no result for a negative base.
Status write_power(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const double exponent, node.args().number("exponent", 1));
  if (exponent == 0.5) return node.define(unary(node, "aten.sqrt.default", x));
  if (exponent == -0.5) return node.define(unary(node, "aten.rsqrt.default", x));
  if (exponent == -1) return node.define(binary(node, "aten.div.Tensor", node.add_number(1), x));
  if (exponent != 2 && exponent != 3 && exponent != 4)
    return reject("attribute", "exponent: expected -1, -0.5, 0.5, 2, 3 or 4");
  const uint32_t square = binary(node, "aten.mul.Tensor", x, x);
  if (exponent == 2) return node.define(square);
  return node.define(binary(node, "aten.mul.Tensor", square, exponent == 3 ? x : square));
}

// The runtime has the logarithm of base 10.
Status write_logarithm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const uint32_t decimal = unary(node, "aten.log10.default", x);
  return node.define(binary(node, "aten.mul.Tensor", decimal, node.add_number(std::log(10.0))));
}

uint32_t floor_of(NodeWriter& node, uint32_t x) {
  const Operands met = meet(node, x, node.add_number(1));
  return node.call("aten.div.Tensor_mode", {met.a, met.b, node.file().add_text("floor")}, met.shape,
                   met.storage);
}

// The runtime rounds quotients down.
Status write_floor(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  return node.define(floor_of(node, x));
}

Status write_ceiling(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const uint32_t down = floor_of(node, unary(node, "aten.neg.default", x));
  return node.define(unary(node, "aten.neg.default", down));
}

// ---- Functions with numbers

Status write_gelu(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const std::string_view approximate = node.args().text("approximate");
  const uint32_t text = node.file().add_text(approximate.empty() ? "none" : std::string(approximate));
  return node.define(unary(node, "aten.gelu.default", x, {text}));
}

Status write_relu(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const auto convolution = node.own_convolution("self");
  if (convolution && !convolution->is_clamped) return node.define(node.set_limits("self", 0, kInfinity));
  return node.define(unary(node, "aten.relu.default", x));
}

// A part of the convolution before it, or a call.
Status write_clamp(NodeWriter& node, double low, double high) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const auto convolution = node.own_convolution("self");
  if (convolution && !convolution->is_clamped) return node.define(node.set_limits("self", low, high));
  return node.define(
      unary(node, "aten.clamp.default", x, {node.file().add_number(low), node.file().add_number(high)}));
}

Status write_clamp_op(NodeWriter& node) {
  ETB_ASSIGN(const double low, node.args().number("min", -kInfinity));
  ETB_ASSIGN(const double high, node.args().number("max", kInfinity));
  return write_clamp(node, low, high);
}

Status write_hardtanh(NodeWriter& node) {
  ETB_ASSIGN(const double low, node.args().number("min_val", -1));
  ETB_ASSIGN(const double high, node.args().number("max_val", 1));
  return write_clamp(node, low, high);
}

Status write_leaky_relu(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const double slope, node.args().number("negative_slope", 0.01));
  return node.define(unary(node, "aten.leaky_relu.default", x, {node.file().add_number(slope)}));
}

// ---- Comparisons and logic, in buffers

uint32_t negation(NodeWriter& node, uint32_t x) { return unary(node, "aten.bitwise_not.default", x); }

uint32_t both(NodeWriter& node, const char* op, uint32_t a, uint32_t b) {
  const Shape shape = broadcast(node.shape(a), node.shape(b));
  return node.call(op, {node.in(a), node.in(b)}, shape, kRowMajorBuffer, ElementType::kBool);
}

// The second operand: a tensor, or a number.
struct Compared {
  uint32_t value;
  Shape shape;
  bool is_number;
};

Result<Compared> read_compared(NodeWriter& node, uint32_t x) {
  const auto other = node.args().find("other");
  if (other && other->value()) {
    ETB_ASSIGN(const uint32_t y, node.floats_or_number("other"));
    return Compared{node.in(y), broadcast(node.shape(x), node.shape(y)), false};
  }
  ETB_ASSIGN(const double number, node.args().number("other", 0));
  return Compared{node.file().add_number(number), node.shape(x), true};
}

uint32_t compare(NodeWriter& node, const std::string& name, uint32_t x, const Compared& y) {
  const std::string op = "aten." + name + (y.is_number ? ".Scalar" : ".Tensor");
  return node.call(op.c_str(), {node.in(x), y.value}, y.shape, kRowMajorBuffer, ElementType::kBool);
}

enum class Order { kLess, kLessEqual, kGreater, kGreaterEqual };

template <Order order>
Status write_order(NodeWriter& node) {
  static constexpr const char* kNames[] = {"lt", "le", "gt", "ge"};
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Compared y, read_compared(node, x));
  return node.define(compare(node, kNames[static_cast<int>(order)], x, y));
}

// The runtime's own equality allows a difference of 1e-5, and no infinities: two comparisons are exact.
template <bool is_negated>
Status write_equality(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Compared y, read_compared(node, x));
  const uint32_t below = compare(node, "le", x, y), above = compare(node, "ge", x, y);
  const uint32_t equal = both(node, "aten.bitwise_and.Tensor", below, above);
  return node.define(is_negated ? negation(node, equal) : equal);
}

Status write_is_infinite(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  const Compared infinity{node.file().add_number(kInfinity), node.shape(x), true};
  return node.define(compare(node, "ge", unary(node, "aten.abs.default", x), infinity));
}

Status write_negation(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.bools("self"));
  return node.define(negation(node, x));
}

template <bool is_and>
Status write_logic(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t a, node.bools("self"));
  ETB_ASSIGN(const uint32_t b, node.bools("other"));
  return node.define(both(node, is_and ? "aten.bitwise_and.Tensor" : "aten.bitwise_or.Tensor", a, b));
}

Status write_where(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t condition, node.bools("condition"));
  ETB_ASSIGN(uint32_t a, node.floats_or_number("self"));
  ETB_ASSIGN(uint32_t b, node.floats_or_number("other"));
  const Shape shape = broadcast(node.shape(condition), broadcast(node.shape(a), node.shape(b)));
  a = raised(node, a, shape.rank);
  b = raised(node, b, shape.rank);
  return node.define(node.call("aten.where.self", {node.in(condition), node.in(a), node.in(b)}, shape));
}

// ---- Copies and conversions

Status write_alias(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  return node.define(x);
}

Status write_conversion(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.operand("self"));
  if (node.define(x)) return {};  // one dtype: another name
  if (node.tensor(x).type != ElementType::kBool)
    return reject("dtype", "self: a conversion that is none of bools to float32");
  const uint32_t none = node.nothing(), no = node.file().add_truth(false);
  // dtype, layout, device, pinned memory, blocking, memory format
  return node.define(
      node.call("aten._to_copy.default", {node.in(x), none, none, none, none, no, none}, node.shape(x)));
}

Status write_full(NodeWriter& node) {
  ETB_ASSIGN(const Shape out, node.result_shape());
  ETB_ASSIGN(const double number, node.args().number("fill_value", 0));
  const uint32_t one = node.add_number(number, out.rank);
  const uint32_t sizes =
      node.file().add_integers(std::vector<int64_t>(out.sizes.begin(), out.sizes.begin() + out.rank));
  return node.define(
      node.call("aten.expand_copy.default", {node.in(one), sizes, node.file().add_truth(false)}, out));
}

constexpr WrittenOp kRows[] = {
    {"aten.abs.default", write_unary},
    {"aten.neg.default", write_unary},
    {"aten.exp.default", write_unary},
    {"aten.floor.default", write_floor},
    {"aten.ceil.default", write_ceiling},
    {"aten.isinf.default", write_is_infinite},
    {"aten.log.default", write_logarithm},
    {"aten.sqrt.default", write_unary},
    {"aten.rsqrt.default", write_unary},
    {"aten.reciprocal.default", write_reciprocal},
    {"aten.sigmoid.default", write_unary},
    {"aten.tanh.default", write_unary},
    {"aten.sin.default", write_unary},
    {"aten.cos.default", write_unary},
    {"aten.square.default", write_square},
    {"aten.pow.Tensor_Scalar", write_power},
    {"aten.gelu.default", write_gelu},
    {"aten.relu.default", write_relu},
    {"aten.clamp.default", write_clamp_op},
    {"aten.hardtanh.default", write_hardtanh},
    {"aten.leaky_relu.default", write_leaky_relu},
    {"aten.add.Tensor", write_sum<false>},
    {"aten.add.Scalar", write_sum<false>},
    {"aten.sub.Tensor", write_sum<true>},
    {"aten.sub.Scalar", write_sum<true>},
    {"aten.mul.Tensor", write_product},
    {"aten.mul.Scalar", write_product},
    {"aten.div.Tensor", write_quotient},
    {"aten.div.Scalar", write_quotient},
    {"aten.minimum.default", write_minimum},
    {"aten.maximum.default", write_maximum},
    {"aten.eq.Tensor", write_equality<false>},
    {"aten.eq.Scalar", write_equality<false>},
    {"aten.ne.Tensor", write_equality<true>},
    {"aten.ne.Scalar", write_equality<true>},
    {"aten.lt.Tensor", write_order<Order::kLess>},
    {"aten.lt.Scalar", write_order<Order::kLess>},
    {"aten.le.Tensor", write_order<Order::kLessEqual>},
    {"aten.le.Scalar", write_order<Order::kLessEqual>},
    {"aten.gt.Tensor", write_order<Order::kGreater>},
    {"aten.gt.Scalar", write_order<Order::kGreater>},
    {"aten.ge.Tensor", write_order<Order::kGreaterEqual>},
    {"aten.ge.Scalar", write_order<Order::kGreaterEqual>},
    {"aten.logical_not.default", write_negation},
    {"aten.bitwise_not.default", write_negation},
    {"aten.logical_and.default", write_logic<true>},
    {"aten.bitwise_and.Tensor", write_logic<true>},
    {"aten.logical_or.default", write_logic<false>},
    {"aten.bitwise_or.Tensor", write_logic<false>},
    {"aten.where.self", write_where},
    {"aten.full_like.default", write_full},
    {"aten.clone.default", write_alias},
    {"aten.alias_copy.default", write_alias},
    {"dim_order_ops._clone_dim_order.default", write_alias},
    {"dim_order_ops._to_dim_order_copy.default", write_conversion},
};

}  // namespace

extern const WrittenOpList written_elementwise = kRows;

}  // namespace etb::gpu
