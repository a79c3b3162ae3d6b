// SPDX-License-Identifier: Apache-2.0
// SearchPath: the folders to search for plugins, in order, and the ids that the environment allows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etb::host {

// In the order of the search.
enum class Tier { kApplication, kEnvironment, kUser, kAdmin, kDistribution, kStatic };
const char* to_text(Tier tier);

// True for tiers with more rights: only their high priorities count, and only they may shadow certified
// plugins under no_shadow.
constexpr bool is_system_tier(Tier tier) { return tier == Tier::kAdmin || tier == Tier::kDistribution; }

struct SearchFolder {
  Tier tier = Tier::kApplication;
  std::string path;
};

struct SearchOptions {
  std::vector<std::string> application_paths;
  std::vector<std::string> distribution_paths;
  std::string admin_path = "/etc/etbackend/plugins.d";
  std::vector<std::string> disabled;  // globs of the application on ids and aliases
  bool secure = false;
  // Reads one variable. Not set: there is no environment.
  std::function<std::optional<std::string>(const char* name)> environment;
};

struct SearchPath {
  std::vector<SearchFolder> places;
  std::vector<std::string> ignored;  // ignored entries of the environment, with the reason
};

SearchPath make_search_path(const SearchOptions& options);

// ETBACKEND_SELECT and ETBACKEND_DISABLE: globs on ids and aliases, separated by commas. They only
// narrow, and disable wins. So do the globs of the application.
struct IdFilter {
  std::vector<std::string> select;
  std::vector<std::string> disable;
  std::vector<std::string> disabled_by_application = {};

  // Returns the reason why a plugin of these names is excluded, or "".
  std::string refusal(std::string_view id, std::span<const std::string> aliases = {}) const;
};

IdFilter make_id_filter(const SearchOptions& options);

// '*' matches any text, '?' any one byte.
bool glob_matches(std::string_view glob, std::string_view text);

// Reads a variable of this process.
std::optional<std::string> read_environment(const char* name);

}  // namespace etb::host
