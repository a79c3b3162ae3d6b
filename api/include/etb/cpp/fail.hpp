// SPDX-License-Identifier: Apache-2.0
//
// Errors without a heap: writes the error into the caller's etb_error and returns the code. For code that
// must not allocate (the run time core, readers that it uses); all other code uses Result.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "etb/cpp/error_id.hpp"
#include "etb/status.h"

namespace etb {

namespace detail {

// Cuts a truncated text back to a UTF-8 boundary (rule ABI-ERR-02).
inline void trim_utf8(char* text, size_t written, size_t capacity) noexcept {
  if (written < capacity) return;
  size_t end = capacity - 1;
  size_t start = end;
  while (start > 0 && (static_cast<unsigned char>(text[start - 1]) & 0xC0) == 0x80) --start;
  if (start > 0) --start;
  const auto lead = static_cast<unsigned char>(text[start]);
  const size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (end - start < need) end = start;
  text[end] = '\0';
}

inline bool can_write(const etb_error* error) noexcept {
  return error != nullptr && ETB_HAS_FIELD(etb_error, error, text);
}

}  // namespace detail

#if ETB_ERROR_TEXTS
// Fills `error` when the caller passed one. The text is lower case: what was found, what was expected, where.
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), cold))
#endif
inline etb_status
fail(etb_error* error, etb_status code, const char* format, ...) noexcept {
  if (!detail::can_write(error)) return code;
  error->code = code;
  error->vendor_code = 0;
  error->reason[0] = '\0';
  va_list args;
  va_start(args, format);
  const int written = std::vsnprintf(error->text, sizeof(error->text), format, args);
  va_end(args);
  if (written < 0) error->text[0] = '\0';
  if (written > 0) detail::trim_utf8(error->text, static_cast<size_t>(written), sizeof(error->text));
  return code;
}

// Prefixes the text of `error` with the location: "method 'forward': " + text. Returns the code that it
// received.
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), cold))
#endif
inline etb_status
fail_in(etb_error* error, etb_status code, const char* format, ...) noexcept {
  if (!detail::can_write(error)) return code;
  char where[ETB_ERROR_TEXT_NBYTES];
  va_list args;
  va_start(args, format);
  const int written = std::vsnprintf(where, sizeof(where), format, args);
  va_end(args);
  if (written <= 0) return code;
  char text[ETB_ERROR_TEXT_NBYTES];
  const int total = std::snprintf(text, sizeof(text), "%s: %s", where, error->text);
  if (total > 0) detail::trim_utf8(text, static_cast<size_t>(total), sizeof(text));
  for (size_t i = 0; i < sizeof(text); ++i) {
    error->text[i] = text[i];
    if (text[i] == '\0') break;
  }
  return code;
}

#else

// The same with places: etb/cpp/error_id.hpp.
template <class... Arguments>
__attribute__((always_inline)) inline etb_status fail(etb_error* error, etb_status code, ErrorId format,
                                                      const Arguments&... arguments) noexcept {
  return detail::fail_at(error, code, format.value,
                         format.has_number ? detail::first_number(arguments...) : 0);
}

template <class... Arguments>
__attribute__((always_inline)) inline etb_status fail_in(etb_error* error, etb_status code, ErrorId format,
                                                         const Arguments&... arguments) noexcept {
  return detail::fail_in_place(error, code, format.value,
                               format.has_number ? detail::first_number(arguments...) : 0);
}

#endif

// Arguments for "%.*s": text from an untrusted file, at most 128 bytes of it.
inline int shown(std::string_view text) noexcept {
  return text.size() < 128 ? static_cast<int>(text.size()) : 128;
}

}  // namespace etb

// Goes on, or returns the status.
#define ETB_CHECK(expr)                                                 \
  do {                                                                  \
    if (const etb_status etb_s = (expr); etb_s != ETB_OK) return etb_s; \
  } while (0)
