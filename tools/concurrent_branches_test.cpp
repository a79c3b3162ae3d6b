// SPDX-License-Identifier: Apache-2.0
// Memory plans of the compiler under the run time's rules for asynchronous runs: which instructions wait for which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "host/module/overlapped_method.hpp"
#include "host/testing/method_fixture.hpp"
#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/ir/text.hpp"

namespace etb {
namespace {

// Delegates of one output that never run.
class OneOutput final : public host::DelegateResolver, public host::MethodDelegate {
 public:
  etb_status create(const host::DelegateRequest& request, host::MethodDelegate** out,
                    etb_error*) noexcept override {
    made_.push_back(std::make_unique<OneOutput>());
    made_.back()->input_count_ = static_cast<uint32_t>(request.arguments.size()) - 1;
    *out = made_.back().get();
    return ETB_OK;
  }
  etb_status execute(const host::DelegateRun&) noexcept override { return ETB_INTERNAL; }
  host::DelegateOperands operands() const noexcept override { return {input_count_, {}}; }
  void destroy() noexcept override {}

 private:
  std::vector<std::unique_ptr<OneOutput>> made_;
  uint32_t input_count_ = 0;
};

// Sums and delegate calls on random earlier values. The output is the last one.
std::string random_graph(std::mt19937& random) {
  std::string text =
      "etg 1\nmodule \"forward\"\n\ngraph @forward {\n  user %v0: float32[64]\n  user %v1: float32[64]\n";
  const uint32_t count = 4 + random() % 20;
  for (uint32_t i = 2; i < count; ++i) {
    const auto earlier = [&] {
      return "%v" + std::to_string(random() % 3 == 0 ? random() % i : i - 1 - random() % std::min(i, 4u));
    };
    const std::string a = earlier(), b = earlier(), size = std::to_string(1 + random() % 64);
    text += "  %v" + std::to_string(i) + ": float32[64] = " +
            (random() % 2 == 0 ? "aten.add.Tensor(" + a + ", " + b + ")"
                               : "higher_order.executorch_call_delegate.default(0, [" + a + ", " + b + "])") +
            "\n";
  }
  return text + "  return %v" + std::to_string(count - 1) + "\n}\n";
}

// Replaces the plan: no tensor shares memory.
void give_each_its_own_memory(format::MethodSpec& method) {
  uint64_t end = 0;
  for (format::ValueSpec& value : method.values) {
    auto* const tensor = std::get_if<format::TensorSpec>(&value);
    if (tensor == nullptr || tensor->memory_id == 0) continue;
    tensor->memory_offset = end;
    end += 256;
  }
  method.arena_sizes = {0, static_cast<int64_t>(end)};
}

struct Planned {
  // before[i][k]: i waits for k, directly or by way of others.
  std::vector<std::vector<bool>> before;
  emit::MethodReport report;
};

enum class Memory { kLeast, kApart, kOwn };

// The instructions that each one comes after in a run with asynchronous delegates. Kernels keep their order.
Planned plan(ir::Module& module, Memory memory) {
  Planned out;
  const std::byte payload[16] = {};
  const emit::Delegate delegates[] = {{"Any", payload, {}}};
  emit::EmitOptions options;
  options.delegates = delegates;
  options.keeps_branches_apart = memory == Memory::kApart;
  auto program = emit::emit({&module, 1}, options);
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return out;
  out.report = program->methods[0];
  if (memory == Memory::kOwn) give_each_its_own_memory(program->parts.methods[0]);
  std::vector<std::byte> file;
  EXPECT_TRUE(format::write_program(program->parts, program->segments, [&](auto bytes) -> Status {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return {};
  }));
  OneOutput resolver;
  host::AddFixture fixture(file);
  fixture.options.delegates = &resolver;
  EXPECT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  if (!fixture.method.is_loaded()) return out;
  const auto direct = host::OverlappedMethod::dependencies_of(fixture.method);
  std::optional<uint32_t> last_kernel;
  for (uint32_t i = 0; i < direct.size(); ++i) {
    std::vector<bool> before(i, false);
    const auto add = [&](uint32_t other) {
      before[other] = true;
      for (uint32_t k = 0; k < other; ++k)
        if (out.before[other][k]) before[k] = true;
    };
    for (const uint32_t other : direct[i]) add(other);
    const bool is_kernel = program->parts.methods[0].instructions[i].kind == 1;
    if (is_kernel && last_kernel) add(*last_kernel);
    if (is_kernel) last_kernel = i;
    out.before.push_back(std::move(before));
  }
  return out;
}

TEST(ConcurrentBranches, WaitForWhatTheyReadAndForNothingElse) {
  const unsigned seed = 20261126;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  size_t held_back = 0, larger = 0;
  for (int round = 0; round < 40; ++round) {
    const std::string text = random_graph(random);
    SCOPED_TRACE(text);
    auto module = ir::parse(text);
    ASSERT_TRUE(module) << module.error().message;
    const Planned own = plan(*module, Memory::kOwn), apart = plan(*module, Memory::kApart),
                  least = plan(*module, Memory::kLeast);
    ASSERT_FALSE(own.before.empty());
    EXPECT_EQ(apart.before, own.before);
    held_back += least.before != own.before ? 1 : 0;
    EXPECT_EQ(apart.report.least_arena_nbytes, least.report.arena_nbytes);
    EXPECT_GE(apart.report.arena_nbytes, least.report.arena_nbytes);
    larger += apart.report.arena_nbytes > least.report.arena_nbytes ? 1 : 0;
  }
  EXPECT_GT(held_back, 12u) << "the plan of the least memory makes branches wait";
  EXPECT_GT(larger, 12u);
}

// A chain reuses memory as before.
TEST(ConcurrentBranches, AChainNeedsNoMoreMemory) {
  std::string text = "etg 1\nmodule \"forward\"\n\ngraph @forward {\n  user %v0: float32[64]\n";
  for (int i = 1; i < 9; ++i)
    text += "  %v" + std::to_string(i) +
            ": float32[64] = higher_order.executorch_call_delegate.default(0, [%v" + std::to_string(i - 1) +
            "])\n";
  auto module = ir::parse(text + "  return %v8\n}\n");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(plan(*module, Memory::kApart).report.arena_nbytes, 2 * 256u);
}

}  // namespace
}  // namespace etb
