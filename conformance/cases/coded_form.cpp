// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/coded_form.hpp"

#include <algorithm>
#include <cmath>

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::value_arg;

Shape real_of(Shape shape) {
  shape.dtype = ETB_DTYPE_FLOAT32;
  return shape;
}

// Every code, in an order that is not that of memory.
Operand codes_operand(const Shape& shape, const CodeRange& codes) {
  Operand out{shape, Values::kStatistical, codes.domain()};
  out.fill = [codes](TensorData& data, Random& random) {
    const int64_t count = codes.high - codes.low + 1, start = random.between(0, count - 1);
    data = filled(data.shape,
                  [&](int64_t i) { return static_cast<double>(codes.low + (start + i * 37) % count); });
  };
  return out;
}

std::string coding_word(const Coding& from, const Coding& to) {
  return ".s" + real_text(from.scale) + "_z" + number_text(from.zero) + "_to_s" + real_text(to.scale) + "_z" +
         number_text(to.zero);
}

// The codes of the result as reals, by a formula of one operand.
void compute_codes(const Coded& coded, OpForm& form) {
  form.results = {coded.result};
  compute_reference(form,
                    {[from = coded.from[0], to = coded.to,
                      formula = coded.formula](const std::vector<TensorData>& operands) {
                      Elements out = elements_of(operands[0]);
                      for (double& code : out) {
                        const double y = formula((code - static_cast<double>(from.zero)) * from.scale);
                        const double real = y / to.scale + static_cast<double>(to.zero);
                        code = std::min(std::max(real, static_cast<double>(to.codes.low)),
                                        static_cast<double>(to.codes.high));
                      }
                      return out;
                    }},
                    true);
  form.results.clear();
}

}  // namespace

int64_t zero_at(const CodeRange& codes, double place) {
  return codes.low + static_cast<int64_t>(std::lround(place * static_cast<double>(codes.high - codes.low)));
}

OpForm coded_form(const Coded& coded) {
  OpForm form;
  form.op = coded.op;
  form.group = "quant";
  form.word = coded.word + coding_word(coded.from[0], coded.to);
  for (size_t i = 0; i < coded.operands.size(); ++i)
    form.operands.push_back(codes_operand(coded.operands[i], coded.from[i].codes));
  for (const bool is_reference : {false, true}) {
    if (is_reference && coded.formula != nullptr) {
      compute_codes(coded, form);
      break;
    }
    FormNodes nodes(is_reference ? form.reference.nodes : form.nodes, form.operands.size());
    std::vector<uint32_t> values;
    for (uint32_t i = 0; i < coded.operands.size(); ++i)
      values.push_back(nodes.add(
          kDequantise, tensor_quant_args(i, coded.from[i].scale, coded.from[i].zero, coded.from[i].codes),
          real_of(coded.operands[i])));
    uint32_t y = nodes.add(coded.op, coded.args(values), real_of(coded.result));
    for (const auto& [op, more] : coded.tail) {
      std::vector<ArgumentDesc> args = {value_arg(y, "self")};
      args.insert(args.end(), more.begin(), more.end());
      y = nodes.add(op, std::move(args), real_of(coded.result));
    }
    if (is_reference)
      add_real_codes(nodes, y, coded.to.scale, coded.to.zero, coded.to.codes, real_of(coded.result));
    else
      nodes.add(kQuantise, tensor_quant_args(y, coded.to.scale, coded.to.zero, coded.to.codes), coded.result);
  }
  form.error_model = code_model(coded.to.zero);
  return form;
}

}  // namespace etb::conformance
