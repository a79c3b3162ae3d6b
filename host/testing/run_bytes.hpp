// SPDX-License-Identifier: Apache-2.0
// For fuzz targets and bit-flip tests: reads any bytes as a program and runs all its
// methods, within small limits.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "host/module/module.hpp"

namespace etb::host {

// Result of a run, for tests that count.
struct RunBytesOutcome {
  bool is_accepted = false;  // the reader accepted it
  bool has_run = false;      // at least one method ran to its end
  std::string refusal;       // message of the reader
};

// A delegate that accepts any payload, reads all arguments and writes all but the first: covers the memory
// that a hostile program can reach through a delegate.
class TouchingDelegate final : public DelegateResolver, public MethodDelegate {
 public:
  etb_status create(const DelegateRequest& request, MethodDelegate** out, etb_error*) noexcept override {
    touch(request.payload->bytes());
    for (uint32_t i = 0; i < request.compile_specs.compile_spec_count(); ++i)
      touch(request.compile_specs.compile_spec(i).value);
    *out = this;
    return ETB_OK;
  }
  etb_status execute(const DelegateRun& run) noexcept override {
    for (const EValue* argument : run.arguments) {
      if (!argument->is_tensor() || argument->tensor().data() == nullptr) continue;
      const Tensor& tensor = argument->tensor();
      const auto nbytes = static_cast<size_t>(tensor.nbytes());
      touch({tensor.data_as<const std::byte>(), nbytes});
      if (argument != run.arguments.front() && !tensor.is_read_only()) std::memset(tensor.data(), 1, nbytes);
    }
    return ETB_OK;
  }
  DelegateOperands operands() const noexcept override { return {1, {}}; }
  void destroy() noexcept override {}

 private:
  void touch(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) sum_ = sum_ + static_cast<uint8_t>(byte);
  }
  volatile uint64_t sum_ = 0;
};

namespace detail {

// Sets every input to ones, in its largest size.
inline bool set_ones(Module& module, std::string_view name, const MethodMeta& meta,
                     std::vector<OwnedTensor>& tensors) {
  tensors.reserve(meta.input_count());
  for (uint32_t i = 0; i < meta.input_count(); ++i) {
    const auto spec = meta.input(i);
    EValue value;
    switch (spec.kind()) {
      case format::ValueKind::kInt:
        value = EValue(int64_t{1});
        break;
      case format::ValueKind::kDouble:
        value = EValue(1.0);
        break;
      case format::ValueKind::kBool:
        value = EValue(true);
        break;
      case format::ValueKind::kTensor: {
        const auto record = spec.as_tensor();
        if (record.nbytes > 1 << 20) return false;
        const std::vector<int64_t> sizes(record.sizes.begin(), record.sizes.end());
        tensors.emplace_back(static_cast<Dtype>(record.dtype), sizes, record.dim_order);
        std::fill(tensors.back().bytes().begin(), tensors.back().bytes().end(), std::byte{1});
        value = tensors.back().value();
        break;
      }
      default:
        break;
    }
    if (meta.is_fixed_input(i)) continue;
    if (!module.set_input(name, i, value)) return false;
  }
  return true;
}

}  // namespace detail

inline RunBytesOutcome run_bytes(std::span<const std::byte> bytes) {
  static constexpr PlatformHooks kQuiet{nullptr, [](void*) -> uint64_t { return 0; }, nullptr};
  RunBytesOutcome outcome;
  TouchingDelegate delegate;
  ModuleOptions options;
  options.limits.max_memory_bytes = 1 << 20;
  options.platform = &kQuiet;
  options.delegates = &delegate;
  auto module = Module::from_bytes(bytes, options);
  if (!module) return outcome.refusal = module.error().message, outcome;
  outcome.is_accepted = true;
  RunLimits limits;
  limits.max_instructions = 500;
  size_t method_count = 0;
  for (const std::string& name : module->method_names()) {
    if (++method_count > 4) break;
    const auto meta = module->method_meta(name);
    std::vector<OwnedTensor> tensors;
    if (!module->load_method(name) || !detail::set_ones(*module, name, *meta, tensors)) continue;
    // Runs twice, because a program may leave its values in another state.
    for (int i = 0; i < 2; ++i) outcome.has_run |= module->run(name, limits).has_value();
    module->unload_method(name);
  }
  return outcome;
}

}  // namespace etb::host
