// SPDX-License-Identifier: Apache-2.0
#include "host/registry/diagnostic.hpp"

namespace etb::host {

std::string to_text(const Diagnostic& diagnostic) { return diagnostic.path + ": " + diagnostic.message; }

std::string to_text(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "; ") + to_text(diagnostic);
  return text;
}

}  // namespace etb::host
