// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/delegate_data.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

namespace etb::emit {

namespace {

// Segments of payloads and named data, without duplicates. They also share bytes with the program's
// constants: an embedding on portable kernels and a plugin's last layer often use one weight. Bytes are found
// by size and first bytes, then compared, so that large ones are not hashed.
class BytesSegments {
 public:
  explicit BytesSegments(Program& program) : program_(program) {
    const uint32_t constants = program.parts.constant_segment;
    for (const format::SegmentPiece& piece : program.segments[constants]) {
      if (piece.bytes.size() >= kWorthSharing)
        known_.emplace(key_of(piece.bytes), Known{piece.bytes, constants, piece.offset, true});
    }
  }

  uint32_t add(std::span<const std::byte> bytes, uint64_t alignment) {
    const std::string key = key_of(bytes);
    for (auto [at, end] = known_.equal_range(key); at != end; ++at) {
      Known& known = at->second;
      if (known.offset % alignment != 0 || !are_equal(known.bytes, bytes)) continue;
      if (known.is_piece) {
        const auto number = add_segment(bytes.size(), {});
        program_.parts.segments_inside.push_back({number, known.segment, known.offset});
        known = {bytes, number, 0, false};
      }
      return known.segment;
    }
    const auto number = add_segment(bytes.size(), {{0, bytes}});
    known_.emplace(key, Known{bytes, number, 0, false});
    return number;
  }

 private:
  static constexpr size_t kWorthSharing = 4096;
  struct Known {
    std::span<const std::byte> bytes;
    uint32_t segment;
    uint64_t offset;
    bool is_piece;  // part of the constant segment, so not a segment itself
  };

  static std::string key_of(std::span<const std::byte> bytes) {
    constexpr size_t kBeginning = 256;
    std::string key(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kBeginning));
    return key + "/" + std::to_string(bytes.size());
  }
  static bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
    if (a.size() != b.size()) return false;
    return a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0;
  }
  uint32_t add_segment(uint64_t nbytes, std::vector<format::SegmentPiece> pieces) {
    program_.parts.segment_nbytes.push_back(nbytes);
    program_.segments.push_back(std::move(pieces));
    return static_cast<uint32_t>(program_.segments.size() - 1);
  }

  Program& program_;
  std::unordered_multimap<std::string, Known> known_;
};

}  // namespace

void add_delegate_data(Program& program, const EmitOptions& options, ExternalData* outside) {
  constexpr int8_t kInSegment = 1;
  BytesSegments segments(program);
  for (size_t m = 0; m < program.methods.size(); ++m) {
    const auto& calls = program.methods[m].delegate_calls;
    for (size_t i = 0; i < calls.size(); ++i) {
      format::DelegateSpec& delegate = program.parts.methods[m].delegates[i];
      delegate.location = kInSegment;
      delegate.index =
          segments.add(options.delegates[calls[i].delegate].payload, program.parts.segment_alignment);
    }
  }
  for (const NamedBytes& item : options.named_data) {
    const uint64_t alignment = item.alignment == 0 ? program.parts.segment_alignment : item.alignment;
    if (outside != nullptr && !item.is_fact && alignment <= format::kDataAlignment) {
      outside->add_blob(item.key, item.bytes);
      continue;
    }
    program.parts.named_data.emplace_back(item.key, segments.add(item.bytes, alignment));
    program.parts.segment_alignment =
        std::max(program.parts.segment_alignment, static_cast<uint32_t>(alignment));
  }
}

}  // namespace etb::emit
