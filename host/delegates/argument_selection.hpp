// SPDX-License-Identifier: Apache-2.0
// The arguments of a delegate call that a payload has. Exporters pass an argument that no operator of the region reads, and leave
// it out of the payload.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "host/plugin/delegate.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// Returns the index in the call of each argument of the payload: inputs in their order, then outputs, which are the last ones of
// the call. Error: the payload does not state its inputs (query_io), they fit no arguments, or several. An argument that
// `is_undefined` has elements that the program never wrote. Any numbers may replace them, so it is no choice beside another one.
[[nodiscard]] Result<std::vector<uint32_t>> select_arguments(
    const Delegate& delegate, uint32_t input_count, uint32_t output_count, std::span<EValue* const> arguments,
    const std::function<bool(const EValue&)>& is_undefined);

// True if nothing but `aten::empty` and the like wrote to an argument before the first call of the delegate.
bool has_undefined_elements(const DelegateRequest& request, const EValue& argument);

// A delegate that runs with some arguments of its call. It uses memory of the host, and one run ends before the next step begins.
class SelectedArguments final : public MethodDelegate {
 public:
  // `delegate` is not null; this destroys it.
  SelectedArguments(MethodDelegate& delegate, std::vector<uint32_t> selection, uint32_t call_count);

  etb_status execute(const DelegateRun& run) noexcept override;
  DelegateOperands operands() const noexcept override;
  DelegateMemory memory() const noexcept override { return delegate_.memory(); }
  bool can_reserve() const noexcept override { return delegate_.can_reserve(); }
  etb_status reserve(std::span<EValue* const> arguments) noexcept override;
  void destroy() noexcept override;

 private:
  ~SelectedArguments() = default;

  MethodDelegate& delegate_;
  std::vector<uint32_t> selection_;
  std::vector<EValue*> selected_;  // arguments of the current run
  uint32_t input_count_;           // number of inputs of the call
  size_t call_count_;
  std::vector<uint32_t> shared_inputs_;  // by output of the call
};

}  // namespace etb::host
