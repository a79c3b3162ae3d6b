// SPDX-License-Identifier: Apache-2.0
// Build-time tool: reads schemas.txt and prints the constant tables that schema.cpp includes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "api/ops/schema_text.hpp"

namespace etb::ops {
namespace {

constexpr unsigned kOptional = 1, kList = 2, kOptionalItems = 4, kKeyword = 8, kOut = 16, kWrite = 32,
                   kDefault = 64;

unsigned flags_of(const SchemaField& field) {
  return (field.is_optional ? kOptional : 0) | (field.is_list ? kList : 0) |
         (field.has_optional_items ? kOptionalItems : 0) | (field.is_keyword ? kKeyword : 0) |
         (field.is_out ? kOut : 0) | (field.is_write ? kWrite : 0) | (field.has_default ? kDefault : 0);
}

// Equal fields share a row of the table.
auto key_of(const SchemaField& field) {
  return std::make_tuple(field.name, field.base, field.default_text, flags_of(field), field.list_size,
                         field.alias_set);
}

std::string enumerator(const std::string& base, const std::string& line) {
  static const std::map<std::string, std::string> names = {
      {"tensor", "kTensor"},   {"scalar", "kScalar"},
      {"int", "kInt"},         {"float", "kFloat"},
      {"bool", "kBool"},       {"string", "kString"},
      {"complex", "kComplex"}, {"dtype", "kDtype"},
      {"layout", "kLayout"},   {"memory_format", "kMemoryFormat"},
      {"device", "kDevice"},   {"generator", "kGenerator"}};
  const auto found = names.find(base);
  if (found == names.end()) refuse_schema(line, "unknown type");
  return found->second;
}

std::string dtype_rule(const RuleText& rule, const std::string& line) {
  static const std::map<std::string, std::string> names = {
      {"like", "kLike"},       {"promoted", "kPromoted"},
      {"float", "kFloat"},     {"division", "kDivision"},
      {"bool", "kBool"},       {"int64", "kInt64"},
      {"sum", "kSum"},         {"half_to_float", "kHalfToFloat"},
      {"given", "kGiven"},     {"value", "kValue"},
      {"created", "kCreated"}, {"int32", "kInt32"},
      {"real", "kReal"},       {"complex", "kComplex"}};
  const auto found = names.find(rule.rule);
  if (found == names.end()) refuse_schema(line, "unknown dtype rule");
  return "DtypeRule::" + found->second;
}

// The bits of an ArgumentSet.
std::string argument_set(const std::vector<size_t>& positions, const std::string& line) {
  unsigned bits = 0;
  for (const size_t position : positions) {
    if (position >= 8) refuse_schema(line, "a rule reads the first eight arguments only");
    bits |= 1u << position;
  }
  return "{" + std::to_string(bits) + "}";
}

// The ResultRule of an op that has one.
std::string result_rule(const SchemaLine& line) {
  constexpr size_t kDtypeCount = 3;  // ResultRule::kDtypeCount
  if (line.dtypes.size() > kDtypeCount || line.dtypes.empty())
    refuse_schema(line.name, "one to three dtype rules expected");
  if (!line.sizes.empty() && (line.sizes.size() != 1 || line.sizes[0].rule != "broadcast"))
    refuse_schema(line.name, "sizes=broadcast(...) expected");
  std::string dtypes;
  for (size_t i = 0; i < kDtypeCount; ++i) {
    const RuleText& rule = line.dtypes[std::min(i, line.dtypes.size() - 1)];
    dtypes += (i > 0 ? ", {" : "{") + dtype_rule(rule, line.name) + ", " +
              argument_set(rule.operands, line.name) + "}";
  }
  return "{{" + dtypes + "}, " +
         (line.sizes.empty() ? "{0}" : argument_set(line.sizes[0].operands, line.name)) + "}";
}

class Tables {
 public:
  uint32_t text(const std::string& value) {
    const auto [found, is_new] = offsets_.emplace(value, static_cast<uint32_t>(text_.size()));
    if (is_new) text_ += value;
    return found->second;
  }
  void add(const std::vector<SchemaLine>& lines) {
    std::map<std::string, size_t> index;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i > 0 && !(lines[i - 1].name < lines[i].name)) refuse_schema(lines[i].name, "not sorted");
      index[lines[i].name] = i;
    }
    for (const SchemaLine& line : lines) {
      if (!line.dtypes.empty() || !line.sizes.empty())
        result_rules_ += "{" + std::to_string(index.at(line.name)) + ", " + result_rule(line) + "},\n";
      const size_t first = numbers_.size();
      for (const auto* rows : {&line.arguments, &line.results}) {
        for (const SchemaField& row : *rows) numbers_.push_back(number(row, line.name));
      }
      const size_t dot = line.name.find('.');
      const size_t second = line.name.find('.', dot + 1);
      std::string related;
      for (const char* kind : {"out", "copy", "functional"}) {
        const auto found = line.related.find(kind);
        if (found != line.related.end() && index.count(found->second) == 0)
          refuse_schema(found->second, "relation to no op");
        related +=
            ", " + (found == line.related.end() ? "kNoSchema" : std::to_string(index.at(found->second)));
      }
      schemas_ += "{" + std::to_string(text(line.name)) + ", " + std::to_string(dot) + ", " +
                  std::to_string(second - dot - 1) + ", " + std::to_string(line.name.size() - second - 1) +
                  ", " + std::to_string(first) + ", " + std::to_string(line.arguments.size()) + ", " +
                  std::to_string(line.results.size()) + ", " + (line.is_core ? "true" : "false") + related +
                  "},\n";
    }
  }
  void print(std::FILE* out) const {
    std::fprintf(out, "static constexpr char kText[] =\n");
    for (size_t i = 0; i < text_.size(); i += 100) {
      std::string piece;
      for (const char c : text_.substr(i, 100)) piece += c == '"' ? "\\\"" : std::string(1, c);
      std::fprintf(out, "\"%s\"\n", piece.c_str());
    }
    std::fprintf(out, ";\nstatic constexpr ArgumentRow kArguments[] = {\n%s};\n", rows_.c_str());
    std::fprintf(out, "static constexpr uint16_t kArgumentNumbers[] = {");
    for (size_t i = 0; i < numbers_.size(); ++i)
      std::fprintf(out, "%zu,%s", numbers_[i], i % 20 == 19 ? "\n" : "");
    std::fprintf(out, "};\nstatic constexpr Schema kSchemas[] = {\n%s};\n", schemas_.c_str());
    std::fprintf(out, "static constexpr ResultRuleRow kResultRules[] = {\n%s};\n", result_rules_.c_str());
  }

 private:
  size_t number(const SchemaField& row, const std::string& line) {
    const auto [found, is_new] = row_numbers_.emplace(key_of(row), row_numbers_.size());
    if (is_new) {
      rows_ += "{" + std::to_string(text(row.name)) + ", " + std::to_string(text(row.default_text)) + ", " +
               std::to_string(row.name.size()) + ", " + std::to_string(row.default_text.size()) +
               ", BaseType::" + enumerator(row.base, line) + ", " + std::to_string(flags_of(row)) + ", " +
               std::to_string(row.list_size) + ", " +
               (row.alias_set != 0 ? std::string("'") + row.alias_set + "'" : "0") + "},\n";
    }
    return found->second;
  }

  std::string text_ = " ";
  std::map<std::string, uint32_t> offsets_;
  std::map<decltype(key_of({})), size_t> row_numbers_;
  std::string rows_, schemas_, result_rules_;
  std::vector<size_t> numbers_;
};

}  // namespace
}  // namespace etb::ops

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_schema_tables schemas.txt OUT.inc\n");
    return 2;
  }
  etb::ops::Tables tables;
  tables.add(etb::ops::read_schema_lines(argv[1]));
  std::FILE* out = std::fopen(argv[2], "w");
  if (out == nullptr) etb::ops::refuse_schema(argv[2], "cannot write");
  tables.print(out);
  return std::fclose(out) == 0 ? 0 : 1;
}
