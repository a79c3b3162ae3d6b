// SPDX-License-Identifier: Apache-2.0
// Verifies a program except its methods: identifier, tables, segments, constants, named data.
#include "api/format/program_verify.hpp"

#include <algorithm>

#include "api/format/program_view.hpp"

namespace etb::format {

etb_status VerifyContext::verify_name(const flatbuffers::String* name) noexcept {
  if (name == nullptr) return ETB_OK;
  ETB_CHECK(spend(1 + name->size() / 8));
  if (name->string_view().find('\0') == std::string_view::npos) return ETB_OK;
  return fail(error, ETB_INVALID_PROGRAM, "the name '%.*s' has a NUL byte in it", shown(name->string_view()),
              name->c_str());
}

namespace {

// The newest supported Program.version. Releases up to 1.5 write 0.
constexpr uint32_t kNewestVersion = 0;

// Names are compared in pairs, which is fast enough below this limit and needs no memory.
constexpr uint32_t kMaxMethodCount = 4096;

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
  flatbuffers::Verifier::Options options;
  // Each visit of a table needs an offset of 4 bytes.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 16);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), options);
  if (!schema::VerifyProgramBuffer(verifier)) {
    return fail(error, ETB_INVALID_PROGRAM,
                "flatbuffer of %zu bytes: a table, vector or string leaves it or is malformed", bytes.size());
  }
  return ETB_OK;
}

etb_status verify_segments(VerifyContext& context) noexcept {
  const auto* segments = context.program.segments();
  ETB_CHECK(context.spend(count_of(segments)));
  const uint64_t area = context.extent.segments_nbytes;
  for (uint32_t i = 0; i < count_of(segments); ++i) {
    const auto* segment = segments->Get(i);
    if (segment->offset() > area || segment->size() > area - segment->offset()) {
      return fail(context.error, ETB_INVALID_PROGRAM,
                  "segment %u: %llu bytes at %llu, the segment area has %llu", i,
                  static_cast<Count>(segment->size()), static_cast<Count>(segment->offset()),
                  static_cast<Count>(area));
    }
  }
  return ETB_OK;
}

etb_status verify_subsegment(VerifyContext& context, const schema::SubsegmentOffsets* list,
                             const char* what) noexcept {
  const uint32_t count = count_of(list->offsets());
  ETB_CHECK(context.spend(count));
  if (!is_aligned(list->offsets())) {
    return fail(context.error, ETB_INVALID_PROGRAM, "%s: offsets are not on an 8-byte boundary", what);
  }
  if (count <= 1) return ETB_OK;  // only the placeholder
  if (list->segment_index() >= count_of(context.program.segments())) {
    return fail(context.error, ETB_INVALID_PROGRAM, "%s: segment %u of %u", what, list->segment_index(),
                count_of(context.program.segments()));
  }
  const uint64_t nbytes = context.program.segments()->Get(list->segment_index())->size();
  for (uint32_t i = 0; i < count; ++i) {
    if (list->offsets()->Get(i) > nbytes) {
      return fail(context.error, ETB_INVALID_PROGRAM, "%s: offset %u is %llu, its segment has %llu bytes",
                  what, i, static_cast<Count>(list->offsets()->Get(i)), static_cast<Count>(nbytes));
    }
  }
  return ETB_OK;
}

etb_status verify_named_data(VerifyContext& context) noexcept {
  const auto* named = context.program.named_data();
  ETB_CHECK(context.spend(count_of(named)));
  for (uint32_t i = 0; i < count_of(named); ++i) {
    if (named->Get(i)->key() == nullptr) {
      return fail(context.error, ETB_INVALID_PROGRAM, "named data %u: has no key", i);
    }
    ETB_CHECK(context.verify_name(named->Get(i)->key()));
    if (named->Get(i)->segment_index() >= count_of(context.program.segments())) {
      return fail(context.error, ETB_INVALID_PROGRAM, "named data '%.*s': segment %u of %u",
                  shown(named->Get(i)->key()->string_view()), named->Get(i)->key()->c_str(),
                  named->Get(i)->segment_index(), count_of(context.program.segments()));
    }
  }
  return ETB_OK;
}

etb_status verify_inline_data(VerifyContext& context) noexcept {
  const auto* constants = context.program.inline_constants();
  ETB_CHECK(context.spend(count_of(constants)));
  for (uint32_t i = 0; i < count_of(constants); ++i) {
    // The placeholder and empty constants have no bytes to align.
    const auto* storage = constants->Get(i)->storage();
    if (count_of(storage) != 0 && reinterpret_cast<uintptr_t>(storage->Data()) % kProgramAlignment != 0) {
      return fail(context.error, ETB_INVALID_PROGRAM, "inline constant %u: not on a %zu-byte boundary", i,
                  kProgramAlignment);
    }
  }
  return ETB_OK;
}

etb_status verify_data(VerifyContext& context) noexcept {
  ETB_CHECK(verify_segments(context));
  if (const auto* constants = context.program.constants()) {
    ETB_CHECK(verify_subsegment(context, constants, "constant segment"));
  }
  const auto* lists = context.program.mutable_data();
  ETB_CHECK(context.spend(count_of(lists)));
  for (uint32_t i = 0; i < count_of(lists); ++i) {
    ETB_CHECK(verify_subsegment(context, lists->Get(i), "mutable data segment"));
  }
  ETB_CHECK(verify_named_data(context));
  return verify_inline_data(context);
}

etb_status verify_methods(VerifyContext& context) noexcept {
  const auto* methods = context.program.methods();
  const uint32_t count = count_of(methods);
  if (count == 0) return fail(context.error, ETB_INVALID_PROGRAM, "has no method");
  if (count > kMaxMethodCount) {
    return fail(context.error, ETB_INVALID_PROGRAM, "%u methods, at most %u are read", count,
                kMaxMethodCount);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto* name = methods->Get(i)->name();
    if (name == nullptr || name->size() == 0) {
      return fail(context.error, ETB_INVALID_PROGRAM, "method %u: has no name", i);
    }
    ETB_CHECK(context.verify_name(name));
    for (uint32_t j = 0; j < i; ++j) {
      ETB_CHECK(context.spend(1 + name->size() / 8));
      if (methods->Get(j)->name()->string_view() != name->string_view()) continue;
      return fail(context.error, ETB_INVALID_PROGRAM, "methods %u and %u: both named '%.*s'", j, i,
                  shown(name->string_view()), name->c_str());
    }
    if (const etb_status status = verify_method(context, *methods->Get(i)); status != ETB_OK) {
      return fail_in(context.error, status, "method '%.*s'", shown(name->string_view()), name->c_str());
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
  const auto* root = schema::GetProgram(flatbuffer.data());
  if (root->version() > kNewestVersion) {
    return fail(error, ETB_NOT_SUPPORTED, "program version %u, this reader knows up to %u", root->version(),
                kNewestVersion);
  }
  VerifyContext context{*root, extent, WorkBudget(flatbuffer.size()), error};
  ETB_CHECK(verify_data(context));
  ETB_CHECK(verify_methods(context));
  out->root_ = root;
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
