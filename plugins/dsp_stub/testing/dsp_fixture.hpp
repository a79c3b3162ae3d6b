// SPDX-License-Identifier: Apache-2.0
// For tests: builds quantised graphs by hand, compiles and runs them through the plugin's own table.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/static_plugins.h"
#include "plugins/dsp_stub/payload.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(dsp_stub);
}

namespace etb::dsp_stub {

using graph::ArgumentDesc;
using graph::ImageBytes;
using Sizes = std::vector<int64_t>;

inline ArgumentDesc arg(uint32_t value, const char* name) { return graph::value_arg(value, name); }

// A method over int8 codes, or int16 where a call asks for them.
class CodesModel {
 public:
  uint32_t input(const Sizes& sizes, etb_dtype dtype = ETB_DTYPE_INT8) {
    return graph_.add_input(graph::tensor("x" + std::to_string(++count_), spec(dtype, sizes)));
  }
  template <class T>
  uint32_t constant(etb_dtype dtype, const Sizes& sizes, const std::vector<T>& data) {
    const std::string key = "c" + std::to_string(++count_);
    const auto* first = reinterpret_cast<const uint8_t*>(data.data());
    const uint32_t of = spec(dtype, sizes);
    const uint32_t made = builder_.add_constant(
        {.key = key, .spec = of, .data = std::vector<uint8_t>(first, first + data.size() * sizeof(T))});
    return graph_.add_input(graph::tensor(key, of), ETB_GRAPH_INPUT_PARAMETER, key, made);
  }
  uint32_t dequantize(uint32_t from, const Sizes& sizes, double scale, int64_t zero,
                      etb_dtype dtype = ETB_DTYPE_INT8) {
    return convert("dequantize", from, scale, zero, spec(ETB_DTYPE_FLOAT32, sizes), dtype);
  }
  uint32_t quantize(uint32_t from, const Sizes& sizes, double scale, int64_t zero,
                    etb_dtype dtype = ETB_DTYPE_INT8) {
    return convert("quantize", from, scale, zero, spec(dtype, sizes), dtype);
  }
  uint32_t node(const std::string& op, std::vector<ArgumentDesc> args, const Sizes& sizes) {
    return add(op, std::move(args), spec(ETB_DTYPE_FLOAT32, sizes));
  }
  void output(uint32_t value) { graph_.add_output(value); }
  ImageBytes image() const {
    auto made = builder_.finish();
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : ImageBytes();
  }

 private:
  uint32_t spec(etb_dtype dtype, const Sizes& sizes) { return builder_.add_spec({dtype, sizes}); }
  uint32_t add(const std::string& op, std::vector<ArgumentDesc> args, uint32_t of) {
    return graph_.add_node({.op = op,
                            .args = std::move(args),
                            .outputs = {graph::tensor("v" + std::to_string(++count_), of)},
                            .debug_handle = ++handle_});
  }
  uint32_t convert(const std::string& op, uint32_t from, double scale, int64_t zero, uint32_t of,
                   etb_dtype dtype) {
    const bool is_wide = dtype == ETB_DTYPE_INT16;
    return add("quantized_decomposed." + op + "_per_tensor.default",
               {arg(from, "input"), graph::float_arg(scale, "scale"), graph::int_arg(zero, "zero_point"),
                graph::int_arg(is_wide ? INT16_MIN : INT8_MIN, "quant_min"),
                graph::int_arg(is_wide ? INT16_MAX : INT8_MAX, "quant_max"),
                graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, dtype, "dtype")},
               of);
  }

  graph::Builder builder_{"forward"};
  graph::GraphBuilder& graph_ = builder_.add_graph("forward");
  uint32_t count_ = 0, handle_ = 0;
};

// So many sums that a run takes several milliseconds: 13 times the input, in other scales.
inline constexpr int64_t kSumsSizes[] = {64, 64, 32};
inline CodesModel sums_model() {
  CodesModel model;
  const Sizes sizes(std::begin(kSumsSizes), std::end(kSumsSizes));
  const uint32_t x = model.input(sizes);
  uint32_t codes = x;
  double scale = 0.5;
  for (int i = 0; i < 12; ++i) {
    const uint32_t sum = model.dequantize(codes, sizes, scale, 0), real = model.dequantize(x, sizes, 0.5, 0);
    const uint32_t y = model.node("aten.add.Tensor", {arg(sum, "self"), arg(real, "other")}, sizes);
    codes = model.quantize(y, sizes, scale += 0.5, 0);
  }
  model.output(codes);
  return model;
}

struct SeenEvent {
  int64_t id;
  std::string name;
  uint64_t begin, end;
};

// The arguments of one run, with random codes as inputs. Data are bytes: two for an int16 code, the low one first.
class CallOfRun {
 public:
  CallOfRun(const PayloadView& known, uint32_t seed) : io_(known.inputs) {
    std::mt19937 random(seed);
    const size_t input_count = io_.size();
    io_.insert(io_.end(), known.outputs.begin(), known.outputs.end());
    data_.resize(io_.size());
    for (size_t i = 0; i < io_.size(); ++i) {
      tensors_.push_back(tensor_of(io_[i], data_[i], i < input_count ? ETB_ROLE_INPUT : ETB_ROLE_OUTPUT));
      if (i < input_count)
        for (int8_t& code : data_[i]) code = static_cast<int8_t>(random());
    }
    args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    args.inputs = tensors_.data();
    args.input_count = static_cast<uint32_t>(input_count);
    args.outputs = tensors_.data() + input_count;
    args.output_count = static_cast<uint32_t>(io_.size() - input_count);
  }
  CallOfRun(const CallOfRun&) = delete;
  CallOfRun& operator=(const CallOfRun&) = delete;

  // Bytes of the first output; none if there is none.
  std::vector<int8_t> output() const {
    return args.output_count == 0 ? std::vector<int8_t>() : data_[args.input_count];
  }
  etb_exec_args args{};

 private:
  static etb_tensor tensor_of(IoTensor& of, std::vector<int8_t>& data, int32_t role) {
    size_t nbytes = of.width;
    for (const int64_t size : of.sizes) nbytes *= static_cast<size_t>(size);
    data.resize(nbytes);
    etb_tensor raw{};
    raw.struct_size = ETB_INIT_SIZE(etb_tensor);
    raw.dtype = of.width == 2 ? ETB_DTYPE_INT16 : ETB_DTYPE_INT8;
    raw.role = role;
    raw.rank = static_cast<uint32_t>(of.sizes.size());
    raw.sizes = of.sizes.data();
    raw.data = data.data();
    raw.capacity_bytes = nbytes;
    return raw;
  }

  std::vector<IoTensor> io_;  // inputs, then outputs
  std::vector<std::vector<int8_t>> data_;
  std::vector<etb_tensor> tensors_;
};

class DspStub : public testing::Test {
 protected:
  void SetUp() override {
    table_ = etb_plugin_query_dsp_stub(&host_, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_EQ(table_->init(&host_, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
  }
  void TearDown() override { EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text; }

  static etb_option number(const char* key, int64_t value) {
    etb_option out{};
    out.struct_size = ETB_INIT_SIZE(etb_option);
    out.key = key;
    out.type = ETB_OPTION_I64;
    out.i64 = value;
    out.text = "";
    return out;
  }

  // Returns by node: "" for a claim, else reason and text.
  std::map<uint32_t, std::string> claims(const ImageBytes& image) {
    std::map<uint32_t, std::string> answers;
    const etb_graph_image raw = image.to_c();
    const etb_partition_args args = partition_args(raw);
    const etb_partition_sink sink = {ETB_INIT_SIZE(etb_partition_sink), 0, &answers, take_claim, take_reject};
    EXPECT_EQ(table_->aot->partition(plugin_, &args, &sink, &error_), ETB_OK) << error_.text;
    return answers;
  }
  etb_estimate estimate(const ImageBytes& image) {
    const etb_graph_image raw = image.to_c();
    const etb_partition_args args = partition_args(raw);
    etb_estimate out{};
    out.struct_size = ETB_INIT_SIZE(etb_estimate);
    EXPECT_EQ(table_->aot->estimate(plugin_, &args, &out, &error_), ETB_OK) << error_.text;
    return out;
  }
  etb_status compile(const ImageBytes& image, std::vector<std::byte>& out) {
    const etb_graph_image raw = image.to_c();
    payload_.clear();
    writer_ = {ETB_INIT_SIZE(etb_blob_writer), 0, &payload_, write};
    const etb_artifact_sink sink = {ETB_INIT_SIZE(etb_artifact_sink),
                                    0,
                                    &writer_,
                                    [](void* ctx, uint32_t, const etb_blob_writer** writer) -> etb_status {
                                      *writer = static_cast<const etb_blob_writer*>(ctx);
                                      return ETB_OK;
                                    },
                                    [](void*, const etb_named_blob*) -> etb_status { return ETB_OK; },
                                    [](void*, const etb_artifact*) -> etb_status { return ETB_OK; }};
    const auto view = graph::View::open(raw);
    const etb_constant_reader reader = {ETB_INIT_SIZE(etb_constant_reader), 0,
                                        const_cast<graph::View*>(&*view), read_constant};
    etb_compile_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_compile_args);
    args.backend_id = "EtbDspStubBackend";
    args.graphs = &raw;
    args.graph_count = 1;
    args.constants = &reader;
    args.sink = &sink;
    args.options = options_.data();
    args.option_count = options_.size();
    const etb_status status = table_->aot->compile(plugin_, &args, &error_);
    out = payload_;
    return status;
  }

  etb_status create(std::span<const std::byte> bytes, etb_delegate** out) {
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view.data = bytes.data();
    view.nbytes = bytes.size();
    view.alignment = 16;
    view.fd = -1;
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.backend_id = "EtbDspStubBackend";
    args.payload = &view;
    return table_->delegate->create(plugin_, &args, out, &error_);
  }

  // Runs a payload on random codes. Returns the bytes of its one output; none if the plugin rejects it.
  std::vector<int8_t> run(std::span<const std::byte> bytes, uint32_t seed = 1) {
    const auto known = read_payload(bytes);
    etb_delegate* delegate = nullptr;
    const etb_status created = create(bytes, &delegate);
    EXPECT_EQ(created == ETB_OK, known.has_value()) << error_.text;
    if (created != ETB_OK || !known) return {};
    std::vector<int8_t> out;
    run(delegate, *known, seed, out);
    EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
    return out;
  }

  // Flips each bit of the header and the first commands, and bits all over: the plugin rejects the bytes, or runs them.
  void flip_bits(const ImageBytes& image) {
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
    std::mt19937 random(11);
    size_t rejected = 0;
    const size_t flips = 3000;
    for (size_t i = 0; i < flips; ++i) {
      std::vector<std::byte> damaged = payload;
      const size_t bit = i < 800 ? i : random() % (damaged.size() * 8);
      damaged[bit / 8] ^= std::byte{1} << (bit % 8);
      if (const auto known = read_payload(damaged)) {
        uint64_t nbytes = dsp_total_cycles(&known->stream);
        for (uint32_t k = 0; k < known->layout.io_count; ++k) nbytes += known->layout.io_bytes[k];
        if (nbytes > 100000) continue;  // a long run, or large tensors
      }
      rejected += run(damaged).empty() ? 1 : 0;
    }
    EXPECT_GT(rejected, flips / 8);
    EXPECT_LT(rejected, flips);
  }

  // A file of the fuzzer's corpus is what the compiler makes. ETB_REBASE=1 writes it again.
  void expect_corpus(const char* name, const ImageBytes& image, int64_t tcm_kib) {
    const std::string path = std::string(ETB_SOURCE_DIR) + "/tests/fuzz/dsp_stub_payload/" + name;
    options_ = {number("tcm_kib", tcm_kib)};
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
    const std::string made(reinterpret_cast<const char*>(payload.data()), payload.size());
    if (std::getenv("ETB_REBASE") != nullptr) std::ofstream(path, std::ios::binary) << made;
    std::ifstream in(path, std::ios::binary);
    const std::string known((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(known, made) << name;
  }

  std::vector<etb_option> options_;  // of partition, estimate and compile
  std::vector<SeenEvent> events_;    // of the last run
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;

 private:
  etb_partition_args partition_args(const etb_graph_image& raw) const {
    etb_partition_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_partition_args);
    args.graph = &raw;
    args.backend_id = "EtbDspStubBackend";
    args.options = options_.data();
    args.option_count = options_.size();
    return args;
  }

  void run(etb_delegate* delegate, const PayloadView& known, uint32_t seed, std::vector<int8_t>& out) {
    CallOfRun call(known, seed);
    etb_context* context = nullptr;
    ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK);
    events_.clear();
    const etb_event_sink events = {ETB_INIT_SIZE(etb_event_sink), 0, &events_, take_event};
    call.args.events = &events;
    EXPECT_EQ(table_->delegate->execute(context, &call.args, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
    out = call.output();
  }

  static etb_status ETB_CALL take_claim(void* ctx, const etb_claim* claim) {
    auto& out = *static_cast<std::map<uint32_t, std::string>*>(ctx);
    for (uint32_t i = 0; i < claim->node_count; ++i) out[claim->node_ids[i]] = "";
    return ETB_OK;
  }
  static etb_status ETB_CALL take_reject(void* ctx, const etb_reject* reject) {
    auto& out = *static_cast<std::map<uint32_t, std::string>*>(ctx);
    for (uint32_t i = 0; i < reject->node_count; ++i)
      out[reject->node_ids[i]] = std::string(reject->reason) + ": " + reject->text;
    return ETB_OK;
  }
  static etb_status ETB_CALL take_event(void* ctx, const etb_event* event) {
    static_cast<std::vector<SeenEvent>*>(ctx)->push_back(
        {event->debug_id, event->name != nullptr ? event->name : "", event->begin_ticks, event->end_ticks});
    return ETB_OK;
  }
  static etb_status ETB_CALL write(void* ctx, uint64_t offset, const void* data, uint64_t nbytes) {
    auto& payload = *static_cast<std::vector<std::byte>*>(ctx);
    payload.resize(std::max<size_t>(payload.size(), offset + nbytes));
    std::memcpy(payload.data() + offset, data, nbytes);
    return ETB_OK;
  }
  static etb_status ETB_CALL read_constant(void* ctx, const char* key, etb_payload_view* out, etb_error*) {
    const auto& view = *static_cast<const graph::View*>(ctx);
    for (uint32_t i = 0; i < view.c().constants.count; ++i) {
      const etb_graph_constant constant = view.constant(i);
      if (std::strcmp(constant.key, key) != 0) continue;
      out->data = constant.data;
      out->nbytes = constant.nbytes;
      out->fd = -1;
      return ETB_OK;
    }
    return ETB_NOT_FOUND;
  }

  etb_host host_{ETB_INIT_SIZE(etb_host),
                 0,
                 ETB_ABI_VERSION,
                 0,
                 "test",
                 "0",
                 "",
                 nullptr,
                 [](const etb_host*, const char*) -> const void* { return nullptr; },
                 nullptr};
  std::vector<std::byte> payload_;
  etb_blob_writer writer_{};
};

}  // namespace etb::dsp_stub
