// SPDX-License-Identifier: Apache-2.0
// A profile in static memory, as a small machine records it: malloc is counted from loading to the written file.
#include <gtest/gtest.h>

#include "api/format/etdump.hpp"
#include "host/profile/etdump_stream.hpp"
#include "host/profile/etdump_tracer.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

alignas(16) std::byte log_memory[16 << 10];
alignas(64) std::byte debug_memory[4 << 10];
std::byte file_memory[16 << 10];

// Returns the heap calls while `work` runs; 0 where the allocator belongs to a sanitizer.
template <class Work>
int heap_calls_of(Work work) {
#if ETB_COUNTS_HEAP
  const int before = heap_calls;
  work();
  return heap_calls - before;
#else
  work();
  return 0;
#endif
}

TEST(ProfileHeap, IsUntouchedFromLoadingToTheFile) {
  AddFixture fixture(format::add_program(4));
  FloatVector x({1, 2, 3, 4});
  MethodMeta meta;
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  ASSERT_EQ(fixture.program.find_method("forward", &meta, nullptr), ETB_OK);
  fixture.make_memory(meta);

  BufferByteSink file(file_memory);
  const int calls = heap_calls_of([&] {
    ProfileLog log(log_memory);
    BufferDebugSink debug_sink(debug_memory);
    EtdumpOptions options;
    options.debug_level = DebugLevel::kIntermediateOutputs;
    options.allocations = true;
    options.debug_sink = &debug_sink;
    EtdumpTracer tracer(log, options);
    fixture.options.tracer = &tracer;
    ASSERT_EQ(
        fixture.method.load(fixture.program, "forward", {&fixture.state, fixture.arenas, fixture.scratch},
                            fixture.options, nullptr),
        ETB_OK);
    ASSERT_EQ(fixture.method.set_input(0, x.value(), nullptr), ETB_OK);
    ASSERT_EQ(fixture.method.set_input(1, x.value(), nullptr), ETB_OK);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(fixture.method.execute(nullptr), ETB_OK);
    ASSERT_TRUE(write_etdump(log, file));
    EXPECT_EQ(log.dropped_count(), 0u);
  });
  EXPECT_EQ(calls, 0);

  const auto blocks = format::read_etdump(file.written());
  ASSERT_TRUE(blocks) << blocks.error().message;
  ASSERT_EQ(blocks->size(), 4u);
  EXPECT_EQ((*blocks)[0].name, "Default");
  EXPECT_FALSE((*blocks)[0].allocations.empty());
  for (size_t i = 1; i < 4; ++i) {
    const format::EtdumpBlock& block = (*blocks)[i];
    ASSERT_EQ(block.events.size(), 3u);
    ASSERT_EQ(block.values.size(), 2u);
    for (const format::EtdumpDebugEvent& value : block.values) {
      const auto elements = format::find_elements(value.value.tensors.at(0), debug_memory);
      ASSERT_TRUE(elements) << elements.error().message;
      const auto* const first = reinterpret_cast<const float*>(elements->data());
      EXPECT_EQ((std::vector<float>(first, first + 4)), (std::vector<float>{2, 4, 6, 8}));
    }
  }
}

}  // namespace
}  // namespace etb::host
