// SPDX-License-Identifier: Apache-2.0
// A simulated card: it computes in memory of its own, which the host reaches only by copies. Replace it by your driver.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "etb/cpp/result.hpp"

namespace card {

enum class Op : uint32_t { kRelu, kAdd };

class Card;

// A block in the memory of a card. It keeps the card open.
class Memory {
 public:
  Memory() = default;
  Memory(std::shared_ptr<Card> card, uint64_t nbytes);
  Memory(Memory&& other) noexcept = default;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory() { reset(); }
  void reset();

  uint64_t nbytes() const { return nbytes_; }
  void write(const void* from, uint64_t nbytes) { std::memcpy(bytes_.get(), from, nbytes); }
  void read(void* to, uint64_t nbytes) const { std::memcpy(to, bytes_.get(), nbytes); }
  // For the card itself.
  float* floats() { return reinterpret_cast<float*>(bytes_.get()); }
  const float* floats() const { return reinterpret_cast<const float*>(bytes_.get()); }

 private:
  std::shared_ptr<Card> card_;
  std::unique_ptr<std::byte[]> bytes_;
  uint64_t nbytes_ = 0;
};

class Card : public std::enable_shared_from_this<Card> {
 public:
  static constexpr uint64_t kMemoryBytes = uint64_t{64} << 20;
  static constexpr const char* kDriver = "1.0";

  uint64_t free_bytes() const { return kMemoryBytes - used_; }

  // `limit_bytes`: of all that is in use after the call.
  etb::Result<Memory> allocate(uint64_t nbytes, uint64_t limit_bytes = kMemoryBytes) {
    const uint64_t free = limit_bytes - std::min<uint64_t>(used_, limit_bytes);
    if (nbytes > free)
      return etb::make_error(etb::Code::OUT_OF_MEMORY, "card: " + std::to_string(nbytes) +
                                                           " bytes, free are " + std::to_string(free) +
                                                           " of " + std::to_string(limit_bytes));
    return Memory(shared_from_this(), nbytes);
  }

  static constexpr uint64_t kMostProgramBytes = 64;
  // Makes the program of an op, at most kMostProgramBytes, which takes a real card's compiler a while.
  static std::string assemble(Op op) {
    return std::string("card program, driver ") + kDriver + (op == Op::kAdd ? ", add" : ", relu");
  }

  // Computes `count` elements. `keep_going` is asked now and then.
  template <class KeepGoing>
  etb::Status run(Op op, const Memory& a, const Memory* b, Memory& out, size_t count,
                  const KeepGoing& keep_going) {
    const std::lock_guard lock(busy_);  // one program at a time
    constexpr size_t kSlice = 4096;
    for (size_t begin = 0; begin < count; begin += kSlice) {
      ETB_TRY(keep_going());
      for (size_t i = begin; i < std::min(begin + kSlice, count); ++i) {
        const float x = a.floats()[i];
        out.floats()[i] = op == Op::kAdd ? x + b->floats()[i] : x > 0 || x != x ? x : 0;
      }
    }
    return {};
  }

 private:
  friend class Memory;
  std::mutex busy_;
  std::atomic<uint64_t> used_{0};
};

inline Memory::Memory(std::shared_ptr<Card> card, uint64_t nbytes)
    : card_(std::move(card)), bytes_(new std::byte[nbytes]), nbytes_(nbytes) {
  card_->used_ += nbytes;
}
inline Memory& Memory::operator=(Memory&& other) noexcept {
  reset();
  card_ = std::move(other.card_);
  bytes_ = std::move(other.bytes_);
  nbytes_ = other.nbytes_;
  return *this;
}
inline void Memory::reset() {
  if (card_ != nullptr) card_->used_ -= nbytes_;
  card_.reset();
  bytes_.reset();
}

}  // namespace card
