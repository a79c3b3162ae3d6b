// SPDX-License-Identifier: Apache-2.0
#include "host/profile/profile_log.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "host/profile/etdump_layout.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {
namespace {

constexpr uint64_t round_up(uint64_t nbytes) noexcept { return (nbytes + 7) & ~uint64_t{7}; }

// Events of one file, with room for what is not an event.
constexpr uint64_t kMaxEventsNbytes = uint64_t{1} << 30;

constexpr std::string_view kNativePrefix = "native_call_";

// Bytes of a piece that its own fields, alignment and the jump to the next piece may take.
constexpr uint64_t kPieceNbytes = 64;

}  // namespace

const char* operator_of(const LogName* name) noexcept {
  const bool is_native = std::string_view(name->text(), name->nbytes).starts_with(kNativePrefix);
  return name->text() + (is_native ? kNativePrefix.size() : 0);
}

ProfileLog::ProfileLog(std::span<std::byte> memory, LogMemory* more) noexcept : more_(more) {
  add_piece(memory);
  clear();
}

void ProfileLog::clear() noexcept {
  piece_ = first_piece_;
  tail_ = piece_ == nullptr ? nullptr : piece_->begin;
  first_block_ = block_ = nullptr;
  first_name_ = last_name_ = nullptr;
  block_count_ = allocator_count_ = 0;
  program_ = nullptr;
  names_nbytes_ = events_nbytes_ = dropped_count_ = 0;
  buckets_.fill(nullptr);
  forget_pointers();
  is_full_ = false;
  operator_call_ = name_of("OPERATOR_CALL");
}

bool ProfileLog::add_piece(std::span<std::byte> memory) noexcept {
  const size_t skipped = -reinterpret_cast<uintptr_t>(memory.data()) & 7;
  if (memory.size() < skipped + kPieceNbytes) return false;
  memory = memory.subspan(skipped);
  std::byte* const begin = memory.data() + round_up(sizeof(Piece));
  auto* const piece = new (memory.data()) Piece{nullptr, begin, memory.data() + (memory.size() & ~size_t{7})};
  (first_piece_ == nullptr ? first_piece_ : piece_->next) = piece;
  return true;
}

// Each piece keeps room for a jump to the next one.
std::byte* ProfileLog::take(uint64_t nbytes) noexcept {
  const auto get_piece = [&] {
    return more_ != nullptr && add_piece(more_->more(nbytes + sizeof(Jump) + kPieceNbytes));
  };
  if (piece_ == nullptr) {
    if (!get_piece()) return nullptr;
    piece_ = first_piece_;
    tail_ = piece_->begin;
  }
  while (static_cast<uint64_t>(piece_->end - tail_) < nbytes + sizeof(Jump)) {
    if (piece_->next == nullptr && !get_piece()) return nullptr;
    new (tail_) Jump{{sizeof(Jump), 0, LogKind::kJump, 0, 0}, piece_->next->begin};
    piece_ = piece_->next;
    tail_ = piece_->begin;
  }
  std::byte* const taken = tail_;
  tail_ += nbytes;
  return taken;
}

template <class Record>
Record* ProfileLog::add(LogKind kind, Record record, uint64_t extra_nbytes, uint64_t file_nbytes,
                        uint8_t event_count) noexcept {
  const uint64_t nbytes = sizeof(Record) + extra_nbytes, rounded = round_up(nbytes);
  std::byte* const place =
      is_full_ || events_nbytes_ + file_nbytes > kMaxEventsNbytes || rounded > kMaxEventsNbytes
          ? nullptr
          : take(rounded);
  if (place == nullptr) {
    if (event_count != 0) ++dropped_count_;
    return nullptr;
  }
  record.head = {static_cast<uint32_t>(rounded), static_cast<uint32_t>(file_nbytes), kind, event_count,
                 static_cast<uint8_t>(rounded - nbytes)};
  events_nbytes_ += file_nbytes;
  return new (place) Record(record);
}

void ProfileLog::begin_block(const char* name, int32_t bundled_input_index) noexcept {
  const LogName* const found = name_of(name);
  LogBlock* const added =
      found == nullptr
          ? nullptr
          : add(LogKind::kBlock, LogBlock{{}, bundled_input_index, nullptr, found, 0, 0, false}, 0, 0, 0);
  if (added == nullptr) {
    is_full_ = true;  // later events must not become events of the block before
    return;
  }
  (block_ == nullptr ? first_block_ : block_->next) = added;
  block_ = added;
  ++block_count_;
}

void ProfileLog::add_span(LogKind kind, LogSpan span, std::span<const std::byte> metadata) noexcept {
  if (block_ == nullptr || (span.name == nullptr && kind != LogKind::kInner)) return count_dropped();
  const bool is_kernel = kind == LogKind::kKernel;
  const uint64_t file_nbytes = kind == LogKind::kInner
                                   ? kEventNbytes + kInnerNbytes + vector_nbytes(metadata.size())
                                   : (kEventNbytes + kSpanNbytes) * (is_kernel ? 2 : 1);
  LogSpan* const added =
      add(kind, span, metadata.size(), file_nbytes, static_cast<uint8_t>(is_kernel ? 2 : 1));
  if (added != nullptr && !metadata.empty()) std::memcpy(added + 1, metadata.data(), metadata.size());
}

void ProfileLog::add_allocation(uint32_t allocator, uint64_t nbytes) noexcept {
  if (block_ == nullptr || allocator >= allocator_count_) return count_dropped();
  if (add(LogKind::kAllocation, LogAllocation{{}, allocator, nbytes}, 0, kEventNbytes + kAllocationNbytes,
          1) != nullptr)
    block_->has_allocators = true;
}

void ProfileLog::add_value(LogValue value, std::span<const Tensor* const> tensors,
                           std::span<const int64_t> offsets) noexcept {
  if (block_ == nullptr) return count_dropped();
  uint64_t extra_nbytes = 0, tensors_nbytes = 0;
  for (const Tensor* tensor : tensors) {
    extra_nbytes += sizeof(LogTensor) + 2 * sizeof(int64_t) * tensor->sizes().size();
    tensors_nbytes += tensor_nbytes(static_cast<uint64_t>(tensor->rank()));
  }
  value.tensor_count = static_cast<uint32_t>(tensors.size());
  const uint64_t file_nbytes = kEventNbytes + kDebugNbytes + value_nbytes(value) + tensors_nbytes;
  LogValue* const added = add(LogKind::kValue, value, extra_nbytes, file_nbytes, 1);
  if (added == nullptr) return;
  auto* place = reinterpret_cast<std::byte*>(added + 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = *tensors[i];
    const size_t rank = tensor.sizes().size();
    const Dtype dtype =
        value.widens_bfloat16 && tensor.dtype() == Dtype::BFLOAT16 ? Dtype::FLOAT32 : tensor.dtype();
    new (place) LogTensor{offsets[i], static_cast<uint32_t>(rank), static_cast<uint8_t>(dtype)};
    place += sizeof(LogTensor);
    if (rank == 0) continue;
    std::memcpy(place, tensor.sizes().data(), rank * sizeof(int64_t));
    std::memcpy(place + rank * sizeof(int64_t), tensor.strides().data(), rank * sizeof(int64_t));
    place += 2 * rank * sizeof(int64_t);
  }
}

const LogName* ProfileLog::find_or_add(std::string_view prefix, std::string_view text) noexcept {
  const uint32_t hash = hash_name(text, hash_name(prefix));
  LogName*& bucket = buckets_[hash % kBuckets];
  const uint64_t nbytes = prefix.size() + text.size();
  for (const LogName* name = bucket; name != nullptr; name = name->next_hashed) {
    if (name->hash == hash && name->nbytes == nbytes &&
        std::string_view(name->text(), prefix.size()) == prefix &&
        std::string_view(name->text() + prefix.size(), text.size()) == text)
      return name;
  }
  LogName* const added = add(LogKind::kName, LogName{{}, hash, nullptr, bucket, names_nbytes_, nbytes, {}},
                             nbytes + 1, text_nbytes(nbytes), 0);
  if (added == nullptr) return nullptr;
  auto* const out = reinterpret_cast<char*>(added + 1);
  std::copy(prefix.begin(), prefix.end(), out);
  std::copy(text.begin(), text.end(), out + prefix.size());
  out[nbytes] = '\0';
  names_nbytes_ += text_nbytes(nbytes);
  (last_name_ == nullptr ? first_name_ : last_name_->next) = added;
  last_name_ = added;
  return bucket = added;
}

// The memory of a text may have another text later, so that a cached pointer alone does not identify it. Names of
// kernels stay where they are until another method is loaded.
const LogName* ProfileLog::name_of(const char* text) noexcept {
  Cached& cached = this->cached(text);
  if (cached.pointer == text && cached.skipped == 0 && std::strcmp(cached.name->text(), text) == 0)
    return cached.name;
  const LogName* const name = find_or_add({}, text);
  if (name != nullptr) cached = {text, name, 0};
  return name;
}

const LogName* ProfileLog::native_name_of(const char* kernel) noexcept {
  Cached& cached = this->cached(kernel);
  if (cached.pointer == kernel && cached.skipped != 0) return cached.name;
  const char* const colons = std::strstr(kernel, "::");
  const auto skipped = colons == nullptr ? 0u : static_cast<uint32_t>(colons + 2 - kernel);
  const LogName* const name = find_or_add(kNativePrefix, kernel + skipped);
  if (name != nullptr && skipped != 0) cached = {kernel, name, skipped};
  return name;
}

uint32_t ProfileLog::allocator_of(const char* name) noexcept {
  const LogName* found = name_of(name);
  for (uint32_t i = 0; i < allocator_count_; ++i) {
    if (allocators_[i] == found) return i;
  }
  if (found == nullptr || allocator_count_ == kMaxAllocators) return kMaxAllocators - 1;
  if (allocator_count_ == kMaxAllocators - 1) found = name_of("other allocators");
  if (found == nullptr) return kMaxAllocators - 1;
  allocators_[allocator_count_] = found;
  return allocator_count_++;
}

void ProfileLog::show_program(const char* name) noexcept {
  if (name[0] == '\0' && program_ == nullptr) return;
  const LogName* const found = name_of(name[0] == '\0' ? "several programs" : name);
  if (found == nullptr) return;
  // Allocations refer to names by index, so a name is replaced and never removed.
  if (program_ != nullptr)
    std::replace(allocators_.begin(), allocators_.begin() + allocator_count_, program_, found);
  else
    static_cast<void>(allocator_of(found->text()));
  program_ = found;
  if (first_block_ != nullptr) first_block_->has_allocators = allocator_count_ != 0;
}

void ProfileLog::add_up_blocks() noexcept {
  for (LogBlock* block = first_block_; block != nullptr; block = block->next) {
    block->events_nbytes = block->event_count = 0;
    for (const LogHead* record = next_of(&block->head); record != nullptr; record = next_of(record)) {
      block->events_nbytes += record->file_nbytes;
      block->event_count += record->event_count;
    }
  }
}

const LogHead* ProfileLog::next_of(const LogHead* record) const noexcept {
  do {
    const auto* next = reinterpret_cast<const std::byte*>(record) + record->nbytes;
    if (next == tail_) return nullptr;
    record = reinterpret_cast<const LogHead*>(next);
    if (record->kind == LogKind::kJump) {
      next = reinterpret_cast<const Jump*>(record)->target;
      if (next == tail_) return nullptr;
      record = reinterpret_cast<const LogHead*>(next);
    }
  } while (record->kind == LogKind::kName);
  return record->kind == LogKind::kBlock ? nullptr : record;
}

}  // namespace etb::host
