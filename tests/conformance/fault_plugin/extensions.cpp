// SPDX-License-Identifier: Apache-2.0
// The draft extensions: buffers of host memory, state of contexts, digests.
#include <cstdlib>
#include <cstring>
#include <new>

#include "etb/cpp/fail.hpp"
#include "etb/ext/draft/buffer.h"
#include "etb/ext/draft/cache.h"
#include "tests/conformance/fault_plugin/broken_function.hpp"
#include "tests/conformance/fault_plugin/digest.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

// Either its own memory or the host's, which is released with the buffer.
struct etb_buffer {
  etb_buffer_desc desc;
  void* own;
};

namespace faulty {
namespace {

constexpr const char* kHost = "host";
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

etb_buffer_desc host_desc(void* data, uint64_t nbytes) {
  etb_buffer_desc desc{};
  desc.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
  desc.kind = kHost;
  desc.handle = data;
  desc.fd = -1;
  desc.access = 3;
  desc.nbytes = nbytes;
  return desc;
}

etb_status ETB_CALL import_buffer(etb_device*, const etb_buffer_desc* desc, etb_buffer** out,
                                  etb_error* error) {
  if (std::strcmp(desc->kind, kHost) != 0)
    return etb::fail(error, ETB_NOT_SUPPORTED, "memory of the kind '%s', expected host", desc->kind);
  if (desc->handle == nullptr && desc->nbytes != 0)
    return etb::fail(error, ETB_INVALID_ARGUMENT, "host memory without an address");
  auto* const made = new (std::nothrow) etb_buffer{*desc, nullptr};
  if (made == nullptr) return etb::fail(error, ETB_OUT_OF_MEMORY, "no memory for a buffer");
  *out = made;
  return ETB_OK;
}

etb_status ETB_CALL export_buffer(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                  etb_error* error) {
  if (std::strcmp(kind, kHost) != 0)
    return etb::fail(error, ETB_NOT_SUPPORTED, "memory as the kind '%s', expected host", kind);
  etb_buffer_desc desc = host_desc(buffer->desc.handle, buffer->desc.nbytes);
  desc.offset_bytes = buffer->desc.offset_bytes;
  *out = desc;
  return ETB_OK;
}

etb_status ETB_CALL allocate(etb_device*, const char* kind, uint64_t nbytes, etb_buffer** out,
                             etb_error* error) {
  if (std::strcmp(kind, kHost) != 0)
    return etb::fail(error, ETB_NOT_SUPPORTED, "memory of the kind '%s', expected host", kind);
  void* const data = nbytes <= kMostBytes ? std::malloc(nbytes + 1) : nullptr;
  auto* const made = data != nullptr ? new (std::nothrow) etb_buffer{host_desc(data, nbytes), data} : nullptr;
  if (made == nullptr) {
    std::free(data);
    return etb::fail(error, ETB_OUT_OF_MEMORY, "no memory for a buffer");
  }
  *out = made;
  return ETB_OK;
}

etb_status ETB_CALL sync(etb_buffer*, uint32_t, etb_error*) { return ETB_OK; }

void ETB_CALL free_buffer(etb_buffer* buffer) {
  if (buffer->own == nullptr && buffer->desc.release != nullptr)
    buffer->desc.release(buffer->desc.release_ctx);
  if (has_fault(206) && buffer->own == nullptr && buffer->desc.release != nullptr)
    buffer->desc.release(buffer->desc.release_ctx);
  std::free(buffer->own);
  delete buffer;
}

// A state is [magic][version][number of runs].
struct State {
  uint32_t magic = 0x54415453;  // "STAT"
  uint32_t version = 1;
  uint64_t run_count = 0;
};

etb_status ETB_CALL save(etb_context* context, const etb_blob_writer* writer, etb_error* error) {
  State state;
  state.run_count = context_of(context).run_count;
  const etb_status status = writer->write(writer->ctx, 0, &state, sizeof(state));
  return status == ETB_OK || has_fault(207) ? ETB_OK : etb::fail(error, status, "the writer stopped");
}

etb_status ETB_CALL load(etb_context* context, etb_bytes bytes, etb_error* error) {
  State state;
  const State expected;
  if (has_fault(208)) context_of(context).run_count = 0;
  if (bytes.nbytes != sizeof(state)) return etb::fail(error, ETB_INVALID_DATA, "state: wrong length");
  std::memcpy(&state, bytes.data, sizeof(state));
  if (state.magic != expected.magic) return etb::fail(error, ETB_INVALID_DATA, "state: not of this plugin");
  if (state.version != expected.version) return etb::fail(error, ETB_INCOMPATIBLE, "state: another version");
  context_of(context).run_count = state.run_count;
  return ETB_OK;
}

}  // namespace

void read_cache(const etb::Host& host) {
  constexpr uint32_t kNumber = 0x4d554e21;
  const auto* const cache = host.service<etb_cache_service>(ETB_SERVICE_CACHE);
  if (cache == nullptr) return;
  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  if (cache->get(cache->ctx, {"number", 6}, &view, nullptr) != ETB_OK) {
    (void)cache->put(cache->ctx, {"number", 6}, {&kNumber, sizeof(kNumber)}, nullptr);
    return;
  }
  has_another_number =
      view.nbytes != sizeof(kNumber) || std::memcmp(view.data, &kNumber, sizeof(kNumber)) != 0;
  if (view.release != nullptr) view.release(view.release_ctx);
}

const void* Plugin::get_extension(uint32_t object_kind, std::string_view id) const {
  if (has_fault(37)) return &partition_count;
  static const ExtensionTables tables = [] {
    ExtensionTables made;
    made.buffer = {
        ETB_INIT_SIZE(etb_buffer_table), 0, import_buffer, export_buffer, allocate, sync, free_buffer};
    made.state = {ETB_INIT_SIZE(etb_state_table), 0, save, load};
    made.resign = {ETB_INIT_SIZE(etb_resign_table), 0, resign};
    break_extension(made);
    return made;
  }();
  if (object_kind == ETB_OBJECT_DEVICE && id == ETB_EXT_BUFFER) return &tables.buffer;
  if (object_kind == ETB_OBJECT_CONTEXT && id == ETB_EXT_STATE) return &tables.state;
  if (object_kind == ETB_OBJECT_PLUGIN && id == ETB_EXT_RESIGN)
    return has_digest() ? &tables.resign : nullptr;
  return nullptr;
}

}  // namespace faulty
