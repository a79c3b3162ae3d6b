// JSON from people we do not know: size and depth limited, UTF-8 checked, duplicate keys refused, every fault with its path.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/fault.hpp"

namespace etb::host {

inline constexpr size_t kJsonMaxBytes = size_t{1} << 20;
inline constexpr size_t kJsonMaxDepth = 16;
// A hostile file could hold a million faults; nobody reads more than these.
inline constexpr size_t kMaxFaults = 32;

struct JsonDocument {
  std::optional<nlohmann::json> root;  // not there when the text could not be read to its end
  std::vector<Fault> faults;
};

JsonDocument read_json(std::string_view text);

}  // namespace etb::host
