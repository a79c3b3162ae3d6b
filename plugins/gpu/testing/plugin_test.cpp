// SPDX-License-Identifier: Apache-2.0
// Tests the plugin through its table, on the devices of this machine. Skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/gpu/testing/tested_plugin.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kWeights[12] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1};  // "w" of layer_graph, [3, 4]

etb_status ETB_CALL get_weights(void*, const char* key, etb_payload_view* out, etb_error*) {
  if (std::string_view(key) != "w") return ETB_NOT_FOUND;
  out->data = kWeights;
  out->nbytes = sizeof(kWeights);
  return ETB_OK;
}

const void* ETB_CALL find_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0", "", nullptr, find_service, nullptr};

// A float tensor with its own memory.
struct Floats {
  Floats(std::vector<int64_t> its_sizes, std::vector<float> its_data)
      : sizes(std::move(its_sizes)), upper(sizes), data(std::move(its_data)) {
    raw.struct_size = ETB_INIT_SIZE(etb_tensor);
    raw.dtype = ETB_DTYPE_FLOAT32;
    raw.rank = static_cast<uint32_t>(sizes.size());
    raw.sizes = sizes.data();
    raw.data = data.data();
    raw.capacity_bytes = data.size() * sizeof(float);
  }
  std::vector<int64_t> sizes, upper;
  std::vector<float> data;
  etb_tensor raw{};
};

class PluginOfGpus : public testing::Test {
 protected:
  using Uuid = std::array<uint8_t, 16>;

  void SetUp() override {
    ASSERT_EQ(table_->init(&kHost, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &devices_,
                                  [](void* ctx, const etb_device_info* info) {
                                    Uuid& uuid = static_cast<std::vector<Uuid>*>(ctx)->emplace_back();
                                    std::copy_n(info->uuid, uuid.size(), uuid.begin());
                                    return etb_status{ETB_OK};
                                  }};
    ASSERT_EQ(table_->device->enumerate(plugin_, &sink, &error_), ETB_OK) << error_.text;
    if (devices_.empty()) GTEST_SKIP() << tested_plugin().hint;
  }
  void TearDown() override { EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text; }

  etb_status create(const std::vector<std::byte>& payload, etb_delegate** out, etb_device* device = nullptr) {
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view.data = payload.data();
    view.nbytes = payload.size();
    const etb_named_data named = {ETB_INIT_SIZE(etb_named_data), 0, nullptr, get_weights};
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.payload = &view;
    args.named_data = &named;
    args.device = device;
    return table_->delegate->create(plugin_, &args, out, &error_);
  }

  // Runs layer_graph() with so many rows, all of whose numbers are `number`.
  static std::vector<float> run_layer(const etb_plugin_table* table, etb_context* context, int64_t rows,
                                      float number, const etb_event_sink* events = nullptr) {
    Floats a({rows, 4}, std::vector<float>(static_cast<size_t>(rows) * 4, number)), b({4}, {0, 1, 2, 3});
    Floats out({8, 3}, std::vector<float>(24, NAN));
    out.raw.upper_sizes = out.upper.data();
    const etb_tensor inputs[] = {a.raw, b.raw};
    etb_exec_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    args.inputs = inputs;
    args.input_count = 2;
    args.outputs = &out.raw;
    args.output_count = 1;
    args.events = events;
    etb_error error = ETB_ERROR_INIT;
    EXPECT_EQ(table->delegate->execute(context, &args, &error), ETB_OK) << error.text;
    EXPECT_THAT(out.sizes, ElementsAre(rows, 3));
    out.data.resize(static_cast<size_t>(rows) * 3);
    return out.data;
  }
  // |x + i| * (x + i) for i = 0 to 3, times the weights.
  static std::vector<float> expected_layer(int64_t rows, float x) {
    std::vector<float> out;
    const auto f = [x](float i) { return std::abs(x + i) * (x + i); };
    for (int64_t r = 0; r < rows; ++r)
      for (const float each : {f(0), f(1), f(0) + f(1) + f(2) + f(3)}) out.push_back(each);
    return out;
  }

  const etb_plugin_table* table_ = tested_plugin().query(&kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_plugin* plugin_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
  std::vector<Uuid> devices_;
};

TEST_F(PluginOfGpus, RunsAPayloadForSizesThatChange) {
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(write_payload(layer_graph()), &delegate), ETB_OK) << error_.text;
  etb_context* context = nullptr;
  ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK) << error_.text;
  for (const int64_t rows : {8, 1, 5, 0, 8}) {
    const float number = -1.5f - static_cast<float>(rows);
    EXPECT_EQ(run_layer(table_, context, rows, number), expected_layer(rows, number)) << rows;
  }
  EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
}

TEST_F(PluginOfGpus, ContextsOfOneDelegateRunAtTheSameTime) {
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(write_payload(layer_graph()), &delegate), ETB_OK) << error_.text;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, delegate, t] {
      etb_error error = ETB_ERROR_INIT;
      etb_context* context = nullptr;
      ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error), ETB_OK)
          << error.text;
      for (int i = 0; i < 10; ++i) {
        const int64_t rows = 1 + (t + i) % 8;
        const auto number = static_cast<float>(i * t);
        EXPECT_EQ(run_layer(table_, context, rows, number), expected_layer(rows, number));
      }
      EXPECT_EQ(table_->delegate->context_destroy(context, &error), ETB_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
}

// PoCL has two devices here, see opencl_test.cpp.
TEST_F(PluginOfGpus, RunsOnAllDevicesAtTheSameTime) {
  std::vector<etb_device*> opened;
  std::vector<etb_delegate*> delegates;
  for (const Uuid& uuid : devices_) {
    ASSERT_EQ(table_->device->open(plugin_, uuid.data(), nullptr, 0, &opened.emplace_back(), &error_), ETB_OK)
        << error_.text;
    ASSERT_EQ(create(write_payload(layer_graph()), &delegates.emplace_back(), opened.back()), ETB_OK)
        << error_.text;
  }
  std::vector<std::thread> threads;
  for (etb_delegate* delegate : delegates) {
    threads.emplace_back([this, delegate] {
      etb_error error = ETB_ERROR_INIT;
      etb_context* context = nullptr;
      ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error), ETB_OK)
          << error.text;
      for (int i = 0; i < 20; ++i) {
        const auto number = static_cast<float>(i);
        EXPECT_EQ(run_layer(table_, context, 1 + i % 8, number), expected_layer(1 + i % 8, number));
      }
      EXPECT_EQ(table_->delegate->context_destroy(context, &error), ETB_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (etb_delegate* delegate : delegates) EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
  for (etb_device* device : opened) EXPECT_EQ(table_->device->close(device, &error_), ETB_OK);
}

struct SeenEvent {
  std::string name;
  uint64_t begin = 0, end = 0;
};

TEST_F(PluginOfGpus, ReportsAnEventForEachNodeWhileTheHostProfiles) {
  if (!tested_plugin().has_timestamps()) GTEST_SKIP() << "a device without time stamps";
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(write_payload(layer_graph()), &delegate), ETB_OK) << error_.text;
  etb_context* context = nullptr;
  ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK) << error_.text;
  std::vector<std::string> expected;
  const auto plan = make_execution_plan(layer_graph());
  ASSERT_TRUE(plan);
  for (const Dispatch& dispatch : plan->dispatches) {
    const std::string name = event_name(plan->graph.nodes[dispatch.node]);
    if (expected.empty() || expected.back() != name) expected.push_back(name);
  }
  ASSERT_GT(expected.size(), 1u);
  std::vector<SeenEvent> seen;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &seen,
                               [](void* ctx, const etb_event* event) {
                                 static_cast<std::vector<SeenEvent>*>(ctx)->push_back(
                                     {event->name, event->begin_ticks, event->end_ticks});
                                 return etb_status{ETB_OK};
                               }};
  // Other sizes record the commands again, and so do runs with and without a profile.
  for (const int64_t rows : {8, 3, 8}) {
    seen.clear();
    const auto begin = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    EXPECT_EQ(run_layer(table_, context, rows, 2, &sink), expected_layer(rows, 2)) << rows;
    const auto end = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    std::vector<std::string> names;
    for (const SeenEvent& event : seen) names.push_back(event.name);
    EXPECT_EQ(names, expected);
    uint64_t last = begin;
    for (const SeenEvent& event : seen) {
      EXPECT_LE(last, event.begin);
      EXPECT_LE(event.begin, event.end);
      last = event.end;
    }
    EXPECT_LE(last, end);
    const size_t count = seen.size();
    EXPECT_EQ(run_layer(table_, context, rows, 5), expected_layer(rows, 5)) << rows;
    EXPECT_EQ(seen.size(), count);
  }
  EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
}

TEST_F(PluginOfGpus, NamesTheConstantThatTheProgramLacks) {
  GpuGraph graph = layer_graph();
  for (GpuValue& value : graph.values)
    if (!value.key.empty()) value.key = "absent";
  etb_delegate* delegate = nullptr;
  EXPECT_EQ(create(write_payload(graph), &delegate), ETB_NOT_FOUND);
  for (GpuValue& value : graph.values)
    if (!value.key.empty()) value.key = "w", value.shape.sizes[0] = 4;
  EXPECT_EQ(create(write_payload(graph), &delegate), ETB_INVALID_DATA);
  EXPECT_THAT(error_.text, HasSubstr("named data 'w' of 48 bytes, expected 64"));
}

TEST_F(PluginOfGpus, RejectsAPayloadThatWasCut) {
  std::vector<std::byte> payload = write_payload(layer_graph());
  payload.resize(payload.size() / 2);
  etb_delegate* delegate = nullptr;
  EXPECT_EQ(create(payload, &delegate), ETB_INVALID_DATA);
}

TEST_F(PluginOfGpus, DoesNotOpenADeviceThatIsNotThere) {
  const uint8_t uuid[16] = {1, 2, 3};
  etb_device* device = nullptr;
  EXPECT_EQ(table_->device->open(plugin_, uuid, nullptr, 0, &device, &error_), ETB_NOT_FOUND);
}

}  // namespace
}  // namespace etb::gpu
