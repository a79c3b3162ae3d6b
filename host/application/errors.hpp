// SPDX-License-Identifier: Apache-2.0
// Errors of the C API: every function ends in answer(), which converts errors and exceptions.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "etb/cpp/guard.hpp"

namespace etb::host {

// Keeps the whole message for etb_last_error(), and fills `out` with as much of it as fits, its hint included.
// Bytes that could control a terminal are escaped.
etb_status report(const Error& error, etb_error* out) noexcept;

// The whole message of the last report() on this thread.
const char* last_error() noexcept;

// Runs `body`, which returns a Status. No exception leaves it.
template <class Body>
etb_status answer(etb_error* out, Body&& body) noexcept {
  try {
    const Status status = body();
    return status ? ETB_OK : report(status.error(), out);
  } catch (const std::bad_alloc&) {
    return report(Error{Code::OUT_OF_MEMORY, {}, {}, 0}, out);
  } catch (const std::exception& thrown) {
    return write_error(Code::INTERNAL, thrown.what(), out);
  } catch (...) {
    return write_error(Code::INTERNAL, "an exception of unknown type", out);
  }
}

// Returns the element of an array that a count and a pointer describe, or an error that names it.
template <class T>
[[nodiscard]] Status check_array(const T* array, uint64_t count, const char* name) {
  if (array != nullptr || count == 0) return {};
  return make_error(Code::INVALID_ARGUMENT,
                    std::string(name) + ": NULL with " + std::to_string(count) + " elements");
}

// Returns an error that names what is NULL.
[[nodiscard]] inline Status check_pointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return make_error(Code::INVALID_ARGUMENT, std::string(name) + " is NULL");
}

}  // namespace etb::host
