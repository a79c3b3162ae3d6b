// SPDX-License-Identifier: Apache-2.0
#include "tools/bind/op_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace etb::tools {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::string_view without_quotes(std::string_view text) {
  const bool is_quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.front() == text.back();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

// The name of a function: letters, digits, _ and ::.
bool is_function_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
         });
}

bool is_header_name(std::string_view text) {
  return !text.empty() && text.find_first_of("\"<>\\") == std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(std::string_view name) : name_(name) {}

  Status add_line(std::string_view line) {
    ++line_;
    std::string_view rest = trimmed(line);
    if (rest.empty() || rest.front() == '#') return {};
    while (rest.substr(0, 2) == "- ") rest = trimmed(rest.substr(2));
    const size_t colon = rest.find(':');
    const std::string_view key = trimmed(rest.substr(0, colon));
    const std::string_view value =
        colon == std::string_view::npos ? "" : without_quotes(trimmed(rest.substr(colon + 1)));
    if (key == "func" || key == "op") {
      list_.ops.push_back({std::string(value), {}});
      return {};
    }
    if (key == "kernel" || key == "kernel_name") return add_kernel(value);
    if (key == "header") {
      if (!is_header_name(value)) return fail("a header without a name");
      list_.headers.emplace_back(value);
      return {};
    }
    if (key == "kernels" || key == "arg_meta" || key == "variants") return {};
    return fail(fmt::format("the key '{}', expected func, kernel or header", key));
  }

  Result<OpList> take() {
    if (list_.ops.empty()) return make_error(Code::INVALID_DATA, fmt::format("{}: no op", name_));
    return std::move(list_);
  }

 private:
  Status add_kernel(std::string_view value) {
    if (list_.ops.empty()) return fail("a kernel before the first op");
    if (!list_.ops.back().kernel.empty()) return fail("a second kernel of one op");
    if (!is_function_name(value)) return fail(fmt::format("'{}' is no name of a C++ function", value));
    list_.ops.back().kernel = std::string(value);
    return {};
  }

  Status fail(const std::string& why) const {
    return make_error(Code::INVALID_DATA, fmt::format("{}:{}: {}", name_, line_, why));
  }

  std::string_view name_;
  size_t line_ = 0;
  OpList list_;
};

}  // namespace

Result<OpList> parse_op_list(std::string_view text, std::string_view name) {
  Parser parser(name);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ETB_TRY(parser.add_line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.take();
}

}  // namespace etb::tools
