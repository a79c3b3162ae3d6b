// SPDX-License-Identifier: Apache-2.0
// Reads JSON from untrusted files: limits size and depth, checks UTF-8, rejects duplicate keys, reports
// each diagnostic with its path.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/diagnostic.hpp"

namespace etb::host {

inline constexpr size_t kJsonMaxBytes = size_t{1} << 20;
inline constexpr size_t kJsonMaxDepth = 16;
// Limit of reported diagnostics: a hostile file could contain a million.
inline constexpr size_t kMaxDiagnostics = 32;

struct JsonDocument {
  std::optional<nlohmann::json> root;  // nullopt when the text could not be read to its end
  std::vector<Diagnostic> diagnostics;
};

JsonDocument read_json(std::string_view text);

}  // namespace etb::host
