// SPDX-License-Identifier: Apache-2.0
#include "host/registry/manifest_lines.hpp"

#include <nlohmann/json.hpp>

namespace etb::host {
namespace {

using json = nlohmann::ordered_json;

void flatten(const json& value, const std::string& path, std::vector<std::string>& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      flatten(member, path.empty() ? key : path + '.' + key, out);
  } else if (value.is_array() && !value.empty() && value[0].is_object()) {
    for (size_t i = 0; i < value.size(); ++i) flatten(value[i], path + '[' + std::to_string(i) + ']', out);
  } else if (value.is_string()) {
    out.push_back(path + ": " + value.get<std::string>());
  } else {
    out.push_back(path + ": " + value.dump());
  }
}

}  // namespace

std::vector<std::string> manifest_lines(const Manifest& manifest) {
  std::vector<std::string> lines;
  flatten(json::parse(to_json(manifest)), "", lines);
  return lines;
}

}  // namespace etb::host
