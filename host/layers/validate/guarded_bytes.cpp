#include "host/layers/validate/guarded_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace etb::host::validate {
namespace {

constexpr uint64_t kCanaryNbytes = 64;  // one cache line: a vector store beyond the end lands in it
constexpr uint8_t kCanary = 0xc9;

uint64_t round_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
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

GuardedBytes::GuardedBytes(ValidateOptions::Memory memory, uint64_t nbytes, uint64_t alignment)
    : nbytes_(nbytes) {
  alignment = std::max<uint64_t>(alignment, 16);
  if (memory == ValidateOptions::Memory::GUARD_PAGES && alignment <= 4096) {
    pages_ = std::make_unique<WatchedPages>(std::max<uint64_t>(nbytes, 1));
    if (pages_->is_valid()) {
      front_ = pages_->begin();
      back_ = pages_->end();
      data_ = back_ - round_up(nbytes, alignment);
    } else {
      pages_.reset();  // out of slots or memory: canaries are better than nothing
    }
  }
  if (pages_ == nullptr) {
    const uint64_t front_nbytes = round_up(kCanaryNbytes, alignment);
    heap_.reset(new uint8_t[front_nbytes + nbytes + kCanaryNbytes + alignment]);
    const auto start = reinterpret_cast<uintptr_t>(heap_.get());
    data_ = heap_.get() + (round_up(start, alignment) - start) + front_nbytes;
    front_ = data_ - kCanaryNbytes;
    back_ = data_ + nbytes + kCanaryNbytes;
  }
  std::memset(front_, kCanary, static_cast<size_t>(data_ - front_));
  std::memset(data_ + nbytes_, kCanary, static_cast<size_t>(back_ - data_ - nbytes_));
}

void GuardedBytes::seal() noexcept {
  sealed_ = true;
  if (pages_ != nullptr) return pages_->allow_reads();
  sealed_hash_ = hash_bytes(data_, nbytes_);
}

void GuardedBytes::close() noexcept {
  closed_ = true;
  if (pages_ != nullptr) pages_->allow_nothing();
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
  const char* const verb = fault.is_write ? "write" : "read";
  const auto data = reinterpret_cast<uintptr_t>(data_);
  if (fault.address < data) return fmt::format("{} {} bytes before its begin", verb, data - fault.address);
  if (fault.address >= data + nbytes_)
    return fmt::format("{} {} bytes behind its end", verb, fault.address - data - nbytes_);
  return fmt::format("{} at byte {} of {}", verb, fault.address - data, nbytes_);
}

std::optional<std::string> GuardedBytes::describe_canary() {
  const auto is_damaged = [](uint8_t byte) { return byte != kCanary; };
  uint8_t* const end = data_ + nbytes_;
  const uint8_t* const behind = std::find_if(end, back_, is_damaged);
  if (behind != back_) {
    auto text = fmt::format("write {} bytes behind its end", behind - end);
    std::memset(end, kCanary, static_cast<size_t>(back_ - end));
    return text;
  }
  const uint8_t* const before = std::find_if(front_, data_, is_damaged);
  if (before != data_) {
    auto text = fmt::format("write {} bytes before its begin", data_ - before);
    std::memset(front_, kCanary, static_cast<size_t>(data_ - front_));
    return text;
  }
  if (sealed_ && pages_ == nullptr && hash_bytes(data_, nbytes_) != sealed_hash_) {
    sealed_hash_ = hash_bytes(data_, nbytes_);
    return fmt::format("write into its {} bytes", nbytes_);
  }
  return std::nullopt;
}

}  // namespace etb::host::validate
