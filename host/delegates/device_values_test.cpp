// SPDX-License-Identifier: Apache-2.0
// Values between delegates that stay in device memory. The devices are toys: their memory has another address than that of the
// host, so that a value which is read at the wrong place is wrong.
#include "host/delegates/device_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/kept_values.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// A buffer: bytes of the device and, of kind "host", those of the host beside them.
struct ToyBuffer {
  std::vector<std::byte> device, own;
  std::byte* host = nullptr;
  etb_buffer_desc lender{};
};
int alive = 0, device_count = 1, io_kinds = 1, refused_kinds = 0, syncs = 0;
bool can_sync = true;

ToyBuffer* buffer_of(etb_buffer* buffer) { return reinterpret_cast<ToyBuffer*>(buffer); }

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
    out->handle = is_host ? from->host : from->device.data();
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
  static constexpr etb_buffer_table kTable = {
      ETB_INIT_SIZE(etb_buffer_table), 0, import_buffer, export_buffer, allocate, sync, free};

  static float* floats_of(const etb_tensor& tensor) {
    if (tensor.buffer == nullptr) return static_cast<float*>(tensor.data);
    EXPECT_STREQ(tensor.buffer->kind, kKind);
    EXPECT_EQ(tensor.data, nullptr);
    EXPECT_GE(tensor.buffer->nbytes, static_cast<uint64_t>(tensor.sizes[0]) * sizeof(float));
    return static_cast<float*>(tensor.buffer->handle);
  }
  // Adds one.
  static etb_status ETB_CALL execute(etb_context*, const etb_exec_args* args, etb_error*) {
    const float* const from = floats_of(args->inputs[0]);
    float* const to = floats_of(args->outputs[0]);
    for (int64_t i = 0; i < args->inputs[0].sizes[0]; ++i) to[i] = from[i] + 1;
    args->outputs[0].sizes[0] = args->inputs[0].sizes[0];
    return ETB_OK;
  }
  static etb_status ETB_CALL query_io(etb_delegate*, const etb_io_req_sink* sink, etb_error*) {
    for (const uint32_t role : {ETB_ROLE_INPUT, ETB_ROLE_OUTPUT}) {
      etb_io_req req{};
      req.struct_size = sizeof(req);
      req.alignment = alignof(float);
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
      return kind == ETB_OBJECT_DEVICE && std::strcmp(id, ETB_EXT_BUFFER) == 0 ? &kTable : nullptr;
    };
    return &toy.plugin;
  }
};

const etb_static_plugin kPlugins[] = {
    {ETB_INIT_SIZE(etb_static_plugin), 0, &BufferToy<'a'>::query, "BackendA"},
    {ETB_INIT_SIZE(etb_static_plugin), 0, &BufferToy<'b'>::query, "BackendB"}};

RegistryOptions linked_only() {
  RegistryOptions options;
  options.environment = {};
  options.admin_path.clear();
  options.static_plugins = kPlugins;
  return options;
}

// Delegates 0 to 2 are of A, 3 and 4 of B.
struct Chain : DelegateProgram {
  Chain()
      : DelegateProgram({{"BackendA", 1, 0, {}},
                         {"BackendA", 1, 0, {}},
                         {"BackendA", 1, 0, {}},
                         {"BackendB", 1, 0, {}},
                         {"BackendB", 1, 0, {}}}) {}
};

class KeptValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    device_count = io_kinds = 1;
    refused_kinds = syncs = 0;
    can_sync = true;
  }
  void TearDown() override {
    fixture_.reset();
    EXPECT_EQ(alive, 0) << "buffers outlive the method";
  }

  // Returns the number of kept values.
  uint32_t load(const Chain& chain) {
    fixture_.emplace(chain.program);
    fixture_->options.delegates = &delegates_;
    EXPECT_EQ(fixture_->load(), ETB_OK) << fixture_->error.text;
    return KeptValues::keep(fixture_->method);
  }
  etb_status run(float first = 1) {
    FloatVector x({first, 2, 3, 4});
    EXPECT_EQ(fixture_->method.set_input(0, x.value(), &fixture_->error), ETB_OK) << fixture_->error.text;
    fixture_->error = ETB_ERROR_INIT;
    host_before_ = delegates_.transfers().host_arguments;
    device_before_ = delegates_.transfers().device_arguments;
    return fixture_->method.execute(&fixture_->error);
  }
  uint64_t by_host() const { return delegates_.transfers().host_arguments - host_before_; }
  uint64_t by_device() const { return delegates_.transfers().device_arguments - device_before_; }
  std::vector<float> output() const { return floats(fixture_->method.output(0)); }
  // The four floats at an offset in the planned arena.
  std::vector<float> arena_at(uint64_t offset) const {
    std::vector<float> out(4);
    std::memcpy(out.data(), fixture_->arenas[0].data() + offset, 16);
    return out;
  }

  Registry registry_{linked_only()};
  PluginDelegates delegates_{registry_};
  std::optional<AddFixture> fixture_;
  uint64_t host_before_ = 0, device_before_ = 0;
};

// u = a(x), s = x + x, w = a(u), out = s + w: only delegates use u.
Chain two_regions() {
  Chain made;
  const int32_t u = made.add_vector(48), w = made.add_vector(64), out = made.add_vector(80);
  made.call(0, 0, u);
  made.sum(0, 0, 2);
  made.call(1, u, w);
  made.sum(2, w, out);
  made.method().outputs = {out};
  return made;
}

TEST_F(KeptValuesTest, AValueBetweenTwoRegionsOfADeviceIsNotCopied) {
  ASSERT_EQ(load(two_regions()), 1u);
  EXPECT_EQ(alive, 1);
  for (const float first : {1.0f, 7.0f}) {
    ASSERT_EQ(run(first), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(3 * first + 2, 8, 11, 14));
    EXPECT_EQ(by_device(), 2u) << "written and read";
    EXPECT_EQ(by_host(), 2u) << "x and w";
    EXPECT_THAT(arena_at(48), Each(0.0f)) << "the host's memory of u";
  }
  EXPECT_EQ(syncs, 0);
}

TEST_F(KeptValuesTest, ResultsAreThoseOfCopiedValues) {
  io_kinds = 0;
  ASSERT_EQ(load(two_regions()), 0u);
  ASSERT_EQ(run(7), ETB_OK) << fixture_->error.text;
  EXPECT_THAT(output(), ElementsAre(23, 8, 11, 14));
  EXPECT_EQ(by_device(), 0u);
  EXPECT_EQ(by_host(), 4u);
}

#if ETB_COUNTS_HEAP
TEST_F(KeptValuesTest, ARunDoesNotUseTheHeap) {
  ASSERT_EQ(load(two_regions()), 1u);
  ASSERT_EQ(run(), ETB_OK);
  const int before = heap_calls;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(fixture_->method.execute(&fixture_->error), ETB_OK);
  EXPECT_EQ(heap_calls, before);
}
#endif

// The two values of a chain share bytes of the arena with values of the host.
TEST_F(KeptValuesTest, MemoryThatTheHostUsesMeanwhileDoesNotMatter) {
  Chain chain;
  const int32_t u = chain.add_vector(48), other = chain.add_vector(48), w = chain.add_vector(64),
                out = chain.add_vector(80);
  chain.call(0, 0, u);
  chain.call(1, u, w);
  chain.sum(0, 0, other);
  chain.sum(other, w, out);
  chain.method().outputs = {out};
  ASSERT_EQ(load(chain), 1u);
  ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
  EXPECT_THAT(output(), ElementsAre(5, 8, 11, 14));
}

TEST_F(KeptValuesTest, SeveralRegionsReadAValue) {
  Chain chain;
  const int32_t u = chain.add_vector(48), v = chain.add_vector(64), w = chain.add_vector(80),
                out = chain.add_vector(96);
  chain.call(0, 0, u);
  chain.call(1, u, v);
  chain.call(2, u, w);
  chain.sum(v, w, out);
  chain.method().outputs = {out};
  ASSERT_EQ(load(chain), 1u);
  ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
  EXPECT_THAT(output(), ElementsAre(6, 8, 10, 12));
  EXPECT_EQ(by_device(), 3u);
}

// a writes memory of the host that b uses without a copy; each makes its writes visible.
TEST_F(KeptValuesTest, TwoDevicesShareMemoryOfTheHost) {
  Chain chain;
  const int32_t u = chain.add_vector(48), v = chain.add_vector(64), w = chain.add_vector(80);
  chain.call(0, 0, u);
  chain.call(3, u, v);
  chain.call(4, v, w);
  chain.method().outputs = {w};
  ASSERT_EQ(load(chain), 2u);
  EXPECT_EQ(alive, 3) << "u of a and of b, v";
  for (const float first : {1.0f, 5.0f}) {
    ASSERT_EQ(run(first), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(first + 3, 5, 6, 7));
    EXPECT_EQ(by_host(), 2u);
    EXPECT_EQ(by_device(), 4u);
  }
  EXPECT_EQ(syncs, 4);
  can_sync = false;
  EXPECT_EQ(run(), ETB_UNAVAILABLE);
  EXPECT_THAT(fixture_->error.text, HasSubstr("the toy is lost"));
}

TEST_F(KeptValuesTest, WhatTheHostUsesIsNotKept) {
  {  // an output of the method
    Chain chain;
    const int32_t u = chain.add_vector(48), w = chain.add_vector(64);
    chain.call(0, 0, u);
    chain.call(1, u, w);
    chain.method().outputs = {w, u};
    EXPECT_EQ(load(chain), 0u);
  }
  {  // read by a kernel
    Chain chain;
    const int32_t u = chain.add_vector(48), w = chain.add_vector(64);
    chain.call(0, 0, u);
    chain.call(1, u, w);
    chain.sum(u, w, 2);
    EXPECT_EQ(load(chain), 0u);
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(5, 7, 9, 11));
  }
  {  // read under another name, which nothing writes
    Chain chain;
    const int32_t u = chain.add_vector(48), alias = chain.add_vector(48), w = chain.add_vector(64);
    chain.call(0, 0, u);
    chain.call(1, u, w);
    chain.sum(alias, w, 2);
    EXPECT_EQ(load(chain), 0u);
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(5, 7, 9, 11));
  }
  {  // of a delegate that is called twice
    Chain chain;
    const int32_t u = chain.add_vector(48), v = chain.add_vector(64), w = chain.add_vector(80);
    chain.call(0, 0, u);
    chain.call(1, u, v);
    chain.call(1, v, w);
    chain.method().outputs = {w};
    EXPECT_EQ(load(chain), 0u);
    ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(4, 5, 6, 7));
  }
  {  // read before it is written: the value of the run before
    Chain chain;
    const int32_t u = chain.add_vector(48), w = chain.add_vector(64);
    chain.call(1, u, w);
    chain.call(0, 0, u);
    chain.method().outputs = {w};
    EXPECT_EQ(load(chain), 0u);
  }
}

TEST_F(KeptValuesTest, WithoutMemoryInCommonAValueIsCopied) {
  refused_kinds = 1;
  EXPECT_EQ(load(two_regions()), 0u);
  ASSERT_EQ(run(), ETB_OK) << fixture_->error.text;
  EXPECT_THAT(output(), ElementsAre(5, 8, 11, 14));
  refused_kinds = 0;
  device_count = 2;  // then the host does not know which one the plugin chose
  EXPECT_EQ(load(two_regions()), 0u);
}

TEST_F(KeptValuesTest, ARunThatRecordsValuesUsesMemoryOfTheHost) {
  ASSERT_EQ(load(two_regions()), 1u);
  ASSERT_EQ(run(), ETB_OK);
  KeptValues::let_go(fixture_->method);
  EXPECT_EQ(alive, 0);
  ASSERT_EQ(run(7), ETB_OK) << fixture_->error.text;
  EXPECT_THAT(output(), ElementsAre(23, 8, 11, 14));
  EXPECT_EQ(by_host(), 4u);
  EXPECT_THAT(arena_at(48), ElementsAre(8, 3, 4, 5));
}

}  // namespace
}  // namespace etb::host
