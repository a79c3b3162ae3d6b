// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/rules.hpp"

#include <algorithm>
#include <map>

#include "api/format/json_text.hpp"
#include "partitioner_sdk/infer/infer.hpp"
#include "partitioner_sdk/ir/argument_text.hpp"

namespace etb::passes {

namespace {

// Limits for a file from an untrusted source.
constexpr size_t kMaxTextBytes = size_t{1} << 20, kMaxRules = 1024, kMaxNodes = 64;

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, ops::CustomOps& custom_ops)
      : in_(text), file_(file), custom_ops_(custom_ops), literals_(in_, symbols_, names()) {}

  Result<std::vector<Rule>> run() {
    while (!in_.is_at_end()) {
      if (in_.take_word("op")) {
        ETB_TRY(read_op());
      } else if (in_.take_word("rule")) {
        ETB_TRY(read_rule());
      } else {
        return in_.fail("expected 'op' or 'rule'");
      }
      if (rules_.size() > kMaxRules) return in_.fail("more than " + std::to_string(kMaxRules) + " rules");
    }
    return std::move(rules_);
  }

 private:
  ir::ArgumentReader::Names names() {
    return {[this](std::string_view name) { return use_value(name); },
            [this](std::string_view) -> Result<ir::GraphRef> {
              return in_.fail("a rule cannot refer to graphs");
            }};
  }

  Status read_op() {
    std::string_view line = in_.line();
    line = line.substr(0, line.find('#'));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (Status made = custom_ops_.declare(line); !made) return in_.fail(made.error().message);
    return {};
  }

  Status read_rule() {
    rule_ = {};
    values_.clear();
    variables_.clear();
    in_.skip_blank();
    rule_.where = file_ + ":" + std::to_string(in_.line_number());
    rule_.name = in_.word();
    if (rule_.name.empty()) return in_.fail("a rule needs a name");
    ETB_TRY(read_stage());
    is_pattern_ = true;
    ETB_TRY(in_.expect("{"));
    while (!in_.take("}")) {
      if (in_.take_word("where")) {
        ETB_TRY(read_type());
      } else {
        ETB_TRY(read_node(rule_.pattern));
      }
    }
    if (rule_.pattern.empty()) return in_.fail("a pattern needs a node");
    ETB_TRY(check_pattern());
    ETB_TRY(in_.expect("to"));
    ETB_TRY(read_replacement());
    rule_.variable_count = static_cast<uint32_t>(variables_.size());
    rules_.push_back(std::move(rule_));
    return {};
  }

  Status read_stage() {
    const std::string word(in_.word());
    for (const RuleStage stage : {RuleStage::kAten, RuleStage::kEdge, RuleStage::kRest}) {
      if (word != to_text(stage)) continue;
      rule_.stage = stage;
      return {};
    }
    return in_.fail("found '" + word + "', expected aten, edge or rest");
  }

  // ---- Names. A value is defined by a node of the pattern, or is an input of the pattern.

  struct Name {
    RuleValue value = 0;
    bool is_defined = false;  // by a node
  };

  Result<ir::ValueId> use_value(std::string_view name) {
    if (name.empty()) return in_.fail("a value needs a name");
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second.value;
    if (!is_pattern_) return in_.fail("%" + std::string(name) + " does not occur in the pattern");
    return add_value(name, false);
  }

  RuleValue add_value(std::string_view name, bool is_defined) {
    const RuleValue value = rule_.value_count++;
    values_.insert_or_assign(std::string(name), Name{value, is_defined});
    return value;
  }

  Result<RuleVariable> use_variable() {
    const std::string_view name = in_.word();
    if (name.empty()) return in_.fail("a variable needs a name");
    const auto found = variables_.find(name);
    if (found != variables_.end()) return RuleVariable{found->second};
    if (!is_pattern_) return in_.fail("$" + std::string(name) + " does not occur in the pattern");
    const auto index = static_cast<uint32_t>(variables_.size());
    variables_.emplace(name, index);
    return RuleVariable{index};
  }

  Result<RuleArgument> read_argument(const ops::Argument* row) {
    if (in_.take("$")) {
      ETB_ASSIGN(const RuleVariable variable, use_variable());
      return RuleArgument(variable);
    }
    if (in_.peek_word() == "_") {
      if (!is_pattern_) return in_.fail("_ is allowed in patterns only");
      in_.word();
      return RuleArgument(Anything{});
    }
    ETB_ASSIGN(ir::Argument literal, literals_.read(row));
    return RuleArgument(std::move(literal));
  }

  // ---- Nodes.

  Result<std::vector<std::string>> read_results() {
    std::vector<std::string> names;
    do {
      if (in_.take_word("_")) {
        names.emplace_back();
        continue;
      }
      ETB_TRY(in_.expect("%"));
      names.emplace_back(in_.word());
      if (names.back().empty()) return in_.fail("a value needs a name");
      if (std::count(names.begin(), names.end(), names.back()) > 1)
        return in_.fail("%" + names.back() + " is defined twice");
    } while (in_.take(","));
    ETB_TRY(in_.expect("="));
    return names;
  }

  Status read_call(RuleNode& node) {
    node.op = in_.word();
    const ops::Schema* schema = ops::find_schema(node.op);
    if (schema == nullptr) schema = custom_ops_.find(node.op);
    if (schema == nullptr) return in_.fail("unknown op '" + node.op + "'");
    const bool writes = schema->is_in_place() || has_out_arguments(*schema);
    if (writes || node.op.rfind("higher_order.", 0) == 0)
      return in_.fail("'" + node.op +
                      "' writes to its arguments or runs graphs, which a rule cannot express");
    for (uint32_t i = 0; i < schema->argument_count(); ++i)
      node.args.emplace_back(ir::parse_default(schema->argument(i)));
    return ir::read_arguments(in_, schema, [&](size_t index, const ops::Argument* row) -> Status {
      ETB_ASSIGN(node.args[index], read_argument(row));
      return {};
    });
  }
  static bool has_out_arguments(const ops::Schema& schema) {
    for (uint32_t i = 0; i < schema.argument_count(); ++i)
      if (schema.argument(i).is_out) return true;
    return false;
  }

  Status read_node(std::vector<RuleNode>& nodes) {
    ETB_ASSIGN(const std::vector<std::string> names, read_results());
    RuleNode node;
    ETB_TRY(read_call(node));
    for (const std::string& name : names) {
      if (name.empty()) {
        node.results.push_back(ir::kNoValue);
        continue;
      }
      if (values_.count(name) != 0)
        return in_.fail("%" + name + " is defined twice, or used before its definition");
      node.results.push_back(add_value(name, true));
    }
    nodes.push_back(std::move(node));
    if (nodes.size() > kMaxNodes) return in_.fail("more than " + std::to_string(kMaxNodes) + " nodes");
    return {};
  }

  Status read_type() {
    RuleType type;
    ETB_TRY(in_.expect("%"));
    const std::string name(in_.word());
    const auto found = values_.find(name);
    if (found == values_.end()) return in_.fail("%" + name + " does not occur in the pattern");
    type.value = found->second.value;
    ETB_TRY(in_.expect(":"));
    const std::string word(in_.word());
    if (word != "_") {
      type.dtype = ops::find_dtype(word);
      if (!type.dtype) return in_.fail("unknown type '" + word + "'");
    }
    ETB_TRY(in_.expect("["));
    while (!in_.take("]")) {
      if (!type.sizes.empty()) ETB_TRY(in_.expect(","));
      ETB_ASSIGN(RuleArgument size, read_argument(nullptr));
      const auto* literal = std::get_if<ir::Argument>(&size);
      if (literal != nullptr && ir::get_if<ir::Dim>(*literal) == nullptr) return in_.fail("expected a size");
      type.sizes.push_back(std::move(size));
    }
    rule_.types.push_back(std::move(type));
    return {};
  }

  // Every node must be reachable from the last one.
  Status check_pattern() {
    std::vector<bool> is_used(rule_.value_count, false);
    for (size_t i = rule_.pattern.size(); i-- > 0;) {
      const RuleNode& node = rule_.pattern[i];
      const bool is_reached = i + 1 == rule_.pattern.size() ||
                              std::any_of(node.results.begin(), node.results.end(), [&](RuleValue value) {
                                return value != ir::kNoValue && is_used[value];
                              });
      if (!is_reached) return in_.fail("the last node of the pattern does not depend on '" + node.op + "'");
      for (const RuleArgument& argument : node.args)
        if (const auto* literal = std::get_if<ir::Argument>(&argument))
          ir::for_each_value(*literal, [&](RuleValue value) { is_used[value] = true; });
    }
    return {};
  }

  // ---- The replacement.

  Status read_replacement() {
    is_pattern_ = false;
    // The replacement must define the root's results before it can read them.
    std::map<std::string, size_t, std::less<>> wanted;
    const std::vector<RuleValue>& old_results = rule_.pattern.back().results;
    rule_.results.assign(old_results.size(), ir::kNoValue);
    for (auto name = values_.begin(); name != values_.end();) {
      const auto found = std::find(old_results.begin(), old_results.end(), name->second.value);
      const bool is_inner = name->second.is_defined;
      if (found != old_results.end()) wanted.emplace(name->first, found - old_results.begin());
      name = is_inner ? values_.erase(name) : std::next(name);
    }
    ETB_TRY(in_.expect("{"));
    while (!in_.take("}")) ETB_TRY(read_new_node());
    for (const auto& [name, index] : wanted) {
      const auto found = values_.find(name);
      if (found == values_.end()) return in_.fail("no node of the replacement defines %" + name);
      rule_.results[index] = found->second.value;
    }
    return check_results();
  }

  Status read_new_node() {
    const std::string_view before = in_.rest();
    ETB_ASSIGN(const std::vector<std::string> names, read_results());
    if (names.size() == 1 && !names[0].empty() && in_.take("%")) {
      ETB_ASSIGN(const RuleValue value, use_value(in_.word()));
      if (values_.count(names[0]) != 0) return in_.fail("%" + names[0] + " is defined twice");
      values_.emplace(names[0], Name{value, true});
      return {};
    }
    in_.rest() = before;
    return read_node(rule_.replacement);
  }

  // Results of an op without a rule can be described only if they replace results of the pattern.
  Status check_results() {
    for (const RuleNode& node : rule_.replacement) {
      if (infer::find_rule(node.op) != nullptr) continue;
      for (const RuleValue value : node.results) {
        if (value == ir::kNoValue ||
            std::find(rule_.results.begin(), rule_.results.end(), value) == rule_.results.end())
          return in_.fail("the results of '" + node.op +
                          "' cannot be inferred, so each of them must replace a result of the pattern");
      }
    }
    return {};
  }

  ir::Cursor in_;
  std::string file_;
  ops::CustomOps& custom_ops_;
  ir::SymbolTable symbols_;  // empty: sizes in rules are known numbers
  ir::ArgumentReader literals_;
  std::vector<Rule> rules_;
  Rule rule_;
  bool is_pattern_ = true;
  std::map<std::string, Name, std::less<>> values_;
  std::map<std::string, uint32_t, std::less<>> variables_;
};

}  // namespace

std::string_view to_text(RuleStage stage) {
  constexpr std::string_view kNames[] = {"aten", "edge", "rest"};
  return kNames[static_cast<size_t>(stage)];
}

Result<RuleSet> RuleSet::parse(std::string_view text, const std::string& file, ops::CustomOps& custom_ops) {
  if (text.size() > kMaxTextBytes)
    return make_error(Code::OUT_OF_RESOURCES, file + ": " + std::to_string(text.size()) + " bytes, at most " +
                                                  std::to_string(kMaxTextBytes) + " expected");
  if (const char* mark = format::find_byte_order_mark(text))
    return make_error(Code::INVALID_DATA, file + ": " + mark);
  auto rules = Reader(text, file, custom_ops).run();
  if (!rules) return make_error(Code::INVALID_DATA, file + ": " + rules.error().message);
  RuleSet out;
  out.rules_ = *std::move(rules);
  return out;
}

}  // namespace etb::passes
