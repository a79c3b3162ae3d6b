// SPDX-License-Identifier: Apache-2.0
// Recordings of the C API (etb/recording.h).
#include <algorithm>
#include <utility>

#include "api/format/etdump_program.hpp"
#include "api/format/hex.hpp"
#include "host/application/errors.hpp"
#include "host/application/recording_handle.hpp"

namespace {

using etb::Code;
using etb::make_error;
using etb::Result;
using etb::Status;
using etb::host::answer;
using etb::host::check_handle;
using etb::host::DebugLevel;
using etb::host::EtdumpRecording;
using etb::host::FilterText;
using etb::host::HandleKind;
using etb::host::ProfileLevel;
using etb::host::RecordingOptions;
using etb::host::RecordingUse;

Status read_filter(const etb_recording_filter* given, FilterText& out) {
  if (given == nullptr) return {};
  ETB_TRY(ETB_ACCEPT(etb_recording_filter, given, id_count));
  if (given->pattern != nullptr) out.pattern = given->pattern;
  constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);
  if (given->first_id > kMost)
    return make_error(Code::INVALID_ARGUMENT, "options: filter from id " + std::to_string(given->first_id) +
                                                  ", expected at most " + std::to_string(kMost));
  if (given->first_id != 0 || given->id_count != 0) out.first_id = static_cast<int64_t>(given->first_id);
  if (given->id_count != 0 && given->id_count <= kMost - given->first_id)
    out.last_id = static_cast<int64_t>(given->first_id + given->id_count - 1);
  return {};
}

Result<RecordingOptions> read_options(const etb_recording_options& given) {
  RecordingOptions out;
  if (given.instructions > ETB_RECORD_METHOD)
    return make_error(Code::INVALID_ARGUMENT,
                      "options: instructions " + std::to_string(given.instructions) + ", expected 0 or 1");
  if (given.values > ETB_RECORD_ALL_VALUES)
    return make_error(Code::INVALID_ARGUMENT,
                      "options: values " + std::to_string(given.values) + ", expected 0 to 2");
  out.profile_level = given.instructions == ETB_RECORD_METHOD ? ProfileLevel::kMethod : ProfileLevel::kAll;
  out.debug_level = static_cast<DebugLevel>(given.values);
  out.allocations = (given.flags & ETB_RECORD_ALLOCATIONS) != 0;
  out.widens_bfloat16 = (given.flags & ETB_RECORD_WIDE_BFLOAT16) != 0;
  ETB_TRY(read_filter(given.event_filter, out.event_filter));
  ETB_TRY(read_filter(given.value_filter, out.value_filter));
  if (given.debug_path != nullptr) out.debug_path = given.debug_path;
  if (given.max_debug_bytes != 0) out.max_debug_bytes = given.max_debug_bytes;
  if (given.max_event_bytes != 0) out.max_log_bytes = given.max_event_bytes;
  return out;
}

static_assert(static_cast<uint32_t>(DebugLevel::kProgramOutputs) == ETB_RECORD_OUTPUTS);
static_assert(static_cast<uint32_t>(DebugLevel::kIntermediateOutputs) == ETB_RECORD_ALL_VALUES);

// Runs the body of one function of a recording.
template <class Body>
etb_status use(etb_recording* recording, etb_error* error, Body body) noexcept {
  return answer(error, [&]() -> Status {
    ETB_TRY(check_handle(recording, HandleKind::kRecording));
    const RecordingUse in_use(recording);
    ETB_TRY(in_use.check());
    return body(*recording);
  });
}

}  // namespace

void etb_recording::add_program(std::string name, const Program& program) {
  const std::lock_guard lock(mutex_);
  programs_.push_back({std::move(name), program});
}

void etb_recording::compute_digest(Noted& noted) {
  const Program program = noted.program.lock();
  if (program == nullptr || !noted.sha256.empty()) return;
  for (const Noted& other : programs_)  // a program that several modules share is read once
    if (!other.sha256.empty() && other.program.lock() == program) noted.sha256 = other.sha256;
  if (!noted.sha256.empty()) return;
  if (const auto digest = program->digest()) noted.sha256 = etb::format::to_hex(*digest);
  program->rest();
}

void etb_recording::keep_digest_of(const Program& program) {
  if (is_closed.load()) return;
  const std::lock_guard lock(mutex_);
  for (Noted& noted : programs_)
    if (noted.program.lock() == program) compute_digest(noted);
}

void etb_recording::show_program() {
  const std::lock_guard lock(mutex_);
  for (Noted& noted : programs_) compute_digest(noted);
  const bool is_one = !programs_.empty() && std::ranges::all_of(programs_, [&](const Noted& noted) {
    return !noted.sha256.empty() && noted.sha256 == programs_.front().sha256;
  });
  recording->show_program(is_one ? etb::format::to_allocator_name({programs_.front().name, programs_.front().sha256})
                                 : std::string());
}

void etb_recording::forget_ended_programs() {
  const std::lock_guard lock(mutex_);
  std::erase_if(programs_, [](const Noted& noted) { return noted.program.expired(); });
}

extern "C" {

etb_status ETB_CALL etb_recording_open(const etb_recording_options* options, etb_recording** out,
                                       etb_error* error) {
  return answer(error, [&]() -> Status {
    ETB_TRY(etb::host::check_pointer(out, "out"));
    etb_recording_options given = ETB_RECORDING_OPTIONS_INIT;
    if (options != nullptr) {
      ETB_TRY(etb::accept_struct(options, ETB_SIZE_THROUGH(etb_recording_options, max_event_bytes),
                                 ETB_RECORD_ALLOCATIONS | ETB_RECORD_WIDE_BFLOAT16, "options"));
      given = etb::copy_struct(*options);
    }
    ETB_ASSIGN(const RecordingOptions read, read_options(given));
    auto made = std::make_shared<etb_recording>();
    ETB_ASSIGN(made->recording, EtdumpRecording::make(read));
    add_handle(made.get(), HandleKind::kRecording);
    made->self = made;
    *out = made.get();
    return {};
  });
}

void ETB_CALL etb_recording_close(etb_recording* recording) {
  if (recording == nullptr || !etb::host::remove_handle(recording, HandleKind::kRecording)) return;
  recording->is_closed.store(true);
  const auto last = std::move(recording->self);  // ends it here, or with the last module that uses it
}

etb_status ETB_CALL etb_recording_write(etb_recording* recording, const char* path, etb_error* error) {
  return use(recording, error, [path](etb_recording& used) -> Status {
    ETB_TRY(etb::host::check_pointer(path, "path"));
    used.show_program();
    ETB_TRY(used.recording->write(path));
    return used.recording->commit_debug_file();
  });
}

etb_status ETB_CALL etb_recording_bytes(etb_recording* recording, etb_bytes* out, etb_error* error) {
  return use(recording, error, [out](etb_recording& used) -> Status {
    ETB_TRY(etb::host::check_pointer(out, "out"));
    used.show_program();
    ETB_ASSIGN(used.bytes, used.recording->to_bytes());
    *out = {used.bytes.data(), used.bytes.size()};
    return {};
  });
}

etb_status ETB_CALL etb_recording_debug_bytes(etb_recording* recording, etb_bytes* out, etb_error* error) {
  return use(recording, error, [out](etb_recording& used) -> Status {
    ETB_TRY(etb::host::check_pointer(out, "out"));
    const auto bytes = used.recording->debug_bytes();
    *out = {bytes.data(), bytes.size()};
    return {};
  });
}

void ETB_CALL etb_recording_clear(etb_recording* recording) {
  static_cast<void>(use(recording, nullptr, [](etb_recording& used) -> Status {
    used.recording->clear();
    used.forget_ended_programs();
    return {};
  }));
}

void ETB_CALL etb_recording_set_input_index(etb_recording* recording, int32_t index) {
  static_cast<void>(use(recording, nullptr, [index](etb_recording& used) -> Status {
    used.recording->tracer().set_bundled_input_index(index);
    return {};
  }));
}

uint64_t ETB_CALL etb_recording_dropped_count(const etb_recording* recording) {
  uint64_t count = 0;
  static_cast<void>(use(const_cast<etb_recording*>(recording), nullptr, [&count](etb_recording& used) -> Status {
    count = used.recording->dropped_event_count() + used.recording->dropped_value_count();
    return {};
  }));
  return count;
}

}  // extern "C"
