// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/builder.hpp"
#include "partitioner_sdk/passes/rules.hpp"

namespace etb::passes {

namespace {

// Rules that replace one node by two would double the graph again and again.
constexpr size_t kMaxGrowth = 16, kGrowthSlack = 4096;

// A match of a pattern: its nodes, and the values bound to its names.
struct Match {
  std::vector<size_t> nodes;  // ascending; the last one is the root
  std::vector<ValueId> values;
  std::vector<Argument> variables;
};

// The definition of a value, and the number of its uses.
struct ValueFacts {
  uint32_t node = ir::kNone;
  uint32_t result = 0;
  uint32_t use_count = 0;
};

bool are_equal(const Argument& wanted, const Argument& found) {
  if (wanted == found) return true;
  // 1 and 1.0 are equal here: most authors of rules do not distinguish them.
  const Dim* integer = ir::get_if<Dim>(wanted) != nullptr ? ir::get_if<Dim>(wanted) : ir::get_if<Dim>(found);
  const double* number =
      ir::get_if<double>(wanted) != nullptr ? ir::get_if<double>(wanted) : ir::get_if<double>(found);
  return integer != nullptr && number != nullptr && integer->is_static() &&
         static_cast<double>(integer->value()) == *number;
}

// Matches the pattern of one rule in nodes that do not change meanwhile.
class Matcher {
 public:
  Matcher(const ir::Module& module, const ir::Graph& graph, std::span<const ir::Node> nodes, const Rule& rule)
      : graph_(graph), nodes_(nodes), rule_(rule), facts_(graph.values.size()) {
    for (const RuleNode& node : rule.pattern) ops_.push_back(*module.find_op(node.op));
    for (size_t i = 0; i < rule.pattern.size(); ++i) {
      for (size_t k = 0; k < rule.pattern[i].results.size(); ++k) {
        const RuleValue value = rule.pattern[i].results[k];
        if (value != ir::kNoValue) definitions_.push_back({value, i, k});
      }
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (size_t k = 0; k < nodes[i].outputs.size(); ++k) {
        facts_[nodes[i].outputs[k]].node = static_cast<uint32_t>(i);
        facts_[nodes[i].outputs[k]].result = static_cast<uint32_t>(k);
      }
      for (const Argument& argument : nodes[i].args) count_uses(argument);
    }
    for (const ir::Output& output : graph.outputs) count_uses(output.value);
  }

  // Matches with node `index` as the root; `is_taken` marks the nodes of other matches.
  std::optional<Match> match(size_t index, const std::vector<bool>& is_taken) {
    if (nodes_[index].op != ops_.back() || is_taken[index]) return std::nullopt;
    match_ = {{}, std::vector<ValueId>(rule_.value_count, ir::kNoValue), {}};
    match_.variables.assign(rule_.variable_count, Nothing{});
    is_bound_.assign(rule_.variable_count, false);
    node_of_.assign(rule_.pattern.size(), ir::kNone);
    if (!match_node(rule_.pattern.size() - 1, static_cast<uint32_t>(index), is_taken)) return std::nullopt;
    for (const RuleType& type : rule_.types)
      if (!match_type(type)) return std::nullopt;
    for (const uint32_t node : node_of_) match_.nodes.push_back(node);
    std::sort(match_.nodes.begin(), match_.nodes.end());
    if (!has_only_inner_uses()) return std::nullopt;
    return match_;
  }

 private:
  struct Definition {
    RuleValue value;
    size_t node, result;
  };

  void count_uses(const Argument& argument) {
    ir::for_each_value(argument, [&](ValueId id) { ++facts_[id].use_count; });
  }

  bool match_node(size_t wanted, uint32_t index, const std::vector<bool>& is_taken) {
    if (node_of_[wanted] != ir::kNone) return node_of_[wanted] == index;
    const ir::Node& node = nodes_[index];
    const RuleNode& pattern = rule_.pattern[wanted];
    if (node.op != ops_[wanted] || is_taken[index] || node.outputs.size() < pattern.results.size())
      return false;
    if (std::find(node_of_.begin(), node_of_.end(), index) != node_of_.end()) return false;
    node_of_[wanted] = index;
    for (size_t i = 0; i < pattern.results.size(); ++i)
      if (pattern.results[i] != ir::kNoValue) match_.values[pattern.results[i]] = node.outputs[i];
    for (size_t i = 0; i < pattern.args.size(); ++i)
      if (!match_argument(pattern.args[i], node.args[i], is_taken)) return false;
    return true;
  }

  bool match_argument(const RuleArgument& wanted, const Argument& found, const std::vector<bool>& is_taken) {
    if (std::get_if<Anything>(&wanted) != nullptr) return true;
    if (const auto* variable = std::get_if<RuleVariable>(&wanted)) return bind(variable->index, found);
    const Argument& literal = std::get<Argument>(wanted);
    if (const auto* ref = ir::get_if<ValueRef>(literal)) {
      const auto* other = ir::get_if<ValueRef>(found);
      return other != nullptr && match_value(ref->id, other->id, is_taken);
    }
    if (const auto* list = ir::get_if<ir::ValueList>(literal)) {
      const auto* other = ir::get_if<ir::ValueList>(found);
      if (other == nullptr || other->ids.size() != list->ids.size()) return false;
      for (size_t i = 0; i < list->ids.size(); ++i) {
        const bool is_none = list->ids[i] == ir::kNoValue;
        if (is_none != (other->ids[i] == ir::kNoValue)) return false;
        if (!is_none && !match_value(list->ids[i], other->ids[i], is_taken)) return false;
      }
      return true;
    }
    return are_equal(literal, found);
  }

  bool bind(uint32_t variable, const Argument& found) {
    if (is_bound_[variable]) return are_equal(match_.variables[variable], found);
    is_bound_[variable] = true;
    match_.variables[variable] = found;
    return true;
  }

  bool match_value(RuleValue wanted, ValueId found, const std::vector<bool>& is_taken) {
    const auto definition = std::find_if(definitions_.begin(), definitions_.end(),
                                         [&](const Definition& row) { return row.value == wanted; });
    if (definition == definitions_.end()) {
      ValueId& known = match_.values[wanted];
      if (known != ir::kNoValue) return known == found;
      if (graph_.values[found].kind != ir::ValueKind::kTensor) return false;
      known = found;
      return true;
    }
    const ValueFacts& facts = facts_[found];
    return facts.node != ir::kNone && facts.result == definition->result &&
           match_node(definition->node, facts.node, is_taken);
  }

  bool match_type(const RuleType& type) {
    const TensorSpec& spec = graph_.values[match_.values[type.value]].spec;
    if ((type.dtype && spec.dtype != *type.dtype) || spec.rank() != type.sizes.size()) return false;
    for (size_t i = 0; i < type.sizes.size(); ++i) {
      if (const auto* variable = std::get_if<RuleVariable>(&type.sizes[i])) {
        if (!bind(variable->index, spec.sizes[i])) return false;
      } else if (const auto* literal = std::get_if<Argument>(&type.sizes[i])) {
        if (*literal != Argument(spec.sizes[i])) return false;
      }
    }
    return true;
  }

  // True when no node outside the match reads a removed value.
  bool has_only_inner_uses() const {
    const size_t root = match_.nodes.back();
    std::vector<ValueId> used;
    for (const size_t index : match_.nodes) {
      for (const Argument& argument : nodes_[index].args)
        ir::for_each_value(argument, [&](ValueId id) { used.push_back(id); });
    }
    const auto is_unneeded = [&](ValueId id) {
      return static_cast<size_t>(std::count(used.begin(), used.end(), id)) == facts_[id].use_count;
    };
    for (const size_t index : match_.nodes) {
      const ir::Node& node = nodes_[index];
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const bool is_replaced =
            index == root && i < rule_.results.size() && rule_.results[i] != ir::kNoValue;
        if (!is_replaced && !is_unneeded(node.outputs[i])) return false;
      }
    }
    return true;
  }

  const ir::Graph& graph_;
  std::span<const ir::Node> nodes_;
  const Rule& rule_;
  std::vector<ValueFacts> facts_;
  std::vector<ir::OpId> ops_;  // by node of the pattern
  std::vector<Definition> definitions_;
  Match match_;
  std::vector<bool> is_bound_;
  std::vector<uint32_t> node_of_;  // by node of the pattern
};

// Rewrites the graph: the rule's replacement takes the position of each match.
class Rewriter {
 public:
  Rewriter(ir::Module& module, ir::Graph& graph, const Rule& rule)
      : module_(module), graph_(graph), rule_(rule), b_(module, graph), nodes_(b_.take_old_nodes()) {}

  // True when something changed. After a fault the remaining matches stay unchanged.
  Result<bool> run() {
    const std::vector<std::optional<Match>> matches = find_matches();
    bool is_changed = false;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      b_.substitute(nodes_[i]);
      if (!matches[i]) {
        if (!is_taken_[i]) b_.keep(std::move(nodes_[i]));
        continue;
      }
      if (!fault_ && take(*matches[i], nodes_[i])) {
        is_changed = true;
      } else {
        for (const size_t index : matches[i]->nodes) b_.keep(std::move(nodes_[index]));
      }
    }
    ETB_TRY(b_.finish());
    return is_changed;
  }

  const std::optional<Error>& fault() const { return fault_; }

 private:
  std::vector<std::optional<Match>> find_matches() {
    std::vector<std::optional<Match>> matches(nodes_.size());
    is_taken_.assign(nodes_.size(), false);
    Matcher matcher(module_, graph_, nodes_, rule_);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      matches[i] = matcher.match(i, is_taken_);
      if (!matches[i]) continue;
      for (const size_t index : matches[i]->nodes) is_taken_[index] = true;
    }
    return matches;
  }

  bool take(const Match& match, const ir::Node& root) {
    b_.set_origin(root);
    const Status made = replace(match, root);
    if (made) return true;
    const std::string at = ir::format_source(module_, root.source);
    fault_ = Error{made.error().code,
                   rule_.where + ": rule '" + rule_.name + "' at '" + module_.op(root).name + "'" +
                       (at.empty() ? "" : " (" + at + ")") + ": " + made.error().message,
                   {},
                   0};
    return false;
  }

  Argument instantiate(const RuleArgument& wanted, const Match& match) const {
    if (const auto* variable = std::get_if<RuleVariable>(&wanted)) {
      Argument out = match.variables[variable->index];
      ir::for_each_value(out, [&](ValueId& id) { id = b_.current(id); });
      return out;
    }
    Argument out = std::get<Argument>(wanted);
    ir::for_each_value(out, [&](ValueId& id) { id = b_.current(match.values[id]); });
    return out;
  }

  Status replace(Match match, const ir::Node& root) {
    for (const RuleNode& wanted : rule_.replacement) {
      std::vector<Argument> args;
      for (const RuleArgument& argument : wanted.args) args.push_back(instantiate(argument, match));
      ETB_TRY(check_arguments(wanted, args));
      std::vector<ValueId> made = infer::find_rule(wanted.op) != nullptr
                                      ? b_.call_all(wanted.op, std::move(args))
                                      : add_like(wanted, std::move(args), root);
      if (b_.has_failed()) return tl::make_unexpected(b_.take_error());
      if (made.size() < wanted.results.size())
        return make_error(Code::INVALID_ARGUMENT,
                          "'" + wanted.op + "' returns " + std::to_string(made.size()) +
                              " results, the rule names " + std::to_string(wanted.results.size()));
      for (size_t i = 0; i < wanted.results.size(); ++i)
        if (wanted.results[i] != ir::kNoValue) match.values[wanted.results[i]] = made[i];
    }
    const auto new_result = [&](size_t i) { return b_.current(match.values[rule_.results[i]]); };
    for (size_t i = 0; i < rule_.results.size(); ++i)
      if (rule_.results[i] != ir::kNoValue) ETB_TRY(check(root.outputs[i], new_result(i)));
    for (size_t i = 0; i < rule_.results.size(); ++i)
      if (rule_.results[i] != ir::kNoValue) b_.replace(root.outputs[i], new_result(i));
    return {};
  }

  // A variable may be bound to an argument of any kind.
  Status check_arguments(const RuleNode& wanted, const std::vector<Argument>& args) const {
    const ops::Schema& schema = *module_.find_schema(wanted.op);
    for (uint32_t i = 0; i < schema.argument_count(); ++i) {
      const ops::Argument row = schema.argument(i);
      if (ir::fits(args[i], row.type)) continue;
      return make_error(Code::INVALID_ARGUMENT, "argument '" + std::string(row.name) + "' of '" + wanted.op +
                                                    "' would be " + std::string(ir::kind_name(args[i])));
    }
    return {};
  }

  // Adds a node of an op without a rule for its results: they get the specs of the results that they replace.
  std::vector<ValueId> add_like(const RuleNode& wanted, std::vector<Argument> args, const ir::Node& root) {
    ir::Node node{module_.op(wanted.op), std::move(args), {}, root.source, root.debug_handle};
    for (const RuleValue value : wanted.results) {
      const auto place = std::find(rule_.results.begin(), rule_.results.end(), value) - rule_.results.begin();
      const TensorSpec spec = graph_.values[root.outputs[static_cast<size_t>(place)]].spec;
      node.outputs.push_back(graph_.add_value({{}, ir::ValueKind::kTensor, spec, {}}));
    }
    const std::vector<ValueId> outputs = node.outputs;
    b_.keep(std::move(node));
    return outputs;
  }

  // Formulas may differ in form; known sizes may not.
  Status check(ValueId old, ValueId by) const {
    const TensorSpec &was = graph_.values[old].spec, &is = graph_.values[by].spec;
    bool is_same = was.dtype == is.dtype && was.rank() == is.rank();
    for (size_t i = 0; is_same && i < was.rank(); ++i)
      is_same = !was.sizes[i].is_static() || !is.sizes[i].is_static() || was.sizes[i] == is.sizes[i];
    if (is_same) return {};
    return make_error(Code::INVALID_ARGUMENT, "replaces " + describe(was) + " by " + describe(is));
  }
  std::string describe(const TensorSpec& spec) const {
    std::string text(ops::to_text(spec.dtype));
    for (size_t i = 0; i < spec.rank(); ++i)
      text += (i == 0 ? "[" : ", ") + module_.symbols.format(spec.sizes[i]);
    return text + (spec.rank() == 0 ? "[]" : "]");
  }

  ir::Module& module_;
  ir::Graph& graph_;
  const Rule& rule_;
  PlainBuilder b_;
  std::vector<ir::Node> nodes_;
  std::vector<bool> is_taken_;
  std::optional<Error> fault_;
};

// False when an op of the pattern does not occur in the module.
bool can_match(const ir::Module& module, const Rule& rule) {
  return std::all_of(rule.pattern.begin(), rule.pattern.end(),
                     [&](const RuleNode& node) { return module.find_op(node.op).has_value(); });
}

}  // namespace

Result<bool> apply_rules(ir::Module& module, std::span<const RuleSet> sets, RuleStage stage,
                         const RuleFault& on_fault) {
  bool is_changed = false;
  for (ir::Graph& graph : module.graphs) {
    const size_t limit = kMaxGrowth * graph.nodes.size() + kGrowthSlack;
    for (const RuleSet& set : sets) {
      for (const Rule& rule : set.rules()) {
        if (rule.stage != stage || !can_match(module, rule)) continue;
        Rewriter rewriter(module, graph, rule);
        ETB_ASSIGN(const bool here, rewriter.run());
        is_changed |= here;
        std::optional<Error> fault = rewriter.fault();
        const bool is_beyond = graph.nodes.size() > limit;
        if (is_beyond) {
          fault = Error{Code::OUT_OF_RESOURCES,
                        rule.where + ": rule '" + rule.name + "' makes the graph grow to " +
                            std::to_string(graph.nodes.size()) + " nodes",
                        {},
                        0};
        }
        if (!fault) continue;
        if (set.owner.empty() || !on_fault) return tl::make_unexpected(*std::move(fault));
        on_fault(set.owner, *fault);
        if (is_beyond) break;
      }
    }
  }
  return is_changed;
}

}  // namespace etb::passes
