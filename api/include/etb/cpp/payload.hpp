// SPDX-License-Identifier: Apache-2.0
//
// Payload bytes, named data and verdicts in C++.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "etb/cpp/guard.hpp"
#include "etb/payload.h"

namespace etb {

// Bytes that the host lends until release(). Release early after copying or packing; the destructor releases
// too (ABI-OWN-03). To read until the delegate is destroyed, keep the Payload in the delegate.
class Payload {
 public:
  Payload() = default;
  static Result<Payload> make(const etb_payload_view* view) {
    ETB_TRY(ETB_ACCEPT(etb_payload_view, view, release));
    if (view->data == nullptr && view->nbytes > 0)
      return make_error(Code::NOT_SUPPORTED, "payload that is only a file, expected bytes in memory");
    Payload result;
    result.view_ = copy_struct(*view);
    return result;
  }
  Payload(Payload&& other) noexcept : view_(std::exchange(other.view_, etb_payload_view{})) {}
  Payload& operator=(Payload&& other) noexcept {
    if (this != &other) {
      release();
      view_ = std::exchange(other.view_, etb_payload_view{});
    }
    return *this;
  }
  ~Payload() { release(); }

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.data), static_cast<size_t>(view_.nbytes)};
  }
  // The file that holds the same bytes; fd -1: none. Reading them there instead of in memory leaves the pages of a file that is
  // larger than memory out of this process. Valid until release().
  struct File {
    int32_t fd = -1;
    uint64_t offset_bytes = 0;
  };
  File file() const { return view_.struct_size == 0 ? File() : File{view_.fd, view_.fd_offset_bytes}; }
  void release() {
    if (view_.release != nullptr) view_.release(view_.release_ctx);
    view_ = {};
  }

 private:
  etb_payload_view view_{};
};

// Weights and other bytes that payloads of a program share, by key. Valid until the delegate is destroyed.
class NamedData {
 public:
  explicit NamedData(const etb_named_data* raw = nullptr) : raw_(raw) {}
  Result<Payload> get(const char* key) const {
    if (raw_ == nullptr)
      return make_error(Code::NOT_FOUND, "named data '" + std::string(key) + "': the program has none");
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    etb_error error = ETB_ERROR_INIT;
    ETB_TRY(check(raw_->get(raw_->ctx, key, &view, &error), error));
    return Payload::make(&view);
  }

 private:
  const etb_named_data* raw_;
};

// Verdict about a payload.
struct Verdict {
  etb_verdict_kind kind = ETB_VERDICT_UNKNOWN;
  uint32_t reasons = 0;  // ETB_REASON_*
  std::string text;
};

}  // namespace etb
