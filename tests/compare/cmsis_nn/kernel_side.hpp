// SPDX-License-Identifier: Apache-2.0
// Calls of portable kernels without heap.
#pragma once

#include <array>
#include <cassert>
#include <initializer_list>
#include <span>

#include "host/kernels/portable.hpp"
#include "host/runtime/kernel_context.hpp"
#include "host/runtime/tensor.hpp"

namespace compare {

inline constexpr uint8_t kRowMajor[] = {0, 1, 2, 3}, kChannelsLast[] = {0, 2, 3, 1};

// Arguments of one call of a cortex_m operator.
class KernelCall {
 public:
  explicit KernelCall(std::span<std::byte> scratch) : scratch_(scratch) {}

  void add(int64_t value) { arguments_[count_++] = make(etb::host::EValue(value)); }
  void add_nothing() { arguments_[count_++] = make(etb::host::EValue()); }
  void add(etb::host::Dtype dtype, std::initializer_list<int64_t> sizes, void* data, uint64_t nbytes,
           const uint8_t* dim_order = kRowMajor) {
    assert(tensor_count_ < tensors_.size());
    auto& storage = storages_[tensor_count_];
    auto& tensor = tensors_[tensor_count_++];
    tensor = storage.make(dtype, {sizes.begin(), sizes.size()}, data, nbytes, {dim_order, sizes.size()});
    arguments_[count_++] = make(etb::host::EValue(&tensor));
  }
  void add_bool(bool value) { arguments_[count_++] = make(etb::host::EValue(value)); }
  // A list of `count` numbers. The caller keeps `items` until the call has ended.
  void add_list(const int32_t* numbers, size_t count, std::span<etb::host::EValue*> items) {
    for (size_t i = 0; i < count; ++i) items[i] = make(etb::host::EValue(int64_t{numbers[i]}));
    arguments_[count_++] = make(etb::host::EValue::int_list(items.first(count)));
  }
  // Checks the tags of the arguments, as a method does once when it is loaded if a run cannot change them, and runs the kernel.
  bool run(const etb::host::KernelRegistry& registry, const etb::host::Kernel* kernel) {
    return check(registry, kernel) && run_checked(registry, kernel);
  }
  bool check(const etb::host::KernelRegistry& registry, const etb::host::Kernel* kernel) {
    etb::host::KernelContext context(scratch_, registry.vector_table());
    return check_arguments(context, *kernel, arguments_.data(), count_) == ETB_OK;
  }
  // A run of a method for arguments that it has checked.
  bool run_checked(const etb::host::KernelRegistry& registry, const etb::host::Kernel* kernel) {
    etb::host::KernelContext context(scratch_, registry.vector_table());
    context.begin_kernel(kernel->name);
    return kernel->function(context, arguments_.data()) == ETB_OK;
  }

 private:
  etb::host::EValue* make(etb::host::EValue value) {
    assert(value_count_ < values_.size());
    values_[value_count_] = value;
    return &values_[value_count_++];
  }

  std::span<std::byte> scratch_;
  std::array<etb::host::TensorStorage, 8> storages_ = {};
  std::array<etb::host::Tensor, 8> tensors_ = {};
  std::array<etb::host::EValue, 640> values_ = {};
  std::array<etb::host::EValue*, 20> arguments_ = {};
  size_t tensor_count_ = 0, value_count_ = 0, count_ = 0;
};

// The registry with the portable kernels, made at the first call.
const etb::host::KernelRegistry& registry();

}  // namespace compare
