// SPDX-License-Identifier: Apache-2.0
// EtdumpTracer: records the events of a method in a log, for an ETDump. Allocates nothing, so that it runs where there
// is no heap:
//
//   alignas(16) static std::byte memory[16 << 10];
//   etb::host::ProfileLog log(memory);
//   etb::host::EtdumpTracer tracer(log);
//   options.tracer = &tracer;  // of Method::load
//   ...
//   etb::host::write_etdump(log, uart);  // etdump_stream.hpp
//
// A program with a heap uses EtdumpRecording.
#pragma once

#include "etb/ext/draft/values.h"
#include "host/profile/debug_sink.hpp"
#include "host/profile/profile_log.hpp"
#include "host/runtime/event_tracer.hpp"

namespace etb::host {

// Chooses among the instructions and the events inside of delegates. A rule that is not set accepts everything.
struct EtdumpFilter {
  // Index of an instruction in its chain; inside of a delegate the debug id, if the event has one.
  int64_t first_id = INT64_MIN, last_id = INT64_MAX;
  // Called once for each name: "add.out", the id of a delegate, or the name of an event inside of it.
  bool (*matches)(const void* self, const char* name) noexcept = nullptr;
  const void* self = nullptr;
};

enum class ProfileLevel : uint8_t { kMethod, kAll };
enum class DebugLevel : uint8_t { kNone, kProgramOutputs, kIntermediateOutputs };

struct EtdumpOptions {
  ProfileLevel profile_level = ProfileLevel::kAll;
  DebugLevel debug_level = DebugLevel::kNone;
  bool allocations = false;  // ExecuTorch's Inspector of 1.5.1 does not open files that have some
  bool widens_bfloat16 =
      false;  // bfloat16 is recorded as float32, which ExecuTorch's Inspector of 1.5.1 reads
  // Takes the elements of tensors; NULL: values are recorded with dtype and sizes only.
  DebugSink* debug_sink = nullptr;
  EtdumpFilter event_filter = {};  // of instructions and of events inside of delegates
  EtdumpFilter value_filter = {};
};

// Used by one method at a time. Records what ExecuTorch's run time records, under its names: a block "Default" for each
// load, a block "Execute" for each run. A kernel is two events of the same times, native_call_<operator> and
// OPERATOR_CALL; the core's own ops on sizes and numbers have only the second.
class EtdumpTracer final : public EventTracer {
 public:
  // `log` and all that the options point to outlive the tracer.
  explicit EtdumpTracer(ProfileLog& log, const EtdumpOptions& options = {}) noexcept;

  // Index of the inputs of the next runs in a BundledProgram; -1: none.
  void set_bundled_input_index(int32_t index) noexcept { bundled_input_index_ = index; }
  // Forgets all that was recorded.
  void clear() noexcept;
  // Values whose elements the sink did not take.
  uint64_t dropped_value_count() const noexcept { return dropped_value_count_; }

  void on_begin(EventKind kind) noexcept override;
  void on_event(const Event& event) noexcept override;
  void on_value(const Event& call, const EValue& value) noexcept override;
  void on_output(const EValue& value) noexcept override;
  void on_allocation(const Allocation& allocation) noexcept override;
  void on_delegate_memory(std::string_view id, const DelegateMemory& memory) noexcept override;
  const etb_event_sink* delegate_events(int32_t chain_index, int32_t instruction_index) noexcept override;

 private:
  static etb_status ETB_CALL put(void* self, const etb_event* event) noexcept;
  static uint32_t ETB_CALL wants_value(void* self, const char* name, int64_t debug_id) noexcept;
  static etb_status ETB_CALL put_value(void* self, const etb_inner_value* value) noexcept;
  etb_status add_inner_tensors(LogValue record, const etb_inner_value& value) noexcept;
  void add_tensors(LogValue record, std::span<const Tensor* const> tensors) noexcept;
  struct Identity;
  Identity identify(const char* name, int64_t debug_id) noexcept;
  bool accepts(const EtdumpFilter& filter, const Identity& identity, uint8_t rule) const noexcept;
  bool accepts(const EtdumpFilter& filter, int64_t id, const LogName* name, uint8_t rule) const noexcept;
  void add_value(LogValue record, const EValue& value) noexcept;
  bool store(const Tensor& tensor, int64_t* out_offset) noexcept;
  bool store_widened(const Tensor& tensor, int64_t* out_offset) noexcept;

  ProfileLog& log_;
  EtdumpOptions options_;
  bool filters_events_, filters_values_;
  int32_t bundled_input_index_ = -1;
  uint64_t dropped_value_count_ = 0;
  etb_value_sink sink_{};
  int32_t delegate_chain_ = -1, delegate_instruction_ = -1;  // of the delegate call under way
};

}  // namespace etb::host
