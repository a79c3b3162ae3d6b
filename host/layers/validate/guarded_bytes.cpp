// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/guarded_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace etb::host::validate {
namespace {

constexpr uint64_t kCanaryNbytes = 64;  // one cache line: a vector store past the end writes to it
constexpr uint8_t kCanary = 0xc9;

uint64_t round_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool holds_pattern(const uint8_t* bytes, uint64_t nbytes) {
  return nbytes == 0 || (bytes[0] == kCanary && std::memcmp(bytes, bytes + 1, nbytes - 1) == 0);
}

}  // namespace

uint64_t hash_bytes(const void* data, uint64_t nbytes) noexcept {
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint64_t hash = nbytes * kPrime;
  for (; nbytes >= 8; bytes += 8, nbytes -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  }
  for (; nbytes > 0; ++bytes, --nbytes) hash = (hash ^ *bytes) * kPrime;
  return hash ^ hash >> 32;
}

GuardedBytes::GuardedBytes(ValidateOptions::Memory memory, uint64_t nbytes, uint64_t alignment, Access access,
                           GuardSide side)
    : nbytes_(nbytes) {
  alignment = std::max<uint64_t>(alignment, 16);
  if (memory == ValidateOptions::Memory::GUARD_PAGES && alignment <= 4096) {
    pages_ = std::make_unique<WatchedPages>(std::max<uint64_t>(nbytes, 1), access);
    if (pages_->is_valid()) {
      const uint64_t room = static_cast<uint64_t>(pages_->end() - pages_->begin());
      front_nbytes_ = side == GuardSide::kAtEnd ? room - round_up(nbytes, alignment) : 0;
      back_nbytes_ = room - front_nbytes_ - nbytes;
      data_ = pages_->begin() + front_nbytes_;
      inside_offset_ = pages_->inside() - pages_->begin();
    } else {
      pages_.reset();  // out of slots or memory: use canaries instead
    }
  }
  if (pages_ == nullptr) {
    const uint64_t front_nbytes = round_up(kCanaryNbytes, alignment);
    heap_.reset(new uint8_t[front_nbytes + nbytes + kCanaryNbytes + alignment]);
    const auto start = reinterpret_cast<uintptr_t>(heap_.get());
    data_ = heap_.get() + (round_up(start, alignment) - start) + front_nbytes;
    front_nbytes_ = back_nbytes_ = kCanaryNbytes;
  } else if (access != Access::kWrites) {
    front_nbytes_ = back_nbytes_ = 0;  // a write faults anyway
  }
  std::memset(inside() - front_nbytes_, kCanary, front_nbytes_);
  std::memset(inside() + nbytes_, kCanary, back_nbytes_);
}

void GuardedBytes::seal() noexcept {
  sealed_ = true;
  if (pages_ != nullptr) return pages_->allow(Access::kReads);
  sealed_hash_ = hash_bytes(data_, nbytes_);
}

void GuardedBytes::close() noexcept {
  closed_ = true;
  if (pages_ != nullptr) pages_->allow(Access::kNothing);
}

std::optional<std::string> GuardedBytes::take_damage() {
  if (pages_ != nullptr)
    if (auto fault = describe_fault()) return fault;
  if (closed_) return std::nullopt;
  return describe_canary();
}

std::optional<std::string> GuardedBytes::describe_fault() {
  Fault fault;
  if (!pages_->take_fault(fault)) return std::nullopt;
  constexpr const char* kVerbs[] = {"access", "read", "write"};  // by FaultKind
  const char* const verb = kVerbs[static_cast<size_t>(fault.kind)];
  const auto data = reinterpret_cast<uintptr_t>(data_);
  if (fault.address < data)
    return fmt::format("{} {} bytes before its beginning", verb, data - fault.address);
  if (fault.address >= data + nbytes_)
    return fmt::format("{} {} bytes after its end", verb, fault.address - data - nbytes_);
  return fmt::format("{} at byte {} of {}", verb, fault.address - data, nbytes_);
}

std::optional<std::string> GuardedBytes::describe_canary() {
  const auto is_damaged = [](uint8_t byte) { return byte != kCanary; };
  uint8_t* const end = inside() + nbytes_;
  if (!holds_pattern(end, back_nbytes_)) {
    auto text =
        fmt::format("write {} bytes after its end", std::find_if(end, end + back_nbytes_, is_damaged) - end);
    std::memset(end, kCanary, back_nbytes_);
    return text;
  }
  uint8_t* const front = inside() - front_nbytes_;
  if (!holds_pattern(front, front_nbytes_)) {
    auto text = fmt::format("write {} bytes before its beginning",
                            inside() - std::find_if(front, inside(), is_damaged));
    std::memset(front, kCanary, front_nbytes_);
    return text;
  }
  if (sealed_ && pages_ == nullptr && hash_bytes(data_, nbytes_) != sealed_hash_) {
    sealed_hash_ = hash_bytes(data_, nbytes_);
    return fmt::format("write into its {} bytes", nbytes_);
  }
  return std::nullopt;
}

}  // namespace etb::host::validate
