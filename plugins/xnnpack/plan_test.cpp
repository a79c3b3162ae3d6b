// SPDX-License-Identifier: Apache-2.0
// Tests the memory between the nodes of a runtime (tools/xnnpack/plan_memory.c).
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

// The release's planner, under the name that our build of XNNPACK exports. NULL in other builds.
extern "C" __attribute__((weak)) void xnn_plan_value_allocation_tracker_by_size(void*);

// Newer releases deprecate xnn_define_concatenate2; every release has it.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace etb::xnnpack {
namespace {

// A heap that records the largest allocation, which is the memory between nodes.
struct Heap {
  size_t largest = 0;

  void* note(void* made, size_t nbytes) {
    if (nbytes > largest) largest = nbytes;
    return made;
  }
  static Heap& of(void* self) { return *static_cast<Heap*>(self); }
  xnn_allocator allocator{
      this,
      [](void* self, size_t n) { return of(self).note(std::malloc(n), n); },
      [](void* self, void* old, size_t n) { return of(self).note(std::realloc(old, n), n); },
      [](void*, void* old) { std::free(old); },
      [](void* self, size_t alignment, size_t n) {
        return of(self).note(std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment), n);
      },
      [](void*, void* old) { std::free(old); }};
};

constexpr size_t kMegabyte = size_t{1} << 20;

// Builds graphs of additions; the first dimension of each value is its size in megabytes.
class Plan : public testing::Test {
 protected:
  void SetUp() override {
    if (xnn_plan_value_allocation_tracker_by_size == nullptr)
      GTEST_SKIP() << "this XNNPACK has its own planner alone";
    ASSERT_EQ(xnn_initialize(&heap_.allocator), xnn_status_success);
    xnn_subgraph_t made = nullptr;
    ASSERT_EQ(xnn_create_subgraph(2, 0, &made), xnn_status_success);
    graph_.reset(made);
  }
  uint32_t value(size_t megabytes, uint32_t external_id = XNN_INVALID_VALUE_ID, uint32_t flags = 0) {
    const size_t sizes[] = {megabytes, kMegabyte / sizeof(float)};
    uint32_t id = 0;
    EXPECT_EQ(
        xnn_define_tensor_value(graph_.get(), xnn_datatype_fp32, 2, sizes, nullptr, external_id, flags, &id),
        xnn_status_success);
    return id;
  }
  // Adds a slice of the first `megabytes` of a value.
  uint32_t take(uint32_t from, size_t megabytes, uint32_t to = XNN_INVALID_VALUE_ID) {
    const size_t offsets[] = {0, 0}, sizes[] = {megabytes, kMegabyte / sizeof(float)};
    if (to == XNN_INVALID_VALUE_ID) to = value(megabytes);
    EXPECT_EQ(xnn_define_static_slice(graph_.get(), 2, offsets, sizes, from, to, 0), xnn_status_success);
    return to;
  }
  uint32_t join(uint32_t a, uint32_t b, size_t megabytes) {
    const uint32_t to = value(megabytes);
    EXPECT_EQ(xnn_define_concatenate2(graph_.get(), 0, a, b, to, 0), xnn_status_success);
    return to;
  }

  Heap heap_;
  SubgraphHandle graph_;
};

TEST_F(Plan, TakesNoMoreThanWhatIsAliveAtOnce) {
  // A U-Net in miniature: a value of 2 stays in memory from the second node to the last but one, which joins
  // it with one of 4.
  const uint32_t input = value(6, 0, XNN_VALUE_FLAG_EXTERNAL_INPUT);
  const uint32_t output = value(2, 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
  const uint32_t first = take(input, 2), skipped = take(first, 2);
  uint32_t inner = take(skipped, 1);
  for (int i = 0; i < 4; ++i) inner = take(inner, 1);
  uint32_t outer = join(inner, inner, 2);
  outer = join(outer, outer, 4);
  const uint32_t joined = join(outer, skipped, 6);
  take(take(joined, 2), 2, output);

  xnn_runtime_t made = nullptr;
  ASSERT_EQ(xnn_create_runtime_v2(graph_.get(), nullptr, 0, &made), xnn_status_success);
  const RuntimeHandle runtime(made);
  std::vector<float> x(6 * kMegabyte / sizeof(float) + XNN_EXTRA_BYTES),
      y(2 * kMegabyte / sizeof(float) + XNN_EXTRA_BYTES);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000003);
  const xnn_external_value values[] = {{0, x.data()}, {1, y.data()}};
  ASSERT_EQ(xnn_reshape_runtime(made), xnn_status_success);
  ASSERT_EQ(xnn_setup_runtime_v2(made, 2, values), xnn_status_success);
  EXPECT_LT(heap_.largest, 12 * kMegabyte + 64 * 1024) << "12 are alive where 4 and 2 are joined to 6";
  ASSERT_EQ(xnn_invoke_runtime(made), xnn_status_success);
  // The first megabyte of the input, repeated.
  for (size_t i = 0; i < 2 * kMegabyte / sizeof(float); ++i)
    ASSERT_EQ(y[i], x[i % (kMegabyte / sizeof(float))]) << i;
}

}  // namespace
}  // namespace etb::xnnpack
