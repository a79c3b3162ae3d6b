// SPDX-License-Identifier: Apache-2.0
// The extension buffer/1: memory of a card that the host passes to several delegates, so that values between them stay there.
#pragma once

#include <memory>
#include <string_view>

#include "card.hpp"
#include "etb/cpp/plugin.hpp"
#include "etb/ext/buffer.h"

namespace card {

// The kind of these buffers, in reverse DNS. Its handle is a Memory*.
inline constexpr const char* kBufferKind = "com.example.card.memory";

template <class Plugin>
class Buffers {
 public:
  static constexpr etb_buffer_table table() {
    return {ETB_INIT_SIZE(etb_buffer_table), 0, import_buffer, export_buffer, allocate, sync, free};
  }

 private:
  static Memory& memory_of(etb_buffer* buffer) { return *reinterpret_cast<Memory*>(buffer); }

  static etb::Status check_kind(const char* kind) {
    if (kind != nullptr && std::string_view(kind) == kBufferKind) return {};
    return etb::make_error(
        etb::Code::NOT_SUPPORTED,
        std::string("memory of kind '") + (kind == nullptr ? "" : kind) + "', expected " + kBufferKind);
  }

  static etb_status ETB_CALL allocate(etb_device* device, const char* kind, uint64_t nbytes, etb_buffer** out,
                                      etb_error* error) {
    return etb::guard(error, [&]() -> etb::Status {
      ETB_TRY(check_kind(kind));
      ETB_ASSIGN(Memory memory, etb::device_of<Plugin>(device).allocate(nbytes));
      *out = reinterpret_cast<etb_buffer*>(new Memory(std::move(memory)));
      return {};
    });
  }

  // The card cannot use memory of others.
  static etb_status ETB_CALL import_buffer(etb_device*, const etb_buffer_desc* desc, etb_buffer**,
                                           etb_error* error) {
    return etb::guard(error, [&]() -> etb::Status {
      ETB_TRY(ETB_ACCEPT(etb_buffer_desc, desc, release));
      return etb::make_error(etb::Code::NOT_SUPPORTED, "the card imports no memory");
    });
  }

  static etb_status ETB_CALL export_buffer(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                           etb_error* error) {
    return etb::guard(error, [&]() -> etb::Status {
      ETB_TRY(ETB_ACCEPT(etb_buffer_desc, out, release));
      ETB_TRY(check_kind(kind));
      out->kind = kBufferKind;
      out->handle = &memory_of(buffer);
      out->fd = -1;
      out->access = 3;
      out->offset_bytes = 0;
      out->nbytes = memory_of(buffer).nbytes();
      out->release_ctx = nullptr;
      out->release = nullptr;
      return {};
    });
  }

  // The host cannot map the memory, so there is nothing to make visible.
  static etb_status ETB_CALL sync(etb_buffer*, uint32_t access, etb_error* error) {
    return etb::guard(error, [&]() -> etb::Status {
      if (access == 1 || access == 2) return {};
      return etb::make_error(etb::Code::INVALID_ARGUMENT,
                             "sync with access " + std::to_string(access) + ", expected 1 or 2");
    });
  }

  static void ETB_CALL free(etb_buffer* buffer) {
    if (buffer != nullptr) delete &memory_of(buffer);
  }
};

}  // namespace card
