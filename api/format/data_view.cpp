// SPDX-License-Identifier: Apache-2.0
#include "api/format/data_view.hpp"

#include <algorithm>

#include "api/format/tensor_layout.hpp"
#include "etb/cpp/fail.hpp"
#include "etb_schema/flat_tensor_generated.h"

namespace etb::format {

namespace {

namespace fb = data_schema;
using Count = unsigned long long;  // for printf

constexpr uint32_t kNewestVersion = 0;

const fb::FlatTensor& root_of(const void* root) noexcept { return *static_cast<const fb::FlatTensor*>(root); }

template <class Vector>
uint32_t count_of(const Vector* vector) noexcept {
  return vector == nullptr ? 0 : vector->size();
}

LayoutRecord layout_of(const fb::TensorLayout& layout) noexcept {
  LayoutRecord record{static_cast<uint8_t>(layout.dtype()), {}, {}};
  if (const auto* sizes = layout.sizes()) {
    record.sizes = {reinterpret_cast<const int32_t*>(sizes->Data()), sizes->size()};
  }
  if (const auto* order = layout.dim_order()) record.dim_order = {order->Data(), order->size()};
  return record;
}

etb_status verify_layout(const LayoutRecord& layout, uint64_t segment_nbytes, etb_error* error) noexcept {
  if (element_nbytes(layout.dtype) == 0) return fail(error, ETB_INVALID_DATA, "dtype code %u", layout.dtype);
  if (layout.sizes.size() != layout.dim_order.size() || !is_permutation(layout.dim_order)) {
    return fail(error, ETB_INVALID_DATA, "rank %zu with a dim order of %zu that is no permutation of it",
                layout.sizes.size(), layout.dim_order.size());
  }
  const auto nbytes = checked_nbytes(layout.dtype, layout.sizes);
  if (!nbytes) return fail(error, ETB_INVALID_DATA, "a negative size or too many elements");
  if (*nbytes == segment_nbytes) return ETB_OK;
  return fail(error, ETB_INVALID_DATA, "the layout needs %llu bytes, the segment has %llu",
              static_cast<Count>(*nbytes), static_cast<Count>(segment_nbytes));
}

etb_status verify_segments(const fb::FlatTensor& root, const FileExtent& extent, etb_error* error) noexcept {
  for (uint32_t i = 0; i < count_of(root.segments()); ++i) {
    const auto* segment = root.segments()->Get(i);
    if (segment->offset() <= extent.segments_nbytes &&
        segment->size() <= extent.segments_nbytes - segment->offset()) {
      continue;
    }
    return fail(error, ETB_INVALID_DATA, "segment %u: %llu bytes at %llu, the segment area has %llu", i,
                static_cast<Count>(segment->size()), static_cast<Count>(segment->offset()),
                static_cast<Count>(extent.segments_nbytes));
  }
  return ETB_OK;
}

etb_status verify_names(const fb::FlatTensor& root, uint64_t file_nbytes, etb_error* error) noexcept {
  // Overlapping layouts could make a small file very slow to check. No honest file is near this limit.
  uint64_t budget = file_nbytes * 8 + 65536;
  for (uint32_t i = 0; i < count_of(root.named_data()); ++i) {
    const auto* named = root.named_data()->Get(i);
    if (named->key() == nullptr) return fail(error, ETB_INVALID_DATA, "entry %u has no key", i);
    // Reads the key once, and the sizes and their order once.
    uint64_t work = 1 + named->key()->size() / 8;
    if (named->layout() != nullptr)
      work += count_of(named->layout()->sizes()) + uint64_t{count_of(named->layout()->dim_order())};
    if (work > budget)
      return fail(error, ETB_INVALID_DATA, "tables overlap: more entries than the file can hold");
    budget -= work;
    if (named->key()->string_view().find('\0') != std::string_view::npos)
      return fail(error, ETB_INVALID_DATA, "entry %u: a NUL byte in its key", i);
    if (named->segment_index() >= count_of(root.segments())) {
      return fail(error, ETB_INVALID_DATA, "'%.*s': segment %u of %u", shown(named->key()->string_view()),
                  named->key()->c_str(), named->segment_index(), count_of(root.segments()));
    }
    if (named->layout() == nullptr) continue;
    const auto layout = layout_of(*named->layout());
    const uint64_t nbytes = root.segments()->Get(named->segment_index())->size();
    if (const etb_status status = verify_layout(layout, nbytes, error); status != ETB_OK) {
      return fail_in(error, status, "'%.*s'", shown(named->key()->string_view()), named->key()->c_str());
    }
  }
  return ETB_OK;
}

}  // namespace

uint32_t DataView::count() const noexcept {
  return root_ == nullptr ? 0 : count_of(root_of(root_).named_data());
}

NamedRecord DataView::record(uint32_t index) const noexcept {
  const auto* named = root_of(root_).named_data()->Get(index);
  const auto* segment = root_of(root_).segments()->Get(named->segment_index());
  NamedRecord record{
      {named->key()->c_str(), named->key()->size()}, {segment->offset(), segment->size()}, std::nullopt};
  if (named->layout() != nullptr) record.layout = layout_of(*named->layout());
  return record;
}

etb_status read_data(std::span<const std::byte> flatbuffer, const FileExtent& extent, DataView* out,
                     etb_error* error) noexcept {
  *out = {};
  if (flatbuffer.size() != extent.flatbuffer_nbytes) {
    return fail(error, ETB_INVALID_ARGUMENT, "%zu data file bytes given, the header says %llu",
                flatbuffer.size(), static_cast<Count>(extent.flatbuffer_nbytes));
  }
  if (reinterpret_cast<uintptr_t>(flatbuffer.data()) % kProgramAlignment != 0) {
    return fail(error, ETB_INVALID_ARGUMENT, "data file memory at %p, expected a %zu-byte boundary",
                static_cast<const void*>(flatbuffer.data()), kProgramAlignment);
  }
  if (flatbuffer.size() < kProgramAlignment || flatbuffer.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail(error, ETB_INVALID_DATA, "data file: flatbuffer of %zu bytes, expected 16 bytes to 2 GiB",
                flatbuffer.size());
  }
  flatbuffers::Verifier::Options options;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(flatbuffer.size() / 4 + 16);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(flatbuffer.data()), flatbuffer.size(),
                                 options);
  if (!fb::VerifyFlatTensorBuffer(verifier)) {
    return fail(error, ETB_INVALID_DATA,
                "data file: a table, vector or string leaves the flatbuffer of %zu bytes or is malformed",
                flatbuffer.size());
  }
  const auto& root = *fb::GetFlatTensor(flatbuffer.data());
  if (root.version() > kNewestVersion) {
    return fail(error, ETB_NOT_SUPPORTED, "data file version %u, this reader knows up to %u", root.version(),
                kNewestVersion);
  }
  etb_status status = verify_segments(root, extent, error);
  if (status == ETB_OK) status = verify_names(root, flatbuffer.size(), error);
  if (status != ETB_OK) return fail_in(error, status, "data file");
  out->root_ = &root;
  out->extent_ = extent;
  return ETB_OK;
}

etb_status read_data(std::span<const std::byte> file, DataView* out, etb_error* error) noexcept {
  FileExtent extent;
  ETB_CHECK(
      read_data_extent(file.first(std::min<size_t>(file.size(), kHeadNbytes)), file.size(), &extent, error));
  return read_data(file.first(extent.flatbuffer_nbytes), extent, out, error);
}

}  // namespace etb::format
