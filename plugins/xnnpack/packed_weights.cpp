// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/packed_weights.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "plugins/xnnpack/checksum.hpp"

namespace etb::xnnpack {

std::shared_ptr<PackedEntry> PackedStore::find(const PackedKeyView& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  auto entry = found->second.lock();
  if (!entry) entries_.erase(found);
  return entry;
}

std::shared_ptr<PackedEntry> PackedStore::insert(const PackedKey& key, std::shared_ptr<PackedEntry> entry) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<PackedEntry>& place = entries_[key];
  if (auto known = place.lock()) return known;
  place = entry;
  return entry;
}

void PackedStore::forget(const PackedKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.expired()) entries_.erase(found);
}

size_t PackedStore::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

PackedWeights::PackedWeights(PackedStore& store, bool shares) : store_(store), shares_(shares) {
  provider_.context = this;
  provider_.look_up = [](void* self, const xnn_weights_cache_look_up_key* key) {
    return static_cast<PackedWeights*>(self)->look_up(*key);
  };
  provider_.reserve_space = [](void* self, size_t nbytes) {
    return static_cast<PackedWeights*>(self)->reserve(nbytes);
  };
  provider_.look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key* key, void* packed,
                                   size_t nbytes) {
    return static_cast<PackedWeights*>(self)->look_up_or_insert(*key, packed, nbytes);
  };
  // Entries never move, so offsets are valid at any time.
  provider_.is_finalized = [](void*) { return true; };
  provider_.offset_to_addr = [](void* self, size_t index) {
    return static_cast<PackedWeights*>(self)->address_of(index);
  };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

// Releases the entries before their keys: the last user forgets a key.
PackedWeights::~PackedWeights() {
  entries_.clear();
  for (const auto& [key, index] : index_of_) store_.forget(key);
}

void PackedWeights::name(const void* address, const std::string& content) {
  const auto [known, is_new] = names_.try_emplace(address, Name{content});
  if (!is_new && known->second.content != content) known->second.content.clear();
  ++known->second.node_count;
}

bool PackedWeights::has_name(const void* address) const {
  const auto found = names_.find(address);
  return address == nullptr || (found != names_.end() && !found->second.content.empty());
}

void PackedWeights::forget_names() {
  names_.clear();
  release_ = nullptr;
  missed_.clear();
  reserved_.clear();
  spare_ = {};
  is_missing_released_ = false;
}

bool PackedWeights::resolve(const xnn_weights_cache_look_up_key& key, PackedKeyView& out) const {
  const auto name_of = [&](const void* address) -> std::string_view {
    if (address == nullptr) return "-";
    const auto found = names_.find(address);
    return found == names_.end() ? std::string_view() : found->second.content;
  };
  out = {key.seed, name_of(key.kernel), name_of(key.bias)};
  return !std::get<1>(out).empty() && !std::get<2>(out).empty();
}

void PackedWeights::note_packed(const void* address) {
  const auto found = names_.find(address);
  if (found == names_.end() || found->second.is_released || --found->second.node_count > 0 || !release_)
    return;
  found->second.is_released = true;
  release_(address);
}

size_t PackedWeights::add(const PackedKey& key, std::shared_ptr<PackedEntry> entry) {
  entries_.push_back(std::move(entry));
  return index_of_[key] = entries_.size() - 1;
}

// Each context packs weights without a name again. Equal bytes are one entry.
size_t PackedWeights::add_unnamed(std::shared_ptr<PackedEntry> entry) {
  for (const size_t index : unnamed_)
    if (const PackedEntry& known = *entries_[index];
        known.nbytes == entry->nbytes &&
        std::memcmp(known.bytes.get(), entry->bytes.get(), known.nbytes) == 0)
      return index;
  unnamed_.push_back(entries_.size());
  entries_.push_back(std::move(entry));
  return unnamed_.back();
}

void* PackedWeights::address_of(size_t index) const {
  const std::lock_guard lock(mutex_);
  return entries_[index]->bytes.get();
}

size_t PackedWeights::look_up(const xnn_weights_cache_look_up_key& key) {
  const std::lock_guard lock(mutex_);
  const size_t known = look_up_locked(key);
  if (known != kNone) return known;
  PackedKeyView full;
  if (resolve(key, full)) missed_.emplace(full);
  for (const void* address : {key.kernel, key.bias}) {
    const auto found = names_.find(address);
    is_missing_released_ |= found != names_.end() && found->second.is_released;
  }
  return kNone;
}

size_t PackedWeights::look_up_locked(const xnn_weights_cache_look_up_key& key) {
  PackedKeyView full;
  if (!resolve(key, full)) return kNone;
  if (const auto known = index_of_.find(full); known != index_of_.end()) return known->second;
  if (shares_) {
    if (auto shared = store_.find(full)) {
      has_new_ = has_new_ || loaded_.count(full) == 0;
      return add(PackedKey(full), std::move(shared));
    }
  }
  const auto stored = loaded_.find(full);
  if (stored == loaded_.end()) return kNone;
  auto entry = std::make_shared<PackedEntry>(std::move(stored->second.entry));
  const uint64_t expected = stored->second.checksum;
  loaded_.erase(stored);
  if (!is_verified_ && checksum(static_cast<const std::byte*>(entry->bytes.get()), entry->nbytes) != expected)
    return kNone;
  if (shares_) entry = store_.insert(PackedKey(full), std::move(entry));
  return add(PackedKey(full), std::move(entry));
}

// After loading a file, few weights are packed and most of them in vain. A small reusable buffer avoids a new
// region.
PackedWeights::Reserved PackedWeights::reserve_on_heap(size_t nbytes) {
  constexpr std::align_val_t kAlignment{128};
  const size_t wanted = std::max(nbytes, size_t{16} << 10);
  void* const bytes = ::operator new(wanted + XNN_EXTRA_BYTES, kAlignment, std::nothrow);
  if (bytes == nullptr) return {};
  std::memset(bytes, 0, wanted);
  return {std::shared_ptr<void>(bytes, [](void* given) { ::operator delete(given, kAlignment); }), wanted};
}

void* PackedWeights::reserve(size_t nbytes) {
  const std::lock_guard lock(mutex_);
  if (is_missing_released_) return nullptr;
  Reserved given;
  if (spare_.nbytes >= nbytes) {
    given = std::exchange(spare_, {});
    std::memset(given.bytes.get(), 0, nbytes);  // as fresh memory is
  } else {
    given = is_loaded_ ? reserve_on_heap(nbytes) : Reserved{store_.memory().allocate(nbytes), nbytes};
  }
  if (!given.bytes) return nullptr;
  reserved_.push_back(std::move(given));
  return reserved_.back().bytes.get();
}

PackedWeights::Reserved PackedWeights::take_reserved(const void* address) {
  const auto place = std::find_if(reserved_.begin(), reserved_.end(),
                                  [address](const Reserved& given) { return given.bytes.get() == address; });
  if (place == reserved_.end()) return {};
  Reserved taken = std::move(*place);
  reserved_.erase(place);
  return taken;
}

size_t PackedWeights::look_up_or_insert(const xnn_weights_cache_look_up_key& key, void* packed,
                                        size_t nbytes) {
  const std::lock_guard lock(mutex_);
  Reserved reserved = take_reserved(packed);
  PackedKeyView full;
  const bool has_name = resolve(key, full);
  if (reserved.bytes && has_name && missed_.count(full) != 0) {
    for (const void* address : {key.kernel, key.bias}) note_packed(address);
  }
  // Found if another thread packed the same weights, or if XNNPACK did not look them up first.
  if (const size_t known = look_up_locked(key); known != kNone) {
    if (reserved.nbytes > spare_.nbytes) spare_ = std::move(reserved);
    return known;
  }
  auto entry = std::make_shared<PackedEntry>();
  entry->nbytes = nbytes;
  entry->bytes = std::move(reserved.bytes);
  if (!entry->bytes) {
    entry->bytes = store_.memory().allocate(nbytes);
    if (!entry->bytes) return kNone;
    std::memcpy(entry->bytes.get(), packed, nbytes);
  }
  if (!has_name) return add_unnamed(std::move(entry));
  has_new_ = true;
  if (shares_) entry = store_.insert(PackedKey(full), std::move(entry));
  return add(PackedKey(full), std::move(entry));
}

uint64_t PackedWeights::nbytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (const auto& entry : entries_) total += entry->nbytes;
  return total;
}

}  // namespace etb::xnnpack
