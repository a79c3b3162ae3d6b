// SPDX-License-Identifier: Apache-2.0
// Verifies a program except its methods: identifier, tables, segments, constants, named data.
#include "api/format/program_verify.hpp"

#include <algorithm>

#include "api/format/program_view.hpp"
#include "api/format/table_verifier.hpp"

namespace etb::format {

namespace fb = schema;

etb_status VerifyContext::verify_name(std::string_view name) noexcept {
  ETB_CHECK(spend(1 + name.size() / 8));
  if (name.find('\0') == std::string_view::npos) return ETB_OK;
  return fail(error, ETB_INVALID_PROGRAM, "the name '%.*s' has a NUL byte in it", shown(name), name.data());
}

namespace {

// The newest supported Program.version. Releases up to 1.5 write 0.
constexpr uint32_t kNewestVersion = 0;

// Names are compared in pairs, which is fast enough below this limit and needs no memory.
constexpr uint32_t kMaxMethodCount = 4096;

SegmentRange range_of(FlatTable segment) noexcept {
  return {segment.get<uint64_t>(fb::DataSegment::VT_OFFSET), segment.get<uint64_t>(fb::DataSegment::VT_SIZE)};
}

etb_status verify_tables(std::span<const std::byte> bytes, etb_error* error) noexcept {
  if (bytes.size() < kProgramAlignment) {
    return fail(error, ETB_INVALID_PROGRAM, "program of %zu bytes: too short", bytes.size());
  }
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail(error, ETB_INVALID_PROGRAM, "flatbuffer of %zu bytes, the format allows 2 GiB", bytes.size());
  }
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kProgramAlignment != 0) {
    return fail(error, ETB_INVALID_ARGUMENT, "program memory at %p, expected a %zu-byte boundary",
                static_cast<const void*>(bytes.data()), kProgramAlignment);
  }
  uint32_t table = 0;
  if (!verify_program_tables(bytes, &table)) {
    return fail(error, ETB_INVALID_PROGRAM,
                "table at byte %u: it, a vector or a string of it leaves the flatbuffer of %zu bytes or is "
                "malformed",
                table, bytes.size());
  }
  return ETB_OK;
}

etb_status verify_segments(VerifyContext& context) noexcept {
  const TableList segments = context.program.tables(fb::Program::VT_SEGMENTS);
  ETB_CHECK(context.spend(segments.size()));
  const uint64_t area = context.extent.segments_nbytes;
  for (uint32_t i = 0; i < segments.size(); ++i) {
    const SegmentRange segment = range_of(segments[i]);
    if (segment.offset > area || segment.nbytes > area - segment.offset) {
      return fail(
          context.error, ETB_INVALID_PROGRAM, "segment %u: %llu bytes at %llu, the segment area has %llu", i,
          static_cast<Count>(segment.nbytes), static_cast<Count>(segment.offset), static_cast<Count>(area));
    }
  }
  return ETB_OK;
}

etb_status verify_subsegment(VerifyContext& context, FlatTable list, const char* what) noexcept {
  const auto offsets = list.items<uint64_t>(fb::SubsegmentOffsets::VT_OFFSETS);
  ETB_CHECK(context.spend(offsets.size()));
  if (!is_aligned(offsets)) {
    return fail(context.error, ETB_INVALID_PROGRAM, "%s: offsets are not on an 8-byte boundary", what);
  }
  if (offsets.size() <= 1) return ETB_OK;  // only the placeholder
  const TableList segments = context.program.tables(fb::Program::VT_SEGMENTS);
  const auto segment = list.get<uint32_t>(fb::SubsegmentOffsets::VT_SEGMENT_INDEX);
  if (segment >= segments.size()) {
    return fail(context.error, ETB_INVALID_PROGRAM, "%s: segment %u of %u", what, segment, segments.size());
  }
  const uint64_t nbytes = range_of(segments[segment]).nbytes;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] > nbytes) {
      return fail(context.error, ETB_INVALID_PROGRAM, "%s: offset %zu is %llu, its segment has %llu bytes",
                  what, i, static_cast<Count>(offsets[i]), static_cast<Count>(nbytes));
    }
  }
  return ETB_OK;
}

etb_status verify_named_data(VerifyContext& context) noexcept {
  const TableList named = context.program.tables(fb::Program::VT_NAMED_DATA);
  const uint32_t segment_count = context.program.count(fb::Program::VT_SEGMENTS);
  ETB_CHECK(context.spend(named.size()));
  for (uint32_t i = 0; i < named.size(); ++i) {
    if (!named[i].has(fb::NamedData::VT_KEY)) {
      return fail(context.error, ETB_INVALID_PROGRAM, "named data %u: has no key", i);
    }
    const std::string_view key = named[i].text(fb::NamedData::VT_KEY);
    ETB_CHECK(context.verify_name(key));
    const auto segment = named[i].get<uint32_t>(fb::NamedData::VT_SEGMENT_INDEX);
    if (segment >= segment_count) {
      return fail(context.error, ETB_INVALID_PROGRAM, "named data '%.*s': segment %u of %u", shown(key),
                  key.data(), segment, segment_count);
    }
  }
  return ETB_OK;
}

etb_status verify_inline_data(VerifyContext& context) noexcept {
  const TableList constants = context.program.tables(fb::Program::VT_INLINE_CONSTANTS);
  ETB_CHECK(context.spend(constants.size()));
  for (uint32_t i = 0; i < constants.size(); ++i) {
    // The placeholder and empty constants have no bytes to align.
    const auto storage = constants[i].items<std::byte>(fb::InlineBuffer::VT_STORAGE);
    if (!storage.empty() && reinterpret_cast<uintptr_t>(storage.data()) % kProgramAlignment != 0) {
      return fail(context.error, ETB_INVALID_PROGRAM, "inline constant %u: not on a %zu-byte boundary", i,
                  kProgramAlignment);
    }
  }
  return ETB_OK;
}

etb_status verify_data(VerifyContext& context) noexcept {
  ETB_CHECK(verify_segments(context));
  if (const FlatTable constants = context.program.table(fb::Program::VT_CONSTANTS)) {
    ETB_CHECK(verify_subsegment(context, constants, "constant segment"));
  }
  const TableList lists = context.program.tables(fb::Program::VT_MUTABLE_DATA);
  ETB_CHECK(context.spend(lists.size()));
  for (uint32_t i = 0; i < lists.size(); ++i) {
    ETB_CHECK(verify_subsegment(context, lists[i], "mutable data segment"));
  }
  ETB_CHECK(verify_named_data(context));
  return verify_inline_data(context);
}

etb_status verify_methods(VerifyContext& context) noexcept {
  const TableList methods = context.program.tables(fb::Program::VT_METHODS);
  const uint32_t count = methods.size();
  if (count == 0) return fail(context.error, ETB_INVALID_PROGRAM, "has no method");
  if (count > kMaxMethodCount) {
    return fail(context.error, ETB_INVALID_PROGRAM, "%u methods, at most %u are read", count,
                kMaxMethodCount);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view name = methods[i].text(fb::Method::VT_NAME);
    if (name.empty()) return fail(context.error, ETB_INVALID_PROGRAM, "method %u: has no name", i);
    ETB_CHECK(context.verify_name(name));
    for (uint32_t j = 0; j < i; ++j) {
      ETB_CHECK(context.spend(1 + name.size() / 8));
      if (methods[j].text(fb::Method::VT_NAME) != name) continue;
      return fail(context.error, ETB_INVALID_PROGRAM, "methods %u and %u: both named '%.*s'", j, i,
                  shown(name), name.data());
    }
    if (const etb_status status = verify_method(context, methods[i]); status != ETB_OK) {
      return fail_in(context.error, status, "method '%.*s'", shown(name), name.data());
    }
  }
  return ETB_OK;
}

}  // namespace

etb_status read_program(std::span<const std::byte> flatbuffer, const FileExtent& extent, ProgramView* out,
                        etb_error* error) noexcept {
  *out = {};
  if (flatbuffer.size() != extent.flatbuffer_nbytes) {
    return fail(error, ETB_INVALID_ARGUMENT, "%zu program bytes given, the header says %llu",
                flatbuffer.size(), static_cast<Count>(extent.flatbuffer_nbytes));
  }
  ETB_CHECK(verify_tables(flatbuffer, error));
  const FlatTable root(flatbuffer.data() + read_scalar<uint32_t>(flatbuffer.data()));
  const auto version = root.get<uint32_t>(fb::Program::VT_VERSION);
  if (version > kNewestVersion) {
    return fail(error, ETB_NOT_SUPPORTED, "program version %u, this reader knows up to %u", version,
                kNewestVersion);
  }
  VerifyContext context{root, extent, WorkBudget(flatbuffer.size()), error};
  ETB_CHECK(verify_data(context));
  ETB_CHECK(verify_methods(context));
  out->root_ = root.address();
  out->extent_ = extent;
  return ETB_OK;
}

etb_status read_program(std::span<const std::byte> file, ProgramView* out, etb_error* error) noexcept {
  FileExtent extent;
  ETB_CHECK(read_program_extent(file.first(std::min<size_t>(file.size(), kHeadNbytes)), file.size(), &extent,
                                error));
  return read_program(file.first(extent.flatbuffer_nbytes), extent, out, error);
}

}  // namespace etb::format
