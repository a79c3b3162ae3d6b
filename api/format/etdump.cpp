// SPDX-License-Identifier: Apache-2.0
// Reader of ETDump files.
#include "api/format/etdump.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "api/format/tensor_layout.hpp"
#include "etb_schema/etdump_generated.h"

namespace etb::format {
namespace {

namespace fb = etdump_schema;

constexpr uint32_t kVersion = 0;

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

tl::unexpected<Error> bad(std::string text) { return make_error(Code::INVALID_DATA, std::move(text)); }

// Rejects what the verifier accepts and no writer makes.
Result<EtdumpEvent> read_event(const fb::ProfileEvent& from) {
  EtdumpEvent event;
  event.name = text_of(from.name());
  event.chain_index = from.chain_index();
  event.instruction_index = from.instruction_index();
  event.delegate_debug_id = from.delegate_debug_id();
  event.delegate_debug_name = text_of(from.delegate_debug_name());
  if (from.metadata() != nullptr) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(from.metadata()->data());
    event.metadata.assign(bytes, bytes + from.metadata()->size());
  }
  event.begin_ns = from.begin();
  event.end_ns = from.end();
  if (event.name.empty() && !event.is_of_delegate()) return bad("neither a name nor an id");
  if (event.end_ns < event.begin_ns && event.begin_ns > UINT32_MAX)
    return bad("ends at " + std::to_string(event.end_ns) + ", before its begin at " +
               std::to_string(event.begin_ns));
  return event;
}

// Tables of a hostile file may share bytes, so that a small file has more events than it could hold.
class Work {
 public:
  explicit Work(uint64_t file_nbytes) : left_(file_nbytes * 4 + 65536) {}
  Status take(uint64_t nbytes) {
    if (nbytes > left_)
      return make_error(Code::INVALID_DATA, "tables overlap: more events than the file can hold");
    left_ -= nbytes;
    return {};
  }

 private:
  uint64_t left_;
};

template <class Items>
uint64_t count_of(const Items* items) {
  return items == nullptr ? 0 : uint64_t{items->size()};
}

uint64_t nbytes_of(const fb::ProfileEvent& event) {
  return 32 + count_of(event.name()) + count_of(event.delegate_debug_name()) + count_of(event.metadata());
}

uint64_t nbytes_of(const fb::DebugEvent& event) {
  return 32 + count_of(event.name()) + count_of(event.delegate_debug_name());
}

Result<EtdumpTensor> read_tensor(const fb::TensorValue& from, Work& work) {
  EtdumpTensor tensor;
  const uint64_t rank = count_of(from.sizes());
  if (rank > kMaxRank)
    return bad("tensor of rank " + std::to_string(rank) + ", expected at most " + std::to_string(kMaxRank));
  if (count_of(from.strides()) != rank)
    return bad(std::to_string(count_of(from.strides())) + " strides of a tensor of rank " +
               std::to_string(rank));
  ETB_TRY(work.take(16 + 16 * rank));
  tensor.dtype = static_cast<uint8_t>(from.dtype());
  tensor.offset = from.offset();
  if (tensor.offset < -1) return bad("tensor at offset " + std::to_string(tensor.offset));
  if (rank == 0) return tensor;
  tensor.sizes.assign(from.sizes()->begin(), from.sizes()->end());
  tensor.strides.assign(from.strides()->begin(), from.strides()->end());
  const auto negative =
      std::find_if(tensor.sizes.begin(), tensor.sizes.end(), [](int64_t n) { return n < 0; });
  if (negative != tensor.sizes.end())
    return bad("tensor with a dimension of size " + std::to_string(*negative));
  return tensor;
}

// `field` is the table that the kind of the value names.
template <class Field>
Status expect_field(const Field* field, const char* kind) {
  if (field != nullptr) return {};
  return bad(std::string("value of kind ") + kind + " without its field");
}

Status read_tensors(const fb::Value& from, Work& work, EtdumpValue& value) {
  const auto add = [&](const fb::TensorValue& tensor) -> Status {
    ETB_ASSIGN(EtdumpTensor read, read_tensor(tensor, work));
    value.tensors.push_back(std::move(read));
    return {};
  };
  if (value.kind == EtdumpValueKind::kTensor) {
    ETB_TRY(expect_field(from.tensor(), "tensor"));
    return add(*from.tensor());
  }
  ETB_TRY(expect_field(from.tensor_list(), "tensor list"));
  if (from.tensor_list()->tensors() == nullptr) return {};
  for (const fb::TensorValue* tensor : *from.tensor_list()->tensors()) ETB_TRY(add(*tensor));
  return {};
}

Result<EtdumpValue> read_value(const fb::Value& from, Work& work) {
  EtdumpValue value;
  switch (from.kind()) {
    case fb::ValueKind::None:
      return value;
    case fb::ValueKind::String:
      value.kind = EtdumpValueKind::kString;
      return value;
    case fb::ValueKind::Int:
      ETB_TRY(expect_field(from.int_value(), "int"));
      value.kind = EtdumpValueKind::kInt;
      value.integer = from.int_value()->value();
      return value;
    case fb::ValueKind::Bool:
      ETB_TRY(expect_field(from.bool_value(), "bool"));
      value.kind = EtdumpValueKind::kBool;
      value.boolean = from.bool_value()->value();
      return value;
    case fb::ValueKind::Float:
      ETB_TRY(expect_field(from.float_value(), "float"));
      value.kind = EtdumpValueKind::kFloat;
      value.real = static_cast<double>(from.float_value()->value());
      return value;
    case fb::ValueKind::Double:
      ETB_TRY(expect_field(from.double_value(), "double"));
      value.kind = EtdumpValueKind::kDouble;
      value.real = from.double_value()->value();
      return value;
    case fb::ValueKind::Tensor:
    case fb::ValueKind::TensorList:
      value.kind =
          from.kind() == fb::ValueKind::Tensor ? EtdumpValueKind::kTensor : EtdumpValueKind::kTensorList;
      ETB_TRY(read_tensors(from, work, value));
      return value;
  }
  return bad("value of kind " + std::to_string(static_cast<int>(from.kind())) + ", expected 0 to 7");
}

Result<EtdumpDebugEvent> read_debug_event(const fb::DebugEvent& from, Work& work) {
  EtdumpDebugEvent event;
  event.name = text_of(from.name());
  // The field has no sign: -1 is its largest number.
  if (from.chain_index() > INT32_MAX && from.chain_index() != UINT64_MAX)
    return bad("value of chain " + std::to_string(from.chain_index()));
  event.chain_index = static_cast<int32_t>(from.chain_index());
  event.instruction_index = from.instruction_index();
  event.delegate_debug_id = from.delegate_debug_id();
  event.delegate_debug_name = text_of(from.delegate_debug_name());
  if (from.value() == nullptr) return bad("a debug event without a value");
  ETB_ASSIGN(event.value, read_value(*from.value(), work));
  event.is_output = from.value()->is_output() != nullptr && from.value()->is_output()->value();
  return event;
}

Status read_allocators(const fb::Block& from, Work& work, EtdumpBlock& block) {
  if (from.allocators() == nullptr) return {};
  for (const fb::Allocator* allocator : *from.allocators()) {
    ETB_TRY(work.take(8 + count_of(allocator->name())));
    block.allocators.push_back(text_of(allocator->name()));
  }
  return {};
}

Result<EtdumpAllocation> read_allocation(const fb::AllocationEvent& from, const EtdumpBlock& block) {
  const int32_t index = from.allocator_index();
  if (index < 0 || static_cast<size_t>(index) >= block.allocators.size())
    return bad("allocation of allocator " + std::to_string(index) + ", the block has " +
               std::to_string(block.allocators.size()));
  return EtdumpAllocation{index, from.nbytes()};
}

Status read_any(const fb::Event& event, uint32_t position, Work& work, EtdumpBlock& block) {
  const int kinds =
      (event.profile() != nullptr) + (event.allocation() != nullptr) + (event.debug() != nullptr);
  if (kinds != 1) return bad(std::to_string(kinds) + " kinds of event, expected one");
  if (event.allocation() != nullptr) {
    ETB_TRY(work.take(16));
    ETB_ASSIGN(const EtdumpAllocation allocation, read_allocation(*event.allocation(), block));
    block.allocations.push_back(allocation);
    block.allocations.back().position = position;
    return {};
  }
  if (event.debug() != nullptr) {
    ETB_TRY(work.take(nbytes_of(*event.debug())));
    ETB_ASSIGN(EtdumpDebugEvent value, read_debug_event(*event.debug(), work));
    block.values.push_back(std::move(value));
    block.values.back().position = position;
    return {};
  }
  ETB_TRY(work.take(nbytes_of(*event.profile())));
  ETB_ASSIGN(EtdumpEvent read, read_event(*event.profile()));
  block.events.push_back(std::move(read));
  block.events.back().position = position;
  return {};
}

Result<EtdumpBlock> read_block(const fb::Block& from, Work& work) {
  EtdumpBlock block;
  block.name = text_of(from.name());
  block.bundled_input_index = from.bundled_input_index();
  ETB_TRY(work.take(16 + block.name.size()));
  ETB_TRY(read_allocators(from, work, block));
  if (from.events() == nullptr) return block;
  for (uint32_t i = 0; i < from.events()->size(); ++i) {
    ETB_TRY(work.take(8));
    if (Status status = read_any(*from.events()->Get(i), i, work, block); !status)
      return tl::make_unexpected(with_context(std::move(status).error(), "event " + std::to_string(i)));
  }
  return block;
}

// Bytes from the first element to the end of the last, if each has a place of its own and none is left out.
std::optional<uint64_t> dense_nbytes(const EtdumpTensor& tensor) {
  if (element_nbytes(tensor.dtype) == 0 || tensor.sizes.size() != tensor.strides.size() ||
      tensor.sizes.size() > kMaxRank)
    return std::nullopt;
  std::array<size_t, kMaxRank> dims{};
  size_t count = 0;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] < 0) return std::nullopt;
    if (tensor.sizes[i] == 0) return 0;
    if (tensor.sizes[i] != 1) dims[count++] = i;
  }
  const auto begin = dims.begin();
  std::sort(begin, begin + static_cast<std::ptrdiff_t>(count),
            [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  int64_t numel = 1;
  for (size_t i = 0; i < count; ++i) {
    if (tensor.strides[dims[i]] != numel) return std::nullopt;
    if (__builtin_mul_overflow(numel, tensor.sizes[dims[i]], &numel)) return std::nullopt;
  }
  uint64_t nbytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(numel), uint64_t{element_nbytes(tensor.dtype)}, &nbytes))
    return std::nullopt;
  return nbytes;
}

}  // namespace

Result<std::span<const std::byte>> find_elements(const EtdumpTensor& tensor,
                                                 std::span<const std::byte> debug_buffer) {
  const std::optional<uint64_t> nbytes = dense_nbytes(tensor);
  if (!nbytes)
    return bad("tensor of dtype " + std::to_string(tensor.dtype) + " and rank " +
               std::to_string(tensor.sizes.size()) +
               ": unknown dtype, or strides that do not name each element once");
  if (*nbytes == 0) return std::span<const std::byte>();
  if (tensor.offset < 0) return bad("the elements of the tensor were not recorded");
  const auto offset = static_cast<uint64_t>(tensor.offset);
  if (offset > debug_buffer.size() || *nbytes > debug_buffer.size() - offset)
    return bad("tensor of " + std::to_string(*nbytes) + " bytes at offset " + std::to_string(offset) +
               ", the debug buffer has " + std::to_string(debug_buffer.size()) + " bytes");
  return debug_buffer.subspan(offset, *nbytes);
}

Result<std::vector<EtdumpBlock>> read_etdump(std::span<const std::byte> file) {
  // Tables have numbers of 8 bytes, which are read in place.
  if (reinterpret_cast<uintptr_t>(file.data()) % alignof(uint64_t) != 0) {
    std::vector<uint64_t> copy(file.size() / sizeof(uint64_t) + 1);
    std::memcpy(copy.data(), file.data(), file.size());
    return read_etdump(std::as_bytes(std::span(copy)).first(file.size()));
  }
  constexpr size_t kPrefixNbytes = sizeof(uint32_t), kLeastNbytes = 16;
  if (file.size() < kLeastNbytes)
    return make_error(Code::INVALID_DATA,
                      std::to_string(file.size()) + " bytes, expected an ETDump of 16 or more");
  uint32_t stated = 0;
  std::memcpy(&stated, file.data(), sizeof(stated));
  if (stated != file.size() - kPrefixNbytes)
    return make_error(Code::INVALID_DATA, "the file states " + std::to_string(stated) + " bytes and has " +
                                              std::to_string(file.size() - kPrefixNbytes) +
                                              " after that number: it is cut, or no ETDump");
  const auto* const bytes = reinterpret_cast<const uint8_t*>(file.data());
  if (!fb::SizePrefixedDumpBufferHasIdentifier(bytes))
    return make_error(Code::INVALID_DATA, "no ETDump: expected the identifier ED00 at byte 8");
  // Honest files have a few tables an event.
  flatbuffers::Verifier verifier(bytes, file.size(), 16, 100'000'000);
  if (!fb::VerifySizePrefixedDumpBuffer(verifier))
    return make_error(Code::INVALID_DATA, "damaged: an offset or a length leads out of the file");
  const fb::Dump& dump = *fb::GetSizePrefixedDump(bytes);
  if (dump.version() != kVersion)
    return make_error(Code::INCOMPATIBLE, "version " + std::to_string(dump.version()) +
                                              " of the format, expected " + std::to_string(kVersion));
  std::vector<EtdumpBlock> out;
  Work work(file.size());
  for (uint32_t i = 0; dump.blocks() != nullptr && i < dump.blocks()->size(); ++i) {
    Result<EtdumpBlock> block = read_block(*dump.blocks()->Get(i), work);
    if (!block)
      return tl::make_unexpected(with_context(std::move(block).error(), "block " + std::to_string(i)));
    out.push_back(*std::move(block));
  }
  return out;
}

}  // namespace etb::format
