// SPDX-License-Identifier: Apache-2.0
#include "host/registry/search_path.hpp"

#include <algorithm>
#include <cstdlib>

#include "host/registry/diagnostic.hpp"

namespace etb::host {
namespace {

constexpr size_t kMaxFolders = 64;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t at = text.find(separator);
    if (at != 0) parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  }
  return parts;
}

std::optional<std::string> variable(const SearchOptions& options, const char* name) {
  if (options.secure || !options.environment) return std::nullopt;
  return options.environment(name);
}

void add_environment(const SearchOptions& options, SearchPath& out) {
  for (std::string& path : split(variable(options, "ETBACKEND_PATH").value_or(""), ':')) {
    if (path[0] != '/')
      out.ignored.push_back("ETBACKEND_PATH: " + in_quotes(path) + " is not absolute");
    else if (out.places.size() >= kMaxFolders)
      out.ignored.push_back("ETBACKEND_PATH: " + in_quotes(path) + " is beyond the first " +
                            std::to_string(kMaxFolders));
    else
      out.places.push_back({Tier::kEnvironment, std::move(path)});
  }
}

void add_user(const SearchOptions& options, SearchPath& out) {
  std::string data = variable(options, "XDG_DATA_HOME").value_or("");
  // The XDG base directory specification: relative paths are invalid, ignore them.
  if (data.empty() || data[0] != '/') {
    if (!data.empty()) out.ignored.push_back("XDG_DATA_HOME: " + in_quotes(data) + " is not absolute");
    const std::string home = variable(options, "HOME").value_or("");
    if (home.empty() || home[0] != '/') return;
    data = home + "/.local/share";
  }
  out.places.push_back({Tier::kUser, data + "/etbackend/plugins.d"});
}

}  // namespace

const char* to_text(Tier tier) {
  switch (tier) {
    case Tier::kApplication:
      return "application";
    case Tier::kEnvironment:
      return "environment";
    case Tier::kUser:
      return "user";
    case Tier::kAdmin:
      return "admin";
    case Tier::kDistribution:
      return "distribution";
    case Tier::kStatic:
      return "static";
  }
  return "unknown";
}

SearchPath make_search_path(const SearchOptions& options) {
  SearchPath out;
  for (const std::string& path : options.application_paths) out.places.push_back({Tier::kApplication, path});
  add_environment(options, out);
  add_user(options, out);
  if (!options.admin_path.empty()) out.places.push_back({Tier::kAdmin, options.admin_path});
  for (const std::string& path : options.distribution_paths)
    out.places.push_back({Tier::kDistribution, path});
  return out;
}

IdFilter make_id_filter(const SearchOptions& options) {
  return {split(variable(options, "ETBACKEND_SELECT").value_or(""), ','),
          split(variable(options, "ETBACKEND_DISABLE").value_or(""), ','), options.disabled};
}

std::string IdFilter::refusal(std::string_view id, std::span<const std::string> aliases) const {
  const auto names_it = [&](const std::string& glob) {
    return glob_matches(glob, id) ||
           std::any_of(aliases.begin(), aliases.end(),
                       [&](const std::string& alias) { return glob_matches(glob, alias); });
  };
  for (const std::string& glob : disabled_by_application)
    if (names_it(glob)) return "disabled by the application: " + in_quotes(glob);
  for (const std::string& glob : disable)
    if (names_it(glob)) return "disabled by ETBACKEND_DISABLE=" + in_quotes(glob);
  for (const std::string& glob : select)
    if (names_it(glob)) return {};
  return select.empty() ? "" : "not selected by ETBACKEND_SELECT";
}

bool glob_matches(std::string_view glob, std::string_view text) {
  // Backtracks only to the last star, so the time is at most the product of the lengths.
  size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

std::optional<std::string> read_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace etb::host
