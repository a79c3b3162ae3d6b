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
  graph::Digest digest = {};
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps the bytes, unless an archive does
};

// Archives that constants lie in must outlive it.
class ConstantKeys {
 public:
  // Hashes them all, which is less work than one by one; what of() is asked for afterwards may be others.
  void hash_all(std::span<const ir::Constant> constants);

  // The constant as images name it. Equal bytes of one dtype and sizes have one key; the first name is the key's.
  const KeyedConstant& of(const ir::Constant& constant);

  // NULL when no constant has the key.
  const KeyedConstant* find(std::string_view key) const;

 private:
  using Content = std::tuple<graph::Digest, ir::Dtype, std::vector<int64_t>>;
  using Place = std::tuple<const std::byte*, size_t, ir::Dtype, std::vector<int64_t>>;

  using Strided = std::tuple<const std::byte*, int64_t, std::vector<int64_t>, std::vector<int64_t>>;

  std::pair<std::span<const std::byte>, std::shared_ptr<const void>> row_major(const ir::Constant& constant);
  const graph::Digest& digest_of(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);

  std::map<Strided, std::shared_ptr<const std::vector<std::byte>>> turned_;
  // The bytes are read once. What was hashed stays alive, or others could take its place.
  struct Hashed {
    graph::Digest digest = {};
    std::shared_ptr<const void> owner;
  };
  std::map<std::pair<const std::byte*, size_t>, Hashed> digests_;
  std::map<Place, const KeyedConstant*> by_place_;
  std::map<Content, const KeyedConstant*> by_content_;
  std::map<std::string, KeyedConstant, std::less<>> by_key_;
};

}  // namespace etb::partition
