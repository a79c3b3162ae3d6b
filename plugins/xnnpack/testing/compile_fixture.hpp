// SPDX-License-Identifier: Apache-2.0
// For tests: builds graphs by hand, compiles and runs them through the plugin's own table.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/host.h"
#include "etb/static_plugins.h"
#include "plugins/xnnpack/payload/payload.hpp"
#include "plugins/xnnpack/payload_arguments.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(xnnpack);
}

namespace etb::xnnpack {

using graph::ArgumentDesc;
using graph::Builder;
using graph::GraphBuilder;
using graph::ImageBytes;
using testing::ElementsAre;
using testing::HasSubstr;

inline constexpr uint32_t kSeed = 20261121;

// Service lookup of a host with one service at most: host->ctx is the parallel/1 service.
inline const void* ETB_CALL find_parallel(const etb_host* host, const char* id) {
  return std::strcmp(id, ETB_SERVICE_PARALLEL) == 0 ? host->ctx : nullptr;
}

struct TestTensor {
  std::vector<int64_t> sizes;
  std::vector<float> data;
  std::vector<uint8_t> dim_order = {};

  size_t numel() const { return data.size(); }
  float& at(std::initializer_list<int64_t> index) {
    int64_t place = 0;
    size_t d = 0;
    for (const int64_t i : index) place = place * sizes[d++] + i;
    return data[static_cast<size_t>(place)];
  }
};

// Builds a method with float tensors: inputs and constants first, then nodes.
class Model {
 public:
  uint32_t spec(const std::vector<int64_t>& sizes, const std::vector<uint8_t>& dim_order = {}) {
    return builder_.add_spec({ETB_DTYPE_FLOAT32, sizes, dim_order});
  }
  uint32_t input(const std::vector<int64_t>& sizes, const std::vector<uint8_t>& dim_order = {}) {
    return graph_.add_input(graph::tensor("x" + std::to_string(++count_), spec(sizes, dim_order)));
  }
  uint32_t constant(const std::vector<int64_t>& sizes, const std::vector<float>& data) {
    const std::string key = "c" + std::to_string(++count_);
    const auto* first = reinterpret_cast<const uint8_t*>(data.data());
    std::vector<uint8_t> bytes(first, first + data.size() * sizeof(float));
    const uint32_t of = spec(sizes);
    const uint32_t made = builder_.add_constant({.key = key, .spec = of, .data = std::move(bytes)});
    return graph_.add_input(graph::tensor(key, of), ETB_GRAPH_INPUT_PARAMETER, key, made);
  }
  uint32_t constant_int8(const std::vector<int64_t>& sizes, const std::vector<int8_t>& data) {
    const std::string key = "c" + std::to_string(++count_);
    const uint32_t of = builder_.add_spec({ETB_DTYPE_INT8, sizes});
    std::vector<uint8_t> bytes(data.begin(), data.end());
    const uint32_t made = builder_.add_constant({.key = key, .spec = of, .data = std::move(bytes)});
    return graph_.add_input(graph::tensor(key, of), ETB_GRAPH_INPUT_PARAMETER, key, made);
  }
  uint32_t node(const std::string& op, std::vector<ArgumentDesc> args, const std::vector<int64_t>& sizes,
                const std::vector<std::vector<int64_t>>& more = {}) {
    std::vector<graph::ValueDesc> outputs = {graph::tensor("v" + std::to_string(++count_), spec(sizes))};
    for (const auto& each : more)
      outputs.push_back(graph::tensor("v" + std::to_string(++count_), spec(each)));
    return graph_.add_node(
        {.op = op, .args = std::move(args), .outputs = outputs, .debug_handle = ++handle_});
  }
  void output(uint32_t value) { graph_.add_output(value); }
  Builder& builder() { return builder_; }
  ImageBytes image() const {
    auto made = builder_.finish();
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : ImageBytes();
  }

 private:
  Builder builder_{"forward"};
  GraphBuilder& graph_ = builder_.add_graph("forward");
  uint32_t count_ = 0, handle_ = 0;
};

inline ArgumentDesc arg(uint32_t value, const char* name) { return graph::value_arg(value, name); }

using Blobs = std::map<std::string, std::vector<std::byte>>;  // named data

inline etb_named_data named_data_of(Blobs& blobs) {
  return {ETB_INIT_SIZE(etb_named_data), 0, &blobs,
          [](void* ctx, const char* key, etb_payload_view* out, etb_error*) -> etb_status {
            const auto& known = *static_cast<const Blobs*>(ctx);
            const auto found = known.find(key);
            if (found == known.end()) return ETB_NOT_FOUND;
            point_at(*out, found->second);
            return ETB_OK;
          }};
}

// Output of a compilation.
struct Compiled {
  std::vector<std::byte> payload;
  Blobs blobs;
  std::map<std::string, std::string> constant_keys;      // blobs that are constants of the image
  std::map<std::string, std::vector<uint32_t>> sources;  // debug handles by the name of an event
  etb_blob_writer writer{};
};

class XnnpackCompile : public testing::Test {
 protected:
  void SetUp() override {
    table_ = etb_plugin_query_xnnpack(&host_, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_EQ(table_->init(&host_, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
  }
  void TearDown() override { EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text; }

  // Returns by node: "" for a claim, else reason and text.
  std::map<uint32_t, std::string> claims(const ImageBytes& image) {
    std::map<uint32_t, std::string> answers;
    const etb_graph_image raw = image.to_c();
    etb_partition_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_partition_args);
    args.graph = &raw;
    args.backend_id = "XnnpackBackend";
    const etb_partition_sink sink = {ETB_INIT_SIZE(etb_partition_sink), 0, &answers,
                                     [](void* ctx, const etb_claim* claim) -> etb_status {
                                       auto& out = *static_cast<std::map<uint32_t, std::string>*>(ctx);
                                       for (uint32_t i = 0; i < claim->node_count; ++i)
                                         out[claim->node_ids[i]] = "";
                                       return ETB_OK;
                                     },
                                     [](void* ctx, const etb_reject* reject) -> etb_status {
                                       auto& out = *static_cast<std::map<uint32_t, std::string>*>(ctx);
                                       for (uint32_t i = 0; i < reject->node_count; ++i)
                                         out[reject->node_ids[i]] =
                                             std::string(reject->reason) + ": " + reject->text;
                                       return ETB_OK;
                                     }};
    EXPECT_EQ(table_->aot->partition(plugin_, &args, &sink, &error_), ETB_OK) << error_.text;
    return answers;
  }
  void expect_all_claimed(const Model& model) {
    for (const auto& [node, answer] : claims(model.image())) EXPECT_EQ(answer, "") << "node " << node;
  }

  etb_status compile(const ImageBytes& image, Compiled& out) {
    const etb_graph_image raw = image.to_c();
    const etb_artifact_sink sink = {
        ETB_INIT_SIZE(etb_artifact_sink),
        0,
        &out,
        [](void* ctx, uint32_t, const etb_blob_writer** writer) -> etb_status {
          auto& made = *static_cast<Compiled*>(ctx);
          made.writer = {ETB_INIT_SIZE(etb_blob_writer), 0, ctx,
                         [](void* self, uint64_t offset, const void* data, uint64_t nbytes) -> etb_status {
                           auto& payload = static_cast<Compiled*>(self)->payload;
                           payload.resize(std::max<size_t>(payload.size(), offset + nbytes));
                           std::memcpy(payload.data() + offset, data, nbytes);
                           return ETB_OK;
                         }};
          *writer = &made.writer;
          return ETB_OK;
        },
        [](void* ctx, const etb_named_blob* blob) -> etb_status {
          auto& made = *static_cast<Compiled*>(ctx);
          if (blob->constant_key != nullptr) made.constant_keys[blob->key] = blob->constant_key;
          const auto* first = static_cast<const std::byte*>(blob->value.data);
          made.blobs[blob->key].assign(first, first + blob->value.nbytes);
          return ETB_OK;
        },
        [](void* ctx, const etb_artifact* artifact) -> etb_status {
          auto& made = *static_cast<Compiled*>(ctx);
          for (uint64_t i = 0; i < artifact->debug_entry_count; ++i) {
            const etb_debug_entry& entry = artifact->debug_map[i];
            made.sources[entry.name] = {entry.handles, entry.handles + entry.handle_count};
          }
          return ETB_OK;
        }};
    etb_compile_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_compile_args);
    args.backend_id = "XnnpackBackend";
    args.graphs = &raw;
    args.graph_count = 1;
    args.specs = specs_.data();
    args.spec_count = specs_.size();
    args.sink = &sink;
    const etb_status status = table_->aot->compile(plugin_, &args, &error_);
    if (status == ETB_OK) resolve(image, out);
    return status;
  }

  // Copies constants of the image into their blobs.
  static void resolve(const ImageBytes& image, Compiled& out) {
    const auto view = graph::View::open(image.to_c());
    for (const auto& [key, constant_key] : out.constant_keys) {
      for (uint32_t i = 0; i < view->c().constants.count; ++i) {
        const etb_graph_constant constant = view->constant(i);
        if (constant_key != constant.key) continue;
        const auto* first = static_cast<const std::byte*>(constant.data);
        out.blobs[key].assign(first, first + constant.nbytes);
      }
    }
  }

  std::vector<XnnOperator> operators(const Model& model) {
    Compiled made;
    EXPECT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
    std::vector<XnnOperator> found;
    const auto payload = read_xnnpack_payload(made.payload);
    if (!payload) return found;
    for (const XnnNode& node : payload->nodes) found.push_back(node.op);
    return found;
  }

  static etb_tensor to_c(TestTensor& tensor) {
    etb_tensor raw{};
    raw.struct_size = ETB_INIT_SIZE(etb_tensor);
    raw.dtype = ETB_DTYPE_FLOAT32;
    raw.rank = static_cast<uint32_t>(tensor.sizes.size());
    raw.sizes = tensor.sizes.data();
    raw.data = tensor.data.data();
    raw.capacity_bytes = tensor.numel() * sizeof(float);
    if (!tensor.dim_order.empty()) raw.dim_order = tensor.dim_order.data();
    tensor.data.reserve(tensor.numel() + 32);
    raw.data = tensor.data.data();
    return raw;
  }

  // Compiles and runs a model. `output` has its sizes already.
  void run(const Model& model, std::vector<TestTensor> inputs, TestTensor& output) {
    expect_all_claimed(model);
    Compiled made;
    ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
    std::vector<etb_tensor> raw_inputs;
    for (TestTensor& tensor : inputs) raw_inputs.push_back(to_c(tensor));
    output.data.assign(output.data.size(), NAN);
    etb_tensor raw_output = to_c(output);
    raw_output.role = ETB_ROLE_OUTPUT;
    run(made.payload, made.blobs, raw_inputs, {&raw_output, 1});
  }

  // Runs a payload once.
  void run(std::span<const std::byte> payload, Blobs& blobs, std::span<const etb_tensor> inputs,
           std::span<etb_tensor> outputs) {
    const etb_named_data named = named_data_of(blobs);
    const PayloadArguments given(payload, &named);
    etb_delegate* delegate = nullptr;
    etb_context* context = nullptr;
    ASSERT_EQ(table_->delegate->create(plugin_, &given.args, &delegate, &error_), ETB_OK) << error_.text;
    ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK)
        << error_.text;
    etb_exec_args call{};
    call.struct_size = ETB_INIT_SIZE(etb_exec_args);
    call.inputs = inputs.data();
    call.input_count = static_cast<uint32_t>(inputs.size());
    call.outputs = outputs.data();
    call.output_count = static_cast<uint32_t>(outputs.size());
    call.events = events_;
    call.cancel = cancel_;
    call.deadline_ns = deadline_ns_;
    EXPECT_EQ(table_->delegate->execute(context, &call, &error_), expected_status_) << error_.text;
    EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
    EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
  }

  std::vector<float> random(size_t count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> out(count);
    for (float& value : out) value = uniform(generator_);
    return out;
  }
  TestTensor random_tensor(const std::vector<int64_t>& sizes) {
    size_t count = 1;
    for (const int64_t size : sizes) count *= static_cast<size_t>(size);
    return {sizes, random(count)};
  }

  etb_host host_{ETB_INIT_SIZE(etb_host), 0,      ETB_ABI_VERSION, 0, "test", "0", "", nullptr,
                 find_parallel,           nullptr};
  const etb_event_sink* events_ = nullptr;  // used by run
  const etb_cancel_token* cancel_ = nullptr;
  uint64_t deadline_ns_ = 0;
  etb_status expected_status_ = ETB_OK;  // of execute
  std::vector<etb_compile_spec> specs_;  // used by compile
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
  std::mt19937 generator_{kSeed};
};

// Tolerance for sums of a few hundred products of numbers below 1.
inline void expect_near(const TestTensor& found, const TestTensor& expected, float tolerance = 1e-4f) {
  ASSERT_EQ(found.sizes, expected.sizes);
  for (size_t i = 0; i < expected.numel(); ++i)
    ASSERT_NEAR(found.data[i], expected.data[i], tolerance) << "element " << i << ", seed " << kSeed;
}

}  // namespace etb::xnnpack
