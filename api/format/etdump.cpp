// SPDX-License-Identifier: Apache-2.0
#include "api/format/etdump.hpp"

#include <cstring>

#include "etb_schema/etdump_generated.h"

namespace etb::format {
namespace {

namespace fb = etdump_schema;

constexpr uint32_t kVersion = 0;
// A lower bound on the bytes of an event: the sum of all stays far below the limit of a flatbuffer.
constexpr uint64_t kEventNbytes = 128;
constexpr uint64_t kMaxNbytes = uint64_t{1} << 30;

flatbuffers::Offset<fb::Event> add_event(flatbuffers::FlatBufferBuilder& out, const EtdumpEvent& event) {
  // An event inside a delegate has ids instead of a name, and its metadata even when empty.
  const bool is_inside = event.is_of_delegate();
  const auto name = is_inside ? 0 : out.CreateSharedString(event.name);
  const auto debug_name =
      event.delegate_debug_name.empty() ? 0 : out.CreateSharedString(event.delegate_debug_name);
  const auto metadata = is_inside ? out.CreateVector(reinterpret_cast<const uint8_t*>(event.metadata.data()),
                                                     event.metadata.size())
                                  : flatbuffers::Offset<flatbuffers::Vector<uint8_t>>();
  const auto profile =
      fb::CreateProfileEvent(out, name, event.chain_index, event.instruction_index, event.delegate_debug_id,
                             debug_name, metadata, event.begin_ns, event.end_ns);
  return fb::CreateEvent(out, profile);
}

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

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
  if (event.name.empty() && !event.is_of_delegate())
    return make_error(Code::INVALID_DATA, "neither a name nor an id");
  if (event.end_ns < event.begin_ns)
    return make_error(Code::INVALID_DATA, "ends at " + std::to_string(event.end_ns) +
                                              ", before its begin at " + std::to_string(event.begin_ns));
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

uint64_t nbytes_of(const fb::ProfileEvent& event) {
  const auto size = [](const auto* items) { return items == nullptr ? 0 : uint64_t{items->size()}; };
  return 32 + size(event.name()) + size(event.delegate_debug_name()) + size(event.metadata());
}

Result<EtdumpBlock> read_block(const fb::Block& from, Work& work) {
  EtdumpBlock block;
  block.name = text_of(from.name());
  block.bundled_input_index = from.bundled_input_index();
  ETB_TRY(work.take(16 + block.name.size()));
  if (from.events() == nullptr) return block;
  for (uint32_t i = 0; i < from.events()->size(); ++i) {
    const fb::Event* const event = from.events()->Get(i);
    ETB_TRY(work.take(8));
    const int kinds =
        (event->profile() != nullptr) + (event->allocation() != nullptr) + (event->debug() != nullptr);
    const std::string where = "event " + std::to_string(i);
    if (kinds != 1)
      return make_error(Code::INVALID_DATA,
                        where + ": " + std::to_string(kinds) + " kinds of event, expected one");
    block.allocation_count += event->allocation() != nullptr ? 1 : 0;
    block.value_count += event->debug() != nullptr ? 1 : 0;
    if (event->profile() == nullptr) continue;
    ETB_TRY(work.take(nbytes_of(*event->profile())));
    Result<EtdumpEvent> read = read_event(*event->profile());
    if (!read) return tl::make_unexpected(with_context(std::move(read).error(), where));
    block.events.push_back(*std::move(read));
  }
  return block;
}

}  // namespace

Result<std::vector<std::byte>> write_etdump(std::span<const EtdumpBlock> blocks) {
  uint64_t nbytes = 0;
  for (const EtdumpBlock& block : blocks)
    for (const EtdumpEvent& event : block.events)
      nbytes += kEventNbytes + event.name.size() + event.delegate_debug_name.size() + event.metadata.size();
  if (nbytes > kMaxNbytes)
    return make_error(Code::OUT_OF_RESOURCES, "events of about " + std::to_string(nbytes) +
                                                  " bytes, expected at most " + std::to_string(kMaxNbytes) +
                                                  "\nhint: record fewer runs");
  flatbuffers::FlatBufferBuilder out;
  std::vector<flatbuffers::Offset<fb::Block>> rows;
  for (const EtdumpBlock& block : blocks) {
    std::vector<flatbuffers::Offset<fb::Event>> events;
    events.reserve(block.events.size());
    for (const EtdumpEvent& event : block.events) events.push_back(add_event(out, event));
    const auto name = out.CreateString(block.name);
    rows.push_back(fb::CreateBlock(out, name, block.bundled_input_index, 0, out.CreateVector(events)));
  }
  fb::FinishSizePrefixedDumpBuffer(out, fb::CreateDump(out, kVersion, out.CreateVector(rows)));
  const auto* const bytes = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  return std::vector<std::byte>(bytes, bytes + out.GetSize());
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
