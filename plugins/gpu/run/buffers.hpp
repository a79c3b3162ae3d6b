// SPDX-License-Identifier: Apache-2.0
// The extension buffer/1 of a GPU plugin: memory of a device that the host passes to several delegates, so that values between
// them stay there; and memory of the host that the device uses without a copy.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>

#include "etb/cpp/plugin.hpp"
#include "etb/ext/buffer.h"

namespace etb::gpu {

inline constexpr std::string_view kHostKind = "host";

// Api: as of GpuDelegate; and kBufferKind, the kind of its buffers. Its Device has SharedMemory, with `host`, the address for the
// host or NULL, and `nbytes`; share(), import_host(), sync_shared() and handle_of(). Its
// contexts make memory of the host visible themselves (ETB_BUFFER_COHERENT).
template <class Api>
class Buffers {
 public:
  static constexpr etb_buffer_table table() {
    return {ETB_INIT_SIZE(etb_buffer_table),
            ETB_BUFFER_COHERENT,
            import_buffer,
            export_buffer,
            allocate,
            sync,
            free};
  }

 private:
  using Device = typename Api::Device;
  // The object of an etb_buffer. Members are declared in order of life.
  struct Object {
    etb_buffer_desc lender = {};  // of imported memory; released last
    std::shared_ptr<Device> device;
    typename Device::SharedMemory memory;
  };
  static Object& object_of(etb_buffer* buffer) { return *reinterpret_cast<Object*>(buffer); }

  static Result<std::shared_ptr<Device>> device_for(etb_device* device) {
    return plugin_of<typename Api::Plugin>(device).device_for(device);
  }
  static Status unknown(std::string_view kind, const char* what) {
    return make_error(Code::NOT_SUPPORTED, std::string(what) + " memory of kind '" + std::string(kind) +
                                               "', expected host or " + Api::kBufferKind);
  }

  static etb_status ETB_CALL import_buffer(etb_device* device, const etb_buffer_desc* desc, etb_buffer** out,
                                           etb_error* error) {
    return guard(error, [&]() -> Status {
      ETB_TRY(ETB_ACCEPT(etb_buffer_desc, desc, release));
      if (desc->kind == nullptr || desc->kind != kHostKind)
        return unknown(desc->kind == nullptr ? "" : desc->kind, "import of");
      if (desc->handle == nullptr || desc->nbytes == 0)
        return make_error(Code::INVALID_ARGUMENT, "import of host memory without an address or bytes");
      auto made = std::make_unique<Object>();
      ETB_ASSIGN(made->device, device_for(device));
      auto* const data = static_cast<std::byte*>(desc->handle) + desc->offset_bytes;
      ETB_ASSIGN(made->memory, made->device->import_host(data, desc->nbytes));
      made->lender = *desc;
      *out = reinterpret_cast<etb_buffer*>(made.release());
      return {};
    });
  }

  static etb_status ETB_CALL export_buffer(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                           etb_error* error) {
    return guard(error, [&]() -> Status {
      ETB_TRY(ETB_ACCEPT(etb_buffer_desc, out, release));
      const Object& object = object_of(buffer);
      const std::string_view wanted = kind == nullptr ? "" : kind;
      const bool is_host = wanted == kHostKind && object.memory.host != nullptr;
      if (!is_host && wanted != Api::kBufferKind) return unknown(wanted, "export as");
      out->kind = is_host ? kHostKind.data() : Api::kBufferKind;
      out->handle = is_host ? object.memory.host : Device::handle_of(object.memory);
      out->fd = -1;
      out->access = 3;
      out->offset_bytes = 0;
      out->nbytes = object.memory.nbytes;
      out->release_ctx = nullptr;
      out->release = nullptr;
      return {};
    });
  }

  static etb_status ETB_CALL allocate(etb_device* device, const char* kind, uint64_t nbytes, etb_buffer** out,
                                      etb_error* error) {
    return guard(error, [&]() -> Status {
      const std::string_view wanted = kind == nullptr ? "" : kind;
      if (wanted != kHostKind && wanted != Api::kBufferKind) return unknown(wanted, "allocation of");
      auto made = std::make_unique<Object>();
      ETB_ASSIGN(made->device, device_for(device));
      if (nbytes > made->device->max_range_bytes())
        return make_error(Code::OUT_OF_MEMORY, "a buffer of " + std::to_string(nbytes) +
                                                   " bytes, expected at most " +
                                                   std::to_string(made->device->max_range_bytes()));
      ETB_ASSIGN(made->memory, made->device->share(nbytes, wanted == kHostKind));
      *out = reinterpret_cast<etb_buffer*>(made.release());
      return {};
    });
  }

  static etb_status ETB_CALL sync(etb_buffer* buffer, uint32_t access, etb_error* error) {
    return guard(error, [&]() -> Status {
      if (access != 1 && access != 2)
        return make_error(Code::INVALID_ARGUMENT,
                          "sync with access " + std::to_string(access) + ", expected 1 or 2");
      const Object& object = object_of(buffer);
      ETB_TRY(object.device->check_process());
      if (object.device->is_lost()) return make_error(Code::UNAVAILABLE, "the device of the buffer is lost");
      return object.device->sync_shared(object.memory, access == 2);
    });
  }

  static void ETB_CALL free(etb_buffer* buffer) {
    if (buffer == nullptr) return;
    const std::unique_ptr<Object> object(&object_of(buffer));
    object->memory = {};
    if constexpr (requires { object->device->count_freed_buffer(); }) object->device->count_freed_buffer();
    if (object->lender.release != nullptr) object->lender.release(object->lender.release_ctx);
  }
};

}  // namespace etb::gpu
