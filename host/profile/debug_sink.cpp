// SPDX-License-Identifier: Apache-2.0
#include "host/profile/debug_sink.hpp"

#include <cstring>

namespace etb::host {

int64_t BufferDebugSink::write(std::span<const std::byte> bytes) noexcept {
  constexpr size_t kAlignment = 64;  // as officially
  const size_t begin = (used_ + kAlignment - 1) & ~(kAlignment - 1);
  if (begin > buffer_.size() || bytes.size() > buffer_.size() - begin) return -1;
  std::memset(buffer_.data() + used_, 0, begin - used_);
  if (!bytes.empty()) std::memcpy(buffer_.data() + begin, bytes.data(), bytes.size());
  used_ = begin + bytes.size();
  return static_cast<int64_t>(begin);
}

}  // namespace etb::host
