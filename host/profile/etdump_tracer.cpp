// SPDX-License-Identifier: Apache-2.0
#include "host/profile/etdump_tracer.hpp"

#include <algorithm>
#include <exception>

namespace etb::host {
namespace {

// Names of ExecuTorch's run time.
const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kLoadMethod:
      return "Program::load_method";
    case EventKind::kExecute:
      return "Method::execute";
    case EventKind::kKernel:
      return "OPERATOR_CALL";
    case EventKind::kDelegate:
      return "DELEGATE_CALL";
    case EventKind::kMove:
      return "MOVE_CALL";
    case EventKind::kJumpFalse:
      return "JF_CALL";
    case EventKind::kFree:
      return "FREE_CALL";
  }
  return "";
}

// "aten::add.out" is "native_call_add.out".
std::string native_call(const std::string& kernel) {
  const size_t colons = kernel.find("::");
  return "native_call_" + (colons == std::string::npos ? kernel : kernel.substr(colons + 2));
}

// ExecuTorch's own operators on sizes and numbers have no native call in official files.
bool has_native_call(const std::string& kernel) { return !kernel.starts_with("executorch_prim::"); }

// Ticks of the plugin's clock as nanoseconds.
uint64_t to_ns(uint64_t ticks, const etb_event& event) {
  if (event.ns_denominator == 0 || event.ns_numerator == event.ns_denominator) return ticks;
  return static_cast<uint64_t>(static_cast<long double>(ticks) *
                               static_cast<long double>(event.ns_numerator) /
                               static_cast<long double>(event.ns_denominator));
}

}  // namespace

EtdumpTracer::EtdumpTracer(size_t max_events) : max_events_(max_events) {
  sink_.struct_size = ETB_INIT_SIZE(etb_event_sink);
  sink_.ctx = this;
  sink_.put = &EtdumpTracer::put;
}

uint32_t EtdumpTracer::index_of(const char* name) {
  const auto [found, is_new] =
      indices_.try_emplace(name == nullptr ? "" : name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(found->first);
  return found->second;
}

// Loses an event rather than the run when there is no memory.
void EtdumpTracer::add(const Record& record) noexcept {
  try {
    if (records_.size() < max_events_) {
      records_.push_back(record);
      return;
    }
  } catch (const std::exception&) {
  }
  ++dropped_count_;
}

void EtdumpTracer::on_event(const Event& event) noexcept {
  try {
    add({event.kind, false, event.chain_index, event.instruction_index, -1, index_of(event.name),
         event.begin_ns, event.end_ns, 0, 0});
  } catch (const std::exception&) {
    ++dropped_count_;
  }
}

const etb_event_sink* EtdumpTracer::delegate_events(int32_t chain_index, int32_t instruction_index) noexcept {
  delegate_chain_ = chain_index;
  delegate_instruction_ = instruction_index;
  return &sink_;
}

etb_status EtdumpTracer::put(void* self, const etb_event* event) noexcept {
  auto& tracer = *static_cast<EtdumpTracer*>(self);
  try {
    const uint64_t at = tracer.metadata_.size();
    const auto* const bytes = static_cast<const std::byte*>(event->metadata.data);
    if (tracer.records_.size() < tracer.max_events_ && event->metadata.nbytes <= UINT32_MAX)
      tracer.metadata_.insert(tracer.metadata_.end(), bytes, bytes + event->metadata.nbytes);
    const auto debug_id = static_cast<int32_t>(std::clamp<int64_t>(event->debug_id, -1, INT32_MAX));
    tracer.add({EventKind::kDelegate, true, tracer.delegate_chain_, tracer.delegate_instruction_,
                event->name == nullptr ? debug_id : -1, tracer.index_of(event->name),
                to_ns(event->begin_ticks, *event), to_ns(event->end_ticks, *event), at,
                static_cast<uint32_t>(tracer.metadata_.size() - at)});
  } catch (const std::exception&) {
    ++tracer.dropped_count_;
  }
  return ETB_OK;
}

void EtdumpTracer::add_events(const Record& record, std::vector<format::EtdumpEvent>& out) const {
  format::EtdumpEvent event;
  event.chain_index = record.chain_index;
  event.instruction_index = record.instruction_index;
  event.begin_ns = record.begin_ns;
  event.end_ns = std::max(record.begin_ns, record.end_ns);
  if (record.is_inside_delegate) {
    event.delegate_debug_id = record.debug_id;
    event.delegate_debug_name = names_[record.name];
    if (!event.is_of_delegate()) event.delegate_debug_name = "(unnamed)";
    const auto begin = metadata_.begin() + static_cast<std::ptrdiff_t>(record.metadata_begin);
    event.metadata.assign(begin, begin + record.metadata_nbytes);
    out.push_back(std::move(event));
    return;
  }
  if (record.kind == EventKind::kKernel && has_native_call(names_[record.name])) {
    event.name = native_call(names_[record.name]);
    out.push_back(event);
  }
  // The file has an instruction index for the whole method, too.
  if (record.instruction_index < 0) event.instruction_index = 0;
  event.name = name_of(record.kind);
  out.push_back(std::move(event));
}

std::vector<format::EtdumpBlock> EtdumpTracer::blocks() const {
  std::vector<format::EtdumpBlock> out;
  bool is_open = false;
  for (const Record& record : records_) {
    const bool is_load = record.kind == EventKind::kLoadMethod;
    if (is_load || !is_open) {
      out.emplace_back();
      out.back().name = is_load ? "Default" : "Execute";
    }
    add_events(record, out.back().events);
    is_open = !is_load && record.kind != EventKind::kExecute;
  }
  return out;
}

}  // namespace etb::host
