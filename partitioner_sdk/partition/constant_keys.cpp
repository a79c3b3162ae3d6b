#include "partitioner_sdk/partition/constant_keys.hpp"

#include "api/format/digest.hpp"

namespace etb::partition {

void ConstantKeys::hash_all(std::span<const ir::Constant> constants) {
  std::vector<graph::Digest*> places;
  std::vector<std::span<const uint8_t>> texts;
  for (const ir::Constant& constant : constants) {
    const auto [bytes, owner] = row_major(constant);
    const auto [place, is_new] = digests_.emplace(std::pair{bytes.data(), bytes.size()}, Hashed{{}, owner});
    if (!is_new) continue;
    places.push_back(&place->second.digest);
    texts.push_back({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  const std::vector<format::Sha256> digests = format::sha256_each(texts);
  for (size_t i = 0; i < digests.size(); ++i) *places[i] = digests[i];
}

const graph::Digest& ConstantKeys::digest_of(std::span<const std::byte> bytes,
                                             const std::shared_ptr<const void>& owner) {
  const auto [place, is_new] = digests_.emplace(std::pair{bytes.data(), bytes.size()}, Hashed{{}, owner});
  Hashed& hashed = place->second;
  if (is_new) hashed.digest = format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return hashed.digest;
}

// A constant that lies in another order is turned once, and kept here.
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
  if (const auto found = by_place_.find(place); found != by_place_.end()) return *found->second;
  const Content content{digest_of(bytes, owner), constant.dtype, constant.sizes};
  const KeyedConstant*& known = by_content_[content];
  if (known == nullptr) {
    // Names may meet: those of two methods, or what passes made.
    const std::string wish = constant.name.empty() ? "constant" : constant.name;
    std::string key = wish;
    for (uint32_t n = 2; by_key_.count(key) != 0; ++n) key = wish + "#" + std::to_string(n);
    known = &by_key_.emplace(key, KeyedConstant{key, std::get<0>(content), bytes, owner}).first->second;
  }
  by_place_.emplace(place, known);
  return *known;
}

const KeyedConstant* ConstantKeys::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

}  // namespace etb::partition
