#include "partitioner_sdk/emit/constant_segment.hpp"

namespace etb::emit {

namespace {
constexpr uint64_t kAlignment = 16;
}

uint32_t DataSegment::add(const ir::Constant& constant) {
  const std::span<const std::byte> bytes = constant.bytes();
  const auto [found, is_new] =
      numbers_.emplace(std::tuple{bytes.data(), bytes.size()}, static_cast<uint32_t>(offsets_.size()));
  if (!is_new) return found->second;
  const uint64_t offset = (nbytes_ + kAlignment - 1) / kAlignment * kAlignment;
  offsets_.push_back(offset);
  if (!bytes.empty()) pieces_.push_back({offset, bytes});
  nbytes_ = offset + bytes.size();
  return found->second;
}

}  // namespace etb::emit
