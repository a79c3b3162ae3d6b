// SPDX-License-Identifier: Apache-2.0
// Tests that the official exporter's programs load and run on the portable kernels without heap calls.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "host/kernels/portable.hpp"
#include "host/module/owned_tensor.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/method_fixture.hpp"

#if ETB_COUNTS_HEAP
namespace etb::host {
namespace {

class FixtureHeap : public testing::TestWithParam<const char*> {};

// Returns ones for every input of a method, in memory of the test.
std::vector<EValue> make_ones(const MethodMeta& meta, std::vector<OwnedTensor>& out_tensors) {
  std::vector<EValue> values;
  out_tensors.reserve(meta.input_count());
  for (uint32_t i = 0; i < meta.input_count(); ++i) {
    const auto kind = meta.input(i).kind();
    if (kind != format::ValueKind::kTensor) {
      const int64_t number =
          meta.is_fixed_input(i) && kind == format::ValueKind::kInt ? meta.input(i).as_int() : 1;
      values.emplace_back(kind == format::ValueKind::kBool     ? EValue(true)
                          : kind == format::ValueKind::kDouble ? EValue(1.0)
                                                               : EValue(number));
      continue;
    }
    const auto record = meta.input(i).as_tensor();
    const std::vector<int64_t> sizes(record.sizes.begin(), record.sizes.end());
    out_tensors.emplace_back(static_cast<Dtype>(record.dtype), sizes, record.dim_order);
    values.push_back(out_tensors.back().value());
  }
  return values;
}

// Sets memory for outputs that are not planned, which the caller must provide.
void give_outputs(Method& method, std::vector<std::vector<std::byte>>& out_memory) {
  for (uint32_t i = 0; i < method.output_count(); ++i) {
    if (!method.output(i).is_tensor() || method.output(i).tensor().data() != nullptr) continue;
    out_memory.emplace_back(4096);
    ASSERT_EQ(method.set_output_memory(i, out_memory.back(), nullptr), ETB_OK);
  }
}

TEST_P(FixtureHeap, IsUntouchedByEveryMethod) {
  const auto path = std::filesystem::path(ETB_SOURCE_DIR) / "tests/fixtures/programs" / GetParam();
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::byte> file(text.size());
  std::memcpy(file.data(), text.data(), text.size());
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);

  BufferLoader loader(file);
  Program program;
  int before = heap_calls;
  ASSERT_EQ(program.load(loader, nullptr), ETB_OK);
  EXPECT_EQ(heap_calls, before) << "Program::load";
  for (uint32_t index = 0; index < program.method_count(); ++index) {
    const std::string name(program.method_name(index));
    SCOPED_TRACE(name);
    MethodFixture fixture(file);
    fixture.options.kernels = &registry;
    fixture.scratch.resize(1 << 20);
    ASSERT_EQ(fixture.load_program(), ETB_OK);
    MethodMeta meta;
    ASSERT_EQ(fixture.program.find_method(name, &meta, nullptr), ETB_OK);
    fixture.make_memory(meta);
    std::vector<OwnedTensor> tensors;
    const std::vector<EValue> inputs = make_ones(meta, tensors);

    before = heap_calls;
    const etb_status loaded =
        fixture.method.load(fixture.program, name, {&fixture.state, fixture.arenas, fixture.scratch},
                            fixture.options, &fixture.error);
    EXPECT_EQ(heap_calls, before) << "Method::load";
    ASSERT_EQ(loaded, ETB_OK) << fixture.error.text;
    std::vector<std::vector<std::byte>> output_memory;
    give_outputs(fixture.method, output_memory);

    before = heap_calls;
    etb_status status = ETB_OK;
    for (int run = 0; run < 3 && status == ETB_OK; ++run) {
      for (uint32_t i = 0; i < inputs.size() && status == ETB_OK; ++i)
        status = fixture.method.set_input(i, inputs[i], &fixture.error);
      if (status == ETB_OK) status = fixture.method.execute(&fixture.error);
    }
    EXPECT_EQ(heap_calls, before) << "set_input and execute";
    EXPECT_EQ(status, ETB_OK) << fixture.error.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Official, FixtureHeap,
                         testing::Values("add.pte", "linear.pte", "conv.pte", "cond.pte", "map.pte",
                                         "dynamic.pte", "dynamic_view.pte", "counter.pte", "methods.pte",
                                         "types.pte", "unplanned.pte", "complex.pte"),
                         [](const auto& param) {
                           return std::string(param.param).substr(0, std::string(param.param).find('.'));
                         });

}  // namespace
}  // namespace etb::host
#else
TEST(FixtureHeap, IsTheSanitizersHere) { GTEST_SKIP() << "malloc belongs to the sanitizer"; }
#endif
