// SPDX-License-Identifier: Apache-2.0
#include "api/ops/schema_text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace etb::ops {
namespace {

// Reads "like(self)" or "promoted(self,other),int64".
std::vector<RuleText> parse_rules(const std::string& line, std::string_view text, const SchemaLine& op) {
  std::vector<RuleText> out;
  while (!text.empty()) {
    RuleText& rule = out.emplace_back();
    const size_t end = std::min(text.find_first_of("(,"), text.size());
    rule.rule = text.substr(0, end);
    text.remove_prefix(end);
    if (!text.empty() && text[0] == '(') {
      const size_t close = text.find(')');
      if (close == std::string_view::npos) refuse_schema(line, "rule without )");
      std::string_view names = text.substr(1, close - 1);
      while (!names.empty()) {
        const size_t comma = std::min(names.find(','), names.size());
        const auto found =
            std::find_if(op.arguments.begin(), op.arguments.end(),
                         [&](const SchemaField& field) { return field.name == names.substr(0, comma); });
        if (found == op.arguments.end()) refuse_schema(line, "rule names no argument of the op");
        rule.operands.push_back(static_cast<size_t>(found - op.arguments.begin()));
        names.remove_prefix(std::min(comma + 1, names.size()));
      }
      text.remove_prefix(close + 1);
    }
    if (!text.empty() && text[0] != ',') refuse_schema(line, "rule with text after it");
    text.remove_prefix(std::min<size_t>(1, text.size()));
  }
  return out;
}

// Splits at ", " outside brackets and quotes.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  int depth = 0;
  bool is_quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    depth += text[i] == '[';
    depth -= text[i] == ']';
    if (depth == 0 && text[i] == ',') {
      items.emplace_back(text.substr(start, i - start));
      start = i + 2;
    }
  }
  if (start < text.size()) items.emplace_back(text.substr(start));
  return items;
}

// Reads a type and the mark @x or !x after it.
void parse_type(std::string text, SchemaField& field) {
  if (const size_t mark = text.find_first_of("@!"); mark != std::string::npos) {
    field.alias_set = text.at(mark + 1);
    field.is_write = text[mark] == '!';
    text.resize(mark);
  }
  if (!text.empty() && text.back() == '?') {
    field.is_optional = true;
    text.pop_back();
  }
  if (!text.empty() && text.back() == ']') {
    const size_t open = text.find('[');
    field.is_list = true;
    field.list_size = open + 2 == text.size() ? 0 : static_cast<unsigned>(std::stoul(text.substr(open + 1)));
    text.resize(open);
    if (!text.empty() && text.back() == '?') {
      field.has_optional_items = true;
      text.pop_back();
    }
  }
  field.base = text;
}

void parse_arguments(const std::string& line, std::string_view text, SchemaLine& out) {
  bool is_keyword = false;
  for (const std::string& item : split_list(text)) {
    if (item == "*") {
      is_keyword = true;
      continue;
    }
    SchemaField field;
    const size_t colon = item.find(": ");
    if (colon == std::string::npos) refuse_schema(line, "argument without type");
    const size_t equals = item.find(" = ");
    field.name = item.substr(0, colon);
    field.has_default = equals != std::string::npos;
    if (field.has_default) field.default_text = item.substr(equals + 3);
    parse_type(item.substr(colon + 2, field.has_default ? equals - colon - 2 : equals), field);
    field.is_keyword = is_keyword;
    field.is_out = is_keyword && field.is_write;
    out.arguments.push_back(field);
  }
}

void parse_relations(const std::string& line, const std::string& text, SchemaLine& out) {
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    const size_t equals = word.find('=');
    if (word == "core") {
      out.is_core = true;
    } else if (equals == std::string::npos) {
      refuse_schema(line, "unknown relation");
    } else if (word.rfind("dtype=", 0) == 0) {
      out.dtypes = parse_rules(line, std::string_view(word).substr(equals + 1), out);
    } else if (word.rfind("sizes=", 0) == 0) {
      out.sizes = parse_rules(line, std::string_view(word).substr(equals + 1), out);
    } else {
      out.related[word.substr(0, equals)] = word.substr(equals + 1);
    }
    start = end + 1;
  }
}

SchemaLine parse_line(const std::string& line) {
  SchemaLine out;
  const size_t open = line.find('(');
  const size_t close = line.find(") -> ");
  if (open == std::string::npos || close == std::string::npos) refuse_schema(line, "not a signature");
  out.name = line.substr(0, open);
  if (std::count(out.name.begin(), out.name.end(), '.') != 2)
    refuse_schema(line, "not namespace.name.overload");
  const size_t bar = line.find(" | ", close);
  out.text = line.substr(0, bar);
  parse_arguments(line, std::string_view(line).substr(open + 1, close - open - 1), out);
  const std::string results = out.text.substr(close + 5);
  if (results != "nothing") {
    for (const std::string& item : split_list(results)) parse_type(item, out.results.emplace_back());
  }
  if (bar != std::string::npos) parse_relations(line, line.substr(bar + 3), out);
  return out;
}

}  // namespace

std::string SchemaLine::op_namespace() const { return name.substr(0, name.find('.')); }
std::string SchemaLine::base_name() const {
  const size_t first = name.find('.');
  return name.substr(first + 1, name.rfind('.') - first - 1);
}
std::string SchemaLine::overload_name() const { return name.substr(name.rfind('.') + 1); }

void refuse_schema(std::string_view line, const char* why) {
  std::fprintf(stderr, "schemas.txt: %s: %.*s\n", why, static_cast<int>(line.size()), line.data());
  std::exit(1);
}

std::vector<SchemaLine> read_schema_lines(const char* path) {
  std::vector<SchemaLine> lines;
  std::ifstream in(path);
  if (!in) refuse_schema(path, "cannot read");
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(parse_line(line));
  }
  return lines;
}

}  // namespace etb::ops
