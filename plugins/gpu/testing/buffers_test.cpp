// SPDX-License-Identifier: Apache-2.0
// Tests buffer/1 of the plugin on the devices of this machine. Skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "etb/ext/buffer.h"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/gpu/testing/tested_plugin.hpp"

namespace etb::gpu {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 300, kColumns = 4;  // 4,800 bytes

const void* ETB_CALL find_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0", "", nullptr, find_service, nullptr};

// A tensor in memory of the host, or in a buffer.
struct Argument {
  explicit Argument(float first = 0) : data(kRows * kColumns) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = first - static_cast<float>(i % 97) * 0.25f;
  }
  etb_tensor raw(const etb_buffer_desc* buffer = nullptr) {
    etb_tensor made{};
    made.struct_size = ETB_INIT_SIZE(etb_tensor);
    made.dtype = ETB_DTYPE_FLOAT32;
    made.rank = 2;
    made.sizes = sizes.data();
    made.buffer = buffer;
    made.data = buffer == nullptr ? data.data() : nullptr;
    made.capacity_bytes = data.size() * sizeof(float);
    return made;
  }
  std::array<int64_t, 2> sizes = {kRows, kColumns};
  std::vector<float> data;
};

class BuffersOfGpus : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(table_->init(&kHost, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, this,
                                  [](void* ctx, const etb_device_info* info) {
                                    auto& self = *static_cast<BuffersOfGpus*>(ctx);
                                    if (!self.has_uuid_)
                                      std::memcpy(self.uuid_, info->uuid, sizeof(self.uuid_));
                                    self.has_uuid_ = true;
                                    return etb_status{ETB_OK};
                                  }};
    ASSERT_EQ(table_->device->enumerate(plugin_, &sink, &error_), ETB_OK) << error_.text;
    if (!has_uuid_) GTEST_SKIP() << tested_plugin().hint;
    ASSERT_EQ(table_->device->open(plugin_, uuid_, nullptr, 0, &device_, &error_), ETB_OK) << error_.text;
    buffers_ = static_cast<const etb_buffer_table*>(
        table_->get_extension(plugin_, ETB_OBJECT_DEVICE, device_, ETB_EXT_BUFFER));
    ASSERT_NE(buffers_, nullptr);
  }
  void TearDown() override {
    for (etb_context* const each : contexts_)
      EXPECT_EQ(table_->delegate->context_destroy(each, &error_), ETB_OK);
    for (etb_delegate* const each : delegates_) EXPECT_EQ(table_->delegate->destroy(each, &error_), ETB_OK);
    if (device_ != nullptr) {
      EXPECT_EQ(table_->device->close(device_, &error_), ETB_OK) << error_.text;
    }
    EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text;
  }

  // Makes a context that computes one function of a tensor of these sizes.
  etb_context* make(UnaryFunction function) {
    GpuGraph graph;
    const uint32_t input = add_input(graph, shape_of({kRows, kColumns}));
    // A reshape shows the memory of the input.
    const uint32_t view = add_node(graph, Operator::kReshape, {input}, {kRows * kColumns});
    graph.outputs.push_back(
        add_node(graph, Operator::kReshape, {add_unary(graph, function, view)}, {kRows, kColumns}));
    return make(graph);
  }
  // The same for tensors of up to these sizes.
  etb_context* make_for_any_size(UnaryFunction function) {
    GpuGraph graph;
    const uint32_t input = add_input(graph, shape_of({kRows, kColumns}));
    graph.outputs.push_back(add_unary(graph, function, input));
    return make(graph);
  }
  // `float16`: the option of the delegate.
  etb_context* make(const GpuGraph& graph, const char* float16 = "auto") {
    const etb_option option = {ETB_INIT_SIZE(etb_option),
                               0,
                               "float16",
                               ETB_OPTION_TEXT,
                               0,
                               0,
                               0,
                               float16,
                               {nullptr, 0},
                               nullptr,
                               nullptr};
    const std::vector<std::byte> payload = write_payload(graph);
    etb_payload_view bytes{};
    bytes.struct_size = ETB_INIT_SIZE(etb_payload_view);
    bytes.data = payload.data();
    bytes.nbytes = payload.size();
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.payload = &bytes;
    args.device = device_;
    args.options = &option;
    args.option_count = 1;
    etb_delegate* delegate = nullptr;
    EXPECT_EQ(table_->delegate->create(plugin_, &args, &delegate, &error_), ETB_OK) << error_.text;
    if (delegate == nullptr) return nullptr;
    delegates_.push_back(delegate);
    etb_context* context = nullptr;
    EXPECT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK)
        << error_.text;
    contexts_.push_back(context);
    return context;
  }

  etb_status run(etb_context* context, etb_tensor input, etb_tensor output) {
    etb_exec_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    args.inputs = &input;
    args.input_count = 1;
    args.outputs = &output;
    args.output_count = 1;
    return table_->delegate->execute(context, &args, &error_);
  }

  // The kind of the delegates' buffers; "" if values do not stay on the device.
  std::string kind(size_t delegate = 0) {
    std::string found;
    const etb_io_req_sink sink = {ETB_INIT_SIZE(etb_io_req_sink), 0, &found,
                                  [](void* ctx, const etb_io_req* req) {
                                    if (req->kind_count == 1) *static_cast<std::string*>(ctx) = req->kinds[0];
                                    return etb_status{ETB_OK};
                                  }};
    EXPECT_EQ(table_->delegate->query_io(delegates_.at(delegate), &sink, &error_), ETB_OK);
    return found;
  }

  etb_buffer* allocate(const std::string& of_kind) {
    etb_buffer* made = nullptr;
    EXPECT_EQ(buffers_->allocate(device_, of_kind.c_str(), kRows * kColumns * 4, &made, &error_), ETB_OK)
        << error_.text;
    return made;
  }
  etb_buffer_desc describe(etb_buffer* buffer, const std::string& as_kind) {
    etb_buffer_desc desc{};
    desc.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
    EXPECT_EQ(buffers_->export_buffer(buffer, as_kind.c_str(), &desc, &error_), ETB_OK) << error_.text;
    return desc;
  }

  const etb_plugin_table* table_ = tested_plugin().query(&kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_error error_ = ETB_ERROR_INIT;
  etb_plugin* plugin_ = nullptr;
  etb_device* device_ = nullptr;
  const etb_buffer_table* buffers_ = nullptr;
  std::vector<etb_delegate*> delegates_;
  std::vector<etb_context*> contexts_;
  uint8_t uuid_[16] = {};
  bool has_uuid_ = false;
};

TEST_F(BuffersOfGpus, AValueBetweenTwoDelegatesStaysOnTheDevice) {
  etb_context *const first = make(UnaryFunction::kAbs), *const second = make(UnaryFunction::kSqrt);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  etb_buffer* const buffer = allocate(kind());
  ASSERT_NE(buffer, nullptr);
  const etb_buffer_desc between = describe(buffer, kind());
  // Later runs: with memory of the host in between, and with the buffer again.
  for (const bool has_buffer : {true, true, false, true}) {
    for (const float start : {3.0f, -2.0f}) {
      Argument input(start), middle, output;
      const etb_buffer_desc* const given = has_buffer ? &between : nullptr;
      ASSERT_EQ(run(first, input.raw(), middle.raw(given)), ETB_OK) << error_.text;
      ASSERT_EQ(run(second, middle.raw(given), output.raw()), ETB_OK) << error_.text;
      for (size_t i = 0; i < output.data.size(); ++i)
        ASSERT_NEAR(output.data[i], std::sqrt(std::fabs(input.data[i])), 1e-5f) << i;
    }
  }
  buffers_->free(buffer);
}

// As state does: each run reads what the run before wrote. Runs with memory of the host and of other sizes come between.
TEST_F(BuffersOfGpus, RunsAlternateBetweenTwoBuffers) {
  etb_context *const step = make_for_any_size(UnaryFunction::kSqrt), *const show = make_for_any_size(
                                                                         UnaryFunction::kAbs);
  ASSERT_TRUE(step != nullptr && show != nullptr);
  etb_buffer* const buffers[2] = {allocate(kind()), allocate(kind())};
  const etb_buffer_desc descs[2] = {describe(buffers[0], kind()), describe(buffers[1], kind())};
  std::vector<float> expected[2] = {std::vector<float>(kRows * kColumns), {}};
  expected[1] = expected[0];
  Argument any, shown;
  int now = 0;
  // Writes the first rows of the other buffer: from those of the host if `is_fresh`.
  const auto run_rows = [&](int64_t rows, bool is_fresh) {
    Argument fresh(1e6f);
    fresh.sizes[0] = any.sizes[0] = rows;
    const int next = 1 - now;
    ASSERT_EQ(run(step, is_fresh ? fresh.raw() : fresh.raw(&descs[now]), any.raw(&descs[next])), ETB_OK)
        << error_.text;
    for (size_t i = 0; i < static_cast<size_t>(rows * kColumns); ++i)
      expected[next][i] = std::sqrt(is_fresh ? fresh.data[i] : expected[now][i]);
    now = next;
    shown.sizes[0] = rows;
    ASSERT_EQ(run(show, any.raw(&descs[now]), shown.raw()), ETB_OK) << error_.text;
    for (size_t i = 0; i < static_cast<size_t>(rows * kColumns); ++i)
      ASSERT_NEAR(shown.data[i], expected[now][i], expected[now][i] * 1e-5f) << i;
  };
  run_rows(kRows, true);
  for (const int64_t rows : {kRows, kRows, kRows, int64_t{7}, int64_t{7}, int64_t{3}, int64_t{7}})
    ASSERT_NO_FATAL_FAILURE(run_rows(rows, false)) << rows;
  Argument other, result;
  ASSERT_EQ(run(step, other.raw(), result.raw()), ETB_OK) << error_.text;
  ASSERT_NO_FATAL_FAILURE(run_rows(7, false)) << "after a run without buffers";
  ASSERT_NO_FATAL_FAILURE(run_rows(kRows, true));
  ASSERT_NO_FATAL_FAILURE(run_rows(kRows, false));
  for (etb_buffer* const buffer : buffers) buffers_->free(buffer);
}

TEST_F(BuffersOfGpus, MemoryOfTheHostIsUsedWithoutACopy) {
  etb_context* const context = make(UnaryFunction::kNeg);
  ASSERT_NE(context, nullptr);
  struct Page {
    alignas(4096) std::array<float, 2048> numbers;
    int released = 0;
  };
  static Page page;
  etb_buffer_desc desc{};
  desc.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
  desc.kind = "host";
  desc.handle = page.numbers.data();
  desc.fd = -1;
  desc.access = 3;
  desc.nbytes = sizeof(page.numbers);
  desc.release_ctx = &page.released;
  desc.release = [](void* count) { ++*static_cast<int*>(count); };
  etb_buffer* imported = nullptr;
  const etb_status status = buffers_->import_buffer(device_, &desc, &imported, &error_);
  if (status == ETB_NOT_SUPPORTED) GTEST_SKIP() << error_.text;
  ASSERT_EQ(status, ETB_OK) << error_.text;
  etb_buffer* const result = allocate("host");
  const etb_buffer_desc of_input = describe(imported, kind()), of_output = describe(result, kind());
  const auto* const numbers = static_cast<const float*>(describe(result, "host").handle);
  Argument shape;
  for (const float start : {1.0f, 50.0f}) {
    for (size_t i = 0; i < page.numbers.size(); ++i) page.numbers[i] = start + static_cast<float>(i);
    ASSERT_EQ(buffers_->flags, ETB_BUFFER_COHERENT);  // so without a sync
    ASSERT_EQ(run(context, shape.raw(&of_input), shape.raw(&of_output)), ETB_OK) << error_.text;
    for (size_t i = 0; i < kRows * kColumns; ++i)
      ASSERT_EQ(numbers[i], -(start + static_cast<float>(i))) << i;
  }
  // Unbind it first: a context keeps what it was given last.
  ASSERT_EQ(run(context, shape.raw(), shape.raw()), ETB_OK) << error_.text;
  EXPECT_EQ(page.released, 0);
  buffers_->free(imported);
  EXPECT_EQ(page.released, 1);
  buffers_->free(result);
}

// Between delegates that have its elements of 16 bits. A delegate that widens them passes memory of the host.
TEST_F(BuffersOfGpus, AValueOfFloat16StaysOnTheDevice) {
  if (!has_device_with("storage_16bit")) GTEST_SKIP() << "no device has numbers of 16 bits in memory";
  const auto graph_of = [](UnaryFunction function) {
    GpuGraph graph;
    const uint32_t input = add_input(graph, shape_of({kRows, kColumns}));
    graph.outputs.push_back(add_unary(graph, function, input));
    for (GpuValue& value : graph.values) value.host = HostNumbers::kHalves;
    return graph;
  };
  etb_context *const first = make(graph_of(UnaryFunction::kAbs), "storage"),
                     *const second = make(graph_of(UnaryFunction::kNeg), "storage"),
                     *const wide = make(graph_of(UnaryFunction::kNeg), "wide");
  ASSERT_TRUE(first != nullptr && second != nullptr && wide != nullptr);
  ASSERT_NE(kind(0), "");
  EXPECT_EQ(kind(1), kind(0));
  EXPECT_EQ(kind(2), "");
  etb_buffer* made = nullptr;
  ASSERT_EQ(buffers_->allocate(device_, kind().c_str(), kRows * kColumns * 2, &made, &error_), ETB_OK);
  const etb_buffer_desc between = describe(made, kind());
  std::vector<uint16_t> in(kRows * kColumns), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>((i % 2 == 0 ? 0x8000u : 0u) | i * 7);
  Argument shape;
  const auto raw = [&](std::vector<uint16_t>* halves) {
    etb_tensor tensor = shape.raw(halves == nullptr ? &between : nullptr);
    tensor.dtype = ETB_DTYPE_FLOAT16;
    if (halves != nullptr) tensor.data = halves->data();
    tensor.capacity_bytes = in.size() * sizeof(uint16_t);
    return tensor;
  };
  ASSERT_EQ(run(first, raw(&in), raw(nullptr)), ETB_OK) << error_.text;
  ASSERT_EQ(run(second, raw(nullptr), raw(&out)), ETB_OK) << error_.text;
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] | 0x8000u) << i;
  EXPECT_EQ(run(wide, raw(nullptr), raw(&out)), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(run(second, shape.raw(&between), raw(&out)), ETB_INVALID_ARGUMENT) << "float32 in the buffer";
  buffers_->free(made);
}

TEST_F(BuffersOfGpus, ABufferThatDoesNotFitIsRejected) {
  etb_context* const context = make(UnaryFunction::kAbs);
  ASSERT_NE(context, nullptr);
  etb_buffer* const buffer = allocate(kind());
  const etb_buffer_desc good = describe(buffer, kind());
  Argument input, output;
  etb_buffer_desc small = good, other = good, shifted = good, none = good;
  small.nbytes = 100;
  other.kind = "dma-buf";
  shifted.offset_bytes = 4;
  none.handle = nullptr;
  for (const etb_buffer_desc* bad : {&small, &other, &shifted, &none}) {
    EXPECT_EQ(run(context, input.raw(bad), output.raw()), ETB_INVALID_ARGUMENT);
    EXPECT_THAT(error_.text, HasSubstr(bad == &other ? "input 0: memory of kind 'dma-buf'"
                                                     : "argument 0: a buffer of kind"));
    EXPECT_EQ(run(context, input.raw(), output.raw(bad)), ETB_INVALID_ARGUMENT);
  }
  EXPECT_EQ(run(context, input.raw(), output.raw()), ETB_OK) << error_.text;
  EXPECT_EQ(output.data[1], std::fabs(input.data[1]));
  buffers_->free(buffer);
}

TEST_F(BuffersOfGpus, OtherKindsAndSizesAreRejected) {
  etb_buffer* none = nullptr;
  EXPECT_EQ(buffers_->allocate(device_, "dma-buf", 64, &none, &error_), ETB_NOT_SUPPORTED);
  EXPECT_EQ(buffers_->allocate(device_, "host", uint64_t{1} << 62, &none, &error_), ETB_OUT_OF_MEMORY);
  etb_buffer_desc desc{};
  desc.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
  desc.kind = "dma-buf";
  EXPECT_EQ(buffers_->import_buffer(device_, &desc, &none, &error_), ETB_NOT_SUPPORTED);
  alignas(64) static float numbers[17];
  desc.kind = "host";
  desc.handle = numbers + 1;
  desc.nbytes = 64;
  EXPECT_NE(buffers_->import_buffer(device_, &desc, &none, &error_), ETB_OK);
  EXPECT_EQ(none, nullptr);
  etb_buffer* const buffer = allocate("host");
  EXPECT_EQ(buffers_->sync(buffer, 3, &error_), ETB_INVALID_ARGUMENT);
  buffers_->free(buffer);
}

}  // namespace
}  // namespace etb::gpu
