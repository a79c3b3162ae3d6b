// SPDX-License-Identifier: Apache-2.0
// The handles of the C API that are alive. The checked mode looks each handle of a call up.
#pragma once

#include <cstdint>

#include "etb/cpp/result.hpp"

namespace etb::host {

enum class HandleKind : uint8_t { kRegistry, kModule, kRecording };

// Keep the record, also outside of the checked mode, so that it can be switched on later.
void add_handle(const void* handle, HandleKind kind);
// Returns false if no such handle is alive.
bool remove_handle(const void* handle, HandleKind kind) noexcept;

// Returns INVALID_ARGUMENT for NULL, and in the checked mode INVALID_HANDLE for anything but a living handle.
[[nodiscard]] Status check_handle(const void* handle, HandleKind kind);

bool is_checked() noexcept;
void set_checked(bool is_on) noexcept;

}  // namespace etb::host
