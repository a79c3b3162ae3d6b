// SPDX-License-Identifier: Apache-2.0
// Facts about the delegates of a program, which the compiler stores as named data.
#pragma once

#include <optional>
#include <string>

#include "etb/cpp/result.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// Returns the named data of the program with this key. Returns nothing if it has none, or belongs to another run time. Errors are
// those of the loader.
[[nodiscard]] Result<std::optional<DataBlock>> read_program_fact(const DelegateRequest& request,
                                                                 const std::string& key);

// Returns the device that the program names for the delegates of the request. Returns INVALID_DATA for an entry that is none.
[[nodiscard]] Result<std::optional<std::string>> read_named_device(const DelegateRequest& request);

}  // namespace etb::host
