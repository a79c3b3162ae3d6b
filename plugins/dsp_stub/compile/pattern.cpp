// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/compile/pattern.hpp"

#include <algorithm>
#include <array>

#include "plugins/dsp_stub/compile/op_table.hpp"

namespace etb::dsp_stub {

namespace {

class PatternMatcher {
 public:
  PatternMatcher(const GraphFacts& facts, std::vector<uint32_t>& seen) : facts_(facts), seen_(seen) {}

  Result<Pattern> match(uint32_t quantize) {
    pattern_.quantize = quantize;
    see(quantize);
    ETB_TRY(check_sizes(facts_.graph().value(value_of(quantize))));
    ETB_ASSIGN(pattern_.params, read_params(facts_, node(quantize), value_of(quantize)));
    ETB_ASSIGN(uint32_t value, Arguments(node(quantize)).tensor("input"));
    ETB_ASSIGN(const uint32_t top, climb(value, pattern_.tail));
    const Role role = role_of(node(top).op_name());
    if (role == Role::kCore) {
      pattern_.core = top;
      see(top);
      ETB_TRY(match_operands(node(top)));
      for (const uint32_t index : pattern_.tail)
        if (role_of(node(index).op_name()) == Role::kUnary && !is_clamp(node(index).op_name()))
          return reject(kPatternReason, std::string(node(index).op_name()) + " after " +
                                            std::string(node(top).op_name()) +
                                            ", expected quantize between them");
    } else {
      ETB_ASSIGN(Operand operand, finish_operand(value_of(top), pattern_.tail));
      pattern_.operands.push_back(std::move(operand));
      pattern_.tail.clear();
    }
    std::sort(pattern_.nodes.begin(), pattern_.nodes.end());
    pattern_.nodes.erase(std::unique(pattern_.nodes.begin(), pattern_.nodes.end()), pattern_.nodes.end());
    return std::move(pattern_);
  }

 private:
  Node node(uint32_t index) const { return facts_.graph().node(index); }
  uint32_t value_of(uint32_t index) const { return node(index).first_output(); }
  void see(uint32_t index) {
    seen_.push_back(index);
    pattern_.nodes.push_back(index);
  }

  // Follows a value up through unary and move nodes; puts them into `steps`, first executed first. Returns the
  // node above them: a core or a dequantize node.
  Result<uint32_t> climb(uint32_t value, std::vector<uint32_t>& steps) {
    for (;;) {
      const uint32_t index = facts_.producer(value);
      const std::string name = "'" + std::string(facts_.graph().value(value).name()) + "': ";
      if (index == graph::kNone)
        return reject(kPatternReason,
                      name + "not computed from codes, expected dequantize -> op -> quantize");
      const Node above = node(index);
      if (is_dequantize(above) || above.op_name() == kDequantizePerChannel) return index;
      seen_.push_back(index);
      const Role role = role_of(above.op_name());
      if (role == Role::kNone)
        return reject(kPatternReason,
                      std::string(above.op_name()) +
                          ": not one of the device's ops, expected dequantize -> op -> quantize");
      if (!facts_.has_one_reader(value))
        return reject(kPatternReason, name + "a float value with more than one reader");
      if (above.first_output() != value) return reject(kPatternReason, name + "the second result of its op");
      for (const Value& made : above.results())
        if (made.id() != value && (!facts_.readers(made.id()).empty() || facts_.is_output(made.id())))
          return reject(kPatternReason,
                        "'" + std::string(made.name()) + "': a result that the device does not make");
      ETB_TRY(check_sizes(facts_.graph().value(value)));
      if (role == Role::kCore) return index;
      pattern_.nodes.push_back(index);
      steps.insert(steps.begin(), index);
      ETB_ASSIGN(value, first_tensor(above));
    }
  }

  static Result<uint32_t> first_tensor(const Node& node) {
    const std::vector<Value> operands = node.operands();
    if (operands.size() != 1)
      return reject("attribute", std::string(node.op_name()) + ": expected one tensor");
    return operands[0].id();
  }

  // Completes an operand whose dequantize node makes `value`.
  Result<Operand> finish_operand(uint32_t value, std::vector<uint32_t> steps) {
    const uint32_t index = facts_.producer(value);
    Operand out;
    out.steps = std::move(steps);
    out.dequantize = index;
    ETB_ASSIGN(out.codes, Arguments(node(index)).tensor("input"));
    out.is_constant = facts_.is_constant(out.codes);
    ETB_TRY(check_sizes(facts_.graph().value(out.codes)));
    if (is_dequantize(node(index))) {
      ETB_ASSIGN(out.params, read_params(facts_, node(index), out.codes));
    } else if (!out.is_constant) {
      return reject("quant", "a scale for each channel of a tensor that is no constant");
    }
    pattern_.nodes.push_back(index);
    seen_.push_back(index);
    return out;
  }

  Status match_operands(const Node& core) {
    const Arguments args(core);
    const CoreOp& op = *find_core(core.op_name());
    std::vector<uint32_t> values;
    if (op.is_list) {
      ETB_ASSIGN(values, args.tensors("tensors"));
    } else {
      for (const char* name : op.operands) {
        if (name == nullptr) break;
        ETB_ASSIGN(const uint32_t value, args.tensor(name));
        values.push_back(value);
      }
    }
    for (const uint32_t value : values) {
      std::vector<uint32_t> steps;
      ETB_ASSIGN(const uint32_t top, climb(value, steps));
      if (role_of(node(top).op_name()) == Role::kCore)
        return reject(kPatternReason, std::string(core.op_name()) + " of " +
                                          std::string(node(top).op_name()) +
                                          ", expected quantize between them");
      ETB_ASSIGN(Operand operand, finish_operand(value_of(top), std::move(steps)));
      pattern_.operands.push_back(std::move(operand));
    }
    return match_bias(args, op);
  }

  // A bias is a float constant, or int32 codes of the scale of the sums.
  Status match_bias(const Arguments& args, const CoreOp& op) {
    if (op.bias == nullptr || !args.has(op.bias)) return {};
    ETB_ASSIGN(const uint32_t value, args.tensor(op.bias));
    if (facts_.is_constant(value)) return {};
    const uint32_t index = facts_.producer(value);
    if (index == graph::kNone ||
        !(is_dequantize(node(index)) || node(index).op_name() == kDequantizePerChannel))
      return reject("quant", "bias: known only at run time, expected a constant");
    ETB_ASSIGN(const uint32_t codes, Arguments(node(index)).tensor("input"));
    if (!facts_.is_constant(codes) || facts_.graph().spec_of(codes).dtype != ETB_DTYPE_INT32)
      return reject("quant", "bias: no int32 constant");
    see(index);
    return {};
  }

  const GraphFacts& facts_;
  std::vector<uint32_t>& seen_;
  Pattern pattern_;
};

}  // namespace

Result<Pattern> match_pattern(const GraphFacts& facts, uint32_t quantize, std::vector<uint32_t>& out_seen) {
  return PatternMatcher(facts, out_seen).match(quantize);
}

}  // namespace etb::dsp_stub
