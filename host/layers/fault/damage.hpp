// SPDX-License-Identifier: Apache-2.0
// Damaged copies of payloads, named data and outputs.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "etb/payload.h"

namespace etb::host::fault {

// Random numbers of one fault (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

inline void flip_bits(std::span<std::byte> bytes, uint64_t count, uint64_t seed) noexcept {
  Random random(seed);
  for (uint64_t i = 0; i < count && !bytes.empty(); ++i) {
    const uint64_t bit = random.next() % (bytes.size() * 8);
    bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
}

// Copies that a plugin may read until its delegate ends. The originals are returned to the host at once.
class DamagedData {
 public:
  DamagedData() = default;
  DamagedData(const DamagedData&) = delete;
  DamagedData& operator=(const DamagedData&) = delete;

  // Replaces the bytes of a view by a copy of the first `nbytes`, and returns that copy.
  std::span<std::byte> replace(etb_payload_view& view, uint64_t nbytes) {
    const std::span<std::byte> copy = copy_of(view.data, nbytes);
    if (view.release != nullptr) view.release(view.release_ctx);
    view.data = copy.empty() ? nullptr : copy.data();
    view.nbytes = copy.size();
    view.alignment = kAlignment;
    view.fd = -1;
    view.fd_offset_bytes = 0;
    view.release = nullptr;
    view.release_ctx = nullptr;
    return copy;
  }

  // Named data with `bits` inverted bits in each value.
  const etb_named_data* damage(const etb_named_data& from, uint64_t bits, uint64_t seed) {
    from_ = from;
    bits_ = bits;
    seed_ = seed;
    own_ = {sizeof(own_), 0, this,
            [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
              return static_cast<DamagedData*>(ctx)->get(key, out, error);
            }};
    return &own_;
  }

  etb_payload_view payload{};

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{kAlignment}); }
  };

  std::span<std::byte> copy_of(const void* data, uint64_t nbytes) {
    if (data == nullptr || nbytes == 0) return {};
    const std::lock_guard lock(mutex_);
    copies_.emplace_back(
        static_cast<std::byte*>(::operator new (static_cast<size_t>(nbytes), std::align_val_t{kAlignment})));
    std::memcpy(copies_.back().get(), data, static_cast<size_t>(nbytes));
    return {copies_.back().get(), static_cast<size_t>(nbytes)};
  }

  etb_status get(const char* key, etb_payload_view* out, etb_error* error) {
    const etb_status status = from_.get(from_.ctx, key, out, error);
    if (status == ETB_OK && out != nullptr && out->data != nullptr)
      flip_bits(replace(*out, out->nbytes), bits_, seed_ ^ out->nbytes);
    return status;
  }

  etb_named_data from_{}, own_{};
  uint64_t bits_ = 0, seed_ = 0;
  std::mutex mutex_;
  std::deque<std::unique_ptr<std::byte, Free>> copies_;
};

}  // namespace etb::host::fault
