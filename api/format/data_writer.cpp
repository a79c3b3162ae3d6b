// SPDX-License-Identifier: Apache-2.0
#include "api/format/data_writer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "etb_schema/flat_tensor_generated.h"

namespace etb::format {

namespace {

namespace fb = data_schema;

// Same as the official writer: the header begins at byte 8 and moves the flatbuffer's body to byte 48.
constexpr size_t kInserted = 40, kHeaderNbytes = 40;

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

template <class T>
void put(std::vector<std::byte>& out, size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof(T));
}

flatbuffers::FlatBufferBuilder make_tables(const DataParts& parts, const std::vector<uint64_t>& offsets) {
  flatbuffers::FlatBufferBuilder out;
  out.ForceDefaults(false);
  std::vector<flatbuffers::Offset<fb::DataSegment>> segments;
  for (size_t i = 0; i < offsets.size(); ++i) {
    segments.push_back(fb::CreateDataSegment(out, offsets[i], parts.segment_nbytes[i]));
  }
  std::vector<flatbuffers::Offset<fb::NamedData>> rows;
  for (const DataTensorSpec& tensor : parts.tensors) {
    flatbuffers::Offset<fb::TensorLayout> layout = 0;
    if (!tensor.is_blob) {
      std::vector<uint8_t> order(tensor.sizes.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
      layout = fb::CreateTensorLayoutDirect(out, tensor.dtype, &tensor.sizes, &order);
    }
    rows.push_back(fb::CreateNamedDataDirect(out, tensor.key.c_str(), tensor.segment, layout));
  }
  fb::FinishFlatTensorBuffer(out, fb::CreateFlatTensorDirect(out, 0, &segments, &rows));
  return out;
}

}  // namespace

Status write_data_file(const DataParts& parts, std::span<const SegmentPiece> segments, const ByteSink& sink) {
  std::vector<uint64_t> offsets;
  uint64_t total = 0;
  for (const uint64_t nbytes : parts.segment_nbytes) {
    offsets.push_back(align_up(total, kDataAlignment));
    total = offsets.back() + nbytes;
  }
  const flatbuffers::FlatBufferBuilder tables = make_tables(parts, offsets);
  const auto* body = reinterpret_cast<const std::byte*>(tables.GetBufferPointer());
  std::vector<std::byte> head(body, body + 8);
  head.resize(8 + kInserted);
  head.insert(head.end(), body + 8, body + tables.GetSize());
  uint32_t root = 0;
  std::memcpy(&root, body, sizeof(root));
  put(head, 0, static_cast<uint32_t>(root + kInserted));
  // The header's size counts the flatbuffer's first 8 bytes again, as in the official writer. So the 8 bytes
  // after the body must be unused.
  const uint64_t base = align_up(8 + kInserted + tables.GetSize(), kDataAlignment);
  std::memcpy(head.data() + 8, "FH01", 4);
  put(head, 12, uint32_t{kHeaderNbytes});
  put(head, 16, uint64_t{8 + kInserted});
  put(head, 24, uint64_t{tables.GetSize()});
  put(head, 32, base);
  put(head, 40, total);
  head.resize(base);
  ETB_TRY(sink(head));
  uint64_t at = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::vector<std::byte> padding(offsets[i] - at);
    ETB_TRY(sink(padding));
    ETB_ASSIGN(const uint64_t nbytes, write_piece(segments[i], sink));
    assert(nbytes == parts.segment_nbytes[i]);
    at = offsets[i] + nbytes;
  }
  return {};
}

}  // namespace etb::format
