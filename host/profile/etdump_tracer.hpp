// SPDX-License-Identifier: Apache-2.0
// EtdumpTracer: records the events of a module for an ETDump.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/format/etdump.hpp"
#include "host/runtime/event_tracer.hpp"

namespace etb::host {

// Used by one method at a time. Stores each event in some 50 bytes and each name once, so that a recorded run is
// little slower; the file is made afterwards.
class EtdumpTracer final : public EventTracer {
 public:
  // `max_events` is the number of events that are stored; later ones are only counted.
  explicit EtdumpTracer(size_t max_events = 10'000'000);

  void on_event(const Event& event) noexcept override;
  const etb_event_sink* delegate_events(int32_t chain_index, int32_t instruction_index) noexcept override;

  // The recorded events with the names that ExecuTorch's run time uses: a block "Default" for each load, a block
  // "Execute" for each run. A kernel is two events of the same times, OPERATOR_CALL and native_call_<operator>; the
  // operators of executorch_prim have only the first.
  std::vector<format::EtdumpBlock> blocks() const;
  uint64_t dropped_count() const noexcept { return dropped_count_; }

 private:
  struct Record {
    EventKind kind;
    bool is_inside_delegate;
    int32_t chain_index, instruction_index;
    int32_t debug_id;
    uint32_t name;  // index in names_
    uint64_t begin_ns, end_ns;
    uint64_t metadata_begin;  // in metadata_
    uint32_t metadata_nbytes;
  };

  static etb_status ETB_CALL put(void* self, const etb_event* event) noexcept;
  uint32_t index_of(const char* name);
  void add(const Record& record) noexcept;
  void add_events(const Record& record, std::vector<format::EtdumpEvent>& out) const;

  size_t max_events_;
  uint64_t dropped_count_ = 0;
  std::vector<Record> records_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> indices_;  // of names_
  std::vector<std::byte> metadata_;
  etb_event_sink sink_{};
  int32_t delegate_chain_ = -1, delegate_instruction_ = -1;  // of the delegate call under way
};

}  // namespace etb::host
