// SPDX-License-Identifier: Apache-2.0
// A value from the Vulkan plugin to the OpenCL plugin: memory of the host that both devices use, and a fence between the runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "etb/ext/buffer.h"
#include "etb/static_plugins.h"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/kept_values.hpp"
#include "host/module/overlapped_method.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/linked_only.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/testing/graphs.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(vulkan);
ETB_DECLARE_STATIC_PLUGIN(opencl);
}

namespace etb::host {
namespace {

using Query = const etb_plugin_table*(const etb_host*, uint32_t, uint32_t);

// A plugin as a machine with its first device alone would have it. Counts fences.
template <Query* query_all>
struct OneDevice {
  static inline std::atomic<int> device_count{0}, awaited_fences{0};

  static const etb_plugin_table& all() {
    static const etb_plugin_table& table = *query_all(nullptr, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    return table;
  }
  static etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
    device_count = 0;
    const etb_device_sink first = {ETB_INIT_SIZE(etb_device_sink), 0, const_cast<etb_device_sink*>(sink),
                                   [](void* ctx, const etb_device_info* info) -> etb_status {
                                     const auto& to = *static_cast<const etb_device_sink*>(ctx);
                                     return device_count++ == 0 ? to.put(to.ctx, info) : ETB_OK;
                                   }};
    return all().device->enumerate(plugin, &first, error);
  }
  static etb_status ETB_CALL execute_async(etb_context* context, const etb_exec_args* args,
                                           etb_error* error) {
    awaited_fences += static_cast<int>(args->wait_count);
    return all().delegate->execute_async(context, args, error);
  }
  static const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
    static etb_device_table device = *all().device;
    static etb_delegate_table delegate = *all().delegate;
    static etb_plugin_table table = all();
    device.enumerate = enumerate;
    delegate.execute_async = execute_async;
    table.device = &device;
    table.delegate = &delegate;
    return &table;
  }
};
using Vulkan = OneDevice<etb_plugin_query_vulkan>;
using Opencl = OneDevice<etb_plugin_query_opencl>;

constexpr etb_static_plugin kPlugins[] = {
    {ETB_INIT_SIZE(etb_static_plugin), 0, &Vulkan::query, "EtbVulkanBackend"},
    {ETB_INIT_SIZE(etb_static_plugin), 0, &Opencl::query, "EtbOpenclBackend"}};

// A payload that negates a vector of four; both plugins read it.
std::string negation() {
  gpu::GpuGraph graph;
  graph.outputs = {
      gpu::add_unary(graph, gpu::UnaryFunction::kNeg, gpu::add_input(graph, gpu::shape_of({4})))};
  const std::vector<std::byte> payload = gpu::write_payload(graph);
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

// u = first(x), v = second(u), sum = x + x, w = v + sum
DelegateProgram chain(const char* first, const char* second) {
  DelegateProgram made({{first, 1, 0, {}}, {second, 1, 0, {}}});
  made.program.segments = {negation()};
  const int32_t u = made.add_vector(48), v = made.add_vector(64), w = made.add_vector(80);
  made.call(0, 0, u);
  made.call(1, u, v);
  made.sum(0, 0, 2);
  made.sum(v, 2, w);
  made.method().outputs = {w};
  return made;
}

// Each reading is a millisecond later: a method runs to its end what seems shorter than a start.
std::atomic<uint64_t> clock_ns{0};
const PlatformHooks kClock{nullptr, [](void*) { return clock_ns += 1000000; }, nullptr};

class FencesBetweenDevices : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(FencesBetweenDevices, TheSecondDeviceBeginsWithoutTheHost) {
  Registry registry(linked_only(kPlugins));
  PluginDelegates delegates(registry);
  delegates.allow_async_runs();
  AddFixture fixture(chain(GetParam().first, GetParam().second).program);
  fixture.options.delegates = &delegates;
  fixture.options.platform = &kClock;
  const etb_status loaded = fixture.load();
  if (Vulkan::device_count == 0 || Opencl::device_count == 0)
    GTEST_SKIP() << "install mesa-vulkan-drivers and pocl-opencl-icd: " << fixture.error.text;
  ASSERT_EQ(loaded, ETB_OK) << fixture.error.text;
  ASSERT_EQ(KeptValues::keep(fixture.method), 1u);
  const auto overlapped = OverlappedMethod::make(fixture.method);
  ASSERT_NE(overlapped, nullptr);
  for (int i = 1; i <= 20; ++i) {
    const auto number = static_cast<float>(i);
    FloatVector x({number, number + 1, -number, 0.5f * number});
    const int before = Vulkan::awaited_fences + Opencl::awaited_fences;
    ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
    ASSERT_EQ(overlapped->execute(&fixture.error, {}), ETB_OK) << fixture.error.text;
    EXPECT_EQ(Vulkan::awaited_fences + Opencl::awaited_fences, before + 1);
    for (size_t k = 0; k < x.elements.size(); ++k)
      EXPECT_EQ(floats(fixture.method.output(0))[k], 3 * x.elements[k]);
  }
  EXPECT_EQ(delegates.transfers().device_arguments, 40u);
}

INSTANTIATE_TEST_SUITE_P(Orders, FencesBetweenDevices,
                         testing::Values(std::pair("EtbVulkanBackend", "EtbOpenclBackend"),
                                         std::pair("EtbOpenclBackend", "EtbVulkanBackend")));

}  // namespace
}  // namespace etb::host
