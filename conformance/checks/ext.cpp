// SPDX-License-Identifier: Apache-2.0
// ext: draft extensions (etb/ext/draft), where a plugin offers them.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "conformance/checks/groups.hpp"
#include "conformance/subject/first_device.hpp"
#include "etb/ext/buffer.h"
#include "etb/ext/draft/resign.h"
#include "etb/ext/draft/state.h"

namespace etb::conformance {
namespace {

const void* find_extension(Subject& subject, uint32_t kind, void* object, const char* id) {
  return subject.table().get_extension(subject.handle(), kind, object, id);
}

// Unknown ids are NULL for every kind of object; known ones are one table with all functions.
void tables_are_complete(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    const FirstDevice device(ready.subject);
    const std::tuple<uint32_t, void*, const char*> objects[] = {
        {ETB_OBJECT_PLUGIN, ready.subject.handle(), "the plugin"},
        {ETB_OBJECT_DEVICE, device.handle(), "a device"},
        {ETB_OBJECT_DELEGATE, ready.session.delegate(), "a delegate"},
        {ETB_OBJECT_CONTEXT, ready.session.context(), "a context"}};
    for (const auto& [kind, object, name] : objects) {
      if (object == nullptr) continue;
      context.progress().at("get_extension");
      for (const char* id :
           {"org.example.nobody-has-this/1", "", "buffer/", "buffer/99", "BUFFER/1", "state", "/1"})
        if (find_extension(ready.subject, kind, object, id) != nullptr)
          context.fail(fmt::format("get_extension of {} returns a table for the unknown id '{}'", name, id));
      for (const auto& [id, nbytes, count, flags] :
           {std::tuple{ETB_EXT_BUFFER, sizeof(etb_buffer_table), 5, ETB_BUFFER_COHERENT},
            std::tuple{ETB_EXT_STATE, sizeof(etb_state_table), 2, 0u},
            std::tuple{ETB_EXT_RESIGN, sizeof(etb_resign_table), 1, 0u}}) {
        const void* const table = find_extension(ready.subject, kind, object, id);
        if (table == nullptr) continue;
        if (find_extension(ready.subject, kind, object, id) != table)
          context.fail(fmt::format("get_extension returns another table for '{}' the second time", id));
        uint32_t head[2] = {};
        std::memcpy(head, table, sizeof(head));
        if (head[0] < nbytes || (head[1] & ~flags) != 0) {
          context.fail(fmt::format(
              "the table of '{}' has struct_size {} and flags {:#x}, expected {} and no flag but {:#x}", id,
              head[0], head[1], nbytes, flags));
          continue;
        }
        for (int i = 0; i < count; ++i) {
          const void* function = nullptr;
          std::memcpy(
              &function,
              static_cast<const char*>(table) + sizeof(head) + static_cast<size_t>(i) * sizeof(function),
              sizeof(function));
          if (function == nullptr) context.fail(fmt::format("function {} of '{}' is NULL", i, id));
        }
      }
    }
  });
}

// ---- buffer/1

constexpr const char* kKinds[] = {"host", "dma-buf", "opencl.mem", "vulkan.buffer"};
constexpr uint64_t kBytes = 4096;

// Calls `body` with the table and an open device.
template <class Body>
void with_buffers(CheckContext& context, Body body) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const FirstDevice device(*subject);
  const auto* const table = device.handle() == nullptr
                                ? nullptr
                                : static_cast<const etb_buffer_table*>(find_extension(
                                      *subject, ETB_OBJECT_DEVICE, device.handle(), ETB_EXT_BUFFER));
  if (table == nullptr) return context.skip("the plugin does not offer buffer/1 for a device");
  body(*table, device.handle());
}

void use_buffer(CheckContext& context, const etb_buffer_table& table, etb_buffer* buffer, const char* kind,
                uint64_t nbytes) {
  etb_error error = ETB_ERROR_INIT;
  for (const uint32_t access : {2u, 1u, 2u, 1u})
    if (const etb_status status = table.sync(buffer, access, &error); status != ETB_OK)
      return context.fail(
          fmt::format("sync({}) of a buffer of {} returns {}: {}", access, kind, status, error.text));
  etb_buffer_desc desc{};
  desc.struct_size = sizeof(desc);
  if (const etb_status status = table.export_buffer(buffer, kind, &desc, &error); status != ETB_OK)
    return context.fail(
        fmt::format("export_buffer as its own kind {} returns {}: {}", kind, status, error.text));
  if (desc.kind == nullptr || std::strcmp(desc.kind, kind) != 0 || desc.nbytes < nbytes)
    context.fail(fmt::format("export_buffer of {} bytes of {} describes {} bytes of {}", nbytes, kind,
                             desc.nbytes, desc.kind != nullptr ? desc.kind : "NULL"));
  etb_buffer_desc other{};
  other.struct_size = sizeof(other);
  if (table.export_buffer(buffer, "org.example.nobody-has-this", &other, &error) == ETB_OK)
    context.fail("export_buffer describes a buffer as an unknown kind");
}

void buffers_are_allocated(CheckContext& context) {
  with_buffers(context, [&](const etb_buffer_table& table, etb_device* device) {
    size_t count = 0;
    for (const char* kind : kKinds) {
      etb_buffer* buffer = nullptr;
      etb_error error = ETB_ERROR_INIT;
      context.progress().at("buffer.allocate");
      const etb_status status = table.allocate(device, kind, kBytes, &buffer, &error);
      if (status == ETB_NOT_SUPPORTED) continue;
      if (status != ETB_OK || buffer == nullptr)
        return context.fail(fmt::format("allocate of {} bytes of {} returns {} and {}", kBytes, kind, status,
                                        buffer != nullptr ? "a buffer" : "no buffer"));
      ++count;
      use_buffer(context, table, buffer, kind, kBytes);
      table.free(buffer);
    }
    etb_buffer* none = nullptr;
    etb_error error = ETB_ERROR_INIT;
    if (table.allocate(device, "org.example.nobody-has-this", kBytes, &none, &error) == ETB_OK)
      context.fail("allocate returns a buffer of an unknown kind");
    if (none != nullptr) context.fail("a failed allocate changed its result");
    for (const char* kind : kKinds)
      if (table.allocate(device, kind, uint64_t{1} << 62, &none, &error) == ETB_OK)
        context.fail(fmt::format("allocate returns 2^62 bytes of {}", kind));
    if (count == 0) context.warn("buffer/1 allocates memory of none of the known kinds");
  });
}

void buffers_are_imported(CheckContext& context) {
  with_buffers(context, [&](const etb_buffer_table& table, etb_device* device) {
    alignas(4096) static std::byte memory[kBytes];
    int release_count = 0;
    etb_buffer_desc desc{};
    desc.struct_size = sizeof(desc);
    desc.kind = "host";
    desc.handle = memory;
    desc.fd = -1;
    desc.access = 3;
    desc.nbytes = kBytes;
    desc.release_ctx = &release_count;
    desc.release = [](void* ctx) { ++*static_cast<int*>(ctx); };
    etb_buffer* buffer = nullptr;
    etb_error error = ETB_ERROR_INIT;
    context.progress().at("buffer.import_buffer");
    const etb_status status = table.import_buffer(device, &desc, &buffer, &error);
    if (status == ETB_OK && buffer == nullptr)
      return context.fail("import_buffer returns ETB_OK and no buffer");
    if (status != ETB_OK && status != ETB_NOT_SUPPORTED && status != ETB_INVALID_ARGUMENT)
      return context.fail(fmt::format("import_buffer of host memory returns {}: {}", status, error.text));
    if (status == ETB_OK) {
      use_buffer(context, table, buffer, "host", kBytes);
      if (release_count != 0) context.fail("import_buffer releases the memory before the buffer is freed");
      table.free(buffer);
      if (release_count != 1)
        context.fail(
            fmt::format("memory of a freed buffer was released {} times, expected once", release_count));
    }
    release_count = 0;
    buffer = nullptr;
    desc.kind = "org.example.nobody-has-this";
    if (table.import_buffer(device, &desc, &buffer, &error) == ETB_OK)
      context.fail("import_buffer accepts memory of an unknown kind");
    else if (buffer != nullptr || release_count != 0)
      context.fail("a failed import_buffer returned a buffer, or released the memory");
  });
}

// ---- state/1

struct StateBytes {
  std::vector<std::byte> bytes;
  etb_status answer = ETB_OK;  // status that the writer returns

  etb_blob_writer writer() {
    return {ETB_INIT_SIZE(etb_blob_writer), 0, this,
            [](void* ctx, uint64_t offset, const void* data, uint64_t nbytes) {
              constexpr uint64_t kMost = uint64_t{1} << 28;
              auto& self = *static_cast<StateBytes*>(ctx);
              if (self.answer != ETB_OK || offset > kMost || nbytes > kMost)
                return self.answer != ETB_OK ? self.answer : etb_status{ETB_OUT_OF_RESOURCES};
              self.bytes.resize(std::max<size_t>(self.bytes.size(), offset + nbytes));
              if (nbytes != 0) std::memcpy(self.bytes.data() + offset, data, nbytes);
              return etb_status{ETB_OK};
            }};
  }
};

std::vector<std::byte> save(CheckContext& context, const etb_state_table& table, etb_context* which) {
  StateBytes out;
  const etb_blob_writer writer = out.writer();
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("state.save");
  if (const etb_status status = table.save(which, &writer, &error); status != ETB_OK)
    context.fail(fmt::format("save returns {}: {}", status, error.text));
  else if (out.bytes.empty())
    context.fail("save writes no bytes, expected at least a version");
  return out.bytes;
}

etb_status load(CheckContext& context, const etb_state_table& table, etb_context* which,
                std::span<const std::byte> bytes) {
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("state.load");
  return table.load(which, {bytes.data(), bytes.size()}, &error);
}

// Damaged states must be rejected, and change nothing.
void reject_damaged_states(CheckContext& context, const etb_state_table& table, etb_context* which,
                           const std::vector<std::byte>& good) {
  const std::vector<std::byte> before = save(context, table, which);
  for (const size_t length : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
    // Memory of its own, so that a read past the end is one.
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<long>(length));
    if (length < good.size() && load(context, table, which, cut) == ETB_OK)
      context.fail(fmt::format("load accepts {} bytes of a state of {}", length, good.size()));
  }
  const std::vector<std::byte> noise(good.size(), std::byte{0xee});
  if (load(context, table, which, noise) == ETB_OK) context.fail("load accepts noise");
  if (save(context, table, which) != before) context.fail("a rejected load changed the state");
}

void states_are_kept(CheckContext& context) {
  bool has_any = false;
  context.each_session(bare(), 4, [&](ReadyCase& ready) {
    const auto* const table = static_cast<const etb_state_table*>(
        find_extension(ready.subject, ETB_OBJECT_CONTEXT, ready.session.context(), ETB_EXT_STATE));
    if (table == nullptr) return;
    has_any = true;
    for (int i = 0; i < 3; ++i) (void)ready.run();
    const std::vector<std::byte> good = save(context, *table, ready.session.context());
    if (!context.outcome().findings.empty()) return;
    if (save(context, *table, ready.session.context()) != good)
      return context.fail("a second save without a run in between writes other bytes");
    const auto other = context.make_session(ready.subject, ready.item);
    if (!other) return;
    (void)other->run(ready.inputs());  // so that its state differs from a fresh one
    reject_damaged_states(context, *table, other->context(), good);
    if (load(context, *table, other->context(), good) != ETB_OK)
      return context.fail("another context of the same payload does not load a saved state");
    if (save(context, *table, other->context()) != good)
      return context.fail("save after load writes other bytes than were loaded");
    StateBytes full;
    full.answer = ETB_OUT_OF_RESOURCES;
    const etb_blob_writer writer = full.writer();
    etb_error error = ETB_ERROR_INIT;
    if (const etb_status status = table->save(ready.session.context(), &writer, &error);
        status != full.answer)
      context.fail(fmt::format("save returns {} when its writer stops with {}", status, full.answer));
    const RunResult result = other->run(ready.inputs());
    if (result.status != ETB_OK) context.fail("a context that loaded a state does not run");
  });
  if (!has_any && context.outcome().findings.empty() && context.outcome().state == State::kNotRun)
    context.skip("the plugin does not offer state/1 for a context");
}

constexpr Check kChecks[] = {
    {"ext.tables-are-complete",
     "Unknown extensions are NULL for every object; known ones are one complete table.", "ABI-EXT-01",
     tables_are_complete},
    {"ext.buffers-are-allocated",
     "buffer/1 allocates, syncs, exports and frees memory of a kind, or rejects the kind.", "ABI-ERR-01",
     buffers_are_allocated},
    {"ext.buffers-are-imported", "buffer/1 releases imported memory once, when its buffer is freed.",
     "ABI-OWN-03", buffers_are_imported},
    {"ext.states-are-kept", "state/1 loads what it saved, and a damaged state changes nothing.", "ABI-ERR-01",
     states_are_kept},
};

}  // namespace

std::span<const Check> extension_checks() { return kChecks; }

}  // namespace etb::conformance
