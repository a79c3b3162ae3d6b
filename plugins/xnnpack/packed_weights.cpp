#include "plugins/xnnpack/packed_weights.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace etb::xnnpack {

namespace {

constexpr size_t kAlignment = 128;  // of what XNNPACK packs

// Large weights lie in huge pages where the system has them: a fifth of the time to load a network went into the faults of small ones.
std::shared_ptr<void> allocate(size_t nbytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t wanted = nbytes + XNN_EXTRA_BYTES;
  const std::align_val_t alignment{wanted < kHugePage ? kAlignment : kHugePage};
  void* raw = ::operator new(wanted, alignment, std::nothrow);
#ifdef MADV_HUGEPAGE
  if (raw != nullptr && wanted >= kHugePage) ::madvise(raw, wanted / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return {raw, [alignment](void* made) { ::operator delete(made, alignment); }};
}

}  // namespace

std::shared_ptr<PackedEntry> PackedStore::find(const PackedKey& key) {
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

PackedWeights::PackedWeights(PackedStore* store) : store_(store) {
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
  // Entries never move, so there is nothing to wait for.
  provider_.is_finalized = [](void*) { return true; };
  provider_.offset_to_addr = [](void* self, size_t index) {
    return static_cast<PackedWeights*>(self)->entries_[index]->bytes.get();
  };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

void PackedWeights::name(const void* address, const std::string& content) {
  const auto [known, is_new] = names_.emplace(address, content);
  if (!is_new && known->second != content) known->second.clear();
}

bool PackedWeights::resolve(const xnn_weights_cache_look_up_key& key, PackedKey& out) const {
  const auto name_of = [&](const void* address) {
    if (address == nullptr) return std::string("-");
    const auto found = names_.find(address);
    return found == names_.end() ? std::string() : found->second;
  };
  out = {key.seed, name_of(key.kernel), name_of(key.bias)};
  return !std::get<1>(out).empty() && !std::get<2>(out).empty();
}

size_t PackedWeights::add(const PackedKey& key, std::shared_ptr<PackedEntry> entry) {
  entries_.push_back(std::move(entry));
  return index_of_[key] = entries_.size() - 1;
}

size_t PackedWeights::look_up(const xnn_weights_cache_look_up_key& key) {
  PackedKey full;
  if (!resolve(key, full)) return kNone;
  if (const auto known = index_of_.find(full); known != index_of_.end()) return known->second;
  if (store_ != nullptr) {
    if (auto shared = store_->find(full)) {
      has_new_ = has_new_ || loaded_.count(full) == 0;
      return add(full, std::move(shared));
    }
  }
  const auto stored = loaded_.find(full);
  if (stored == loaded_.end()) return kNone;
  auto entry = std::make_shared<PackedEntry>(std::move(stored->second.entry));
  const uint64_t expected = stored->second.checksum;
  loaded_.erase(stored);
  if (checksum(static_cast<const std::byte*>(entry->bytes.get()), entry->nbytes) != expected) return kNone;
  if (store_ != nullptr) entry = store_->insert(full, std::move(entry));
  return add(full, std::move(entry));
}

void* PackedWeights::reserve(size_t nbytes) {
  reserved_ = allocate(nbytes);
  return reserved_.get();
}

size_t PackedWeights::look_up_or_insert(const xnn_weights_cache_look_up_key& key, void* packed,
                                        size_t nbytes) {
  if (const size_t known = look_up(key); known != kNone) return known;
  auto entry = std::make_shared<PackedEntry>();
  entry->nbytes = nbytes;
  if (packed != nullptr && packed == reserved_.get()) {
    entry->bytes = std::move(reserved_);
  } else {
    entry->bytes = allocate(nbytes);
    if (!entry->bytes) return kNone;
    std::memcpy(entry->bytes.get(), packed, nbytes);
  }
  PackedKey full;
  if (!resolve(key, full)) {
    has_unnamed_ = true;
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
  }
  has_new_ = true;
  if (store_ != nullptr) entry = store_->insert(full, std::move(entry));
  return add(full, std::move(entry));
}

uint64_t PackedWeights::nbytes() const {
  uint64_t total = 0;
  for (const auto& entry : entries_) total += entry->nbytes;
  return total;
}

}  // namespace etb::xnnpack
