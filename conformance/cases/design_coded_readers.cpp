// SPDX-License-Identifier: Apache-2.0
// Patterns between codes with a value that something else reads, too: the dequantised operand, the real result, or that
// before a clamp. A plugin that computes such a pattern on integers has no real value to give. Operands have scales of 1:
// all reals are whole numbers.
#include <string>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

enum class Op { kAdd, kSub, kMul, kLinear, kConvolution, kRelu };
struct OpRow {
  Op op;
  const char* name;
  double result_scale;  // its codes hold nearly all results
};
constexpr OpRow kOps[] = {{Op::kAdd, "aten.add.Tensor", 2},
                          {Op::kSub, "aten.sub.Tensor", 2},
                          {Op::kMul, "aten.mul.Tensor", 128},
                          {Op::kLinear, "aten.linear.default", 512},
                          {Op::kConvolution, "aten.convolution.default", 512},
                          {Op::kRelu, "aten.relu.default", 1}};

// The value that has another reader.
enum class Inner { kOperand, kResult, kBeforeRelu };
constexpr std::pair<Inner, const char*> kInner[] = {
    {Inner::kOperand, "operand"}, {Inner::kResult, "result"}, {Inner::kBeforeRelu, "before_relu"}};

// The other reader: the host, or an op outside of the pattern.
enum class Reader { kHost, kNode };

constexpr int64_t kZero = 3, kSecondZero = -7, kResultZero = 11;

Convolution image() { return even_convolution(ETB_DTYPE_FLOAT32, {3, 4, 1}, {6, 5}, 3, 1, 1); }

struct Shapes {
  Sizes first, second, result;
};

Shapes shapes_of(Op op) {
  if (op == Op::kLinear) return {{5, 12}, {8, 12}, {5, 8}};
  if (op == Op::kConvolution)
    return {image().input_shape().sizes, image().weight_shape().sizes, image().result_shape().sizes};
  return {{2, 3, 5}, {2, 3, 5}, {2, 3, 5}};
}

// Adds the op on the real operands.
uint32_t add_op(FormNodes& nodes, const OpRow& row, uint32_t a, uint32_t b, const Shape& real) {
  const graph::ArgumentDesc none = graph::none_arg("bias");
  switch (row.op) {
    case Op::kLinear:
      return nodes.add(row.name, {value_arg(a, "input"), value_arg(b, "weight"), none}, real);
    case Op::kConvolution:
      return nodes.add(row.name, convolution_args(image(), a, b, none), real);
    case Op::kRelu:
      return nodes.add(row.name, {value_arg(a, "self")}, real);
    default:
      return nodes.add(row.name, {value_arg(a, "self"), value_arg(b, "other")}, real);
  }
}

OpForm form_of(const OpRow& row, Inner inner, Reader reader) {
  constexpr etb_dtype kCode = ETB_DTYPE_INT8, kReal = ETB_DTYPE_FLOAT32;
  const Shapes sizes = shapes_of(row.op);
  const bool has_weight = row.op == Op::kLinear || row.op == Op::kConvolution;
  const CodeRange& second = has_weight ? kWeightCodes : kInt8;
  OpForm form;
  form.op = row.name;
  form.group = "quant";
  form.operands = {{{kCode, sizes.first, {}}, Values::kStatistical, kInt8.domain()}};
  if (row.op != Op::kRelu)
    form.operands.push_back({{kCode, sizes.second, {}}, Values::kStatistical, second.domain(), has_weight});
  const auto first = static_cast<uint32_t>(form.operands.size());
  const Shape real{kReal, sizes.result, {}};
  for (const bool is_reference : {false, true}) {
    FormNodes nodes(is_reference ? form.reference.nodes : form.nodes, first);
    const uint32_t a =
        nodes.add(kDequantise, tensor_quant_args(0, 1, kZero, kInt8), Shape{kReal, sizes.first, {}});
    const uint32_t b =
        row.op == Op::kRelu
            ? a
            : nodes.add(kDequantise, tensor_quant_args(1, 1, has_weight ? 0 : kSecondZero, second),
                        Shape{kReal, sizes.second, {}});
    const uint32_t y = add_op(nodes, row, a, b, real);
    const uint32_t z =
        inner == Inner::kBeforeRelu ? nodes.add("aten.relu.default", {value_arg(y, "self")}, real) : y;
    uint32_t other = inner == Inner::kOperand ? a : y;
    if (reader == Reader::kNode)
      other = nodes.add("aten.neg.default", {value_arg(other, "self")},
                        inner == Inner::kOperand ? Shape{kReal, sizes.first, {}} : real);
    const uint32_t codes =
        is_reference ? add_real_codes(nodes, z, row.result_scale, kResultZero, kInt8, real)
                     : nodes.add(kQuantise, tensor_quant_args(z, row.result_scale, kResultZero, kInt8),
                                 Shape{kCode, sizes.result, {}});
    (is_reference ? form.reference.outputs : form.outputs) = {other - first, codes - first};
  }
  form.error_model = code_model(kResultZero);
  return form;
}

}  // namespace

void add_coded_readers(CaseList& out) {
  for (const OpRow& row : kOps)
    for (const auto& [inner, word] : kInner)
      for (const Reader reader : {Reader::kHost, Reader::kNode}) {
        if (row.op == Op::kRelu && inner == Inner::kBeforeRelu) continue;
        OpForm form = form_of(row, inner, reader);
        form.word = std::string("read_elsewhere.") + word + (reader == Reader::kHost ? ".host" : ".node");
        add_form(out, ETB_DTYPE_INT8, std::move(form));
      }
}

}  // namespace etb::conformance
