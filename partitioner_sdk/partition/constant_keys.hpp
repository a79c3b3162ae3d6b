// SPDX-License-Identifier: Apache-2.0
// Names constants in graph images: one key per content, over all methods of a program. So plugins and files
// store each constant once.
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
  graph::Digest digest = {};  // all zero: not computed
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps the bytes, unless an archive does
};

// Digests are for stored images. A compiler reads the constants anyway, and SHA-256 of all weights takes
// longer than writing them.
enum class ConstantDigests : uint8_t { kNotTold, kSha256 };

// Archives that hold constants must outlive it.
class ConstantKeys {
 public:
  explicit ConstantKeys(ConstantDigests digests = ConstantDigests::kNotTold) : digests_(digests) {}

  // Returns the constant as images name it. Equal bytes of one dtype and sizes share one key, made from the
  // first name.
  const KeyedConstant& of(const ir::Constant& constant);

  // Returns NULL if no constant has the key.
  const KeyedConstant* find(std::string_view key) const;

 private:
  // Constants that may be equal; unequal weights differ early.
  using Alike = std::tuple<ir::Dtype, std::vector<int64_t>, std::string>;
  using Place = std::tuple<const std::byte*, size_t, ir::Dtype, std::vector<int64_t>>;
  using Strided = std::tuple<const std::byte*, int64_t, std::vector<int64_t>, std::vector<int64_t>>;

  std::pair<std::span<const std::byte>, std::shared_ptr<const void>> row_major(const ir::Constant& constant);

  ConstantDigests digests_;
  std::map<Strided, std::shared_ptr<const std::vector<std::byte>>> turned_;
  // Keeps seen storage alive, as other bytes could reuse its address.
  struct Seen {
    const KeyedConstant* constant = nullptr;
    std::shared_ptr<const void> owner;
  };
  std::map<Place, Seen> by_place_;
  std::map<Alike, std::vector<const KeyedConstant*>> alike_;
  std::map<std::string, KeyedConstant, std::less<>> by_key_;
};

}  // namespace etb::partition
