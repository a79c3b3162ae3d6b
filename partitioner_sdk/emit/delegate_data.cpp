#include "partitioner_sdk/emit/delegate_data.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace etb::emit {

namespace {

// Segments of payloads and named data, equal bytes once. Bytes are looked up by their size and beginning, then compared, so that
// large ones are not all hashed.
class BytesSegments {
 public:
  explicit BytesSegments(Program& program) : program_(program) {}

  uint32_t add(std::span<const std::byte> bytes) {
    constexpr size_t kBeginning = 256;
    std::string key(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kBeginning));
    key += "/" + std::to_string(bytes.size());
    for (auto [at, end] = numbers_.equal_range(key); at != end; ++at) {
      const std::span<const std::byte> known = program_.segments[at->second].front().bytes;
      if (std::equal(bytes.begin(), bytes.end(), known.begin(), known.end())) return at->second;
    }
    const auto number = static_cast<uint32_t>(program_.segments.size());
    program_.parts.segment_nbytes.push_back(bytes.size());
    program_.segments.push_back({{0, bytes}});
    numbers_.emplace(std::move(key), number);
    return number;
  }

 private:
  Program& program_;
  std::unordered_multimap<std::string, uint32_t> numbers_;
};

}  // namespace

void add_delegate_data(Program& program, const EmitOptions& options) {
  constexpr int8_t kInSegment = 1;
  BytesSegments segments(program);
  for (size_t m = 0; m < program.methods.size(); ++m) {
    const auto& calls = program.methods[m].delegate_calls;
    for (size_t i = 0; i < calls.size(); ++i) {
      format::DelegateSpec& delegate = program.parts.methods[m].delegates[i];
      delegate.location = kInSegment;
      delegate.index = segments.add(options.delegates[calls[i].delegate].payload);
    }
  }
  for (const NamedBytes& item : options.named_data) {
    program.parts.named_data.emplace_back(item.key, segments.add(item.bytes));
    const auto alignment = static_cast<uint32_t>(item.alignment);
    program.parts.segment_alignment = std::max(program.parts.segment_alignment, alignment);
  }
}

}  // namespace etb::emit
