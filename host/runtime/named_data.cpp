// SPDX-License-Identifier: Apache-2.0
#include "host/runtime/named_data.hpp"

#include <algorithm>
#include <atomic>

#include "etb/cpp/fail.hpp"
#include "host/runtime/program.hpp"

namespace etb::host {

namespace {

// Alignment that exporters use for named data.
constexpr uint64_t kRangeAlignment = 128;

}  // namespace

etb_status DataFile::load(DataLoader& loader, etb_error* error) noexcept {
  if (loader_ != nullptr) return fail(error, ETB_ALREADY_LOADED, "data file: already loaded");
  uint64_t file_nbytes = 0;
  ETB_CHECK(loader.size(&file_nbytes, error));
  std::byte head[format::kHeadNbytes];
  const auto used = std::span(head).first(std::min<uint64_t>(file_nbytes, sizeof(head)));
  ETB_CHECK(loader.read(0, used, error));
  format::FileExtent extent;
  ETB_CHECK(format::read_data_extent(used, file_nbytes, &extent, error));
  DataBlock flatbuffer;
  ETB_CHECK(loader.load(0, extent.flatbuffer_nbytes, format::kProgramAlignment, &flatbuffer, error));
  ETB_CHECK(format::read_data(flatbuffer.bytes(), extent, &view_, error));
  flatbuffer_ = std::move(flatbuffer);
  loader_ = &loader;
  static constexpr Functions kFunctions{find, load_record};
  functions_ = &kFunctions;
  return ETB_OK;
}

uint32_t DataFile::find(const DataFile& file, std::string_view key, uint64_t& comparison_count) noexcept {
  for (uint32_t i = 0; i < file.view_.count(); ++i, ++comparison_count) {
    if (file.view_.record(i).key == key) return i;
  }
  return kNowhere;
}

etb_status DataFile::load_record(const DataFile& file, uint32_t index, DataBlock* out,
                                 std::optional<format::LayoutRecord>* out_layout, etb_error* error) noexcept {
  const format::NamedRecord record = file.view_.record(index);
  if (out_layout != nullptr) *out_layout = record.layout;
  if (record.range.nbytes == 0) return *out = DataBlock(), ETB_OK;
  return file.loader_->load(file.view_.extent().segment_base + record.range.offset, record.range.nbytes,
                            kRangeAlignment, out, error);
}

etb_status NamedDataMap::find(std::string_view key, DataBlock* out,
                              std::optional<format::LayoutRecord>* out_layout,
                              etb_error* error) const noexcept {
  if (source_ != nullptr) return source_->find(key, out, error);
  constexpr uint32_t kNowhere = DataFile::kNowhere;
  uint32_t in_program = kNowhere;
  const uint32_t program_count = program_ == nullptr ? 0 : program_->view().named_data_count();
  const std::atomic_ref<uint32_t> next(next_);
  uint32_t at = next.load(std::memory_order_relaxed);
  uint64_t comparison_count = 0;
  for (uint32_t count = program_count; count > 0 && in_program == kNowhere;
       --count, ++at, ++comparison_count) {
    if (at >= program_count) at = 0;
    if (program_->view().named_data_key(at) == key) in_program = at;
  }
  if (in_program != kNowhere) next.store(at, std::memory_order_relaxed);
  const DataFile* file = nullptr;
  uint32_t in_file = kNowhere;
  for (const DataFile* candidate : files_) {
    if (candidate->functions_ == nullptr) continue;
    const uint32_t index = candidate->functions_->find(*candidate, key, comparison_count);
    if (index == kNowhere) continue;
    if (file != nullptr || in_program != kNowhere) {
      return fail(error, ETB_ALREADY_EXISTS, "named data '%.*s' is in two places, expected one", shown(key),
                  key.data());
    }
    file = candidate;
    in_file = index;
  }
  const std::atomic_ref<uint64_t> all(comparison_count_);
  if (all.fetch_add(comparison_count, std::memory_order_relaxed) + comparison_count > kMaxComparisons) {
    return fail(error, ETB_OUT_OF_RESOURCES,
                "named data '%.*s': %u entries in the program and those of %zu data files were searched too "
                "often, expected at most %llu comparisons of keys",
                shown(key), key.data(), program_count, files_.size(),
                static_cast<unsigned long long>(kMaxComparisons));
  }
  if (out_layout != nullptr) out_layout->reset();
  if (in_program != kNowhere) {
    return program_->load_segment(program_->view().named_data_segment(in_program), out, error);
  }
  if (file == nullptr) {
    return fail(error, ETB_NOT_FOUND,
                "named data '%.*s': not among the program's %u entries nor in %zu data files", shown(key),
                key.data(), program_count, files_.size());
  }
  return file->functions_->load(*file, in_file, out, out_layout, error);
}

}  // namespace etb::host
