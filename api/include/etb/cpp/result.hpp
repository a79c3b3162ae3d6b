// SPDX-License-Identifier: Apache-2.0
//
// Errors in C++: Result<T> is a value or an Error; two macros pass an Error on. Needs tl::expected. value() of a
// Result without a value throws; what() is the message of the Error.
#pragma once

#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "etb/status.h"

namespace etb {

// The codes of status.def as an enum, so that a switch is checked.
#define ETB_STATUS(name, value, text) name = value,
enum class Code : int32_t {
#include "etb/status.def"
};
#undef ETB_STATUS

// The text of a code in status.def, or "unknown status".
constexpr const char* to_text(Code code) noexcept {
  switch (code) {
#define ETB_STATUS(name, value, text) \
  case Code::name:                    \
    return text;
#include "etb/status.def"
#undef ETB_STATUS
  }
  return "unknown status";
}

// An error. `message` is lower case without full stop: what was found, what was expected, where.
struct Error {
  Code code = Code::INTERNAL;
  std::string message;
  std::string reason;       // stable id for programs, "" when there is none
  int32_t vendor_code = 0;  // the vendor's own number, 0 when there is none
};

}  // namespace etb

// Exception of value(): its text is that of the error, not a general one.
template <>
class tl::bad_expected_access<etb::Error> : public std::exception {
 public:
  explicit bad_expected_access(etb::Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const etb::Error& error() const noexcept { return error_; }

 private:
  etb::Error error_;
};

namespace etb {

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> make_error(Code code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message), {}, 0});
}

// Prefixes the message with the location: "manifest 'x.json': " + message.
inline Error with_context(Error error, std::string_view where) {
  error.message.insert(0, std::string(where) + ": ");
  return error;
}

// Truncates at a UTF-8 boundary into a fixed array (rule ABI-ERR-02).
template <size_t N>
void copy_text(char (&out)[N], std::string_view text) noexcept {
  size_t count = text.size() < N ? text.size() : N - 1;
  while (count < text.size() && count > 0 && (static_cast<unsigned char>(text[count]) & 0xC0) == 0x80)
    --count;
  std::memcpy(out, text.data(), count);
  out[count] = '\0';
}

// Turns an Error into its C form: fills `out` when the caller passed one and returns the code.
inline etb_status to_c(const Error& error, etb_error* out) noexcept {
  const auto code = static_cast<etb_status>(error.code);
  if (out != nullptr && ETB_HAS_FIELD(etb_error, out, text)) {
    out->code = code;
    out->vendor_code = error.vendor_code;
    copy_text(out->reason, error.reason);
    copy_text(out->text, error.message);
  }
  return code;
}

// Turns a status from the C side into a Status. The text comes from `error`, or from the code when the callee
// wrote none.
inline Status check(etb_status status, const etb_error& error) {
  if (status == ETB_OK) return {};
  const auto code = static_cast<Code>(status);
  const size_t text_nbytes = strnlen(error.text, sizeof(error.text));
  std::string message = text_nbytes ? std::string(error.text, text_nbytes) : std::string(to_text(code));
  return tl::make_unexpected(Error{code, std::move(message),
                                   std::string(error.reason, strnlen(error.reason, sizeof(error.reason))),
                                   error.vendor_code});
}

}  // namespace etb

#define ETB_CONCAT_(a, b) a##b
#define ETB_CONCAT(a, b) ETB_CONCAT_(a, b)

// Goes on, or returns the error.
#define ETB_TRY(expr)                                                                      \
  do {                                                                                     \
    if (auto etb_r = (expr); !etb_r) return tl::make_unexpected(std::move(etb_r).error()); \
  } while (0)

// Declares (or assigns) from the value, or returns the error.
#define ETB_ASSIGN(decl, expr) ETB_ASSIGN_(ETB_CONCAT(etb_r_, __COUNTER__), decl, expr)
#define ETB_ASSIGN_(tmp, decl, expr)                            \
  auto tmp = (expr);                                            \
  if (!tmp) return tl::make_unexpected(std::move(tmp).error()); \
  decl = *std::move(tmp)
