// SPDX-License-Identifier: Apache-2.0
// Plugins that write outside their buffers are reported.
#include <gtest/gtest.h>

#include "host/layers/validate/guarded_bytes.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;

using Execute = etb_status (*)(etb_context*, const etb_exec_args*, etb_error*);

class ValidateBuffers : public ::testing::TestWithParam<ValidateOptions::Memory> {
 protected:
  void run(Execute execute, int64_t count = 3) {
    LayerFixture fixture(with_memory(GetParam()));
    fixture.toy.delegate.execute = execute;
    ASSERT_EQ(fixture.start(), ETB_OK);
    ToyRun run(count);
    status_ = fixture.delegates().execute(fixture.context(), &run.args, fixture.fresh_error());
    in_ = run.in;
    out_ = run.out;
    found_ = fixture.found();
  }

  static etb_status right(etb_context* context, const etb_exec_args* args, etb_error* error) {
    return toy_tables().delegate.execute(context, args, error);
  }

  etb_status status_ = ETB_OK;
  std::vector<float> in_;
  std::vector<float> out_;
  std::vector<Violation> found_;
};

// proves: ABI-TENSOR-02
TEST_P(ValidateBuffers, ReportsAWriteBehindAnOutput) {
  run(
      [](etb_context* context, const etb_exec_args* args, etb_error* error) {
        static_cast<float*>(args->outputs[0].data)[4] = 7;
        return right(context, args, error);
      },
      4);
  EXPECT_THAT(found_, ElementsAre(Report("ABI-TENSOR-02", Side::PLUGIN, "outputs[0].data: write")));
  EXPECT_THAT(found_, ElementsAre(Report("ABI-TENSOR-02", Side::PLUGIN, "bytes after its end")));
  EXPECT_THAT(out_, Each(2.0f)) << "what it wrote inside reaches the host";
}

// proves: ABI-TENSOR-02
TEST_P(ValidateBuffers, ReportsAWriteBeforeAnOutput) {
  run([](etb_context* context, const etb_exec_args* args, etb_error* error) {
    static_cast<float*>(args->outputs[0].data)[-1] = 7;
    return right(context, args, error);
  });
  EXPECT_THAT(found_,
              ElementsAre(Report("ABI-TENSOR-02", Side::PLUGIN, "write 4 bytes before its beginning")));
}

// proves: ABI-TENSOR-03
TEST_P(ValidateBuffers, ReportsAWriteIntoAnInput) {
  run([](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const etb_status status = right(context, args, error);
    static_cast<float*>(args->inputs[0].data)[1] = 7;
    return status;
  });
  EXPECT_THAT(found_, ElementsAre(Report("ABI-TENSOR-03", Side::PLUGIN, "inputs[0].data: write")));
  EXPECT_THAT(in_, Each(1.0f)) << "the host's input is what it was";
  EXPECT_THAT(out_, Each(2.0f));
}

// proves: ABI-TENSOR-03
TEST_P(ValidateBuffers, SeesAReadBehindAnInputOnGuardPages) {
  // Reads one cache line past the start, so that the guard page follows at once for any
  // alignment of the host's bytes.
  run(
      [](etb_context* context, const etb_exec_args* args, etb_error* error) {
        volatile float behind = static_cast<const float*>(args->inputs[0].data)[16];
        (void)behind;
        return right(context, args, error);
      },
      16);
  if (GetParam() == kGuardPages) {
    EXPECT_THAT(found_, ElementsAre(Report("ABI-TENSOR-03", Side::PLUGIN, "read 0 bytes after its end")));
  }
  EXPECT_EQ(status_, ETB_OK) << "the run goes on";
}

// proves: ABI-TENSOR-02
TEST_P(ValidateBuffers, ReportsFinalSizesAboveTheBound) {
  run([](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const etb_status status = right(context, args, error);
    args->outputs[0].sizes[0] = 9;
    return status;
  });
  EXPECT_THAT(found_, ElementsAre(Report("ABI-TENSOR-02", Side::PLUGIN,
                                         "sizes[0] is 9 after the call, its upper bound 3")));
}

// proves: ABI-TENSOR-02 ABI-TENSOR-03
TEST_P(ValidateBuffers, ReportsWritesAroundTheSizes) {
  run([](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const etb_status status = right(context, args, error);
    args->outputs[0].sizes[2] = 9;
    args->inputs[0].sizes[0] = 9;
    return status;
  });
  EXPECT_THAT(found_, Contains(Report("ABI-TENSOR-02", Side::PLUGIN, "outputs[0].sizes: write")));
  EXPECT_THAT(found_, Contains(Report("ABI-TENSOR-02", Side::PLUGIN, "inputs[0].sizes: write")));
}

// proves: ABI-TENSOR-02
TEST_P(ValidateBuffers, ReportsAChangedTensorStruct) {
  run([](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const etb_status status = right(context, args, error);
    args->outputs[0].data = nullptr;
    return status;
  });
  EXPECT_THAT(found_, ElementsAre(Report("ABI-TENSOR-02", Side::PLUGIN, "the struct was changed")));
  EXPECT_THAT(out_, Each(2.0f));
}

// proves: ABI-OWN-01
TEST_P(ValidateBuffers, ReportsAWriteIntoTheArguments) {
  run([](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const_cast<etb_exec_args*>(args)->run_id = 99;
    return right(context, args, error);
  });
  EXPECT_THAT(found_, ElementsAre(Report("ABI-OWN-01", Side::PLUGIN, "args: write")));
}

TEST_P(ValidateBuffers, ReportsAWriteBehindTheScratch) {
  LayerFixture fixture(with_memory(GetParam()));
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    static_cast<char*>(args->scratch)[args->scratch_nbytes] = 1;
    return right(context, args, error);
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  alignas(64) char scratch[64];
  fixture.run.args.scratch = scratch;
  fixture.run.args.scratch_nbytes = sizeof(scratch);
  EXPECT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(),
              ElementsAre(Report("ABI-EXEC-04", Side::PLUGIN, "scratch: write 0 bytes after")));
}

INSTANTIATE_TEST_SUITE_P(Memory, ValidateBuffers, ::testing::Values(kCanaries, kGuardPages),
                         [](const auto& row) { return row.param == kCanaries ? "Canaries" : "GuardPages"; });

TEST(GuardedBytes, AreAlignedAndEndAtTheirGuard) {
  for (const auto memory : {kCanaries, kGuardPages})
    for (uint64_t alignment = 1; alignment <= 4096; alignment *= 2)
      for (uint64_t nbytes : {0, 1, 15, 16, 100, 5000}) {
        validate::GuardedBytes bytes(memory, nbytes, alignment);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % alignment, 0u);
        std::fill_n(bytes.data(), nbytes, uint8_t{0xff});
        EXPECT_FALSE(bytes.take_damage()) << nbytes << " bytes aligned to " << alignment;
        bytes.data()[nbytes] = 0;
        const auto damage = bytes.take_damage();
        ASSERT_TRUE(damage) << nbytes << " bytes aligned to " << alignment;
        if (has_fault_kinds() || memory == kCanaries) {
          EXPECT_EQ(*damage, "write 0 bytes after its end");
        } else {
          EXPECT_THAT(*damage, ::testing::HasSubstr(" 0 bytes after its end"));
        }
        EXPECT_FALSE(bytes.take_damage()) << "told once";
      }
}

TEST(GuardedBytes, ManyAtOnceFallBackToCanaries) {
  std::vector<std::unique_ptr<validate::GuardedBytes>> many;
  for (int i = 0; i < 4200; ++i)
    many.push_back(std::make_unique<validate::GuardedBytes>(kGuardPages, 16, 16));
  for (auto& bytes : many) bytes->data()[16] = 1;
  int seen = 0;
  for (auto& bytes : many) seen += bytes->take_damage() ? 1 : 0;
  EXPECT_EQ(seen, 4200);
}

TEST(GuardedBytesDeathTest, AFaultElsewhereStillEndsTheProcess) {
  const validate::GuardedBytes installed(kGuardPages, 16, 16);
  volatile uintptr_t nowhere = 64;
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(nowhere) = 1, "");
}

}  // namespace
}  // namespace etb::host
