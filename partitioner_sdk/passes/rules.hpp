// SPDX-License-Identifier: Apache-2.0
// Rewrite rules as data: what a user or a plugin adds to the compiler without code in it.
//
//   # comments
//   op my::swish(Tensor x, float beta=1.0) -> Tensor      an op of one's own (api/ops/custom_ops.hpp)
//
//   rule fuse_swish edge {                                name, and when it is applied
//     %s = aten.sigmoid.default(%x)                       the pattern: nodes as in the text form (ir/text.hpp), without types
//     %y = aten.mul.Tensor(%x, %s)
//     where %x: float32[1, _, $h, $w]                     optional: what a value must be
//   } to {
//     %y = my.swish.default(%x)                           what stands for the results of the pattern's last node
//   }
//
// In a pattern %name is the same value wherever it stands, $name the same argument of any kind, _ anything; an argument left out is
// the schema's default. Values that the pattern computes, apart from the last node's results, must have no other use. The new
// results must have the dtypes and sizes of the old ones. `%y = %x` gives a value itself.
//
// Each rule goes once over the graph, in the order of the file, and does not look at what it has made itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// kAten: functional ATen, before anything is taken apart. kEdge: the edge dialect, before plugins choose. kRest: what no plugin took.
enum class RuleStage : uint8_t { kAten, kEdge, kRest };
std::string_view to_text(RuleStage stage);

using RuleValue = uint32_t;  // number of a %name in its rule

struct RuleVariable {
  uint32_t index = 0;  // of a $name
};
struct Anything {};
// In an ir::Argument of a rule, values are RuleValues.
using RuleArgument = std::variant<ir::Argument, RuleVariable, Anything>;

struct RuleNode {
  std::string op;
  std::vector<RuleArgument> args;  // complete, in schema order
  std::vector<RuleValue> results;  // ir::kNoValue for _
};

// sizes: a known one, a variable, or anything.
struct RuleType {
  RuleValue value = 0;
  std::optional<ir::Dtype> dtype;
  std::vector<RuleArgument> sizes;
};

struct Rule {
  std::string name;
  std::string where;  // "file:line"
  RuleStage stage = RuleStage::kEdge;
  uint32_t value_count = 0, variable_count = 0;
  std::vector<RuleNode> pattern;  // the last one is the root
  std::vector<RuleType> types;
  std::vector<RuleNode> replacement;
  // By result of the root: the value of the replacement; kNoValue for a result that must be unused.
  std::vector<RuleValue> results;
};

class RuleSet {
 public:
  // `file` names the text in errors. Ops that it declares are added to `custom_ops`; those of its nodes may come from there.
  [[nodiscard]] static Result<RuleSet> parse(std::string_view text, const std::string& file,
                                             ops::CustomOps& custom_ops);

  std::span<const Rule> rules() const { return rules_; }

  // The plugin that brought them along; "" for the user's own.
  std::string owner;

 private:
  std::vector<Rule> rules_;
};

// What is wrong with a rule of a plugin's.
using RuleFault = std::function<void(const std::string& owner, const Error& error)>;

// Applies the rules of one stage. An error names the rule with its place and the user's node. With `on_fault` a rule of a plugin's
// that goes wrong is told to it instead, and the graph is left as it was there.
[[nodiscard]] Result<bool> apply_rules(ir::Module& module, std::span<const RuleSet> sets, RuleStage stage,
                                       const RuleFault& on_fault = {});

}  // namespace etb::passes
