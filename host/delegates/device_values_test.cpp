// SPDX-License-Identifier: Apache-2.0
// Values between delegates that stay in device memory.
#include "host/delegates/device_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/kept_values.hpp"
#include "host/testing/buffer_toy.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class KeptValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    device_count = io_kinds = 1;
    refused_kinds = syncs = 0;
    can_sync = true;
    are_coherent = has_own_layout = false;
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

  Registry registry_{linked_only(kPlugins)};
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

// u = a(x), v = b(u), w = b(v)
Chain two_devices() {
  Chain made;
  const int32_t u = made.add_vector(48), v = made.add_vector(64), w = made.add_vector(80);
  made.call(0, 0, u);
  made.call(3, u, v);
  made.call(4, v, w);
  made.method().outputs = {w};
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

TEST_F(KeptValuesTest, TheBytesOfABufferAreTheDevices) {
  has_own_layout = true;
  ASSERT_EQ(load(two_regions()), 1u);
  for (const float first : {1.0f, 5.0f}) {
    ASSERT_EQ(run(first), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(3 * first + 2, 8, 11, 14));
    EXPECT_EQ(by_device(), 2u);
  }
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
  ASSERT_EQ(load(two_devices()), 2u);
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

TEST_F(KeptValuesTest, CoherentDevicesNeedNoSync) {
  are_coherent = true;
  can_sync = false;
  ASSERT_EQ(load(two_devices()), 2u);
  for (const float first : {1.0f, 5.0f}) {
    ASSERT_EQ(run(first), ETB_OK) << fixture_->error.text;
    EXPECT_THAT(output(), ElementsAre(first + 3, 5, 6, 7));
    EXPECT_EQ(by_device(), 4u);
  }
  EXPECT_EQ(syncs, 0);
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
