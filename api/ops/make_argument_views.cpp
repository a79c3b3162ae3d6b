// SPDX-License-Identifier: Apache-2.0
// Build-time tool: writes a header for each op of schemas.txt, with its arguments by name (argument_reader.hpp).
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/ops/schema_text.hpp"

namespace etb::ops {
namespace {

bool is_keyword(const std::string& word) {
  static const std::set<std::string> keywords = {
      "alignas",  "alignof",   "and",       "and_eq",    "asm",       "auto",     "bitand",    "bitor",
      "bool",     "break",     "case",      "catch",     "char",      "class",    "compl",     "concept",
      "const",    "consteval", "constexpr", "constinit", "continue",  "co_await", "co_return", "co_yield",
      "decltype", "default",   "delete",    "do",        "double",    "else",     "enum",      "explicit",
      "export",   "extern",    "false",     "float",     "for",       "friend",   "goto",      "if",
      "inline",   "int",       "long",      "mutable",   "namespace", "new",      "noexcept",  "not",
      "not_eq",   "nullptr",   "operator",  "or",        "or_eq",     "private",  "protected", "public",
      "register", "requires",  "return",    "short",     "signed",    "sizeof",   "static",    "struct",
      "switch",   "template",  "this",      "throw",     "true",      "try",      "typedef",   "typeid",
      "typename", "union",     "unsigned",  "using",     "virtual",   "void",     "volatile",  "while",
      "xor",      "xor_eq"};
  return keywords.count(word) != 0;
}

std::string identifier(const std::string& name) { return is_keyword(name) ? name + "_" : name; }

// True for add_, false for add and __and__.
bool is_in_place(const std::string& base_name) {
  return base_name.back() == '_' && base_name.compare(0, 2, "__") != 0;
}

std::string without_last(std::string text) {
  text.pop_back();
  return text;
}

// The name that add and add_ share.
std::string family_of(const SchemaLine& line) {
  const std::string base = line.base_name();
  return is_in_place(base) ? without_last(base) : base;
}

// aten.add_.Tensor -> add_in_place_Tensor. Two underscores in a row are reserved in C++.
std::string class_of(const SchemaLine& line) {
  const std::string name =
      family_of(line) + (is_in_place(line.base_name()) ? "_in_place" : "") + "_" + line.overload_name();
  std::string out;
  for (const char c : name) {
    if (c != '_' || out.empty() || out.back() != '_') out += c;
  }
  return out;
}

std::string program_name_of(const SchemaLine& line) {
  const std::string overload = line.overload_name();
  return line.op_namespace() + "::" + line.base_name() + (overload == "default" ? "" : "." + overload);
}

// The function of a reader: "read_optional_int_list(2, 1)".
std::string read_call(const SchemaField& field, size_t index) {
  const std::string written = field.is_write ? "written_" : "";
  std::string what = field.base;
  if (field.has_optional_items) {
    what = "list_of_optional_" + field.base + "s";
  } else if (field.is_list) {
    what = field.base + "_list";
  }
  const bool has_size = field.is_list && field.base == "int";
  return std::string("read_") + (field.is_optional ? "optional_" : "") + written + what + "(" +
         std::to_string(index) + (has_size ? ", " + std::to_string(field.list_size) : "") + ")";
}

// A kernel's letter for an argument; 'x', which takes any value, for what no kernel of this product reads.
char letter_of(const SchemaField& field) {
  // Readers of a base type: required, optional, list, optional list.
  static const std::map<std::string, std::string> letters = {
      {"tensor", "TtLx"}, {"scalar", "Ssxx"}, {"int", "inIj"},    {"float", "deDf"},        {"bool", "bcBx"},
      {"string", "zyxx"}, {"dtype", "inxx"},  {"layout", "inxx"}, {"memory_format", "inxx"}};
  const auto found = letters.find(field.base);
  if (field.has_optional_items) return field.base == "tensor" && !field.is_optional ? 'M' : 'x';
  if (found == letters.end()) return 'x';
  return found->second[(field.is_list ? 2 : 0) + (field.is_optional ? 1 : 0)];
}

std::string constant(const std::string& name, const std::string& text) {
  return "  static constexpr const char* " + name + " = \"" + text + "\";\n";
}

std::string print_view(const SchemaLine& line) {
  const std::string name = class_of(line);
  std::string letters, names, indices, accessors;
  for (size_t i = 0; i < line.arguments.size(); ++i) {
    const SchemaField& field = line.arguments[i];
    const std::string accessor = identifier(field.name);
    if (accessor == name || accessor == "Index")
      refuse_schema(line.text, "an argument is called like its class");
    letters += letter_of(field);
    if (field.is_write) letters += '!';
    names += (i == 0 ? "" : " ") + field.name;
    indices += "    static constexpr uint32_t " + accessor + " = " + std::to_string(i) + ";\n";
    accessors +=
        "  decltype(auto) " + accessor + "() const { return Reader::" + read_call(field, i) + "; }\n";
  }
  return "// " + line.text + "\ntemplate <class Reader>\nstruct " + name + " : Reader {\n" +
         constant("kName", line.name) + constant("kProgramName", program_name_of(line)) +
         constant("kArgumentNames", names) + constant("kLetters", letters) +
         "  static constexpr uint32_t kArgumentCount = " + std::to_string(line.arguments.size()) + ";\n" +
         "  struct Index {\n" + indices + "  };\n\n  using Reader::Reader;\n  constexpr explicit " + name +
         "(const Reader& reader) : Reader(reader) {}\n\n" + accessors + "};\n\n";
}

// Writes a file, unless it has this text: what includes it is then not compiled again.
void write_changed(const std::filesystem::path& path, const std::string& text) {
  {
    std::ifstream in(path, std::ios::binary);
    const std::string present{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in.is_open() && present == text) return;
  }
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) refuse_schema(path.string(), "cannot write");
}

void write_views(const std::vector<SchemaLine>& lines, const std::filesystem::path& directory) {
  std::map<std::filesystem::path, std::string> headers;
  std::map<std::string, std::string> classes;  // with namespace -> the op
  for (const SchemaLine& line : lines) {
    const bool is_aten = line.op_namespace() == "aten";
    const std::string scope = is_aten ? "etb::ops" : "etb::ops::" + line.op_namespace();
    const auto [found, is_new] = classes.emplace(scope + "::" + class_of(line), line.name);
    if (!is_new) refuse_schema(line.text, ("has the class of " + found->second).c_str());
    std::filesystem::path path = directory / "ops";
    if (!is_aten) path /= line.op_namespace();
    std::string& text = headers[path / (family_of(line) + ".hpp")];
    if (text.empty()) {
      text =
          "// Arguments by name, from api/ops/schemas.txt. api/ops/argument_reader.hpp explains them.\n"
          "#pragma once\n\n#include <cstdint>\n\nnamespace " +
          scope + " {\n\n";
    }
    text += print_view(line);
  }
  for (auto& [path, text] : headers) write_changed(path, text + "}  // namespace\n");
}

}  // namespace
}  // namespace etb::ops

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_argument_views schemas.txt OUT_DIRECTORY STAMP\n");
    return 2;
  }
  etb::ops::write_views(etb::ops::read_schema_lines(argv[1]), argv[2]);
  std::ofstream stamp(argv[3]);
  return stamp.flush() ? 0 : 1;
}
