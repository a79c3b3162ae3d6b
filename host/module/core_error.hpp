// SPDX-License-Identifier: Apache-2.0
// Calls of the core from C++: the core writes errors to memory of its caller, here they become Errors.
#pragma once

#include "etb/cpp/result.hpp"

namespace etb::host {

// Clears an error without writing all of it, for frequent calls: ETB_ERROR_INIT writes half a kilobyte of
// zeros.
inline void clear(etb_error& error) noexcept {
  error.struct_size = sizeof(error);
  error.flags = 0;
  error.code = ETB_OK;
  error.vendor_code = 0;
  error.reason[0] = '\0';
  error.text[0] = '\0';
}

// Runs `call(&error)`, which returns a status.
template <class Call>
Status checked(Call call) {
  etb_error error;
  clear(error);
  return check(call(&error), error);
}

}  // namespace etb::host
