// SPDX-License-Identifier: Apache-2.0
// Failure: the exception of the C++ API of applications.
#pragma once

#include <stdexcept>
#include <string>

#include "etb/library.h"

namespace etb {

// A failed call of the library.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const etb_error& error)
      : std::runtime_error(error.text),
        code_(error.code),
        reason_(error.reason),
        hint_(etb_error_hint(&error)) {}

  etb_status code() const noexcept { return code_; }              // ETB_NOT_FOUND and the like
  const std::string& reason() const noexcept { return reason_; }  // stable id for programs, or ""
  const std::string& hint() const noexcept { return hint_; }      // advice for the user, or ""

 private:
  etb_status code_;
  std::string reason_, hint_;
};

namespace detail {

// Calls `call(&error)` and throws unless it returns ETB_OK. Clears only the begin of each text: zeroing all of an
// error would take longer than a small call.
template <class Call>
void must(Call call) {
  etb_error error;
  error.struct_size = sizeof error;
  error.flags = 0;
  error.vendor_code = 0;
  error.reason[0] = error.text[0] = '\0';
  if (const etb_status status = call(&error); status != ETB_OK) {
    error.code = status;
    throw Failure(error);
  }
}

}  // namespace detail

}  // namespace etb
