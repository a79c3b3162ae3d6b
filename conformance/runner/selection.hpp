// SPDX-License-Identifier: Apache-2.0
// Selects the items of a run: profile, patterns, shard.
#pragma once

#include <string>
#include <vector>

#include "conformance/process/plan.hpp"

namespace etb::conformance {

enum class Profile { kSmoke, kCi, kCert, kSoak };
[[nodiscard]] Result<Profile> parse_profile(const std::string& text);
const char* to_text(Profile profile);

struct Shard {
  uint32_t index = 0;  // counted from 0
  uint32_t count = 1;
};
// "2/8": the second of eight. Empty: from the variables of GoogleTest, Slurm and Kubernetes, else all items.
[[nodiscard]] Result<Shard> parse_shard(const std::string& text);

// Returns items in a fixed order: checks, then cases by name. A sample depends on names only, so it is the
// same for every plugin. Patterns select among all items, for any profile.
std::vector<Item> select_items(Profile profile, const std::vector<std::string>& patterns, const Shard& shard);

}  // namespace etb::conformance
