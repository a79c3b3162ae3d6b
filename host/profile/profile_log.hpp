// SPDX-License-Identifier: Apache-2.0
// ProfileLog: events, allocations and values of runs, packed into memory of the caller. Allocates nothing itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "host/runtime/tensor.hpp"

namespace etb::host {

// Provides memory to a log that is full.
class LogMemory {
 public:
  // Returns at least `least_nbytes` that live as long as the log; empty: there are none.
  virtual std::span<std::byte> more(uint64_t least_nbytes) noexcept = 0;

 protected:
  LogMemory() = default;
  LogMemory(const LogMemory&) = default;
  LogMemory& operator=(const LogMemory&) = default;
  ~LogMemory() = default;
};

enum class LogKind : uint8_t { kJump, kName, kBlock, kSpan, kKernel, kInner, kAllocation, kValue };

// Each record begins so, on a boundary of 8 bytes.
struct LogHead {
  uint32_t nbytes;       // of the record, with what follows it
  uint32_t file_nbytes;  // of its events in a file
  LogKind kind;
  uint8_t event_count;  // events in a file
  uint8_t padding;      // bytes at the end that are not used
};

// A name, stored once. Its text follows the struct and ends with a zero byte.
struct LogName {
  LogHead head;
  uint32_t hash;
  LogName* next;               // in the order of adding
  LogName* next_hashed;        // of the same bucket
  uint64_t file_offset;        // among the texts of a file
  uint64_t nbytes;             // of the text
  mutable uint8_t answers[2];  // of the filters of a tracer: 0 unknown
  const char* text() const noexcept { return reinterpret_cast<const char*>(this + 1); }
};

struct LogBlock {
  LogHead head;
  int32_t bundled_input_index;
  LogBlock* next;
  const LogName* name;
  uint64_t events_nbytes;  // sum of file_nbytes; both by add_up_blocks()
  uint32_t event_count;
  bool has_allocators;
};

// kSpan: work with the name. kKernel: the same work twice, as the operator's name and as OPERATOR_CALL.
// kInner: an event inside of a delegate; its metadata follows.
struct LogSpan {
  LogHead head;
  int32_t chain_index, instruction_index, debug_id;
  const LogName* name;  // NULL: debug_id identifies the work
  uint64_t begin_ns, end_ns;
  std::span<const std::byte> metadata() const noexcept {
    return {reinterpret_cast<const std::byte*>(this + 1), head.nbytes - sizeof(LogSpan) - head.padding};
  }
};

struct LogAllocation {
  LogHead head;
  uint32_t allocator;
  uint64_t nbytes;
};

// Followed by `tensor_count` times a LogTensor with its sizes and strides.
struct LogValue {
  LogHead head;
  int32_t chain_index, instruction_index, debug_id;
  const LogName* debug_name;  // of an event inside of a delegate; NULL: debug_id, unless that is -1
  uint32_t tensor_count;
  uint8_t kind;  // as in format::EtdumpValueKind
  bool is_output;
  bool widens_bfloat16;  // bfloat16 tensors were stored as float32
  union {
    int64_t integer;
    double real;
  };
};

struct LogTensor {
  int64_t offset;  // in the debug buffer
  uint32_t rank;
  uint8_t dtype;
};

// The operator of a name of native_name_of(), and other names as they are.
const char* operator_of(const LogName* name) noexcept;

class ProfileLog {
 public:
  static constexpr uint32_t kMaxAllocators = 32;

  // `memory` and `more` (may be NULL) outlive the log.
  explicit ProfileLog(std::span<std::byte> memory, LogMemory* more = nullptr) noexcept;

  // Forgets all records and names; the memory stays.
  void clear() noexcept;

  // Without memory, or when a file of 2 GiB is full, these count what is lost.
  void begin_block(const char* name, int32_t bundled_input_index) noexcept;
  void add_span(LogKind kind, LogSpan span, std::span<const std::byte> metadata = {}) noexcept;
  void add_allocation(uint32_t allocator, uint64_t nbytes) noexcept;
  // `offsets` has the offset of each tensor in the debug buffer.
  void add_value(LogValue value, std::span<const Tensor* const> tensors,
                 std::span<const int64_t> offsets) noexcept;

  // Returns the name with this text, or NULL without memory.
  const LogName* name_of(const char* text) noexcept;
  // The name of an operator's own event: "native_call_add.out" for "aten::add.out".
  const LogName* native_name_of(const char* kernel) noexcept;
  // Index of the allocator of this name. All that have no place share the last one, "other allocators".
  uint32_t allocator_of(const char* name) noexcept;

  // Writes this name among the allocators of the first block, in place of the one of an earlier call. "": the program is
  // not known; an earlier name becomes "several programs".
  void show_program(const char* name) noexcept;

  bool has_block() const noexcept { return block_ != nullptr; }
  uint64_t dropped_count() const noexcept { return dropped_count_; }
  void count_dropped() noexcept { ++dropped_count_; }

  // Called when another method is loaded: the names of its kernels may be where those of other kernels were.
  void forget_pointers() noexcept { cache_.fill({}); }

  // ---- For the writer
  void add_up_blocks() noexcept;  // before the sums of blocks are read
  const LogBlock* first_block() const noexcept { return first_block_; }
  uint32_t block_count() const noexcept { return block_count_; }
  const LogName* first_name() const noexcept { return first_name_; }
  uint64_t names_nbytes() const noexcept { return names_nbytes_; }
  std::span<const LogName* const> allocators() const noexcept {
    return {allocators_.data(), allocator_count_};
  }
  const LogName* operator_call() const noexcept { return operator_call_; }
  // Returns the record after `record` in the same block, or NULL.
  const LogHead* next_of(const LogHead* record) const noexcept;

 private:
  struct Piece {
    Piece* next;
    std::byte *begin, *end;
  };
  struct Jump {
    LogHead head;
    std::byte* target;
  };
  struct Cached {
    const char* pointer = nullptr;
    const LogName* name = nullptr;
    uint32_t skipped = 0;  // characters before the operator's name
  };
  static constexpr size_t kBuckets = 64, kCached = 64;

  std::byte* take(uint64_t nbytes) noexcept;
  bool add_piece(std::span<std::byte> memory) noexcept;
  template <class Record>
  Record* add(LogKind kind, Record record, uint64_t extra_nbytes, uint64_t file_nbytes,
              uint8_t event_count) noexcept;
  const LogName* find_or_add(std::string_view prefix, std::string_view text) noexcept;
  Cached& cached(const char* pointer) noexcept {
    return cache_[(reinterpret_cast<uintptr_t>(pointer) * 0x9E3779B97F4A7C15u >> 58) % kCached];
  }

  LogMemory* more_;
  Piece* first_piece_ = nullptr;
  Piece* piece_ = nullptr;
  std::byte* tail_ = nullptr;  // where the next record begins
  LogBlock* first_block_ = nullptr;
  LogBlock* block_ = nullptr;
  LogName* first_name_ = nullptr;
  LogName* last_name_ = nullptr;
  const LogName* operator_call_ = nullptr;
  uint32_t block_count_ = 0;
  uint64_t names_nbytes_ = 0;
  uint64_t events_nbytes_ = 0;  // of all events and names in a file
  uint64_t dropped_count_ = 0;
  bool is_full_ = false;  // a block could not begin
  std::array<LogName*, kBuckets> buckets_{};
  std::array<Cached, kCached> cache_{};
  std::array<const LogName*, kMaxAllocators> allocators_{};
  uint32_t allocator_count_ = 0;
  const LogName* program_ = nullptr;  // see show_program
};

}  // namespace etb::host
