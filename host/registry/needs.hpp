// SPDX-License-Identifier: Apache-2.0
// Checks a manifest's `needs` against this machine, as far as possible without loading anything.
#pragma once

#include <string>

#include "host/registry/manifest.hpp"
#include "host/registry/platform.hpp"
#include "host/registry/reason.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

// Returns < 0, 0, > 0 for dotted numbers: "5.10" is after "5.9" and equals "5.10.0".
int compare_dotted_numbers(std::string_view a, std::string_view b);

// Checks the kernel's version, and that `folder`, which has the library, contains the bundled libraries.
// Missing libraries of the system are found only during the load.
[[nodiscard]] Status verify_needs(const Needs& needs, const Platform& platform, int folder,
                                  const TrustPolicy& policy);

}  // namespace etb::host
