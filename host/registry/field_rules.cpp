// SPDX-License-Identifier: Apache-2.0
#include "host/registry/field_rules.hpp"

#include <algorithm>

#include "host/registry/diagnostic.hpp"
#include "host/registry/semantic_version.hpp"

namespace etb::host {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

template <class Predicate>
bool is_word(std::string_view text, size_t max_nbytes, Predicate is_allowed) {
  return !text.empty() && text.size() <= max_nbytes && std::all_of(text.begin(), text.end(), is_allowed);
}

// Calls `accepts` on each part between separators. Returns false when a part is empty.
template <class Predicate>
bool all_parts(std::string_view text, char separator, Predicate accepts) {
  for (;;) {
    const size_t at = text.find(separator);
    if (!accepts(text.substr(0, at))) return false;
    if (at == std::string_view::npos) return true;
    text.remove_prefix(at + 1);
  }
}

bool is_dns_label(std::string_view label) {
  const auto is_allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
  return is_word(label, 63, is_allowed) && label.front() != '-' && label.back() != '-';
}

bool is_plugin_id(std::string_view text) {
  return text.size() <= 95 && text.find('.') != std::string_view::npos && all_parts(text, '.', is_dns_label);
}

bool is_version(std::string_view text) { return text.size() <= 31 && is_semantic_version(text); }

bool is_provided_id(std::string_view text) {
  return is_word(text, 63, [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == ':' ||
           c == '/' || c == '+';
  });
}

bool is_token(std::string_view text) {
  return is_word(text, 63, [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

bool is_alias(std::string_view text) {
  return is_word(text, 32, [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; }) &&
         text[0] != '-';
}

bool is_option_key(std::string_view text) {
  return text.size() <= 95 && all_parts(text, '.', [](std::string_view part) {
           return is_word(part, 63,
                          [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; }) &&
                  is_lower(part[0]);
         });
}

bool is_line(std::string_view text) { return !text.empty() && text.size() <= 256 && is_printable(text); }
bool is_text(std::string_view text) { return text.size() <= 4096 && is_printable(text); }

bool is_url(std::string_view text) {
  const bool has_scheme = text.substr(0, 8) == "https://" || text.substr(0, 7) == "http://";
  return has_scheme &&
         is_word(text, 512, [](char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>'; });
}

bool is_beneath(std::string_view text) {
  if (text.size() > 255 || !is_printable(text) || text.find('\\') != std::string_view::npos) return false;
  return all_parts(text, '/',
                   [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
}

bool is_sha256(std::string_view text) { return text.size() == 64 && is_word(text, 64, is_lower_hex); }

bool is_dotted_number(std::string_view text) {
  return text.size() <= 31 &&
         all_parts(text, '.', [](std::string_view part) { return is_word(part, 9, is_digit); });
}

bool is_soname(std::string_view text) { return is_beneath(text) && text.find('/') == std::string_view::npos; }

bool is_vendor_number(std::string_view text) {
  return text.size() == 6 && text.substr(0, 2) == "0x" && is_word(text.substr(2), 4, is_lower_hex);
}

}  // namespace

const TextRule kPluginIdRule{is_plugin_id,
                             "a lower-case reverse-DNS id of at most 95 bytes such as 'com.example.my-npu'"};
const TextRule kVersionRule{is_version, "a semantic version of at most 31 bytes such as '1.2.0'"};
const TextRule kProvidedIdRule{is_provided_id, "a delegate id of 1 to 63 letters, digits and _-.:/+"};
const TextRule kAliasRule{is_alias, "1 to 32 lower-case letters, digits, _ and -, not starting with -"};
const TextRule kTokenRule{is_token, "1 to 63 letters, digits and _-./"};
const TextRule kOptionKeyRule{is_option_key, "lower-case words joined by dots, each starting with a letter"};
const TextRule kLineRule{is_line, "1 to 256 bytes of UTF-8 without control characters"};
const TextRule kTextRule{is_text, "at most 4096 bytes of UTF-8 without control characters"};
const TextRule kUrlRule{is_url, "an http or https URL of at most 512 bytes"};
const TextRule kBeneathRule{is_beneath,
                            "a relative path beneath the manifest, without '..', '.', '\\' or empty parts"};
const TextRule kSha256Rule{is_sha256, "64 lower-case hexadecimal digits"};
const TextRule kDottedNumberRule{is_dotted_number, "numbers joined by dots such as '5.10'"};
const TextRule kSonameRule{is_soname, "the file name of a shared library, without folders"};
const TextRule kVendorNumberRule{is_vendor_number, "0x and four lower-case hexadecimal digits"};

}  // namespace etb::host
