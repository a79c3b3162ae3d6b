// SPDX-License-Identifier: Apache-2.0
//
// The two sides of the boundary in C++: guard() turns a Result or an exception into a status and the caller's
// error; accept() checks the structs of the other side.
#pragma once

#include <cstddef>
#include <cstring>

#include <exception>
#include <new>
#include <utility>

#include "etb/cpp/result.hpp"

namespace etb {

// Fills `out` when the caller passed one, without allocating, and returns the code.
inline etb_status write_error(Code code, std::string_view text, etb_error* out) noexcept {
  const auto status = static_cast<etb_status>(code);
  if (out == nullptr || !ETB_HAS_FIELD(etb_error, out, text)) return status;
  out->code = status;
  out->vendor_code = 0;
  out->reason[0] = '\0';
  copy_text(out->text, text);
  return status;
}

// Runs `body`, which returns a Status. No exception leaves it (ABI-CALL-03); works with -fno-exceptions too.
template <class Body>
etb_status guard(etb_error* out_error, Body&& body) noexcept {
#if defined(__cpp_exceptions)
  try {
#endif
    const Status status = std::forward<Body>(body)();
    return status ? ETB_OK : to_c(status.error(), out_error);
#if defined(__cpp_exceptions)
  } catch (const std::bad_alloc&) {
    return write_error(Code::OUT_OF_MEMORY, "out of memory", out_error);
  } catch (const std::exception& error) {
    return write_error(Code::INTERNAL, error.what(), out_error);
  } catch (...) {
    return write_error(Code::INTERNAL, "an exception of unknown type", out_error);
  }
#endif
}

// Turns the status of a sink or a host service into a Status (ABI-SINK-02: it is passed on unchanged).
inline Status from_host(etb_status status, const char* who) {
  if (status == ETB_OK) return {};
  const auto code = static_cast<Code>(status);
  return make_error(code, std::string(who) + ": " + to_text(code));
}

// Returns true if a struct of the other side can be read: not NULL, not smaller than in version 1.0
// (ABI-SIZE-02), no flag unknown to these headers and no reserved field that is not zero (ABI-TYPE-02). `last_field` is the last field of version
// 1.0.
#define ETB_ACCEPT(type, ptr, last_field) \
  ::etb::accept_struct((ptr), ETB_SIZE_THROUGH(type, last_field), 0u, #type)

// True if the fields that no version uses yet are zero, as far as the struct has them.
template <class T>
bool has_zero_reserved(const T& value) noexcept {
  const auto has = [&](const auto& field) {
    const auto end = reinterpret_cast<const char*>(&field + 1) - reinterpret_cast<const char*>(&value);
    return end <= static_cast<std::ptrdiff_t>(value.struct_size);
  };
  if constexpr (requires { value.reserved; })
    if (has(value.reserved) && value.reserved != 0) return false;
  if constexpr (requires { value.reserved_pointer; })
    if (has(value.reserved_pointer) && value.reserved_pointer != nullptr) return false;
  return true;
}

// The message of a struct that accept_struct() refused; `struct_size` and `flags` are 0 for NULL.
inline Status refuse_struct(const char* name, bool is_null, uint32_t struct_size, uint32_t min_nbytes,
                            uint32_t flags, uint32_t known_flags) {
  if (is_null) return make_error(Code::INVALID_ARGUMENT, std::string(name) + ": found NULL");
  if (struct_size < min_nbytes)
    return make_error(Code::INVALID_ARGUMENT, std::string(name) + ": struct_size " +
                                                  std::to_string(struct_size) + ", expected at least " +
                                                  std::to_string(min_nbytes));
  if ((flags & ~known_flags) == 0)
    return make_error(Code::INVALID_ARGUMENT, std::string(name) + ": a reserved field is not zero");
  return make_error(Code::INVALID_ARGUMENT, std::string(name) + ": flags " + std::to_string(flags) +
                                                ", expected none but " + std::to_string(known_flags));
}

template <class T>
bool is_accepted(const T* ptr, uint32_t min_nbytes, uint32_t known_flags) noexcept {
  return ptr != nullptr && ptr->struct_size >= min_nbytes && (ptr->flags & ~known_flags) == 0 &&
         has_zero_reserved(*ptr);
}

// Small, so that the compiler puts the comparison into the caller.
template <class T>
Status accept_struct(const T* ptr, uint32_t min_nbytes, uint32_t known_flags, const char* name) {
  if (is_accepted(ptr, min_nbytes, known_flags)) return {};
  const bool is_null = ptr == nullptr;
  return refuse_struct(name, is_null, is_null ? 0 : ptr->struct_size, min_nbytes, is_null ? 0 : ptr->flags,
                       known_flags);
}

// Copies a struct of the other side into this side's size: a longer tail is left out, missing fields are zero
// (ABI-SIZE-02).
template <class T>
T copy_struct(const T& raw) noexcept {
  T copy{};
  std::memcpy(&copy, &raw, raw.struct_size < sizeof(T) ? raw.struct_size : sizeof(T));
  return copy;
}

}  // namespace etb
