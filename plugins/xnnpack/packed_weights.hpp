// Packed weights: made once, shared by all delegates of the plugin that want the same ones, kept in a file between processes.
#pragma once

#include <xnnpack.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::xnnpack {

// Against accidents, not against people: whoever can write a file of packed weights can run code here anyway.
uint64_t checksum(const std::byte* data, size_t nbytes);

// What packed weights are made of: the kernel that reads them, and the contents of filter and bias with all numbers that packing looks at.
using PackedKey = std::tuple<uint32_t, std::string, std::string>;

struct PackedEntry {
  std::shared_ptr<void> bytes;
  size_t nbytes = 0;
};

// What the delegates of a plugin share. Entries live as long as somebody uses them. [any] thread.
class PackedStore {
 public:
  std::shared_ptr<PackedEntry> find(const PackedKey& key);
  // Keeps `entry` unless the key has one; gives the one that counts.
  std::shared_ptr<PackedEntry> insert(const PackedKey& key, std::shared_ptr<PackedEntry> entry);

 private:
  std::mutex mutex_;
  std::map<PackedKey, std::weak_ptr<PackedEntry>> entries_;
};

// The weights of one delegate, as XNNPACK asks for them. It stays where it is; calls that make a runtime come one at a time, all others
// only read.
class PackedWeights {
 public:
  // Without a store weights stay this delegate's.
  explicit PackedWeights(PackedStore* store);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Says what lies at an address that a subgraph points to. One address under two names is shared under neither.
  void name(const void* address, const std::string& content);
  xnn_weights_cache_t provider() { return &provider_; }

  // Takes what a file of this payload holds. What is damaged, or not of this processor and XNNPACK, counts as not there. Weights are
  // verified when they are asked for: those that another delegate has in memory are not read.
  void load(const std::string& folder, const std::string& payload_digest);
  // Writes all named entries, in one step; removes the oldest files beyond `max_nbytes`. Nothing happens when it was loaded whole.
  Status save(const std::string& folder, const std::string& payload_digest, uint64_t max_nbytes) const;

  uint64_t nbytes() const;
  // Whether a runtime made of the same subgraph again would find all its weights here.
  bool has_all() const { return !has_unnamed_; }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  size_t look_up(const xnn_weights_cache_look_up_key& key);
  void* reserve(size_t nbytes);
  size_t look_up_or_insert(const xnn_weights_cache_look_up_key& key, void* packed, size_t nbytes);
  // False: the weights have no name, and are found by address in this delegate alone.
  bool resolve(const xnn_weights_cache_look_up_key& key, PackedKey& out) const;
  size_t add(const PackedKey& key, std::shared_ptr<PackedEntry> entry);

  xnn_weights_cache_provider provider_{};
  PackedStore* store_;
  std::map<const void*, std::string> names_;  // "" for an address under two names
  std::map<PackedKey, size_t> index_of_;
  std::vector<std::shared_ptr<PackedEntry>> entries_;
  struct StoredEntry {
    PackedEntry entry;
    uint64_t checksum = 0;
  };
  std::map<PackedKey, StoredEntry> loaded_;  // of the file, until somebody asks
  std::shared_ptr<void> reserved_;
  bool has_new_ = false;      // an entry that the file lacks
  bool has_unnamed_ = false;  // an entry that only the runtime knows that packed it
};

}  // namespace etb::xnnpack
