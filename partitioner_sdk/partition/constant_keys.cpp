// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/constant_keys.hpp"

#include <algorithm>
#include <cstring>

#include "api/format/digest.hpp"

namespace etb::partition {

namespace {

// Bytes used as lookup key; the rest is compared. Smaller constants are identified by these alone.
constexpr size_t kSampleNbytes = 256;

std::string sample_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kSampleNbytes)};
}

}  // namespace

// A constant in another storage order is reordered once and stored here.
std::pair<std::span<const std::byte>, std::shared_ptr<const void>> ConstantKeys::row_major(
    const ir::Constant& constant) {
  if (constant.is_contiguous()) return {constant.bytes(), constant.owner};
  auto& turned = turned_[{constant.storage.data(), constant.offset, constant.sizes, constant.strides}];
  if (!turned) turned = std::make_shared<const std::vector<std::byte>>(constant.dense_bytes());
  return {*turned, turned};
}

const KeyedConstant& ConstantKeys::of(const ir::Constant& constant) {
  const auto [bytes, owner] = row_major(constant);
  const Place place{bytes.data(), bytes.size(), constant.dtype, constant.sizes};
  if (const auto found = by_place_.find(place); found != by_place_.end()) return *found->second.constant;
  std::vector<const KeyedConstant*>& alike = alike_[{constant.dtype, constant.sizes, sample_of(bytes)}];
  const auto found = std::find_if(alike.begin(), alike.end(), [bytes = bytes](const KeyedConstant* one) {
    return bytes.empty() || std::memcmp(bytes.data(), one->bytes.data(), bytes.size()) == 0;
  });
  const KeyedConstant* known = found == alike.end() ? nullptr : *found;
  if (known == nullptr) {
    // Names may collide: those of two methods, or those that passes create.
    const std::string wish = constant.name.empty() ? "constant" : constant.name;
    std::string key = wish;
    for (uint32_t n = 2; by_key_.count(key) != 0; ++n) key = wish + "#" + std::to_string(n);
    KeyedConstant made{key, {}, bytes, owner};
    if (digests_ == ConstantDigests::kSha256)
      made.digest = format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    known = alike.emplace_back(&by_key_.emplace(key, std::move(made)).first->second);
  }
  by_place_.emplace(place, Seen{known, owner});
  return *known;
}

const KeyedConstant* ConstantKeys::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

}  // namespace etb::partition
