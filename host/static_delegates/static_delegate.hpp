// SPDX-License-Identifier: Apache-2.0
// StaticDelegate: one delegate of a linked plugin, with the arguments of its calls. Made by StaticDelegates.
#pragma once

#include "etb/delegate.h"
#include "host/runtime/bump_allocator.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

class StaticDelegate final : public MethodDelegate {
 public:
  StaticDelegate(const etb_delegate_table& table, BumpAllocator& memory) noexcept
      : table_(table), memory_(memory) {}

  // Creates the plugin's objects. The caller calls destroy() also after an error.
  etb_status set_up(etb_plugin& plugin, const DelegateRequest& request, etb_error* error) noexcept;

  etb_status execute(const DelegateRun& run) noexcept override;
  DelegateOperands operands() const noexcept override { return {input_count_, {}}; }
  DelegateMemory memory() const noexcept override { return memory_facts_; }
  void destroy() noexcept override;

 private:
  // An argument of the plugin, in payload order: inputs, then outputs.
  struct Argument {
    etb_tensor tensor;
    int64_t sizes[kMaxRank];
    int64_t upper_sizes[kMaxRank];
    bool is_dynamic;
    int64_t scalar;
    uint64_t alignment;
  };
  // A block of named data that the plugin asked for; it stays until destroy.
  struct NamedBlock {
    DataBlock block;
    NamedBlock* next;
  };

  template <class T>
  T* make_array(size_t count) noexcept;
  etb_status make_specs(const DelegateRequest& request, etb_compile_spec*& out, etb_error* error) noexcept;
  etb_status read_requirements(etb_error* error) noexcept;
  etb_status bind(const EValue& value, uint32_t index, etb_error* error) noexcept;
  static etb_status put_requirement(void* ctx, const etb_io_req* req);
  static etb_status get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error);

  const etb_delegate_table& table_;
  BumpAllocator& memory_;
  DataBlock payload_;
  const NamedDataMap* named_data_ = nullptr;
  NamedBlock* named_blocks_ = nullptr;
  etb_named_data named_{};
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  Argument* arguments_ = nullptr;
  etb_tensor* tensors_ = nullptr;
  uint32_t input_count_ = 0, output_count_ = 0;
  std::byte* scratch_ = nullptr;
  uint64_t scratch_nbytes_ = 0;
  DelegateMemory memory_facts_{};
};

}  // namespace etb::host
