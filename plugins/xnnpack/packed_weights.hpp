// SPDX-License-Identifier: Apache-2.0
// Packed weights: packed once, shared by the delegates of the plugin, stored in a file between processes.
#pragma once

#include <xnnpack.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/xnnpack/weight_memory.hpp"

namespace etb::xnnpack {

// Key of packed weights: the kernel that reads them, and the contents of filter and bias with all numbers
// that packing depends on.
using PackedKey = std::tuple<uint32_t, std::string, std::string>;
using PackedKeyView = std::tuple<uint32_t, std::string_view, std::string_view>;
// Spelled out because clang 14 finds no operator< for the two types.
struct PackedKeyLess {
  using is_transparent = void;
  bool operator()(const PackedKeyView& a, const PackedKeyView& b) const { return a < b; }
};
template <class Value>
using PackedMap = std::map<PackedKey, Value, PackedKeyLess>;

struct PackedEntry {
  std::shared_ptr<void> bytes;
  size_t nbytes = 0;
};

// Entries shared by the delegates of a plugin. An entry lives as long as it has a user. [any] thread.
class PackedStore {
 public:
  std::shared_ptr<PackedEntry> find(const PackedKeyView& key);
  // Stores `entry` unless the key has one. Returns the stored entry.
  std::shared_ptr<PackedEntry> insert(const PackedKey& key, std::shared_ptr<PackedEntry> entry);
  // Forgets a key whose entry has no user. A process may load any number of models with other weights.
  void forget(const PackedKey& key);
  // Number of keys.
  size_t size() const;
  WeightMemory& memory() { return memory_; }

 private:
  WeightMemory memory_;
  mutable std::mutex mutex_;
  PackedMap<std::weak_ptr<PackedEntry>> entries_;  // guarded by mutex_
};

// The weights of one delegate, as an XNNPACK weights cache. Not movable. XNNPACK may call from any thread.
// Callers use name() and forget_names() only while no such call runs.
class PackedWeights {
 public:
  // With `shares` false, the entries stay private to the delegate.
  PackedWeights(PackedStore& store, bool shares);
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Names the content at an address that a subgraph points to, once for each node that packs it. An address
  // with two names (two nodes pack it differently) is not shared: XNNPACK looks up by kernel and address,
  // which does not identify the node.
  void name(const void* address, const std::string& content);
  // True if the content at an address has a name. NULL (no bias) counts as named.
  bool has_name(const void* address) const;
  // Ends the validity of all addresses named so far.
  void forget_names();
  // Sets `release`, which is called for an address after the last node has packed it. The packing thread
  // calls it, until forget_names().
  void release_when_packed(std::function<void(const void*)> release) { release_ = std::move(release); }
  // True if XNNPACK asked for weights that were already released, which made it fail.
  bool is_missing_released() const { return is_missing_released_; }
  xnn_weights_cache_t provider() { return &provider_; }

  // Loads the entries of this payload's file. Damaged or incompatible entries are ignored. Checksums are
  // verified on lookup, so entries that another delegate has in memory are not read. A file verified as a
  // whole since boot, and unchanged since, is not verified again.
  void load(const std::string& folder, const std::string& payload_digest);
  bool is_loaded() const { return is_loaded_; }
  // Writes all named entries in one step, then calls trim_folder(). If all entries came from the file, writes
  // only the note that the file is valid. Errors: UNAVAILABLE if the folder cannot be written or the entries
  // exceed `max_nbytes`.
  Status save(const std::string& folder, const std::string& payload_digest, uint64_t max_nbytes) const;

  uint64_t nbytes() const;
  // Releases memory reserved for further weights.
  void trim_memory() { store_.memory().trim(); }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  struct Reserved {
    std::shared_ptr<void> bytes;
    size_t nbytes = 0;
  };

  size_t look_up(const xnn_weights_cache_look_up_key& key);
  size_t look_up_locked(const xnn_weights_cache_look_up_key& key);
  void* reserve(size_t nbytes);
  static Reserved reserve_on_heap(size_t nbytes);
  size_t look_up_or_insert(const xnn_weights_cache_look_up_key& key, void* packed, size_t nbytes);
  void* address_of(size_t index) const;
  // Returns the buffer that reserve() returned at an address.
  Reserved take_reserved(const void* address);
  // Counts one more node that has packed the content at an address.
  void note_packed(const void* address);
  // Returns false for weights without a name, which are not shared.
  bool resolve(const xnn_weights_cache_look_up_key& key, PackedKeyView& out) const;
  size_t add(const PackedKey& key, std::shared_ptr<PackedEntry> entry);
  size_t add_unnamed(std::shared_ptr<PackedEntry> entry);

  xnn_weights_cache_provider provider_{};
  PackedStore& store_;
  const bool shares_;
  struct Name {
    std::string content;      // "" for an address with two names
    uint32_t node_count = 0;  // nodes that have yet to pack this content
    bool is_released = false;
  };
  mutable std::mutex mutex_;  // guards the members below
  std::map<const void*, Name> names_;
  std::function<void(const void*)> release_;
  std::set<PackedKey, PackedKeyLess> missed_;  // keys looked up in vain: XNNPACK packs each of them once
  bool is_missing_released_ = false;
  PackedMap<size_t> index_of_;
  std::vector<std::shared_ptr<PackedEntry>> entries_;
  std::vector<size_t> unnamed_;  // indices of entries without a name
  struct StoredEntry {
    PackedEntry entry;
    uint64_t checksum = 0;
  };
  PackedMap<StoredEntry> loaded_;  // entries of the file, not looked up yet
  bool is_loaded_ = false;
  std::string note_;                // text of the note that the file is verified
  bool is_verified_ = false;        // by an earlier process that left the note
  std::vector<Reserved> reserved_;  // buffers that XNNPACK is filling
  Reserved spare_;                  // unused buffer: XNNPACK packs depthwise filters before it looks them up
  bool has_new_ = false;            // the file lacks an entry
};

}  // namespace etb::xnnpack
