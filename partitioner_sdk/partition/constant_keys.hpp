// Names of constants in graph images: one key a content, over all methods of a program, so that plugins and files keep each
// constant once.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::partition {

struct KeyedConstant {
  std::string key;
  graph::Digest digest = {};  // all zero: not told
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps the bytes, unless an archive does
};

// For images that are kept; whoever compiles from one reads the constants anyway, and SHA-256 of all weights takes longer than
// writing them.
enum class ConstantDigests : uint8_t { kNotTold, kSha256 };

// Archives that constants lie in must outlive it.
class ConstantKeys {
 public:
  explicit ConstantKeys(ConstantDigests digests = ConstantDigests::kNotTold) : digests_(digests) {}

  // The constant as images name it. Equal bytes of one dtype and sizes have one key; the first name is the key's.
  const KeyedConstant& of(const ir::Constant& constant);

  // NULL when no constant has the key.
  const KeyedConstant* find(std::string_view key) const;

 private:
  // Constants that may be equal; unequal weights differ soon.
  using Alike = std::tuple<ir::Dtype, std::vector<int64_t>, std::string>;
  using Place = std::tuple<const std::byte*, size_t, ir::Dtype, std::vector<int64_t>>;
  using Strided = std::tuple<const std::byte*, int64_t, std::vector<int64_t>, std::vector<int64_t>>;

  std::pair<std::span<const std::byte>, std::shared_ptr<const void>> row_major(const ir::Constant& constant);

  ConstantDigests digests_;
  std::map<Strided, std::shared_ptr<const std::vector<std::byte>>> turned_;
  // What was looked at stays alive, or other bytes could take its place.
  struct Seen {
    const KeyedConstant* constant = nullptr;
    std::shared_ptr<const void> owner;
  };
  std::map<Place, Seen> by_place_;
  std::map<Alike, std::vector<const KeyedConstant*>> alike_;
  std::map<std::string, KeyedConstant, std::less<>> by_key_;
};

}  // namespace etb::partition
