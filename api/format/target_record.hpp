// SPDX-License-Identifier: Apache-2.0
// The device that payloads were compiled for. A program stores it as named data, one entry for each delegate id whose payloads
// were compiled for a target with a fingerprint. Other run times do not read the entry. Little-endian:
//
//    0  magic: "ETBT"
//    4  u32  version: 1
//    8  32 bytes  fingerprint (etb_target.fingerprint)
//   40  u32  bytes of the kind, then the kind
//    .  u32  bytes of the name, then the name
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::format {

struct TargetRecord {
  std::string kind, name;
  std::array<uint8_t, 32> fingerprint{};
  friend bool operator==(const TargetRecord&, const TargetRecord&) = default;
};

inline constexpr uint32_t kMaxTargetTextNbytes = 1024;  // limit of the kind and of the name, each

// Key of the named data for a delegate id.
inline std::string target_record_key(std::string_view delegate_id) {
  return "etbackend.target/" + std::string(delegate_id);
}

// A kind or name that is longer than kMaxTargetTextNbytes is cut.
inline std::string write_target_record(const TargetRecord& record) {
  std::string out = "ETBT";
  const auto put_u32 = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
  };
  const auto put_text = [&](std::string_view text) {
    text = text.substr(0, kMaxTargetTextNbytes);
    put_u32(static_cast<uint32_t>(text.size()));
    out += text;
  };
  put_u32(1);
  out.append(reinterpret_cast<const char*>(record.fingerprint.data()), record.fingerprint.size());
  put_text(record.kind);
  put_text(record.name);
  return out;
}

// Returns INVALID_DATA with what was found and expected.
inline Result<TargetRecord> read_target_record(std::span<const std::byte> bytes) {
  const auto bad = [](const std::string& text) {
    return make_error(Code::INVALID_DATA, "target record: " + text);
  };
  std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto take = [&](size_t count) {
    const std::string_view taken = left.substr(0, count);
    left.remove_prefix(taken.size());
    return taken;
  };
  const auto take_u32 = [&] {
    uint32_t value = 0;
    int shift = 0;
    for (const char byte : take(4)) value |= uint32_t{static_cast<uint8_t>(byte)} << shift, shift += 8;
    return value;
  };
  constexpr size_t kFixedNbytes = 48;
  if (bytes.size() < kFixedNbytes)
    return bad(std::to_string(bytes.size()) + " bytes, expected at least " + std::to_string(kFixedNbytes));
  if (take(4) != "ETBT") return bad("found another magic, expected ETBT");
  if (const uint32_t version = take_u32(); version != 1)
    return bad("version " + std::to_string(version) + ", expected 1");
  TargetRecord out;
  std::memcpy(out.fingerprint.data(), take(out.fingerprint.size()).data(), out.fingerprint.size());
  for (std::string* const text : {&out.kind, &out.name}) {
    const uint32_t nbytes = left.size() < 4 ? UINT32_MAX : take_u32();
    if (nbytes > left.size() || nbytes > kMaxTargetTextNbytes)
      return bad("a text that does not end within it, or is longer than " +
                 std::to_string(kMaxTargetTextNbytes) + " bytes");
    *text = take(nbytes);
  }
  if (!left.empty()) return bad(std::to_string(left.size()) + " bytes after its end");
  return out;
}

}  // namespace etb::format
