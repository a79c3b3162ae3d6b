// SPDX-License-Identifier: Apache-2.0
// Toy plugins with device memory: it has another address than that of the host, so that a value which is read at the wrong place
// is wrong.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "etb/ext/buffer.h"
#include "etb/static_plugins.h"
#include "host/testing/delegate_program.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {

// A buffer: bytes of the device and, of kind "host", those of the host beside them.
struct ToyBuffer {
  std::vector<std::byte> device, own;
  std::byte* host = nullptr;
  etb_buffer_desc lender{};
};
inline int alive = 0, device_count = 1, io_kinds = 1, refused_kinds = 0, syncs = 0;
inline int failing_run =
    0;  // number of the run, from now on, that writes half of its output and fails; 0: none
inline bool can_sync = true;
inline bool has_own_layout = false;  // in buffers, elements are in reverse order with gaps between them
inline bool are_coherent = false;    // the device's memory of kind "host" is that of the host

inline ToyBuffer* buffer_of(etb_buffer* buffer) { return reinterpret_cast<ToyBuffer*>(buffer); }

template <char name>
struct BufferToy {
  static constexpr char kKind[] = {'t', 'o', 'y', name, 0};
  static constexpr const char* kKinds[] = {"host", kKind};

  static ToyBuffer* make(uint64_t nbytes) {
    ++alive;
    auto* const made = new ToyBuffer;
    made->device.resize(nbytes);
    return made;
  }
  static etb_status ETB_CALL allocate(etb_device*, const char* kind, uint64_t nbytes, etb_buffer** out,
                                      etb_error*) {
    const bool is_host = std::strcmp(kind, "host") == 0;
    if (refused_kinds > 0 || (!is_host && std::strcmp(kind, kKind) != 0)) return ETB_NOT_SUPPORTED;
    ToyBuffer* const made = make(nbytes);
    if (is_host) made->own.resize(nbytes);
    made->host = is_host ? made->own.data() : nullptr;
    *out = reinterpret_cast<etb_buffer*>(made);
    return ETB_OK;
  }
  static etb_status ETB_CALL import_buffer(etb_device*, const etb_buffer_desc* desc, etb_buffer** out,
                                           etb_error*) {
    if (std::strcmp(desc->kind, "host") != 0) return ETB_NOT_SUPPORTED;
    ToyBuffer* const made = make(desc->nbytes);
    made->host = static_cast<std::byte*>(desc->handle);
    made->lender = *desc;
    *out = reinterpret_cast<etb_buffer*>(made);
    return ETB_OK;
  }
  static etb_status ETB_CALL export_buffer(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                           etb_error*) {
    ToyBuffer* const from = buffer_of(buffer);
    const bool is_host = std::strcmp(kind, "host") == 0 && from->host != nullptr;
    if (!is_host && std::strcmp(kind, kKind) != 0) return ETB_NOT_SUPPORTED;
    out->kind = kind;
    out->handle = is_host || (are_coherent && from->host != nullptr) ? from->host : from->device.data();
    out->nbytes = from->device.size();
    return ETB_OK;
  }
  static etb_status ETB_CALL sync(etb_buffer* buffer, uint32_t access, etb_error* error) {
    ToyBuffer* const which = buffer_of(buffer);
    ++syncs;
    if (!can_sync) {
      std::strcpy(error->text, "the toy is lost");
      return error->code = ETB_UNAVAILABLE;
    }
    if (access == 1) std::memcpy(which->host, which->device.data(), which->device.size());
    if (access == 2) std::memcpy(which->device.data(), which->host, which->device.size());
    return ETB_OK;
  }
  static void ETB_CALL free(etb_buffer* buffer) {
    --alive;
    ToyBuffer* const which = buffer_of(buffer);
    if (which->lender.release != nullptr) which->lender.release(which->lender.release_ctx);
    delete which;
  }
  static constexpr etb_buffer_table table(uint32_t flags) {
    return {ETB_INIT_SIZE(etb_buffer_table), flags, import_buffer, export_buffer, allocate, sync, free};
  }
  static constexpr etb_buffer_table kTable = table(0), kCoherentTable = table(ETB_BUFFER_COHERENT);

  // The elements of an argument, wherever they are.
  struct Elements {
    float* first;
    int64_t count;
    bool are_reversed;
    float& operator[](int64_t i) const { return first[are_reversed ? 2 * (count - 1 - i) + 1 : i]; }
  };
  static Elements elements_of(const etb_tensor& tensor) {
    const int64_t count = tensor.sizes[0];
    if (tensor.buffer == nullptr) return {static_cast<float*>(tensor.data), count, false};
    EXPECT_STREQ(tensor.buffer->kind, kKind);
    EXPECT_EQ(tensor.data, nullptr);
    EXPECT_GE(tensor.buffer->nbytes, static_cast<uint64_t>(count) * (has_own_layout ? 2 : 1) * sizeof(float));
    return {static_cast<float*>(tensor.buffer->handle), count, has_own_layout};
  }
  // Adds one.
  static etb_status ETB_CALL execute(etb_context*, const etb_exec_args* args, etb_error* error) {
    const Elements from = elements_of(args->inputs[0]), to = elements_of(args->outputs[0]);
    const int64_t count = args->inputs[0].sizes[0];
    const bool fails = failing_run > 0 && --failing_run == 0;
    for (int64_t i = 0; i < (fails ? count / 2 : count); ++i) to[i] = from[i] + 1;
    if (fails) {
      std::strcpy(error->text, "the toy fails");
      return error->code = ETB_UNAVAILABLE;
    }
    args->outputs[0].sizes[0] = args->inputs[0].sizes[0];
    return ETB_OK;
  }
  static etb_status ETB_CALL query_io(etb_delegate*, const etb_io_req_sink* sink, etb_error*) {
    for (const uint32_t role : {ETB_ROLE_INPUT, ETB_ROLE_OUTPUT}) {
      etb_io_req req{};
      req.struct_size = sizeof(req);
      req.alignment = alignof(float);
      req.padding_bytes = has_own_layout ? 4 * sizeof(float) : 0;
      req.role = role;
      req.kind_count = io_kinds != 0 ? 2 : 0;
      req.kinds = io_kinds != 0 ? kKinds : nullptr;
      if (const etb_status status = sink->put(sink->ctx, &req); status != ETB_OK) return status;
    }
    return ETB_OK;
  }
  static etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
    for (int i = 0; i < device_count; ++i)
      if (const etb_status status = toy_tables().device.enumerate(plugin, sink, error); status != ETB_OK)
        return status;
    return ETB_OK;
  }
  static const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
    static ToyPlugin toy;
    std::snprintf(toy.ident.id, sizeof(toy.ident.id), "org.etbackend.toy-%c", name);
    toy.delegate.execute = execute;
    toy.delegate.query_io = query_io;
    toy.device.enumerate = enumerate;
    toy.plugin.caps |= ETB_PLUGIN_CAP_GET_EXTENSION;
    toy.plugin.get_extension = [](etb_plugin*, uint32_t kind, void*, const char* id) -> const void* {
      if (kind != ETB_OBJECT_DEVICE || std::strcmp(id, ETB_EXT_BUFFER) != 0) return nullptr;
      return are_coherent ? &kCoherentTable : &kTable;
    };
    return &toy.plugin;
  }
};

inline const etb_static_plugin kPlugins[] = {
    {ETB_INIT_SIZE(etb_static_plugin), 0, &BufferToy<'a'>::query, "BackendA"},
    {ETB_INIT_SIZE(etb_static_plugin), 0, &BufferToy<'b'>::query, "BackendB"}};

// Delegates 0 to 2 are of A, 3 and 4 of B.
struct Chain : DelegateProgram {
  Chain()
      : DelegateProgram({{"BackendA", 1, 0, {}},
                         {"BackendA", 1, 0, {}},
                         {"BackendA", 1, 0, {}},
                         {"BackendB", 1, 0, {}},
                         {"BackendB", 1, 0, {}}}) {}
};

}  // namespace etb::host
