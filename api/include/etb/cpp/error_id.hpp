// SPDX-License-Identifier: Apache-2.0
//
// Errors without texts, for firmware: with ETB_ERROR_TEXTS=0 an error has its code and a place, such as "@1c9f:12", instead of
// a text. 1c9f is the id of the text, 12 the first number in it. Places of callers follow: "@1c9f:12 @07b2:3". The program
// error_texts of etb_add_runtime turns places into texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "etb/status.h"

// 1: errors have texts. All sources of a program use the same value.
#if !defined(ETB_ERROR_TEXTS)
#define ETB_ERROR_TEXTS 1
#endif

namespace etb {

inline constexpr bool kHasErrorTexts = ETB_ERROR_TEXTS != 0;

// Returns 16 bits of a hash of a printf format. Sizes of numbers ("ll", "z") differ between processors and do not count.
constexpr uint16_t error_id(std::string_view format) noexcept {
  constexpr std::string_view kSizes = "hljzt", kEnds = "diuxXopcsgfeaGFEA%";
  uint32_t hash = 2166136261u;  // FNV-1a
  bool is_conversion = false;
  for (const char c : format) {
    if (is_conversion && kSizes.find(c) != std::string_view::npos) continue;
    is_conversion = is_conversion ? kEnds.find(c) == std::string_view::npos : c == '%';
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return static_cast<uint16_t>(hash >> 16 ^ hash);
}

// True if the first conversion of a printf format is a whole number, without a width.
constexpr bool begins_with_number(std::string_view format) noexcept {
  const size_t at = format.find('%');
  if (at == std::string_view::npos) return false;
  const size_t end = format.find_first_not_of("hljzt", at + 1);
  return end != std::string_view::npos &&
         std::string_view("diux").find(format[end]) != std::string_view::npos;
}

#if !ETB_ERROR_TEXTS

// A printf format, of which the program keeps only the id.
struct ErrorId {
  uint16_t value;
  bool has_number;
  consteval ErrorId(const char* format) noexcept
      : value(error_id(format)), has_number(begins_with_number(format)) {}
};

namespace detail {

inline uint32_t first_number() noexcept { return 0; }
template <class First, class... Rest>
__attribute__((always_inline)) inline uint32_t first_number(const First& first, const Rest&...) noexcept {
  if constexpr (std::is_integral_v<First> || std::is_enum_v<First>) return static_cast<uint32_t>(first);
  return 0;
}

// Appends a place: the id as four hexadecimal digits, the number as a decimal one.
__attribute__((noinline, cold)) inline void add_place(etb_error* error, uint32_t id,
                                                      uint32_t number) noexcept {
  char* out = error->text;
  char* const last = error->text + ETB_ERROR_TEXT_NBYTES - sizeof("@1c9f:4294967295");
  while (*out != '\0' && out <= last) ++out;
  if (out > last) return;
  *out++ = '@';
  for (int shift = 12; shift >= 0; shift -= 4) *out++ = "0123456789abcdef"[id >> shift & 15];
  *out++ = ':';
  char digits[10];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *out++ = digits[--count];
  *out = '\0';
}

__attribute__((noinline, cold)) inline etb_status fail_at(etb_error* error, etb_status code, uint32_t id,
                                                          uint32_t number) noexcept {
  if (error == nullptr || !ETB_HAS_FIELD(etb_error, error, text)) return code;
  error->code = code;
  error->vendor_code = 0;
  error->reason[0] = '\0';
  error->text[0] = '\0';
  add_place(error, id, number);
  return code;
}

__attribute__((noinline, cold)) inline etb_status fail_in_place(etb_error* error, etb_status code,
                                                                uint32_t id, uint32_t number) noexcept {
  if (error != nullptr && ETB_HAS_FIELD(etb_error, error, text)) add_place(error, id, number);
  return code;
}

}  // namespace detail

#endif

}  // namespace etb
