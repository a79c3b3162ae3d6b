// SPDX-License-Identifier: Apache-2.0
#include "host/runtime/program.hpp"

#include <algorithm>

#include "etb/cpp/fail.hpp"

namespace etb::host {

namespace {

// Alignment of a loaded segment: the exporter's default, enough for every element type and vector width.
constexpr uint64_t kSegmentAlignment = 128;

etb_status load_extent(DataLoader& loader, format::FileExtent* out, etb_error* error) noexcept {
  uint64_t file_nbytes = 0;
  ETB_CHECK(loader.size(&file_nbytes, error));
  std::byte head[format::kHeadNbytes];
  const auto used = std::span(head).first(std::min<uint64_t>(file_nbytes, sizeof(head)));
  ETB_CHECK(loader.read(0, used, error));
  return format::read_program_extent(used, file_nbytes, out, error);
}

}  // namespace

etb_status Program::load(DataLoader& loader, etb_error* error) noexcept {
  if (loader_ != nullptr) return fail(error, ETB_ALREADY_LOADED, "program: already loaded");
  format::FileExtent extent;
  ETB_CHECK(load_extent(loader, &extent, error));
  DataBlock flatbuffer;
  ETB_CHECK(loader.load(0, extent.flatbuffer_nbytes, format::kProgramAlignment, &flatbuffer, error));
  format::ProgramView view;
  ETB_CHECK(format::read_program(flatbuffer.bytes(), extent, &view, error));
  const auto constants = view.constant_segment();
  DataBlock constant_block;
  if (constants.nbytes != 0) {
    ETB_CHECK(loader.load(extent.segment_base + constants.offset, constants.nbytes, kSegmentAlignment,
                          &constant_block, error));
  }
  flatbuffer_ = std::move(flatbuffer);
  constants_ = std::move(constant_block);
  view_ = view;
  loader_ = &loader;
  return ETB_OK;
}

etb_status Program::find_method(std::string_view name, MethodMeta* out, etb_error* error) const noexcept {
  for (uint32_t i = 0; i < method_count(); ++i) {
    if (method_name(i) != name) continue;
    *out = MethodMeta(view_.method(i));
    return ETB_OK;
  }
  char names[256] = "";
  size_t used = 0;
  for (uint32_t i = 0; kHasErrorTexts && i < method_count() && used + 140 < sizeof(names); ++i) {
    const auto text = method_name(i);
    used += static_cast<size_t>(std::snprintf(names + used, sizeof(names) - used, "%s%.*s",
                                              i == 0 ? "" : ", ", shown(text), text.data()));
  }
  return fail(error, ETB_NOT_FOUND, "no method '%.*s'; the program has %u: %s", shown(name), name.data(),
              method_count(), names);
}

etb_status Program::load_segment(uint32_t index, DataBlock* out, etb_error* error) const noexcept {
  const auto range = view_.segment(index);
  if (range.nbytes == 0) return *out = DataBlock(), ETB_OK;
  return loader_->load(view_.extent().segment_base + range.offset, range.nbytes, kSegmentAlignment, out,
                       error);
}

etb_status Program::read_range(format::SegmentRange range, std::span<std::byte> out,
                               etb_error* error) const noexcept {
  if (out.empty()) return ETB_OK;
  return loader_->read(view_.extent().segment_base + range.offset, out, error);
}

std::span<const std::byte> Program::constant(uint32_t data_index) const noexcept {
  if (view_.has_inline_constants()) return view_.inline_constant(data_index);
  return constants_.bytes().subspan(view_.constant_offset(data_index));
}

}  // namespace etb::host
