// SPDX-License-Identifier: Apache-2.0
// Errors of the driver: a kernel that it cannot compile or run.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/opencl/testing/failing_calls_layer.hpp"

namespace etb::gpu {
namespace {

using testing::MatchesRegex;

GpuGraph softmax(bool is_logarithm) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({3, 5}));
  graph.outputs = {add_node(graph, Operator::kSoftmax, {x}, {1, is_logarithm ? 1 : 0})};
  return graph;
}

class FailingCalls : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("OPENCL_LAYERS", ETB_LAYER_FILE, 1); }
  void SetUp() override {
    GpuGraph graph;
    graph.outputs = {add_unary(graph, UnaryFunction::kAbs, add_input(graph, shape_of({8})))};
    run_ = std::make_unique<FloatRun>(graph, shape_of({8}), "auto");
    if (!run_->run()) GTEST_SKIP() << tested_plugin().hint << ": " << run_->error();
    // The loader opened the layer.
    void* const library = dlopen(ETB_LAYER_FILE, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) GTEST_SKIP() << "an OpenCL loader without layers (ocl-icd has them since 2.3.0)";
    fail_next_ =
        reinterpret_cast<decltype(&etb_fail_next_opencl_call)>(dlsym(library, "etb_fail_next_opencl_call"));
    is_pending_ = reinterpret_cast<decltype(&etb_is_opencl_failure_pending)>(
        dlsym(library, "etb_is_opencl_failure_pending"));
    dlclose(library);
    ASSERT_NE(fail_next_, nullptr);
    ASSERT_NE(is_pending_, nullptr);
  }
  void TearDown() override {
    if (fail_next_ != nullptr) fail_next_("", CL_SUCCESS);
  }

  std::unique_ptr<FloatRun> run_;
  decltype(&etb_fail_next_opencl_call) fail_next_ = nullptr;
  decltype(&etb_is_opencl_failure_pending) is_pending_ = nullptr;
};

TEST_F(FailingCalls, AProgramThatIsNotBuiltIsNamedWithItsNodeAndDevice) {
  fail_next_("clBuildProgram", CL_BUILD_PROGRAM_FAILURE);
  FloatRun run(softmax(false), shape_of({3, 5}), "auto");
  EXPECT_FALSE(is_pending_()) << "no call failed";
  EXPECT_FALSE(run.is_ready());
  EXPECT_EQ(run.status(), ETB_INTERNAL);
  EXPECT_THAT(run.error(), MatchesRegex("Softmax #1: kernel Softmax on '.+': clBuildProgram: "
                                        "CL_BUILD_PROGRAM_FAILURE.*"));
  ASSERT_TRUE(run.reopen()) << run.error();
  EXPECT_TRUE(run.run()) << run.error();
}

// Some drivers compile when a kernel is enqueued: at load with arguments for nothing to do, and in a run.
TEST_F(FailingCalls, AKernelThatIsNotEnqueuedIsNamedWithItsNodeAndDevice) {
  const auto named = MatchesRegex(
      "Softmax #1: kernel LogSoftmax on '.+': clEnqueueNDRangeKernel: "
      "CL_OUT_OF_RESOURCES.*");
  fail_next_("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES);
  FloatRun run(softmax(true), shape_of({3, 5}), "auto");
  EXPECT_FALSE(run.is_ready());
  EXPECT_THAT(run.error(), named);
  ASSERT_TRUE(run.reopen()) << run.error();
  fail_next_("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES);
  EXPECT_FALSE(run.run());
  EXPECT_EQ(run.status(), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(run.error(), named);
  EXPECT_FALSE(is_pending_());
  EXPECT_TRUE(run.run()) << run.error();
}

}  // namespace
}  // namespace etb::gpu
