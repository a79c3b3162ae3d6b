// SPDX-License-Identifier: Apache-2.0
// Build-time tool: reads schemas.txt and prints the constant tables that schema.cpp includes.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

// A line that is not in the notation ends the build with its text.
[[noreturn]] void refuse(std::string_view line, const char* why) {
  std::fprintf(stderr, "make_schema_tables: %s: %.*s\n", why, static_cast<int>(line.size()), line.data());
  std::exit(1);
}

struct Row {
  std::string name, base, default_text;
  unsigned flags = 0;
  unsigned list_size = 0;
  char alias = 0;
  auto key() const { return std::tie(name, base, default_text, flags, list_size, alias); }
  bool operator<(const Row& other) const { return key() < other.key(); }
};

struct SchemaLine {
  std::string name;
  std::vector<Row> arguments, results;
  bool core = false;
  std::map<std::string, std::string> related;
};

constexpr unsigned kOptional = 1, kList = 2, kOptionalItems = 4, kKeyword = 8, kOut = 16, kWrite = 32,
                   kDefault = 64;

// Splits at ", " outside brackets and quotes.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
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

// type, then @x or !x.
void parse_type(std::string text, Row& row) {
  if (const size_t mark = text.find_first_of("@!"); mark != std::string::npos) {
    row.alias = text.at(mark + 1);
    if (text[mark] == '!') row.flags |= kWrite;
    text.resize(mark);
  }
  if (!text.empty() && text.back() == '?') {
    row.flags |= kOptional;
    text.pop_back();
  }
  if (!text.empty() && text.back() == ']') {
    const size_t open = text.find('[');
    row.flags |= kList;
    row.list_size = open + 2 == text.size() ? 0 : static_cast<unsigned>(std::stoul(text.substr(open + 1)));
    text.resize(open);
    if (!text.empty() && text.back() == '?') {
      row.flags |= kOptionalItems;
      text.pop_back();
    }
  }
  row.base = text;
}

SchemaLine parse_line(const std::string& line) {
  SchemaLine out;
  const size_t open = line.find('(');
  const size_t close = line.find(") -> ");
  if (open == std::string::npos || close == std::string::npos) refuse(line, "not a signature");
  out.name = line.substr(0, open);
  bool is_keyword = false;
  for (const std::string& item : split_list(std::string_view(line).substr(open + 1, close - open - 1))) {
    if (item == "*") {
      is_keyword = true;
      continue;
    }
    Row row;
    const size_t colon = item.find(": ");
    if (colon == std::string::npos) refuse(line, "argument without type");
    const size_t equals = item.find(" = ");
    row.name = item.substr(0, colon);
    if (equals != std::string::npos) {
      row.flags |= kDefault;
      row.default_text = item.substr(equals + 3);
    }
    parse_type(item.substr(colon + 2, equals == std::string::npos ? equals : equals - colon - 2), row);
    if (is_keyword) row.flags |= kKeyword | ((row.flags & kWrite) != 0 ? kOut : 0);
    out.arguments.push_back(row);
  }
  std::string rest = line.substr(close + 5);
  std::string relations;
  if (const size_t bar = rest.find(" | "); bar != std::string::npos) {
    relations = rest.substr(bar + 3);
    rest.resize(bar);
  }
  if (rest != "nothing") {
    for (const std::string& item : split_list(rest)) parse_type(item, out.results.emplace_back());
  }
  for (size_t start = 0; start < relations.size();) {
    const size_t end = std::min(relations.find(' ', start), relations.size());
    const std::string word = relations.substr(start, end - start);
    const size_t equals = word.find('=');
    if (word == "core") {
      out.core = true;
    } else if (equals == std::string::npos) {
      refuse(line, "unknown relation");
    } else {
      out.related[word.substr(0, equals)] = word.substr(equals + 1);
    }
    start = end + 1;
  }
  return out;
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
  if (found == names.end()) refuse(line, "unknown type");
  return found->second;
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
      if (i > 0 && !(lines[i - 1].name < lines[i].name)) refuse(lines[i].name, "not sorted");
      index[lines[i].name] = i;
    }
    for (const SchemaLine& line : lines) {
      const size_t first = numbers_.size();
      for (const auto* rows : {&line.arguments, &line.results}) {
        for (const Row& row : *rows) numbers_.push_back(number(row, line.name));
      }
      const size_t dot = line.name.find('.');
      const size_t second = line.name.find('.', dot + 1);
      std::string related;
      for (const char* kind : {"out", "copy", "functional"}) {
        const auto found = line.related.find(kind);
        if (found != line.related.end() && index.count(found->second) == 0)
          refuse(found->second, "relation to no op");
        related +=
            ", " + (found == line.related.end() ? "kNoSchema" : std::to_string(index.at(found->second)));
      }
      schemas_ += "{" + std::to_string(text(line.name)) + ", " + std::to_string(dot) + ", " +
                  std::to_string(second - dot - 1) + ", " + std::to_string(line.name.size() - second - 1) +
                  ", " + std::to_string(first) + ", " + std::to_string(line.arguments.size()) + ", " +
                  std::to_string(line.results.size()) + ", " + (line.core ? "true" : "false") + related +
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
  }

 private:
  size_t number(const Row& row, const std::string& line) {
    const auto [found, is_new] = row_numbers_.emplace(row, row_numbers_.size());
    if (is_new) {
      rows_ += "{" + std::to_string(text(row.name)) + ", " + std::to_string(text(row.default_text)) + ", " +
               std::to_string(row.name.size()) + ", " + std::to_string(row.default_text.size()) +
               ", BaseType::" + enumerator(row.base, line) + ", " + std::to_string(row.flags) + ", " +
               std::to_string(row.list_size) + ", " + (row.alias ? std::string("'") + row.alias + "'" : "0") +
               "},\n";
    }
    return found->second;
  }

  std::string text_ = " ";
  std::map<std::string, uint32_t> offsets_;
  std::map<Row, size_t> row_numbers_;
  std::string rows_, schemas_;
  std::vector<size_t> numbers_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_schema_tables schemas.txt OUT.inc\n");
    return 2;
  }
  std::vector<SchemaLine> lines;
  std::ifstream in(argv[1]);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(parse_line(line));
  }
  Tables tables;
  tables.add(lines);
  std::FILE* out = std::fopen(argv[2], "w");
  if (out == nullptr) refuse(argv[2], "cannot write");
  tables.print(out);
  return std::fclose(out) == 0 ? 0 : 1;
}
