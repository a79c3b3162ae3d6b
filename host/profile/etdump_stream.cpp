// SPDX-License-Identifier: Apache-2.0
// A flatbuffer is usually built back to front, with its strings first. Here all sizes are known before the first byte
// is written, and each offset leads forward: tables, then vectors, then events, then texts.
#include "host/profile/etdump_stream.hpp"

#include <algorithm>
#include <cstring>

#include "host/profile/etdump_layout.hpp"

namespace etb::host {
namespace {

// ---- Vtables: bytes of the vtable, bytes of the table, then the offset of each field in the table, 0: absent.
// Alike shapes share one. The fields are those of api/schema/etdump.fbs, in its order.
constexpr uint16_t kOneField[] = {
    6, 8, 4};  // Dump less its version, Event of a span, Allocator, lists, bool, float
constexpr uint16_t kSecondField[] = {8, 8, 0, 4};     // Dump, Event of an allocation
constexpr uint16_t kThirdField[] = {10, 8, 0, 0, 4};  // Event of a value
constexpr uint16_t kLongField[] = {6, 16, 8};         // int and double
constexpr uint16_t kBlockTable[] = {12, 20, 4, 8, 0, 12};
constexpr uint16_t kBlockWithAllocators[] = {12, 20, 4, 8, 16, 12};
constexpr uint16_t kSpanTable[] = {20, 32, 4, 24, 28, 0, 0, 0, 8, 16};
constexpr uint16_t kInnerByName[] = {20, 36, 0, 24, 28, 0, 4, 32, 8, 16};
constexpr uint16_t kInnerById[] = {20, 36, 0, 24, 28, 4, 0, 32, 8, 16};
constexpr uint16_t kAllocationTable[] = {8, 16, 4, 8};
constexpr uint16_t kDebugById[] = {12, 24, 8, 16, 4, 20};
constexpr uint16_t kDebugByName[] = {14, 28, 8, 16, 4, 0, 24};
constexpr uint16_t kTensorTable[] = {12, 24, 12, 4, 8, 16};

enum Vtable : uint8_t {
  kOne,
  kSecond,
  kThird,
  kLong,
  kBlock,
  kBlockA,
  kSpan,
  kInnerN,
  kInnerI,
  kAllocation,
  kDebugI,
  kDebugN,
  kTensor,
  kFixedVtables
};
constexpr std::span<const uint16_t> kVtables[] = {
    kOneField,    kSecondField, kThirdField,      kLongField, kBlockTable,  kBlockWithAllocators, kSpanTable,
    kInnerByName, kInnerById,   kAllocationTable, kDebugById, kDebugByName, kTensorTable};
static_assert(std::size(kVtables) == kFixedVtables);

// Vtables of values: one for each kind, with and without the mark of an output.
constexpr uint8_t kKinds = 8;
constexpr uint32_t kValueVtableNbytes = 20;
struct ValueVtable {
  uint16_t entries[kValueVtableNbytes / 2];
};
constexpr ValueVtable value_vtable(uint8_t kind, bool is_output) noexcept {
  // Position among the fields kind, tensor, list, int, float, double, bool, output; of each kind.
  constexpr uint8_t kField[kKinds] = {0, 3, 6, 4, 5, 1, 2, 0};
  ValueVtable table{{kValueVtableNbytes, 16, 12}};
  if (kField[kind] != 0) table.entries[2 + kField[kind]] = 4;
  if (is_output) table.entries[2 + 7] = 8;
  return table;
}

constexpr uint32_t kVtablesBegin = 12;
constexpr uint32_t vtable_begin(uint8_t vtable) noexcept {
  uint32_t at = kVtablesBegin;
  for (uint8_t i = 0; i < vtable; ++i) at += static_cast<uint32_t>(kVtables[i].size_bytes());
  return at;
}
constexpr uint32_t kValueVtablesBegin = vtable_begin(kFixedVtables);
constexpr uint32_t kVtablesEnd = kValueVtablesBegin + 2 * kKinds * kValueVtableNbytes;
constexpr uint32_t kDump = (kVtablesEnd + 7) & ~7u;
constexpr uint32_t kBlockNbytes = 24;

uint64_t allocators_nbytes(const ProfileLog& log) noexcept {
  const uint64_t count = log.allocators().size();
  return offsets_nbytes(count) + 8 * count;
}

uint64_t block_nbytes(const ProfileLog& log, const LogBlock& block) noexcept {
  return (block.has_allocators ? allocators_nbytes(log) : 0) + offsets_nbytes(block.event_count) +
         block.events_nbytes;
}

// Collects bytes into pieces, so that the sink is called seldom.
class Output {
 public:
  explicit Output(ByteSink& sink) noexcept : sink_(sink) {}
  uint64_t position() const noexcept { return position_; }
  bool is_ok() const noexcept { return is_ok_; }

  void bytes(const void* from, size_t count) noexcept {
    position_ += count;
    const auto* next = static_cast<const std::byte*>(from);
    while (count != 0) {
      const size_t taken = std::min(count, sizeof(buffer_) - used_);
      std::memcpy(buffer_ + used_, next, taken);
      used_ += taken, next += taken, count -= taken;
      if (used_ == sizeof(buffer_)) flush();
    }
  }
  template <class T>
  void number(T value) noexcept {
    bytes(&value, sizeof(value));
  }
  void u32(uint64_t value) noexcept { number(static_cast<uint32_t>(value)); }
  void pad(uint64_t boundary) noexcept {
    constexpr std::byte kZeros[8] = {};
    bytes(kZeros, static_cast<size_t>(-position_ & (boundary - 1)));
  }
  void table(uint32_t vtable) noexcept { u32(position_ - vtable); }
  void offset_to(uint64_t target) noexcept { u32(target - position_); }
  void flush() noexcept {
    is_ok_ = is_ok_ && sink_.write({buffer_, used_});
    used_ = 0;
  }

 private:
  ByteSink& sink_;
  uint64_t position_ = 0;
  size_t used_ = 0;
  bool is_ok_ = true;
  std::byte buffer_[512];
};

class EtdumpStream {
 public:
  EtdumpStream(ProfileLog& log, ByteSink& sink) noexcept : log_(log), out_(sink) {}

  bool write() noexcept {
    write_header();
    for (const LogBlock* block = log_.first_block(); block != nullptr; block = block->next)
      write_events(*block);
    for (const LogName* name = log_.first_name(); name != nullptr; name = name->next) {
      out_.u32(name->nbytes);
      out_.bytes(name->text(), name->nbytes + 1);
      out_.pad(4);
    }
    out_.flush();
    return out_.is_ok();
  }

 private:
  void name(const LogName* name) noexcept { out_.offset_to(names_begin_ + name->file_offset); }

  void write_header() noexcept {
    const uint64_t blocks_begin = kDump + 8 + offsets_nbytes(log_.block_count());
    uint64_t content = blocks_begin + uint64_t{kBlockNbytes} * log_.block_count();
    const uint64_t nbytes = etdump_nbytes(log_);
    names_begin_ = nbytes - log_.names_nbytes();
    out_.u32(nbytes - 4);
    out_.offset_to(kDump);
    out_.bytes("ED00", 4);
    for (const auto& vtable : kVtables) out_.bytes(vtable.data(), vtable.size_bytes());
    for (uint8_t i = 0; i < 2 * kKinds; ++i) {
      const ValueVtable vtable = value_vtable(i / 2, i % 2 != 0);
      out_.bytes(vtable.entries, sizeof(vtable.entries));
    }
    out_.pad(8);
    out_.table(vtable_begin(kSecond));
    out_.u32(4);  // the vector begins after this number
    out_.u32(log_.block_count());
    for (uint32_t i = 0; i < log_.block_count(); ++i)
      out_.offset_to(blocks_begin + uint64_t{kBlockNbytes} * i);
    out_.pad(8);
    for (const LogBlock* block = log_.first_block(); block != nullptr; block = block->next) {
      out_.table(vtable_begin(block->has_allocators ? kBlockA : kBlock));
      name(block->name);
      out_.number(block->bundled_input_index);
      const uint64_t allocators = block->has_allocators ? allocators_nbytes(log_) : 0;
      out_.offset_to(content + allocators);
      if (block->has_allocators)
        out_.offset_to(content);
      else
        out_.u32(0);
      out_.pad(8);
      content += block_nbytes(log_, *block);
    }
  }

  void write_events(const LogBlock& block) noexcept {
    if (block.has_allocators) write_allocators();
    uint64_t next = out_.position() + offsets_nbytes(block.event_count);
    out_.u32(block.event_count);
    for (const LogHead* record = log_.next_of(&block.head); record != nullptr;
         record = log_.next_of(record)) {
      const uint64_t nbytes = record->file_nbytes / record->event_count;
      for (uint8_t i = 0; i < record->event_count; ++i, next += nbytes) out_.offset_to(next);
    }
    out_.pad(8);
    for (const LogHead* record = log_.next_of(&block.head); record != nullptr; record = log_.next_of(record))
      write_record(*record);
  }

  void write_allocators() noexcept {
    const auto allocators = log_.allocators();
    const uint64_t begin = out_.position() + offsets_nbytes(allocators.size());
    out_.u32(allocators.size());
    for (size_t i = 0; i < allocators.size(); ++i) out_.offset_to(begin + 8 * i);
    out_.pad(8);
    for (const LogName* allocator : allocators) {
      out_.table(vtable_begin(kOne));
      name(allocator);
    }
  }

  // The table of an event is before the table that it leads to.
  void begin_event(Vtable vtable) noexcept {
    out_.table(vtable_begin(vtable));
    out_.u32(4);
  }

  void write_record(const LogHead& record) noexcept {
    switch (record.kind) {
      case LogKind::kSpan:
        return write_span(reinterpret_cast<const LogSpan&>(record), nullptr);
      case LogKind::kKernel:
        write_span(reinterpret_cast<const LogSpan&>(record), nullptr);
        return write_span(reinterpret_cast<const LogSpan&>(record), log_.operator_call());
      case LogKind::kInner:
        return write_inner(reinterpret_cast<const LogSpan&>(record));
      case LogKind::kAllocation:
        return write_allocation(reinterpret_cast<const LogAllocation&>(record));
      case LogKind::kValue:
        return write_value(reinterpret_cast<const LogValue&>(record));
      case LogKind::kJump:
      case LogKind::kName:
      case LogKind::kBlock:
        return;
    }
  }

  void write_times(const LogSpan& span) noexcept {
    out_.number(span.begin_ns);
    out_.number(span.end_ns);
    out_.number(span.chain_index);
    out_.number(span.instruction_index);
  }

  void write_span(const LogSpan& span, const LogName* other_name) noexcept {
    begin_event(kOne);
    out_.table(vtable_begin(kSpan));
    name(other_name != nullptr ? other_name : span.name);
    write_times(span);
  }

  void write_inner(const LogSpan& span) noexcept {
    begin_event(kOne);
    out_.table(vtable_begin(span.name != nullptr ? kInnerN : kInnerI));
    if (span.name != nullptr)
      name(span.name);
    else
      out_.number(span.debug_id);
    write_times(span);
    out_.u32(8);  // the metadata begins after four bytes that pad
    out_.pad(8);
    const auto metadata = span.metadata();
    out_.u32(metadata.size());
    out_.bytes(metadata.data(), metadata.size());
    out_.pad(8);
  }

  void write_allocation(const LogAllocation& allocation) noexcept {
    begin_event(kSecond);
    out_.table(vtable_begin(kAllocation));
    out_.number(allocation.allocator);
    out_.number(allocation.nbytes);
  }

  void write_value(const LogValue& value) noexcept {
    begin_event(kThird);
    const uint64_t table = out_.position();
    out_.table(vtable_begin(value.debug_name != nullptr ? kDebugN : kDebugI));
    out_.offset_to(table + kDebugNbytes);
    out_.number(static_cast<uint64_t>(int64_t{value.chain_index}));
    out_.number(value.instruction_index);
    out_.number(value.debug_id);
    if (value.debug_name != nullptr)
      name(value.debug_name);
    else
      out_.u32(0);
    out_.pad(8);
    const uint64_t field = out_.position() + kValueNbytes + (value.is_output ? 8 : 0);
    out_.table(kValueVtablesBegin + kValueVtableNbytes * (2u * value.kind + (value.is_output ? 1 : 0)));
    out_.offset_to(field);
    out_.u32(value.is_output ? 8 : 0);  // after this number and the kind
    out_.u32(value.kind);
    if (value.is_output) write_bool(true);
    write_field(value);
  }

  void write_bool(bool value) noexcept {
    out_.table(vtable_begin(kOne));
    out_.u32(value ? 1 : 0);
  }

  void write_field(const LogValue& value) noexcept {
    constexpr uint8_t kInt = 1, kBool = 2, kFloat = 3, kDouble = 4, kTensorKind = 5, kList = 6;
    const auto* next = reinterpret_cast<const std::byte*>(&value + 1);
    switch (value.kind) {
      case kInt:
      case kDouble:
        out_.table(vtable_begin(kLong));
        out_.u32(0);
        return out_.number(value.integer);
      case kBool:
        return write_bool(value.integer != 0);
      case kFloat:
        out_.table(vtable_begin(kOne));
        return out_.number(static_cast<float>(value.real));
      case kTensorKind:
        write_tensor(next);
        return;
      case kList:
        write_list(value, next);
        return;
      default:
        return;
    }
  }

  void write_list(const LogValue& value, const std::byte* next) noexcept {
    out_.table(vtable_begin(kOne));
    out_.u32(4);
    uint64_t place = out_.position() + offsets_nbytes(value.tensor_count);
    out_.u32(value.tensor_count);
    const std::byte* tensor = next;
    for (uint32_t i = 0; i < value.tensor_count; ++i) {
      out_.offset_to(place);
      const uint32_t rank = reinterpret_cast<const LogTensor*>(tensor)->rank;
      place += tensor_nbytes(rank);
      tensor += sizeof(LogTensor) + 2 * sizeof(int64_t) * rank;
    }
    out_.pad(8);
    for (uint32_t i = 0; i < value.tensor_count; ++i) next = write_tensor(next);
  }

  // Returns the end of the tensor in the log.
  const std::byte* write_tensor(const std::byte* from) noexcept {
    const auto& tensor = *reinterpret_cast<const LogTensor*>(from);
    const uint64_t table = out_.position(), dims_nbytes = uint64_t{tensor.rank} * sizeof(int64_t);
    const uint64_t sizes = table + kTensorNbytes + 4;
    out_.table(vtable_begin(kTensor));
    out_.offset_to(sizes);
    out_.offset_to(sizes + 8 + dims_nbytes);
    out_.u32(tensor.dtype);
    out_.number(tensor.offset);
    const std::byte* dims = from + sizeof(LogTensor);
    for (int i = 0; i < 2; ++i, dims += dims_nbytes) {
      out_.u32(0);  // pads, so that the numbers begin on a boundary of 8 bytes
      out_.u32(tensor.rank);
      out_.bytes(dims, dims_nbytes);
    }
    return dims;
  }

  ProfileLog& log_;
  Output out_;
  uint64_t names_begin_ = 0;
};

}  // namespace

bool BufferByteSink::write(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() > buffer_.size() - used_) return false;
  if (!bytes.empty()) std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
  return true;
}

uint64_t etdump_nbytes(ProfileLog& log) noexcept {
  log.add_up_blocks();
  uint64_t nbytes =
      kDump + 8 + offsets_nbytes(log.block_count()) + uint64_t{kBlockNbytes} * log.block_count();
  for (const LogBlock* block = log.first_block(); block != nullptr; block = block->next)
    nbytes += block_nbytes(log, *block);
  return nbytes + log.names_nbytes();
}

bool write_etdump(ProfileLog& log, ByteSink& sink) noexcept { return EtdumpStream(log, sink).write(); }

}  // namespace etb::host
