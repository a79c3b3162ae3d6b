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

class Reader : graph::TextNames, graph::ArgumentParser {
 public:
  Reader(std::string_view text, const std::string& file, ops::CustomOps& custom_ops)
      : ArgumentParser(text, graph::Dialect::kModule, *this), file_(file), custom_ops_(custom_ops) {}

  Result<std::vector<Rule>> run() {
    ETB_TRY(advance());
    while (token_.kind != graph::TokenKind::kEnd) {
      if (token_.is_word("op")) {
        ETB_TRY(read_op());
      } else if (token_.is_word("rule")) {
        ETB_TRY(read_rule());
      } else {
        return unexpected("op or rule");
      }
      if (rules_.size() > kMaxRules) return fail("more than " + std::to_string(kMaxRules) + " rules");
    }
    return std::move(rules_);
  }

 private:
  using Token = graph::Token;
  using TokenKind = graph::TokenKind;

  static tl::unexpected<Error> invalid(std::string message) {
    return make_error(Code::INVALID_DATA, std::move(message));
  }

  Status read_op() {
    const graph::TextPosition first = token_;
    ETB_ASSIGN(const std::string declaration, take_rest_of_line());
    return at(first, custom_ops_.declare(declaration));
  }

  Status read_rule() {
    ETB_TRY(advance());
    rule_ = {};
    found_values_.clear();
    variables_.clear();
    rule_.where = file_ + ":" + std::to_string(token_.line);
    ETB_ASSIGN(rule_.name, take(TokenKind::kWord, "the name of a rule"));
    ETB_TRY(read_stage());
    is_pattern_ = true;
    ETB_TRY(expect("{"));
    while (!token_.is("}")) {
      if (token_.is_word("where")) {
        ETB_TRY(read_type());
      } else {
        ETB_TRY(read_node(rule_.pattern));
      }
    }
    if (rule_.pattern.empty()) return fail("a pattern needs a node");
    ETB_TRY(check_pattern());
    ETB_TRY(advance());
    ETB_TRY(expect_word("to"));
    ETB_TRY(read_replacement());
    rule_.variable_count = static_cast<uint32_t>(variables_.size());
    rules_.push_back(std::move(rule_));
    return {};
  }

  Status read_stage() {
    for (const RuleStage stage : {RuleStage::kAten, RuleStage::kEdge, RuleStage::kRest}) {
      if (!token_.is_word(to_text(stage))) continue;
      rule_.stage = stage;
      return advance();
    }
    return fail("found '" + std::string(token_.text) + "', expected aten, edge or rest");
  }

  // ---- Names. A value is defined by a node of the pattern, or is an input of the pattern.

  struct Name {
    RuleValue value = 0;
    bool is_defined = false;  // by a node
  };

  Result<Value> find_value(std::string_view name) override {
    if (name.empty()) return invalid("a value needs a name");
    const auto found = found_values_.find(name);
    if (found != found_values_.end()) return Value{found->second.value};
    if (!is_pattern_) return invalid("%" + std::string(name) + " does not occur in the pattern");
    return Value{add_value(name, false)};
  }
  graph::TextTerms& terms() override { return terms_; }

  RuleValue add_value(std::string_view name, bool is_defined) {
    const RuleValue value = rule_.value_count++;
    found_values_.insert_or_assign(std::string(name), Name{value, is_defined});
    return value;
  }

  // "$" has been consumed.
  Result<RuleVariable> read_variable() {
    const Token token = token_;
    ETB_ASSIGN(const std::string name, take(TokenKind::kWord, "the name of a variable"));
    const auto found = variables_.find(name);
    if (found != variables_.end()) return RuleVariable{found->second};
    if (!is_pattern_)
      return graph::text_error(token.line, token.column, "$" + name + " does not occur in the pattern");
    const auto index = static_cast<uint32_t>(variables_.size());
    variables_.emplace(name, index);
    return RuleVariable{index};
  }

  Result<RuleArgument> read_argument(const ops::Argument* row) {
    ETB_ASSIGN(const bool is_variable, accept("$"));
    if (is_variable) {
      ETB_ASSIGN(const RuleVariable variable, read_variable());
      return RuleArgument(variable);
    }
    if (token_.is_word("_")) {
      if (!is_pattern_) return fail("_ is allowed in patterns only");
      ETB_TRY(advance());
      return RuleArgument(Anything{});
    }
    const graph::TextPosition first = token_;
    ETB_ASSIGN(const graph::ArgumentDesc text, parse_argument());
    ETB_ASSIGN(ir::Argument literal, at(first, ir::to_argument(text, terms_, row)));
    return RuleArgument(std::move(literal));
  }

  // ---- Nodes.

  Result<std::vector<std::string>> read_results() {
    std::vector<std::string> names;
    for (bool has_more = true; has_more;) {
      std::string name;
      ETB_ASSIGN(const bool is_ignored, accept_word("_"));
      if (!is_ignored) {
        if (std::count(names.begin(), names.end(), token_.name) > 0)
          return fail("%" + token_.name + " is defined twice");
        ETB_ASSIGN(name, take(TokenKind::kValueName, "%name of a value"));
        if (name.empty()) return fail("a value needs a name");
      }
      names.push_back(std::move(name));
      ETB_ASSIGN(has_more, accept(","));
    }
    ETB_TRY(expect("="));
    return names;
  }

  Status read_call(RuleNode& node) {
    const graph::TextPosition first = token_;
    ETB_ASSIGN(node.op, take(TokenKind::kWord, "the name of an op"));
    const ops::Schema* schema = ops::find_schema(node.op);
    if (schema == nullptr) schema = custom_ops_.find(node.op);
    if (schema == nullptr) return graph::text_error(first.line, first.column, "unknown op '" + node.op + "'");
    const bool writes = schema->is_in_place() || has_out_arguments(*schema);
    if (writes || node.op.rfind("higher_order.", 0) == 0)
      return graph::text_error(
          first.line, first.column,
          "'" + node.op + "' writes to its arguments or runs graphs, which a rule cannot express");
    for (uint32_t i = 0; i < schema->argument_count(); ++i)
      node.args.emplace_back(ir::parse_default(schema->argument(i)));
    ir::ArgumentSlots slots(schema);
    ETB_TRY(parse_arguments([&](const std::string& name) -> Status {
      ETB_ASSIGN(const size_t index, at(token_, slots.place(name)));
      const std::optional<ops::Argument> row = slots.row(index);
      ETB_ASSIGN(node.args[index], read_argument(&*row));
      return {};
    }));
    return at(first, slots.check_complete());
  }
  static bool has_out_arguments(const ops::Schema& schema) {
    for (uint32_t i = 0; i < schema.argument_count(); ++i)
      if (schema.argument(i).is_out) return true;
    return false;
  }

  Status read_node(std::vector<RuleNode>& nodes) {
    ETB_ASSIGN(const std::vector<std::string> names, read_results());
    return read_node(nodes, names);
  }

  Status read_node(std::vector<RuleNode>& nodes, const std::vector<std::string>& names) {
    RuleNode node;
    ETB_TRY(read_call(node));
    for (const std::string& name : names) {
      if (name.empty()) {
        node.results.push_back(ir::kNoValue);
        continue;
      }
      if (found_values_.count(name) != 0)
        return fail("%" + name + " is defined twice, or used before its definition");
      node.results.push_back(add_value(name, true));
    }
    nodes.push_back(std::move(node));
    if (nodes.size() > kMaxNodes) return fail("more than " + std::to_string(kMaxNodes) + " nodes");
    return {};
  }

  Status read_type() {
    ETB_TRY(advance());
    RuleType type;
    const auto found = found_values_.find(token_.name);
    if (token_.kind == TokenKind::kValueName && found == found_values_.end())
      return fail("%" + token_.name + " does not occur in the pattern");
    ETB_TRY(take(TokenKind::kValueName, "%name of a value"));
    type.value = found->second.value;
    ETB_TRY(expect(":"));
    if (!token_.is_word("_")) {
      const std::optional<int64_t> dtype = dtype_of_token();
      if (!dtype) return fail("unknown type '" + std::string(token_.text) + "'");
      type.dtype = static_cast<ir::Dtype>(*dtype);
    }
    ETB_TRY(advance());
    ETB_TRY(expect("["));
    while (!token_.is("]")) {
      if (!type.sizes.empty()) ETB_TRY(expect(","));
      ETB_ASSIGN(RuleArgument size, read_argument(nullptr));
      const auto* literal = std::get_if<ir::Argument>(&size);
      if (literal != nullptr && ir::get_if<ir::Dim>(*literal) == nullptr) return fail("expected a size");
      type.sizes.push_back(std::move(size));
    }
    rule_.types.push_back(std::move(type));
    return advance();
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
      if (!is_reached) return fail("the last node of the pattern does not depend on '" + node.op + "'");
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
    for (auto name = found_values_.begin(); name != found_values_.end();) {
      const auto found = std::find(old_results.begin(), old_results.end(), name->second.value);
      const bool is_inner = name->second.is_defined;
      if (found != old_results.end()) wanted.emplace(name->first, found - old_results.begin());
      name = is_inner ? found_values_.erase(name) : std::next(name);
    }
    ETB_TRY(expect("{"));
    while (!token_.is("}")) ETB_TRY(read_new_node());
    for (const auto& [name, index] : wanted) {
      const auto found = found_values_.find(name);
      if (found == found_values_.end()) return fail("no node of the replacement defines %" + name);
      rule_.results[index] = found->second.value;
    }
    ETB_TRY(check_results());
    return advance();
  }

  Status read_new_node() {
    ETB_ASSIGN(const std::vector<std::string> names, read_results());
    if (names.size() != 1 || names[0].empty() || token_.kind != TokenKind::kValueName)
      return read_node(rule_.replacement, names);
    ETB_ASSIGN(const Value value, take_value());
    if (found_values_.count(names[0]) != 0) return fail("%" + names[0] + " is defined twice");
    found_values_.emplace(names[0], Name{value.index, true});
    return {};
  }

  // Results of an op without a rule can be described only if they replace results of the pattern.
  Status check_results() {
    for (const RuleNode& node : rule_.replacement) {
      if (infer::find_rule(node.op) != nullptr) continue;
      for (const RuleValue value : node.results) {
        if (value == ir::kNoValue ||
            std::find(rule_.results.begin(), rule_.results.end(), value) == rule_.results.end())
          return fail("the results of '" + node.op +
                      "' cannot be inferred, so each of them must replace a result of the pattern");
      }
    }
    return {};
  }

  std::string file_;
  ops::CustomOps& custom_ops_;
  ir::SymbolTable symbols_;  // sizes in rules are known numbers
  ir::Terms terms_{symbols_};
  std::vector<Rule> rules_;
  Rule rule_;
  bool is_pattern_ = true;
  std::map<std::string, Name, std::less<>> found_values_;
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
