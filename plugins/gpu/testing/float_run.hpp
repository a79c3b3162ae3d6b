// SPDX-License-Identifier: Apache-2.0
// Runs graphs of floats on the machine's device through the plugin's table, for a test and for the benchmark. Constants and
// inputs are pseudo-random numbers from -1 to 1, codes pseudo-random bytes.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/run/host_numbers.hpp"
#include "plugins/gpu/testing/tested_plugin.hpp"

namespace etb::gpu {

inline std::vector<float> random_floats(size_t count) {
  std::vector<float> made(count);
  uint32_t state = 12345;
  for (float& each : made) {
    state = state * 1664525u + 1013904223u;
    each = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return made;
}

// Codes from -limit to limit - 1.
inline std::vector<int8_t> random_codes(size_t count, int limit) {
  std::vector<int8_t> made(count);
  uint32_t state = 54321;
  for (int8_t& each : made) {
    state = state * 1664525u + 1013904223u;
    each = static_cast<int8_t>(static_cast<int>(state >> 24) * limit / 128 - limit);
  }
  return made;
}

// Bytes of float16.
inline std::vector<std::byte> random_halves(size_t count) {
  std::vector<std::byte> made(count * 2);
  write_numbers(random_floats(count), ETB_DTYPE_FLOAT16, made.data());
  return made;
}

// Numbers of float16 at the ends of its subnormal and normal ones, zeros, infinities and NaN.
inline constexpr std::array<uint16_t, 12> kSpecialHalves = {0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x7bff,
                                                            0xfbff, 0x3c01, 0x0000, 0x7c00, 0xfc00, 0x7e00};

class FloatRun {
  static const void* ETB_CALL find_service(const etb_host*, const char*) { return nullptr; }

 public:
  static constexpr etb_host kHost = {
      ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0", "", nullptr, find_service, nullptr};

  // `kernels`, `fusion`, `tune`, `float16`: values of these options of the delegate. `host` lives as long. `graph`: one output, whose bounds are `output`. A constant's key is its number of
  // elements; that of codes has their limit before it: "8/120", and that of float16 a 0: "0/120", or -1 for kSpecialHalves.
  FloatRun(const GpuGraph& graph, const Shape& output, const char* kernels, const char* fusion = "on",
           const char* tune = "off", const etb_host* host = &kHost, const char* float16 = "auto") {
    options_ = {option("kernels", kernels), option("fusion", fusion), option("tune", tune),
                option("float16", float16)};
    payload_ = write_payload(graph);
    for (const uint32_t id : graph.inputs)
      add_tensor(graph.value(id).shape, random_floats(graph.value(id).shape.numel()));
    add_tensor(output, std::vector<float>(output.numel()));
    status_ = table_->init(host, nullptr, 0, &plugin_, &error_);
    if (status_ == ETB_OK) create();
  }
  ~FloatRun() {
    destroy();
    if (plugin_ != nullptr) (void)table_->deinit(plugin_, &error_);
  }
  FloatRun(const FloatRun&) = delete;
  FloatRun& operator=(const FloatRun&) = delete;

  // Arguments of a run. They point to the tensors of this object.
  struct Call {
    std::vector<etb_tensor> tensors;
    etb_exec_args args{};
  };
  std::unique_ptr<Call> make_call() {
    auto call = std::make_unique<Call>();
    for (Tensor& each : tensors_) {
      etb_tensor& raw = call->tensors.emplace_back();
      raw.struct_size = ETB_INIT_SIZE(etb_tensor);
      raw.dtype = ETB_DTYPE_FLOAT32;
      raw.rank = static_cast<uint32_t>(each.sizes.size());
      raw.sizes = each.sizes.data();
      raw.upper_sizes = each.upper.data();
      raw.data = each.data.data();
      raw.capacity_bytes = each.data.size() * sizeof(float);
    }
    call->args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    call->args.inputs = call->tensors.data();
    call->args.input_count = static_cast<uint32_t>(call->tensors.size() - 1);
    call->args.outputs = &call->tensors.back();
    call->args.output_count = 1;
    return call;
  }

  // False if there is no device, or after an error: see error().
  bool run(const etb_event_sink* events = nullptr) {
    if (context_ == nullptr) return false;
    const auto call = make_call();
    call->args.events = events;
    return run(call->args);
  }
  bool run(const etb_exec_args& args) {
    status_ = table_->delegate->execute(context_, &args, &error_);
    return status_ == ETB_OK;
  }
  // Replaces an input of the next run. The output becomes as large as its bounds until then.
  void set_input(size_t index, std::vector<int64_t> sizes, std::vector<float> data) {
    tensors_[index].sizes = std::move(sizes);
    tensors_[index].data = std::move(data);
    tensors_.back().sizes = tensors_.back().upper;
    clear_output();
  }
  const std::vector<int64_t>& output_sizes() const { return tensors_.back().sizes; }
  bool is_ready() const { return context_ != nullptr; }
  // Makes the delegate and its context again, in the same plugin. False after an error.
  bool reopen() {
    destroy();
    create();
    return is_ready();
  }
  etb_status start(const etb_exec_args& args) {
    return table_->delegate->execute_async(context_, &args, &error_);
  }
  etb_status cancel() { return table_->delegate->cancel(context_, &error_); }
  etb_status destroy_context() { return table_->delegate->context_destroy(context_, &error_); }
  void clear_output() { tensors_.back().data.assign(tensors_.back().data.size(), -1.0f); }
  // Bytes on the device: of constants, and of a context.
  uint64_t resident_bytes() { return query().resident_bytes; }
  uint64_t context_bytes() { return query().context_bytes; }
  const std::vector<float>& output() const { return tensors_.back().data; }
  const char* error() const { return error_.text; }
  // Status of the last run or, after reopen(), of the last call that made the delegate.
  etb_status status() const { return status_; }

 private:
  struct Tensor {
    std::vector<int64_t> sizes, upper;
    std::vector<float> data;
  };
  using Constants = std::map<std::string, std::vector<std::byte>>;

  static etb_option option(const char* name, const char* text) {
    return {
        ETB_INIT_SIZE(etb_option), 0, name, ETB_OPTION_TEXT, 0, 0, 0, text, {nullptr, 0}, nullptr, nullptr};
  }
  void create() {
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view.data = payload_.data();
    view.nbytes = payload_.size();
    const etb_named_data named = {ETB_INIT_SIZE(etb_named_data), 0, &constants_, get_constant};
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.payload = &view;
    args.named_data = &named;
    args.options = options_.data();
    args.option_count = options_.size();
    status_ = table_->delegate->create(plugin_, &args, &delegate_, &error_);
    if (status_ == ETB_OK)
      status_ = table_->delegate->context_create(delegate_, nullptr, 0, &context_, &error_);
  }
  void destroy() {
    if (context_ != nullptr) (void)table_->delegate->context_destroy(context_, &error_);
    if (delegate_ != nullptr) (void)table_->delegate->destroy(delegate_, &error_);
    context_ = nullptr;
    delegate_ = nullptr;
  }

  // Zeros after an error.
  etb_delegate_info query() {
    etb_delegate_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
    if (table_->delegate->query(delegate_, &info, &error_) != ETB_OK) return {};
    return info;
  }
  void add_tensor(const Shape& shape, std::vector<float> data) {
    const std::vector<int64_t> sizes(shape.sizes.begin(), shape.sizes.begin() + shape.rank);
    tensors_.push_back({sizes, sizes, std::move(data)});
  }
  static etb_status ETB_CALL get_constant(void* ctx, const char* key, etb_payload_view* out, etb_error*) {
    std::vector<std::byte>& data = (*static_cast<Constants*>(ctx))[key];
    const auto fill = [&](const auto& numbers) {
      const auto bytes = std::as_bytes(std::span(numbers));
      data.assign(bytes.begin(), bytes.end());
    };
    const std::string text(key);
    if (const size_t slash = text.find('/'); data.empty() && slash != std::string::npos) {
      const int limit = std::stoi(text);
      const size_t count = std::stoul(text.substr(slash + 1));
      if (limit < 0) {
        fill(kSpecialHalves);
      } else if (limit == 0) {
        fill(random_halves(count));
      } else {
        fill(random_codes(count, limit));
      }
    } else if (data.empty()) {
      fill(random_floats(std::stoul(text)));
    }
    out->data = data.data();
    out->nbytes = data.size();
    return ETB_OK;
  }
  const etb_plugin_table* table_ = tested_plugin().query(&kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_error error_ = ETB_ERROR_INIT;
  etb_plugin* plugin_ = nullptr;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  std::array<etb_option, 4> options_ = {};  // their texts live as long
  std::vector<std::byte> payload_;
  etb_status status_ = ETB_OK;
  std::vector<Tensor> tensors_;
  Constants constants_;
};

// True if a device of the machine states this fact, such as "float16": kernels may compute in it.
inline bool has_device_with(std::string_view fact) {
  const etb_plugin_table& table =
      *tested_plugin().query(&FloatRun::kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* plugin = nullptr;
  struct Search {
    std::string_view fact;
    bool is_found = false;
  } search{fact};
  const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &search,
                                [](void* ctx, const etb_device_info* info) {
                                  auto& self = *static_cast<Search*>(ctx);
                                  for (uint64_t i = 0; i < info->attribute_count; ++i) {
                                    const etb_option* const each = ETB_AT(etb_option, info->attributes, i);
                                    if (each->key == self.fact && each->i64 != 0) self.is_found = true;
                                  }
                                  return etb_status{ETB_OK};
                                }};
  if (table.init(&FloatRun::kHost, nullptr, 0, &plugin, &error) != ETB_OK) return false;
  (void)table.device->enumerate(plugin, &sink, &error);
  (void)table.deinit(plugin, &error);
  return search.is_found;
}

}  // namespace etb::gpu
