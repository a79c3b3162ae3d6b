// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/extensions.hpp"

#include <CLI/CLI.hpp>

#include "api/format/input_file.hpp"
#include "api/ops/schema.hpp"
#include "host/registry/side_file.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {

namespace {

constexpr uint64_t kMaxRulesBytes = uint64_t{1} << 20;

}  // namespace

void add_extension_options(CLI::App& command, ExtensionOptions& options) {
  command
      .add_option("--custom-op", options.custom_ops,
                  "Declare a custom op, such as 'my::scale(Tensor x, float s=2.0) -> Tensor'; repeatable")
      ->type_name("OP")
      ->allow_extra_args(false);
  command.add_option("--rules", options.rule_files, "File with rewrite rules and custom ops; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--decompose",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const size_t equals = text.find('=');
              if (equals == 0 || equals == std::string::npos)
                throw CLI::ValidationError("--decompose", "'" + text + "', expected OP=FORMULA");
              options.formulas[text.substr(0, equals)] = text.substr(equals + 1);
            }
          },
          "Decompose an op by this formula instead of the built-in way, such as 'aten.silu.default=mul(self, "
          "sigmoid(self))'; repeatable")
      ->type_name("OP=FORMULA")
      ->allow_extra_args(false);
}

Result<Extensions> Extensions::open(const ExtensionOptions& options) {
  Extensions out;
  for (const std::string& text : options.custom_ops) ETB_TRY(out.custom_ops_->declare(text));
  for (const std::string& path : options.rule_files) {
    ETB_ASSIGN(const std::string text, format::read_file_text(path, kMaxRulesBytes));
    ETB_ASSIGN(passes::RuleSet rules, passes::RuleSet::parse(text, path, *out.custom_ops_));
    out.rules_.push_back(std::move(rules));
  }
  return out;
}

Status Extensions::check_formulas(const ExtensionOptions& options, const std::set<std::string>& ops) const {
  for (const auto& [op, formula] : options.formulas) {
    if (ops.count(op) != 0 || ops::find_schema(op) != nullptr || custom_ops_->find(op) != nullptr) continue;
    return tl::make_unexpected(unknown_value("--decompose: no such op", op, {ops.begin(), ops.end()}));
  }
  return {};
}

Status Extensions::add_plugin(const std::string& name, const host::PluginEntry& entry,
                              const host::LoadOptions& options) {
  if (!entry.manifest) return {};
  for (const std::string& text : entry.manifest->custom_ops) ETB_TRY(custom_ops_->declare(text));
  if (!entry.manifest->rules) return {};
  ETB_ASSIGN(const std::string text,
             host::read_side_file(entry, *entry.manifest->rules, options, kMaxRulesBytes));
  ETB_ASSIGN(passes::RuleSet rules, passes::RuleSet::parse(text, entry.manifest->rules->path, *custom_ops_));
  rules.owner = name;
  rules_.push_back(std::move(rules));
  return {};
}

}  // namespace etb::tools
