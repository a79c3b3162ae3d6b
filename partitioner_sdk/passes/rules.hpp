// SPDX-License-Identifier: Apache-2.0
// Rewrite rules as data: changes of the graph that a user or a plugin adds to the compiler without code.
//
//   # comments
//   op my::swish(Tensor x, float beta=1.0) -> Tensor      a custom op (api/ops/custom_ops.hpp)
//
//   rule fuse_swish edge {                                name and stage
//     %s = aten.sigmoid.default(%x)                       the pattern: nodes as in the text form (ir/text.hpp), without types
//     %y = aten.mul.Tensor(%x, %s)
//     where %x: float32[1, _, $h, $w]                     optional: dtype and sizes of a value
//   } to {
//     %y = my.swish.default(%x)                           replaces the results of the pattern's last node
//   }
//
// In a pattern each %name is one value, each $name one argument of any kind, and _ matches anything. An
// omitted argument is the schema's default. Values that the pattern computes, apart from the last node's
// results, must have no other use. The new results must have the dtypes and sizes of the old ones. `%y = %x`
// returns a value itself.
//
// Each rule is applied in one pass over the graph, in the order of the file, and does not match its own
// results.
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

// kAten: functional ATen, before any decomposition. kEdge: the edge dialect, before plugins claim nodes.
// kRest: nodes that no plugin claimed.
enum class RuleStage : uint8_t { kAten, kEdge, kRest };
std::string_view to_text(RuleStage stage);

using RuleValue = uint32_t;  // number of a %name in its rule

struct RuleVariable {
  uint32_t index = 0;  // index of a $name
};
struct Anything {};
// Values in an ir::Argument of a rule are RuleValues.
using RuleArgument = std::variant<ir::Argument, RuleVariable, Anything>;

struct RuleNode {
  std::string op;
  std::vector<RuleArgument> args;  // complete, in schema order
  std::vector<RuleValue> results;  // ir::kNoValue for _
};

// Each size is a known number, a variable, or anything.
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
  // Per result of the root: the value of the replacement; kNoValue for a result that must be unused.
  std::vector<RuleValue> results;
};

class RuleSet {
 public:
  // `file` is the name in errors. Ops that the text declares are added to `custom_ops`; its nodes may use any op
  // there.
  [[nodiscard]] static Result<RuleSet> parse(std::string_view text, const std::string& file,
                                             ops::CustomOps& custom_ops);

  std::span<const Rule> rules() const { return rules_; }

  // The plugin that supplied the rules; "" for rules of the user.
  std::string owner;

 private:
  std::vector<Rule> rules_;
};

// Receives the error in a rule of a plugin.
using RuleFault = std::function<void(const std::string& owner, const Error& error)>;

// Applies the rules of one stage. An error names the rule, its location and the user's node. With `on_fault`,
// errors in rules of a plugin go there instead, and the graph stays unchanged at that node.
[[nodiscard]] Result<bool> apply_rules(ir::Module& module, std::span<const RuleSet> sets, RuleStage stage,
                                       const RuleFault& on_fault = {});

}  // namespace etb::passes
