// SPDX-License-Identifier: Apache-2.0
// The device that a program names for the delegates of an id: named data of the program, one entry for each id. Its bytes are the
// text, UTF-8 without NUL: a uuid, a name, or a part of one name. Other run times do not read the entry.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::format {

inline constexpr size_t kMaxDeviceNameNbytes = 1024;

// Key of the named data for a delegate id.
inline std::string device_record_key(std::string_view delegate_id) {
  return "etbackend.device/" + std::string(delegate_id);
}

// Returns INVALID_DATA with what was found and expected.
inline Result<std::string> read_device_record(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty() || text.size() > kMaxDeviceNameNbytes)
    return make_error(Code::INVALID_DATA, "name of a device: " + std::to_string(text.size()) +
                                              " bytes, expected 1 to " +
                                              std::to_string(kMaxDeviceNameNbytes));
  if (text.find('\0') != std::string::npos)
    return make_error(Code::INVALID_DATA, "name of a device: a NUL in the text, expected none");
  return text;
}

}  // namespace etb::format
