// SPDX-License-Identifier: Apache-2.0
// CallArguments: the arguments of another runtime's delegate calls, as values of this host. Knows no header of that
// runtime, so it is built and tested without it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::host {

// A tensor as ExecuTorch stores it. Borrowed for the call.
struct ForeignTensor {
  int32_t dtype = 0;  // ExecuTorch's number, which the C ABI shares
  std::span<const int32_t> sizes;
  std::span<const uint8_t> dim_order;  // empty: row-major
  void* data = nullptr;
  bool is_resizable = false;
  bool is_in_host_memory = true;
};

// A value that is neither tensor nor integer; its kind is the runtime's word for it.
struct ForeignOther {
  const char* kind = "none";
};

using ForeignValue = std::variant<ForeignOther, int64_t, ForeignTensor>;

// [serial:call_arguments]
class CallArguments {
 public:
  explicit CallArguments(uint32_t input_count) : input_count_(input_count) {}

  // Reads the values of one call: inputs, then outputs. Allocates only in the first call and when a tensor is larger
  // than ever before. Error: the argument that a plugin cannot receive.
  [[nodiscard]] etb_status read(std::span<const ForeignValue> values, etb_error* error) noexcept;

  // The values of the last read().
  std::span<EValue* const> values() const noexcept { return pointers_; }

  // True after the first read() and after each in which a tensor grew: the delegate has to prepare again.
  bool has_new_bounds() const noexcept { return has_new_bounds_; }

  // Calls `prepare` with the values of the last read(), but each resizable tensor at its largest sizes so far.
  [[nodiscard]] Status at_bounds(const std::function<Status(std::span<EValue* const>)>& prepare);

  // Makes the next read() report new bounds, because prepare() failed.
  void forget_bounds() noexcept { slots_.clear(); }

  // Sizes of an argument, as the last run left them.
  std::span<const int64_t> sizes(size_t argument) const noexcept { return slots_[argument].tensor.sizes(); }

 private:
  using Sizes = std::array<int64_t, kMaxRank>;
  struct Slot {
    TensorStorage storage;
    Tensor tensor;
    EValue value;
    Sizes bound{};              // largest sizes, of a resizable tensor
    uint64_t bound_nbytes = 0;  // 0: none read yet
  };

  etb_status read_tensor(const ForeignTensor& from, uint32_t argument, etb_error* error) noexcept;

  uint32_t input_count_;
  std::vector<Slot> slots_;
  std::vector<EValue*> pointers_;
  bool has_new_bounds_ = false;
};

}  // namespace etb::host
