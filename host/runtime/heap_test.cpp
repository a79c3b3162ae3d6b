// SPDX-License-Identifier: Apache-2.0
// The core uses no heap: malloc is counted while a program loads and runs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "host/testing/heap_calls.hpp"
#include "host/testing/method_fixture.hpp"

#if ETB_COUNTS_HEAP
namespace etb::host {
namespace {

etb_status nothing(KernelContext&, EValue**) { return ETB_OK; }
constexpr Kernel kRows[] = {Kernel("aten::add.out", "T=T=ST!", &nothing)};
const KernelRows kTable(kRows);

TEST(Heap, IsCounted) {
  const int before = heap_calls;
  void* volatile memory = std::malloc(8);
  EXPECT_EQ(heap_calls, before + 1);
  std::free(memory);
}

TEST(Heap, IsUntouchedByLoadingAndRunning) {
  MethodFixture fixture(format::add_program(64));
  KernelRegistry registry;
  ASSERT_EQ(registry.add(kTable), ETB_OK);
  fixture.options.kernels = &registry;
  FloatVector x(std::vector<float>(64, 1));

  int before = heap_calls;
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  EXPECT_EQ(heap_calls, before) << "Program::load";

  MethodMeta meta;
  ASSERT_EQ(fixture.program.find_method("forward", &meta, nullptr), ETB_OK);
  fixture.make_memory(meta);
  before = heap_calls;
  ASSERT_EQ(fixture.method.load(fixture.program, "forward", {&fixture.state, fixture.arenas, fixture.scratch},
                                fixture.options, nullptr),
            ETB_OK);
  EXPECT_EQ(heap_calls, before) << "Method::load";

  before = heap_calls;
  ASSERT_EQ(fixture.method.set_input(0, x.value(), nullptr), ETB_OK);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(fixture.method.execute(nullptr), ETB_OK);
  while (fixture.method.step(nullptr) == ETB_OK) {
  }
  fixture.method.unload();
  EXPECT_EQ(heap_calls, before) << "execute, step, unload";
}

TEST(Heap, IsUntouchedByARefusal) {
  format::ProgramSpec spec = format::add_program(4);
  spec.methods[0].operators[0].name = "aten::absent";
  MethodFixture fixture(spec);
  PlatformHooks quiet = kDefaultPlatformHooks;
  quiet.log = nullptr;
  fixture.options.platform = &quiet;
  MethodMeta meta;
  ASSERT_EQ(fixture.load_program(), ETB_OK);
  ASSERT_EQ(fixture.program.find_method("forward", &meta, nullptr), ETB_OK);
  fixture.make_memory(meta);
  const int before = heap_calls;
  EXPECT_EQ(fixture.method.load(fixture.program, "forward", {&fixture.state, fixture.arenas, {}},
                                fixture.options, &fixture.error),
            ETB_OPERATOR_MISSING);
  EXPECT_EQ(heap_calls, before);
}

}  // namespace
}  // namespace etb::host

#else

TEST(Heap, IsTheSanitizersHere) { GTEST_SKIP() << "malloc belongs to the sanitizer"; }

#endif
