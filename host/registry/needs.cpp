// SPDX-License-Identifier: Apache-2.0
#include "host/registry/needs.hpp"

#include <algorithm>
#include <charconv>

namespace etb::host {
namespace {

// Removes the number at the start and returns it; 0 when there is none.
uint64_t cut_number(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty() && text[0] == '.')
    text.remove_prefix(1);
  else
    text = {};  // "6.1.0-13-amd64" ends at the first character that is no part of a number
  return failed == std::errc() ? value : 0;
}

}  // namespace

int compare_dotted_numbers(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const uint64_t left = cut_number(a), right = cut_number(b);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

Status verify_needs(const Needs& needs, const Platform& platform, int folder, const TrustPolicy& policy) {
  if (!needs.kernel_min.empty() && compare_dotted_numbers(platform.kernel, needs.kernel_min) < 0)
    return refuse(Reason::kNeeds, "needs kernel " + needs.kernel_min + ", here is " + platform.kernel);
  for (const NeededLibrary& library : needs.libraries) {
    if (library.where != Provenance::kBundle) continue;
    if (const auto file = open_trusted_file(folder, library.name, policy); !file)
      return refuse(Reason::kNeeds, "needs " + library.name + " beside the library: " + file.error().message);
  }
  return {};
}

}  // namespace etb::host
