// SPDX-License-Identifier: Apache-2.0
// Warnings of the run time, as lines for people.
#pragma once

#include <ostream>

#include "api/format/printable_text.hpp"
#include "host/runtime/platform_hooks.hpp"

namespace etb::tools {

// Returns hooks whose log writes warnings to `out`, which outlives their use. Errors are returned by the functions that fail.
inline host::PlatformHooks warnings_to(std::ostream& out) {
  host::PlatformHooks hooks = host::kDefaultPlatformHooks;
  hooks.self = &out;
  hooks.log = [](void* self, host::LogLevel level, const char* text) {
    if (level == host::LogLevel::kWarning)
      *static_cast<std::ostream*>(self) << "warning: " << format::made_printable(text) << '\n';
  };
  return hooks;
}

}  // namespace etb::tools
