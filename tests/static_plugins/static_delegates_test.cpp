// SPDX-License-Identifier: Apache-2.0
// StaticDelegates runs models on linked plugins without heap, and the driver of dsp_stub in C accepts what its compiler wrote and
// nothing else.
#include "host/static_delegates/static_delegates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "etb_static_plugins.h"
#include "host/kernels/portable.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"
#include "host/testing/heap_calls.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct alignas(16) Block {
  std::byte bytes[16];
};

std::vector<Block> read_model(const std::string& name, size_t& nbytes) {
  std::ifstream in(std::string(ETB_MODELS "/") + name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<Block> out(text.size() / sizeof(Block) + 1);
  std::memcpy(out.data(), text.data(), text.size());
  nbytes = text.size();
  return out;
}

int count_heap_calls() {
#if ETB_COUNTS_HEAP
  return heap_calls;
#else
  return 0;
#endif
}

class StaticDelegatesTest : public testing::Test {
 protected:
  void open(const std::string& name) {
    size_t nbytes = 0;
    file_ = read_model(name, nbytes);
    bytes_ = {file_.data()->bytes, nbytes};
    ASSERT_GT(nbytes, 0u) << name;
    ASSERT_EQ(add_portable_kernels(kernels_), ETB_OK);
  }

  // Loads the program in `memory_bytes` of memory, and runs it on the inputs if there are any.
  etb_status run(size_t memory_bytes, std::vector<std::vector<float>> inputs = {}) {
    error_ = ETB_ERROR_INIT;
    memory_.resize(memory_bytes / sizeof(Block));
    BumpAllocator allocator(std::as_writable_bytes(std::span(memory_)));
    BufferLoader loader(bytes_);
    Program program;
    ETB_CHECK(program.load(loader, &error_));
    MethodMeta meta;
    ETB_CHECK(program.find_method("forward", &meta, &error_));
    std::span<std::byte> arenas[4];
    if (meta.arena_count() > 4) return fail(&error_, ETB_OUT_OF_RESOURCES, "more than 4 arenas");
    for (uint32_t i = 0; i < meta.arena_count(); ++i) {
      if (meta.arena_nbytes(i) > 1 << 20) return fail(&error_, ETB_OUT_OF_MEMORY, "arena %u is too large", i);
      arenas_[i].resize(meta.arena_nbytes(i) / sizeof(Block) + 1);
      arenas[i] = std::as_writable_bytes(std::span(arenas_[i]));
    }
    alignas(64) static std::byte scratch[1 << 16];
    StaticDelegates delegates(etb_static_plugins, allocator);
    MethodOptions options;
    options.kernels = &kernels_;
    options.delegates = &delegates;
    Method method;
    ETB_CHECK(method.load(program, "forward", {&allocator, {arenas, meta.arena_count()}, scratch}, options,
                          &error_));
    if (method.input_count() != inputs.size() && !inputs.empty())
      return fail(&error_, ETB_INCOMPATIBLE, "another number of inputs");
    if (method.output_count() != 1 || !method.output(0).is_tensor())
      return fail(&error_, ETB_INCOMPATIBLE, "the output is no tensor");
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (!method.input(i).is_tensor()) return fail(&error_, ETB_INCOMPATIBLE, "an input is no tensor");
      const Tensor& like = method.input(i).tensor();
      std::vector<int64_t> sizes(like.sizes().begin(), like.sizes().end()),
          strides(like.strides().begin(), like.strides().end());
      Tensor tensor(like.dtype(), like.rank(), sizes.data(), like.dim_order().data(), strides.data(),
                    inputs[i].data(), inputs[i].size() * sizeof(float));
      ETB_CHECK(method.set_input(i, EValue(&tensor), &error_));
    }
    if (inputs.empty()) return ETB_OK;
    output_.assign(static_cast<size_t>(method.output(0).tensor().numel()), 0);
    if (method.output(0).tensor().data() == nullptr)
      ETB_CHECK(method.set_output_memory(0, std::as_writable_bytes(std::span(output_)), &error_));
    const int before = count_heap_calls();
    ETB_CHECK(method.execute(&error_));
    run_heap_calls_ = count_heap_calls() - before;
    if (method.output(0).tensor().nbytes() != output_.size() * sizeof(float))
      return fail(&error_, ETB_INCOMPATIBLE, "the output has another dtype");
    const auto* const data = method.output(0).tensor().data_as<const float>();
    output_.assign(data, data + output_.size());
    return ETB_OK;
  }

  std::vector<Block> file_, memory_, arenas_[4];
  std::span<std::byte> bytes_;
  KernelRegistry kernels_;
  std::vector<float> output_;
  int run_heap_calls_ = -1;
  etb_error error_ = ETB_ERROR_INIT;
};

TEST_F(StaticDelegatesTest, RunsATemplatePlugin) {
  open("add_c.pte");
  ASSERT_EQ(run(1 << 16, {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}}), ETB_OK) << error_.text;
  EXPECT_THAT(output_, ElementsAre(11, 22, 33, 44, 55, 66));
}

TEST_F(StaticDelegatesTest, RunsTheDriverOfTheDspWithoutHeap) {
  open("net_q8.pte");
  ASSERT_EQ(run(1 << 19, {std::vector<float>(3 * 12 * 12, 0.5F)}), ETB_OK) << error_.text;
  ASSERT_EQ(output_.size(), 10u);
  EXPECT_NE(output_, std::vector<float>(10, output_[0]));
  EXPECT_EQ(run_heap_calls_, 0);
}

TEST_F(StaticDelegatesTest, TooLittleMemoryIsAnError) {
  open("net_q8.pte");
  EXPECT_EQ(run(4096), ETB_OUT_OF_MEMORY) << error_.text;
  EXPECT_GT(std::strlen(error_.text), 8u);
}

TEST_F(StaticDelegatesTest, AnUnknownDelegateIsAnErrorThatNamesIt) {
  open("add.pte");  // of my_npu, which is not linked
  EXPECT_EQ(run(1 << 16), ETB_NOT_FOUND);
  EXPECT_THAT(error_.text, HasSubstr("no linked plugin for 'MyNpuBackend'"));
}

// Each flipped bit of payload and program is refused with a text, or the program runs.
TEST_F(StaticDelegatesTest, DamagedProgramsAreRefusedWithACodeAndAText) {
  open("net_q8.pte");
  std::mt19937 random(5);
  int refused = 0, ran = 0;
  for (int i = 0; i < 10000; ++i) {
    const size_t place = random() % bytes_.size();
    const auto bit = static_cast<std::byte>(1u << (random() % 8));
    bytes_[place] ^= bit;
    const etb_status status = run(1 << 19, {std::vector<float>(3 * 12 * 12, 0.5F)});
    bytes_[place] ^= bit;
    if (status == ETB_OK) {
      ++ran;
      continue;
    }
    ++refused;
    EXPECT_EQ(error_.code, status) << place;
    EXPECT_GT(std::strlen(error_.text), 8u) << place;
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(ran, 500);
}

}  // namespace
}  // namespace etb::host
