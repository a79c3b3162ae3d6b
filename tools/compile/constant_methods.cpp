// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/constant_methods.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace etb::tools {

namespace {

format::ValueSpec parse_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.empty()) return text;
  char* end = nullptr;
  errno = 0;
  const int64_t integer = std::strtoll(text.c_str(), &end, 10);
  if (*end == 0 && errno == 0) return integer;
  const double number = std::strtod(text.c_str(), &end);
  if (*end == 0) return number;
  return text;
}

}  // namespace

Result<std::vector<emit::ConstantMethod>> parse_constant_methods(const std::vector<std::string>& texts) {
  std::vector<emit::ConstantMethod> out;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return make_error(Code::INVALID_ARGUMENT, "--constant '" + text + "', expected NAME=VALUE");
    }
    emit::ConstantMethod method{text.substr(0, equals), {}};
    const std::string values = text.substr(equals + 1);
    if (values.size() < 2 || values.front() != '[' || values.back() != ']') {
      method.values.push_back(parse_value(values));
    } else {
      std::istringstream items(values.substr(1, values.size() - 2));
      for (std::string item; std::getline(items, item, ',');) method.values.push_back(parse_value(item));
    }
    out.push_back(std::move(method));
  }
  return out;
}

}  // namespace etb::tools
