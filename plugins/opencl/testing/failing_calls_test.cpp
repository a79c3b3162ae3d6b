// SPDX-License-Identifier: Apache-2.0
// Errors of the driver: a lost device, memory that is used up, and a kernel that it cannot compile or run.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "api/testing/fence_signal.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/opencl/testing/failing_calls_layer.hpp"

namespace etb::gpu {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// Has constants, an argument and a result, and values between nodes.
GpuGraph product() {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({64, 64}));
  const uint32_t y = add_linear(graph, x, add_constant(graph, shape_of({64, 64}), "4096"));
  graph.outputs = {add_node(graph, Operator::kSoftmax, {y}, {1, 0})};
  return graph;
}

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
    run_ = std::make_unique<FloatRun>(product(), shape_of({64, 64}), "auto");
    if (!run_->run()) GTEST_SKIP() << tested_plugin().hint << ": " << run_->error();
    expected_ = run_->output();
    // The loader opened the layer.
    void* const library = dlopen(ETB_LAYER_FILE, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) GTEST_SKIP() << "an OpenCL loader without layers (ocl-icd has them since 2.3.0)";
    fail_ = reinterpret_cast<decltype(&etb_fail_opencl_call)>(dlsym(library, "etb_fail_opencl_call"));
    is_pending_ = reinterpret_cast<decltype(&etb_is_opencl_failure_pending)>(
        dlsym(library, "etb_is_opencl_failure_pending"));
    context_count_ =
        reinterpret_cast<decltype(&etb_opencl_context_count)>(dlsym(library, "etb_opencl_context_count"));
    dlclose(library);
    ASSERT_NE(fail_, nullptr);
    ASSERT_NE(is_pending_, nullptr);
    ASSERT_NE(context_count_, nullptr);
  }
  void TearDown() override {
    if (fail_ != nullptr) fail_("", CL_SUCCESS, 0);
  }

  void expect_right_run() {
    run_->clear_output();
    ASSERT_TRUE(run_->run()) << run_->error();
    EXPECT_EQ(run_->output(), expected_);
  }
  // A new delegate of the same plugin computes the right numbers, after a loss on a device that is opened again.
  void expect_recovery(bool is_lost) {
    EXPECT_FALSE(is_pending_()) << "no call failed";
    const uint32_t count = context_count_();
    ASSERT_TRUE(run_->reopen()) << run_->error();
    expect_right_run();
    EXPECT_EQ(context_count_(), count + (is_lost ? 1 : 0));
  }
  // Makes a delegate and runs it, until no call of the function is left that fails. Each failure ends with this status, and the
  // next delegate is right.
  void expect_failures(const char* function, cl_int result, etb_status status, bool is_lost) {
    uint32_t count = 0;
    for (;; ++count) {
      SCOPED_TRACE(std::string(function) + ", call " + std::to_string(count));
      fail_(function, result, count);
      const bool is_right = run_->reopen() && run_->run();
      if (is_pending_()) {
        EXPECT_TRUE(is_right) << run_->error();
        break;
      }
      ASSERT_FALSE(is_right);
      EXPECT_EQ(run_->status(), status) << run_->error();
      EXPECT_THAT(run_->error(), HasSubstr(function));
      expect_recovery(is_lost);
      if (HasFailure()) return;
    }
    EXPECT_GE(count, 1u) << function;
    fail_("", CL_SUCCESS, 0);
  }

  std::unique_ptr<FloatRun> run_;
  std::vector<float> expected_;
  decltype(&etb_fail_opencl_call) fail_ = nullptr;
  decltype(&etb_is_opencl_failure_pending) is_pending_ = nullptr;
  decltype(&etb_opencl_context_count) context_count_ = nullptr;
};

TEST_F(FailingCalls, ALostDeviceEndsEachCallAndIsOpenedAgain) {
  for (const char* function : {"clFinish", "clCreateBuffer", "clCreateSubBuffer", "clEnqueueNDRangeKernel",
                               "clEnqueueWriteBuffer", "clEnqueueReadBuffer"})
    for (const cl_int result : {CL_DEVICE_NOT_AVAILABLE, CL_INVALID_COMMAND_QUEUE})
      expect_failures(function, result, ETB_UNAVAILABLE, true);
}

// Drivers have no error of their own for it: NVIDIA's returns this one after a kernel that faulted.
TEST_F(FailingCalls, ADeviceWhoseCommandsFailedIsLost) {
  expect_failures("clFinish", CL_OUT_OF_RESOURCES, ETB_UNAVAILABLE, true);
}

TEST_F(FailingCalls, ALostDeviceSignalsTheFenceOfAnAsynchronousRun) {
  struct Row {
    const char* function;
    cl_int result;
  };
  for (const Row& row :
       {Row{"clEnqueueNDRangeKernel", CL_DEVICE_NOT_AVAILABLE}, Row{"clFlush", CL_DEVICE_NOT_AVAILABLE},
        Row{"clWaitForEvents", CL_DEVICE_NOT_AVAILABLE},
        Row{"clWaitForEvents", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST},
        Row{"clWaitForEvents", CL_OUT_OF_RESOURCES}, Row{"clEnqueueReadBuffer", CL_DEVICE_NOT_AVAILABLE}}) {
    SCOPED_TRACE(row.function);
    fail_(row.function, row.result, 0);
    const auto call = run_->make_call();
    FenceSignal signal(call->args);
    const etb_status status = run_->start(call->args);
    // A run that is not started signals nothing.
    EXPECT_EQ(status != ETB_OK ? status : signal.wait(), ETB_UNAVAILABLE);
    EXPECT_EQ(signal.count(), status == ETB_OK ? 1 : 0);
    expect_recovery(true);
  }
}

TEST_F(FailingCalls, MemoryThatIsUsedUpIsAnErrorOfEachCall) {
  for (const char* function : {"clCreateBuffer", "clCreateSubBuffer"})
    expect_failures(function, CL_MEM_OBJECT_ALLOCATION_FAILURE, ETB_OUT_OF_MEMORY, false);
}

// Drivers may have no memory for a buffer until a command uses it. The context goes on.
TEST_F(FailingCalls, MemoryThatIsUsedUpEndsARun) {
  for (const char* function : {"clEnqueueWriteBuffer", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer"}) {
    SCOPED_TRACE(function);
    fail_(function, CL_MEM_OBJECT_ALLOCATION_FAILURE, 0);
    EXPECT_FALSE(run_->run());
    EXPECT_EQ(run_->status(), ETB_OUT_OF_MEMORY) << run_->error();
    expect_right_run();
    expect_recovery(false);
  }
}

TEST_F(FailingCalls, AProgramThatIsNotBuiltIsNamedWithItsNodeAndDevice) {
  fail_("clBuildProgram", CL_BUILD_PROGRAM_FAILURE, 0);
  FloatRun run(softmax(true), shape_of({3, 5}), "auto");
  EXPECT_FALSE(is_pending_()) << "no call failed";
  EXPECT_FALSE(run.is_ready());
  EXPECT_EQ(run.status(), ETB_INTERNAL);
  EXPECT_THAT(run.error(), MatchesRegex("Softmax #1: kernel LogSoftmax on '.+': clBuildProgram: "
                                        "CL_BUILD_PROGRAM_FAILURE.*"));
  ASSERT_TRUE(run.reopen()) << run.error();
  EXPECT_TRUE(run.run()) << run.error();
}

// Some drivers compile when a kernel is enqueued: at load with arguments for nothing to do, and in a run.
TEST_F(FailingCalls, AKernelThatIsNotEnqueuedIsNamedWithItsNodeAndDevice) {
  const auto named = MatchesRegex(
      "Softmax #1: kernel Softmax on '.+': clEnqueueNDRangeKernel: "
      "CL_OUT_OF_RESOURCES.*");
  fail_("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, 0);
  FloatRun run(softmax(false), shape_of({3, 5}), "auto");
  EXPECT_FALSE(run.is_ready());
  EXPECT_THAT(run.error(), named);
  ASSERT_TRUE(run.reopen()) << run.error();
  fail_("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, 0);
  EXPECT_FALSE(run.run());
  EXPECT_EQ(run.status(), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(run.error(), named);
  EXPECT_FALSE(is_pending_());
  EXPECT_TRUE(run.run()) << run.error();
}

}  // namespace
}  // namespace etb::gpu
