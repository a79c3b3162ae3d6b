// Packed weights: made once, shared by all delegates of the plugin that want the same ones, kept in a file between processes.
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

// What packed weights are made of: the kernel that reads them, and the contents of filter and bias with all numbers that packing looks at.
using PackedKey = std::tuple<uint32_t, std::string, std::string>;
using PackedKeyView = std::tuple<uint32_t, std::string_view, std::string_view>;
// Spelled out because clang 14 finds no < between the two.
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

// What the delegates of a plugin share. Entries live as long as somebody uses them. [any] thread.
class PackedStore {
 public:
  std::shared_ptr<PackedEntry> find(const PackedKeyView& key);
  // Keeps `entry` unless the key has one; gives the one that counts.
  std::shared_ptr<PackedEntry> insert(const PackedKey& key, std::shared_ptr<PackedEntry> entry);
  WeightMemory& memory() { return memory_; }

 private:
  WeightMemory memory_;
  std::mutex mutex_;
  PackedMap<std::weak_ptr<PackedEntry>> entries_;
};

// The weights of one delegate, as XNNPACK asks for them. It stays where it is. XNNPACK's calls come from any thread; name() and
// forget_names() while none does.
class PackedWeights {
 public:
  // Those of a delegate that does not share stay its own.
  PackedWeights(PackedStore& store, bool shares);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Says what lies at an address that a subgraph points to, once for each node that packs it. One address under two names (read by two
  // nodes that pack it differently) is shared under neither: XNNPACK asks by kernel and address, and that does not say for which node.
  void name(const void* address, const std::string& content);
  // Whether what lies at an address can be found again; nothing at all (NULL) can.
  bool has_name(const void* address) const;
  // What lies at those addresses may be something else from now on.
  void forget_names();
  // From now on `release` is called, by whoever packs, for what no node needs any more; until the names are forgotten.
  void release_when_packed(std::function<void(const void*)> release) { release_ = std::move(release); }
  // Whether XNNPACK wanted to pack something that was released, and failed for that.
  bool is_missing_released() const { return is_missing_released_; }
  xnn_weights_cache_t provider() { return &provider_; }

  // Takes what a file of this payload holds. What is damaged, or not of this processor and XNNPACK, counts as not there. Weights are
  // verified when they are asked for: those that another delegate has in memory are not read. A file that was verified whole since
  // the machine was started, and was not changed since then, is believed.
  void load(const std::string& folder, const std::string& payload_digest);
  bool is_loaded() const { return is_loaded_; }
  // Writes all named entries, in one step; removes what trim_folder() removes. When it was loaded whole only the note is written that
  // it was right.
  // Errors: UNAVAILABLE when the folder cannot be written, or they are more than it may have.
  Status save(const std::string& folder, const std::string& payload_digest, uint64_t max_nbytes) const;

  uint64_t nbytes() const;
  // Gives memory back that was meant for more of them.
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
  // What reserve() gave out at an address.
  Reserved take_reserved(const void* address);
  // One node more has packed what lies at an address.
  void note_packed(const void* address);
  // False: the weights have no name, and are nobody else's.
  bool resolve(const xnn_weights_cache_look_up_key& key, PackedKeyView& out) const;
  size_t add(const PackedKey& key, std::shared_ptr<PackedEntry> entry);

  xnn_weights_cache_provider provider_{};
  PackedStore& store_;
  const bool shares_;
  struct Name {
    std::string content;      // "" for an address under two names
    uint32_t node_count = 0;  // that may still pack what lies there
    bool is_released = false;
  };
  mutable std::mutex mutex_;  // guards what follows
  std::map<const void*, Name> names_;
  std::function<void(const void*)> release_;
  std::set<PackedKey, PackedKeyLess>
      missed_;  // what XNNPACK looked up before it packed it: it will not pack that twice
  bool is_missing_released_ = false;
  PackedMap<size_t> index_of_;
  std::vector<std::shared_ptr<PackedEntry>> entries_;
  struct StoredEntry {
    PackedEntry entry;
    uint64_t checksum = 0;
  };
  PackedMap<StoredEntry> loaded_;  // of the file, until somebody asks
  bool is_loaded_ = false;
  std::string note_;                // that the file was verified
  bool is_verified_ = false;        // earlier, by whoever wrote that
  std::vector<Reserved> reserved_;  // given out to be written
  Reserved
      spare_;  // given out in vain: XNNPACK packs depthwise filters before it asks whether they are known
  bool has_new_ = false;  // an entry that the file lacks
};

}  // namespace etb::xnnpack
