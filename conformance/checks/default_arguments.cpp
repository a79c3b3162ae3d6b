// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/default_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/ops/schema.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;

std::optional<double> number_of(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

// Returns the numbers of "[0, 1]"; nothing for another text.
std::optional<std::vector<double>> numbers_of(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<double> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::optional<double> number = number_of(text.substr(0, end));
    if (!number) return std::nullopt;
    out.push_back(*number);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return out;
}

// Returns the default of an argument, or nothing for kinds that no case has.
std::optional<ArgumentDesc> default_of(const ops::Argument& argument) {
  if (!argument.has_default || argument.type.base == ops::BaseType::kGenerator) return std::nullopt;
  const std::string_view text = argument.default_text;
  const std::string name(argument.name);
  if (text == "none") return graph::none_arg(name);
  if (argument.type.is_list) {
    const auto numbers = numbers_of(text);
    if (!numbers || argument.type.base != ops::BaseType::kInt) return std::nullopt;
    return graph::ints_arg({numbers->begin(), numbers->end()}, name);
  }
  if (argument.type.base == ops::BaseType::kBool) return graph::bool_arg(text == "true", name);
  if (argument.type.base == ops::BaseType::kString && text.size() >= 2 && text.front() == '"')
    return graph::string_arg(std::string(text.substr(1, text.size() - 2)), name);
  const std::optional<double> number = number_of(text);
  if (!number) return std::nullopt;
  const bool is_whole = text.find_first_of(".e") == std::string_view::npos;
  if (argument.type.base == ops::BaseType::kInt || (argument.type.base == ops::BaseType::kScalar && is_whole))
    return graph::int_arg(static_cast<int64_t>(*number), name);
  if (argument.type.base == ops::BaseType::kFloat || argument.type.base == ops::BaseType::kScalar)
    return graph::float_arg(*number, name);
  return std::nullopt;
}

bool is_equal(const ArgumentDesc& a, const ArgumentDesc& b) {
  return a.kind == b.kind && a.as_int == b.as_int && a.as_float == b.as_float && a.text == b.text &&
         a.ints == b.ints && a.values.empty();
}

std::optional<ArgumentDesc> default_of(const ops::Schema& schema, const std::string& name) {
  const int index = schema.find_argument(name);
  return index < 0 ? std::nullopt : default_of(schema.argument(static_cast<uint32_t>(index)));
}

}  // namespace

bool leave_out_defaults(MutableGraph& graph) {
  bool is_changed = false;
  for (MutableGraph::Node& node : graph.nodes) {
    const ops::Schema* const schema = ops::find_schema(node.op);
    if (schema == nullptr) continue;
    const size_t count = std::erase_if(node.args, [&](const ArgumentDesc& arg) {
      const std::optional<ArgumentDesc> usual = default_of(*schema, arg.name);
      return usual && is_equal(arg, *usual);
    });
    is_changed = is_changed || count != 0;
  }
  return is_changed;
}

bool spell_out_defaults(MutableGraph& graph) {
  bool is_changed = false;
  for (MutableGraph::Node& node : graph.nodes) {
    const ops::Schema* const schema = ops::find_schema(node.op);
    if (schema == nullptr) continue;
    std::vector<ArgumentDesc> args;
    for (uint32_t i = 0; i < schema->argument_count(); ++i) {
      const ops::Argument argument = schema->argument(i);
      const auto found = std::find_if(node.args.begin(), node.args.end(),
                                      [&](const ArgumentDesc& arg) { return arg.name == argument.name; });
      if (found != node.args.end()) {
        args.push_back(*found);
      } else if (const std::optional<ArgumentDesc> usual = default_of(argument); usual && !argument.is_out) {
        args.push_back(*usual);
        is_changed = true;
      }
    }
    // A node with arguments that the schema does not name stays as it is.
    const bool has_all = std::all_of(node.args.begin(), node.args.end(), [&](const ArgumentDesc& arg) {
      return schema->find_argument(arg.name) >= 0;
    });
    if (has_all) node.args = std::move(args);
  }
  return is_changed;
}

}  // namespace etb::conformance
