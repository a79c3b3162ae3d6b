// SPDX-License-Identifier: Apache-2.0
// Program: a loaded and verified .pte file, shared by the methods made from it.
#pragma once

#include <string_view>

#include "api/format/program_view.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

// Properties of a method before it is loaded, above all the memory it needs.
class MethodMeta {
 public:
  MethodMeta() noexcept = default;  // invalid until assigned
  explicit MethodMeta(const format::MethodView& view) noexcept : view_(view) {}

  std::string_view name() const noexcept { return view_.name(); }
  uint32_t input_count() const noexcept { return static_cast<uint32_t>(view_.inputs().size()); }
  uint32_t output_count() const noexcept { return static_cast<uint32_t>(view_.outputs().size()); }
  format::ValueView input(uint32_t index) const noexcept {
    return view_.value(static_cast<uint32_t>(view_.inputs()[index]));
  }
  format::ValueView output(uint32_t index) const noexcept {
    return view_.value(static_cast<uint32_t>(view_.outputs()[index]));
  }

  // True for a number, bool, text or None that the exporter made part of the program: no instruction reads
  // this input, and set_input accepts only the value that the program has. Searches all instructions.
  bool is_fixed_input(uint32_t index) const noexcept;

  // Count of planned arenas. Arena 0 is memory id 1 in the file.
  uint32_t arena_count() const noexcept {
    return view_.arena_sizes().empty() ? 0 : static_cast<uint32_t>(view_.arena_sizes().size() - 1);
  }
  uint64_t arena_nbytes(uint32_t index) const noexcept {
    return static_cast<uint64_t>(view_.arena_sizes()[index + 1]);
  }

  // Most bytes that load_method allocates from MethodMemory::state.
  uint64_t state_nbytes() const noexcept;

  const format::MethodView& view() const noexcept { return view_; }

 private:
  format::MethodView view_;
};

// Read-only after load, so methods on several threads share it. Its loader outlives it; it outlives its
// methods.
class Program {
 public:
  // Reads the file, verifies all of it, and loads the constants. Does not use the heap (the loader may).
  [[nodiscard]] etb_status load(DataLoader& loader, etb_error* error) noexcept;

  const format::ProgramView& view() const noexcept { return view_; }
  uint32_t method_count() const noexcept { return view_.method_count(); }
  std::string_view method_name(uint32_t index) const noexcept { return view_.method(index).name(); }

  // ETB_NOT_FOUND names the existing methods.
  [[nodiscard]] etb_status find_method(std::string_view name, MethodMeta* out,
                                       etb_error* error) const noexcept;

  [[nodiscard]] etb_status load_segment(uint32_t index, DataBlock* out, etb_error* error) const noexcept;
  [[nodiscard]] etb_status read_range(format::SegmentRange range, std::span<std::byte> out,
                                      etb_error* error) const noexcept;
  // Bytes of a constant, from its start to the end of the segment or buffer that contains it.
  std::span<const std::byte> constant(uint32_t data_index) const noexcept;

 private:
  DataLoader* loader_ = nullptr;
  DataBlock flatbuffer_;
  DataBlock constants_;
  format::ProgramView view_;
};

}  // namespace etb::host
