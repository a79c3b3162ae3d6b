// SPDX-License-Identifier: Apache-2.0
// Matrix products. A constant second factor may be transposed: it is packed at load.
#include <limits>
#include <optional>

#include "plugins/gpu/compile/element_nodes.hpp"
#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/compile/row_pieces.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

GpuNode matmul_node(std::vector<uint32_t> inputs, bool is_transposed, double alpha, double beta) {
  return {Operator::kMatmul,
          std::move(inputs),
          kNoValue,
          {is_transposed ? 1 : 0},
          {static_cast<float>(alpha), static_cast<float>(beta), -kInfinity, kInfinity}};
}

Status add_matmul(LoweringContext& context, std::vector<uint32_t> inputs, bool is_transposed,
                  double alpha = 1, double beta = 1) {
  return context.add_result_node(matmul_node(std::move(inputs), is_transposed, alpha, beta));
}

Status lower_mm(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t a, context.operand("self"));
  ETB_ASSIGN(const uint32_t b, context.operand("mat2"));
  return add_matmul(context, {a, b}, false);
}

Status lower_addmm(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const uint32_t a, context.operand("mat1"));
  ETB_ASSIGN(const uint32_t b, context.operand("mat2"));
  ETB_ASSIGN(const double alpha, context.args().number("alpha", 1));
  ETB_ASSIGN(const double beta, context.args().number("beta", 1));
  if (beta == 0)
    return add_matmul(context, {a, b}, false, alpha);  // NaN in an operand that counts nothing is not read
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  const etb_graph_spec spec = context.spec(value);
  const auto is_one = [&](uint32_t d) { return spec.sizes[d] == 1 && (spec.dynamic_dims >> d & 1) == 0; };
  const bool is_vector = spec.rank == 0 || (spec.rank == 1 && !context.is_dynamic(value, 0)) ||
                         (spec.rank == 2 && (is_one(0) || is_one(1)));
  if (is_vector) return add_matmul(context, {a, b, self}, false, alpha, beta);
  const uint32_t product = context.add_node(matmul_node({a, b}, false, alpha, 1));
  return context.add_result_node(binary_node(BinaryFunction::kAdd, product, self, static_cast<float>(beta)));
}

// Each piece of the weight makes columns of the result.
Status lower_large_linear(LoweringContext& context, uint32_t matrix, const Shape& shape,
                          std::span<const RowPiece> pieces) {
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  std::optional<uint32_t> bias;
  if (context.args().has("bias")) {
    ETB_ASSIGN(bias, context.operand("bias"));
  }
  GpuNode all{Operator::kCat, {}, kNoValue, {static_cast<int32_t>(context.spec(context.result()).rank) - 1}};
  for (const RowPiece& piece : pieces) {
    Shape part = shape;
    part.sizes[0] = piece.count;
    ETB_ASSIGN(const uint32_t rows,
               context.constant_part(matrix, uint64_t{piece.first} * shape.sizes[1], part));
    std::vector<uint32_t> inputs = {input, rows};
    const auto begin = static_cast<int32_t>(piece.first),
               end = static_cast<int32_t>(piece.first + piece.count);
    if (bias) inputs.push_back(context.add_node({Operator::kSlice, {*bias}, kNoValue, {0, begin, end, 1}}));
    all.inputs.push_back(context.add_node(matmul_node(std::move(inputs), true, 1, 1)));
  }
  return context.add_result_node(std::move(all));
}

// weight [outputs, inputs]
Status lower_linear(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t matrix, context.args().tensor("weight"));
  if (context.is_constant(matrix) && context.spec(matrix).rank == 2) {
    ETB_ASSIGN(const Shape shape, context.bounds(matrix));
    if (const std::vector<RowPiece> pieces = find_row_pieces(shape); pieces.size() > 1)
      return lower_large_linear(context, matrix, shape, pieces);
  }
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  ETB_ASSIGN(const uint32_t weight, context.constant("weight"));
  std::vector<uint32_t> inputs = {input, weight};
  if (context.args().has("bias")) {
    ETB_ASSIGN(const uint32_t bias, context.operand("bias"));
    inputs.push_back(bias);
  }
  if (context.graph().value(weight).shape.rank != 2) return reject("rank", "weight, expected a matrix");
  return add_matmul(context, std::move(inputs), true);
}

constexpr Op kRows[] = {
    {"aten.mm.default", lower_mm, 2, 2},
    {"aten.bmm.default", lower_mm, 3, 3},
    {"aten.addmm.default", lower_addmm, 0, 2},
    {"aten.linear.default", lower_linear, 1, kMaxRank, "The weight is a constant matrix.", true},
};

}  // namespace

extern const OpList products_ops = kRows;

}  // namespace etb::gpu
