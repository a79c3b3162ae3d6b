// SPDX-License-Identifier: Apache-2.0
#include "host/registry/fault.hpp"

namespace etb::host {

std::string to_text(const Fault& fault) { return fault.path + ": " + fault.message; }

std::string to_text(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += (text.empty() ? "" : "; ") + to_text(fault);
  return text;
}

}  // namespace etb::host
