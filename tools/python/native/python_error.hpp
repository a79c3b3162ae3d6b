// SPDX-License-Identifier: Apache-2.0
//
// Texts of the library as Python's str, and its failures as etbackend.Error. All functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "etb/etbackend.h"

namespace etb::python {

// A str of any bytes: files and plugins may hold what is no UTF-8. `errors` is Python's name of the replacement;
// "surrogateescape" keeps two different names different.
nanobind::object text_of(std::string_view bytes, const char* errors = "replace");

// Raises etbackend.Error. `text` may end in a line "hint: ...". An empty `reason` becomes the status, such as
// "status.not-found".
[[noreturn]] void raise_error(etb_status status, std::string_view reason, std::string_view text);

// Raises the error of a call that returned `status` on this thread, with the whole text of its message.
[[noreturn]] void raise_error(etb_status status, const etb_error& error);

// Calls `call(&error)` without the GIL and raises its error.
template <class Call>
void must(Call call) {
  etb_error error = ETB_ERROR_INIT;
  etb_status status = ETB_OK;
  {
    const nanobind::gil_scoped_release released;
    status = call(&error);
  }
  if (status != ETB_OK) raise_error(status, error);
}

}  // namespace etb::python
