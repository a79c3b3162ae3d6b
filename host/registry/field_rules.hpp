// SPDX-License-Identifier: Apache-2.0
// Rules for text in a manifest: each has a predicate and an "expected ..." phrase.
#pragma once

#include <string_view>

namespace etb::host {

struct TextRule {
  bool (*accepts)(std::string_view text);
  const char* expected;
};

extern const TextRule kPluginIdRule;      // lower-case reverse DNS, at most 95 bytes
extern const TextRule kVersionRule;       // semantic version, at most 31 bytes
extern const TextRule kProvidedIdRule;    // a delegate id of a .pte file
extern const TextRule kAliasRule;         // a short name for command lines
extern const TextRule kTokenRule;         // one word: os, arch, kinds, features
extern const TextRule kOptionKeyRule;     // lower-case words joined by dots
extern const TextRule kLineRule;          // one line to display, 1 to 256 bytes
extern const TextRule kTextRule;          // text to display, at most 4096 bytes
extern const TextRule kUrlRule;           // http or https
extern const TextRule kBeneathRule;       // a relative path that stays beneath the manifest's folder
extern const TextRule kSha256Rule;        // 64 lower-case hexadecimal digits
extern const TextRule kDottedNumberRule;  // 1, 1.3, 5.10.2
extern const TextRule kSonameRule;        // a file name of a shared library
extern const TextRule kVendorNumberRule;  // 0x and four hexadecimal digits

}  // namespace etb::host
