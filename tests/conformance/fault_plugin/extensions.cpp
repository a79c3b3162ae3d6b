// SPDX-License-Identifier: Apache-2.0
// Extensions: buffers of host memory, state of contexts, digests.
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "etb/ext/buffer.h"
#include "etb/ext/cache.h"
#include "tests/conformance/fault_plugin/broken_function.hpp"
#include "tests/conformance/fault_plugin/digest.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

// Memory of the host, of the buffer's own or imported, and bytes of the device: sync copies between them. A buffer of the
// device's kind has only the latter.
struct etb_buffer {
  etb_buffer_desc desc;
  void* own;
  std::vector<std::byte> device;
};

namespace faulty {
namespace {

constexpr const char* kHost = "host";
constexpr const char* kDevice = "fault.memory";
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
  auto* const made = new (std::nothrow) etb_buffer{*desc, nullptr, std::vector<std::byte>(desc->nbytes)};
  if (made == nullptr) return etb::fail(error, ETB_OUT_OF_MEMORY, "no memory for a buffer");
  *out = made;
  return ETB_OK;
}

etb_status ETB_CALL export_buffer(etb_buffer* buffer, const char* kind, etb_buffer_desc* out,
                                  etb_error* error) {
  if (std::strcmp(kind, kDevice) == 0) {
    *out = host_desc(buffer->device.data(), buffer->device.size());
    out->kind = kDevice;
    return ETB_OK;
  }
  if (std::strcmp(kind, kHost) != 0 || buffer->desc.handle == nullptr)
    return etb::fail(error, ETB_NOT_SUPPORTED, "memory as the kind '%s', expected host", kind);
  etb_buffer_desc desc = host_desc(buffer->desc.handle, buffer->desc.nbytes);
  desc.offset_bytes = buffer->desc.offset_bytes;
  *out = desc;
  return ETB_OK;
}

etb_status ETB_CALL allocate(etb_device*, const char* kind, uint64_t nbytes, etb_buffer** out,
                             etb_error* error) {
  const bool is_host = std::strcmp(kind, kHost) == 0;
  if (!is_host && std::strcmp(kind, kDevice) != 0)
    return etb::fail(error, ETB_NOT_SUPPORTED, "memory of the kind '%s', expected host", kind);
  if (nbytes > kMostBytes) return etb::fail(error, ETB_OUT_OF_MEMORY, "no memory for a buffer");
  void* const data = is_host ? std::malloc(nbytes + 1) : nullptr;
  auto* const made = !is_host || data != nullptr
                         ? new (std::nothrow)
                               etb_buffer{host_desc(data, nbytes), data, std::vector<std::byte>(nbytes)}
                         : nullptr;
  if (made == nullptr) {
    std::free(data);
    return etb::fail(error, ETB_OUT_OF_MEMORY, "no memory for a buffer");
  }
  *out = made;
  return ETB_OK;
}

etb_status ETB_CALL sync(etb_buffer* buffer, uint32_t access, etb_error*) {
  auto* const host = static_cast<std::byte*>(buffer->desc.handle);
  if (host == nullptr || has_fault(403)) return ETB_OK;
  std::byte* const at = host + buffer->desc.offset_bytes;
  if (access == 1) std::memcpy(at, buffer->device.data(), buffer->device.size());
  if (access == 2) std::memcpy(buffer->device.data(), at, buffer->device.size());
  return ETB_OK;
}

etb_status(ETB_CALL* execute_in_host_memory)(etb_context*, const etb_exec_args*, etb_error*) = nullptr;

bool is_in_buffer(const etb_tensor& tensor) {
  return tensor.buffer != nullptr && std::strcmp(tensor.buffer->kind, kDevice) == 0;
}

// The device is the processor, so memory of its buffers is passed as memory of the host.
std::vector<etb_tensor> without_buffers(const etb_tensor* tensors, uint32_t count) {
  std::vector<etb_tensor> out;
  for (uint32_t i = 0; i < count; ++i) {
    etb_tensor& tensor = out.emplace_back(*ETB_AT(etb_tensor, tensors, i));
    if (!is_in_buffer(tensor)) continue;
    tensor.data = static_cast<std::byte*>(tensor.buffer->handle) + tensor.buffer->offset_bytes;
    tensor.buffer = nullptr;
  }
  return out;
}

bool has_buffers(const etb_tensor* tensors, uint32_t count) {
  for (uint32_t i = 0; tensors != nullptr && i < count; ++i)
    if (is_in_buffer(*ETB_AT(etb_tensor, tensors, i))) return true;
  return false;
}

// Puts the rows of an output where those of the first run in buffers began.
void keep_first_layout(etb_context* context, const etb_tensor& output) {
  if (output.rank == 0 || output.sizes[output.rank - 1] == 0) return;
  const uint64_t element_nbytes = etb::dtype_bits(static_cast<etb_dtype>(output.dtype)) / 8,
                 length = static_cast<uint64_t>(output.sizes[output.rank - 1]) * element_nbytes;
  uint64_t& first = context_of(context).row_nbytes;
  if (first == 0) first = length;
  uint64_t row_count = 1;
  for (uint32_t d = 0; d + 1 < output.rank; ++d) row_count *= static_cast<uint64_t>(output.sizes[d]);
  auto* const data = static_cast<std::byte*>(output.data);
  const std::vector<std::byte> rows(data, data + row_count * length);
  for (uint64_t i = 0; i < row_count && i * first + length <= output.capacity_bytes; ++i)
    std::memcpy(data + i * first, rows.data() + i * length, length);
}

etb_status ETB_CALL execute_in_buffers(etb_context* context, const etb_exec_args* args, etb_error* error) {
  const bool is_wanted = args != nullptr && (has_buffers(args->inputs, args->input_count) ||
                                             has_buffers(args->outputs, args->output_count));
  if (!is_wanted) return execute_in_host_memory(context, args, error);
  std::vector<etb_tensor> inputs = without_buffers(args->inputs, args->input_count),
                          outputs = without_buffers(args->outputs, args->output_count);
  if (has_fault(404) && !outputs.empty()) {
    static void* const first = outputs[0].data;
    outputs[0].data = first;
  }
  etb_exec_args changed = *args;
  changed.inputs = inputs.data();
  changed.outputs = outputs.data();
  const etb_status status = execute_in_host_memory(context, &changed, error);
  if (has_fault(629) && status == ETB_OK && !outputs.empty()) keep_first_layout(context, outputs[0]);
  return status;
}

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

void accept_buffers(Tables& tables) {
  execute_in_host_memory = tables.delegate.execute;
  tables.delegate.execute = execute_in_buffers;
}

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
    made.buffer = {ETB_INIT_SIZE(etb_buffer_table),
                   has_fault(590) ? ETB_BUFFER_COHERENT : 0,
                   import_buffer,
                   export_buffer,
                   allocate,
                   sync,
                   free_buffer};
    made.state = {ETB_INIT_SIZE(etb_state_table), 0, save, load};
    made.resign = {ETB_INIT_SIZE(etb_resign_table), 0, resign};
    break_extension(made);
    return made;
  }();
  if (object_kind == ETB_OBJECT_DEVICE && id == ETB_EXT_BUFFER) return &tables.buffer;
  if (object_kind == ETB_OBJECT_CONTEXT && id == ETB_EXT_STATE) return &tables.state;
  if (object_kind == ETB_OBJECT_PLUGIN && id == ETB_EXT_RESIGN)
    return has_digest() && !has_fault(585) ? &tables.resign : nullptr;
  return nullptr;
}

}  // namespace faulty
