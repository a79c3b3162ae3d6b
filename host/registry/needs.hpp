// Whether this machine has what a manifest's `needs` asks for, as far as can be told without loading anything.
#pragma once

#include <string>

#include "host/registry/manifest.hpp"
#include "host/registry/platform.hpp"
#include "host/registry/reason.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

// < 0, 0, > 0 for dotted numbers: "5.10" is after "5.9" and equals "5.10.0".
int compare_dotted_numbers(std::string_view a, std::string_view b);

// Checks the kernel's version and that bundled libraries lie in `folder`, that of the library. What the system must bring
// shows only when it is loaded.
[[nodiscard]] Status verify_needs(const Needs& needs, const Platform& platform, int folder,
                                  const TrustPolicy& policy);

}  // namespace etb::host
