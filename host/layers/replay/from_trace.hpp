// SPDX-License-Identifier: Apache-2.0
// Structs of a call trace as structs of the ABI. Each class owns what its structs point to, besides blobs, which are in
// the file's memory.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/format/call_trace_reader.hpp"
#include "etb/all.h"
#include "etb/cpp/result.hpp"

namespace etb::host::replay {

class OptionList {
 public:
  explicit OptionList(const std::vector<format::TraceOption>& options);
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;
  std::span<const etb_option> span() const { return options_; }

 private:
  std::vector<etb_option> options_;
  std::deque<std::vector<etb_option>> items_;
};

class SpecList {
 public:
  explicit SpecList(const std::vector<format::TraceSpec>& specs);
  std::span<const etb_compile_spec> span() const { return specs_; }

 private:
  std::vector<etb_compile_spec> specs_;
};

class Target {
 public:
  explicit Target(const std::vector<format::TraceTarget>& target);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  const etb_target* get() const { return options_ ? &target_ : nullptr; }  // NULL: none

 private:
  etb_target target_{};
  std::unique_ptr<OptionList> options_;
};

// Memory at an address that plugins accept, with `padding` readable bytes after its end.
class AlignedBytes {
 public:
  AlignedBytes(size_t nbytes, size_t padding, size_t alignment);
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

// Alignment and padding that a delegate asks for, of one tensor.
struct MemoryNeed {
  uint64_t alignment = 64;
  uint64_t padding_bytes = 64;
};

// The tensors of one call.
class TensorList {
 public:
  // Copies the recorded bytes of inputs. Returns INVALID_DATA where the bytes are not those that sizes and strides need,
  // and NOT_SUPPORTED where none were recorded.
  [[nodiscard]] static Result<TensorList> make_inputs(const std::vector<format::TraceTensor>& tensors,
                                                      const format::CallTrace& trace,
                                                      std::span<const MemoryNeed> needs, bool with_data);
  // Memory for outputs, or that of an input.
  [[nodiscard]] static Result<TensorList> make_outputs(const std::vector<format::TraceTensor>& tensors,
                                                       const TensorList& inputs,
                                                       std::span<const MemoryNeed> needs);
  std::span<etb_tensor> span() { return tensors_; }
  std::span<const etb_tensor> span() const { return tensors_; }

 private:
  Status add(const format::TraceTensor& from);

  std::vector<etb_tensor> tensors_;
  std::deque<std::vector<int64_t>> sizes_;
  std::deque<AlignedBytes> memory_;
};

}  // namespace etb::host::replay
