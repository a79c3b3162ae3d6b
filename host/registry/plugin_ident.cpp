// SPDX-License-Identifier: Apache-2.0
#include "host/registry/plugin_ident.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "host/registry/diagnostic.hpp"
#include "host/registry/field_rules.hpp"

namespace etb::host {
namespace {

constexpr uint32_t kMinIdentBytes = ETB_SIZE_THROUGH(etb_plugin_ident, build_id);
constexpr uint32_t kProfilesKnown = ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT | ETB_PROFILE_LAYER;
constexpr uint32_t kSanitizersKnown = ETB_SANITIZER_ADDRESS | ETB_SANITIZER_THREAD | ETB_SANITIZER_MEMORY;

std::string hex_text(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", value);
  return text;
}

tl::unexpected<Error> bad_ident(std::string message) {
  return make_error(Code::INVALID_DATA, std::move(message));
}

// The host reads the identity before it negotiates a version. If the plugin also supports a newer version,
// bits that are unknown here belong to that version (ABI-TYPE-02).
Status verify_bits(const etb_plugin_ident& ident) {
  if (ident.abi_max > ETB_ABI_VERSION) return {};
  if (ident.flags & ~ETB_PLUGIN_FLAGS_KNOWN)
    return bad_ident("flags " + hex_text(ident.flags) + ", known are " + hex_text(ETB_PLUGIN_FLAGS_KNOWN));
  if (ident.reserved != 0) return bad_ident("reserved field is not zero");
  if (ident.profiles & ~kProfilesKnown)
    return bad_ident("profiles " + hex_text(ident.profiles) + ", expected some of " +
                     hex_text(kProfilesKnown));
  if (ident.sanitizers & ~kSanitizersKnown)
    return bad_ident("sanitizers " + hex_text(ident.sanitizers) + ", known are " +
                     hex_text(kSanitizersKnown));
  return {};
}

Status verify_numbers(const etb_plugin_ident& ident) {
  if (ident.abi_candidate != ETB_ABI_RELEASE_CANDIDATE)
    return make_error(Code::INCOMPATIBLE, "built for release candidate " +
                                              std::to_string(ident.abi_candidate) +
                                              " of the ABI, the host speaks candidate " +
                                              std::to_string(ETB_ABI_RELEASE_CANDIDATE));
  ETB_TRY(verify_bits(ident));
  if ((ident.profiles & kProfilesKnown) == 0)
    return bad_ident("profiles " + hex_text(ident.profiles) + ", expected some of " +
                     hex_text(kProfilesKnown));
  if (ETB_ABI_MAJOR_OF(ident.abi_min) == 0 || ident.abi_min > ident.abi_max)
    return bad_ident("abi " + format_abi(ident.abi_min) + " to " + format_abi(ident.abi_max) +
                     " is no range");
  return {};
}

template <size_t N>
Result<std::string> read_text(const char (&text)[N], const char* name, const TextRule& rule,
                              bool may_be_empty) {
  const size_t nbytes = strnlen(text, N);
  if (nbytes == N) return bad_ident(std::string(name) + ": no NUL within " + std::to_string(N) + " bytes");
  std::string value(text, nbytes);
  if (!(may_be_empty && value.empty()) && !rule.accepts(value))
    return bad_ident(std::string(name) + ": found " + in_quotes(value) + ", expected " + rule.expected);
  return value;
}

}  // namespace

Result<PluginIdent> verify_plugin_ident(std::span<const uint8_t> bytes) {
  etb_plugin_ident ident{};
  if (bytes.size() < sizeof(uint32_t)) return bad_ident("empty");
  std::memcpy(&ident.struct_size, bytes.data(), sizeof(uint32_t));
  if (ident.struct_size < kMinIdentBytes || ident.struct_size > bytes.size())
    return bad_ident("struct_size " + std::to_string(ident.struct_size) + ", expected " +
                     std::to_string(kMinIdentBytes) + " to " + std::to_string(bytes.size()));
  std::memcpy(&ident, bytes.data(), std::min<size_t>(sizeof(ident), ident.struct_size));
  ETB_TRY(verify_numbers(ident));
  PluginIdent out{ident.flags, ident.abi_min, ident.abi_max, ident.profiles, ident.sanitizers, {}, {}, {}, {},
                  {}};
  ETB_ASSIGN(out.id, read_text(ident.id, "id", kPluginIdRule, false));
  ETB_ASSIGN(out.vendor, read_text(ident.vendor, "vendor", kLineRule, false));
  ETB_ASSIGN(out.version, read_text(ident.version, "version", kVersionRule, false));
  ETB_ASSIGN(out.build_id, read_text(ident.build_id, "build_id", kLineRule, true));
  out.bytes.assign(bytes.begin(), bytes.begin() + ident.struct_size);
  return out;
}

std::string format_abi(uint32_t version) {
  return std::to_string(ETB_ABI_MAJOR_OF(version)) + '.' + std::to_string(ETB_ABI_MINOR_OF(version));
}

std::string format_sanitizers(uint32_t sanitizers) {
  std::string text;
  const auto add = [&](uint32_t bit, const char* name) {
    if (sanitizers & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(ETB_SANITIZER_ADDRESS, "address");
  add(ETB_SANITIZER_THREAD, "thread");
  add(ETB_SANITIZER_MEMORY, "memory");
  return text.empty() ? "none" : text;
}

}  // namespace etb::host
