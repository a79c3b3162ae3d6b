// SPDX-License-Identifier: Apache-2.0
#include "host/profile/etdump_tracer.hpp"

#include <algorithm>
#include <cstdio>

#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {
namespace {

// Values as in format::EtdumpValueKind, whose header needs a heap.
enum Kind : uint8_t { kInt = 1, kBool = 2, kDouble = 4, kTensor = 5, kTensorList = 6 };

// Names of ExecuTorch's run time.
const char* name_of(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::kLoadMethod:
      return "Program::load_method";
    case EventKind::kInitMethod:
      return "Method::init";
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
      break;
  }
  return "FREE_CALL";
}

// "method allocator" is the name in ExecuTorch's examples.
const char* name_of(const Allocation& allocation, std::span<char> buffer) noexcept {
  switch (allocation.allocator) {
    case AllocatorKind::kMethod:
      return "method allocator";
    case AllocatorKind::kScratch:
      return "temp allocator";
    case AllocatorKind::kOutput:
      return "output allocator";
    case AllocatorKind::kPlanned:
      break;
  }
  std::snprintf(buffer.data(), buffer.size(), "planned memory %u", allocation.index);
  return buffer.data();
}

// Ticks of the plugin's clock as nanoseconds.
uint64_t to_ns(uint64_t ticks, const etb_event& event) noexcept {
  if (event.ns_denominator == 0 || event.ns_numerator == event.ns_denominator) return ticks;
  return static_cast<uint64_t>(static_cast<long double>(ticks) *
                               static_cast<long double>(event.ns_numerator) /
                               static_cast<long double>(event.ns_denominator));
}

bool is_set(const EtdumpFilter& filter) noexcept {
  return filter.first_id != INT64_MIN || filter.last_id != INT64_MAX || filter.matches != nullptr;
}

constexpr uint8_t kEventRule = 0, kValueRule = 1;

// Tensors of a list that is recorded.
constexpr size_t kMaxListed = 64;

}  // namespace

EtdumpTracer::EtdumpTracer(ProfileLog& log, const EtdumpOptions& options) noexcept
    : log_(log),
      options_(options),
      filters_events_(is_set(options.event_filter)),
      filters_values_(is_set(options.value_filter)) {
  sink_.events.struct_size = ETB_INIT_SIZE(etb_event_sink);
  sink_.events.ctx = this;
  sink_.events.put = &EtdumpTracer::put;
  wants_.values = options.debug_level == DebugLevel::kIntermediateOutputs;
  if (wants_.values) {
    sink_.events.struct_size = ETB_INIT_SIZE(etb_value_sink);
    sink_.id = ETB_VALUE_SINK_ID;
    sink_.wants = &EtdumpTracer::wants_value;
    sink_.put_value = &EtdumpTracer::put_value;
  }
  wants_.outputs = options.debug_level != DebugLevel::kNone;
  wants_.allocations = options.allocations;
  wants_.instructions = options.profile_level == ProfileLevel::kAll || wants_.values;
}

void EtdumpTracer::clear() noexcept {
  log_.clear();
  dropped_value_count_ = 0;
}

void EtdumpTracer::on_begin(EventKind kind) noexcept {
  const bool is_run = kind == EventKind::kExecute;
  if (!is_run) log_.forget_pointers();
  log_.begin_block(is_run ? "Execute" : "Default", is_run ? bundled_input_index_ : -1);
}

bool EtdumpTracer::accepts(const EtdumpFilter& filter, int64_t id, const LogName* name,
                           uint8_t rule) const noexcept {
  if (id < filter.first_id || id > filter.last_id) return false;
  if (filter.matches == nullptr || name == nullptr) return true;
  enum : uint8_t { kUnknown, kMatches, kDiffers };
  uint8_t& answer = name->answers[rule];
  if (answer == kUnknown) answer = filter.matches(filter.self, operator_of(name)) ? kMatches : kDiffers;
  return answer == kMatches;
}

void EtdumpTracer::on_event(const Event& event) noexcept {
  const bool has_own_name = event.kind == EventKind::kKernel && !event.is_core_op;
  const bool is_instruction = event.chain_index >= 0;
  if (is_instruction && options_.profile_level == ProfileLevel::kMethod) return;
  const LogName* const name =
      has_own_name ? log_.native_name_of(event.name) : log_.name_of(name_of(event.kind));
  if (is_instruction && filters_events_) {
    const LogName* const matched = has_own_name || event.name == nullptr ? name : log_.name_of(event.name);
    if (!accepts(options_.event_filter, event.instruction_index, matched, kEventRule)) return;
  }
  // The file has an instruction index for the whole method, too.
  log_.add_span(has_own_name ? LogKind::kKernel : LogKind::kSpan, {{},
                                                                   event.chain_index,
                                                                   std::max(event.instruction_index, 0),
                                                                   -1,
                                                                   name,
                                                                   event.begin_ns,
                                                                   std::max(event.begin_ns, event.end_ns)});
}

const etb_event_sink* EtdumpTracer::delegate_events(int32_t chain_index, int32_t instruction_index) noexcept {
  delegate_chain_ = chain_index;
  delegate_instruction_ = instruction_index;
  return options_.profile_level == ProfileLevel::kMethod && !wants_.values ? nullptr : &sink_.events;
}

// Name and id of work inside of a delegate, of which a file has one.
struct EtdumpTracer::Identity {
  const LogName* name;
  int32_t debug_id;
  bool is_lost;  // there is no memory for the name
};

EtdumpTracer::Identity EtdumpTracer::identify(const char* name, int64_t debug_id) noexcept {
  const bool is_nameless = name == nullptr || name[0] == '\0';
  const auto id = static_cast<int32_t>(std::clamp<int64_t>(debug_id, -1, INT32_MAX));
  if (is_nameless && id >= 0) return {nullptr, id, false};
  const LogName* const found = log_.name_of(is_nameless ? "(unnamed)" : name);
  return {found, -1, found == nullptr};
}

bool EtdumpTracer::accepts(const EtdumpFilter& filter, const Identity& identity,
                           uint8_t rule) const noexcept {
  return accepts(filter, identity.name == nullptr ? identity.debug_id : delegate_instruction_, identity.name,
                 rule);
}

etb_status EtdumpTracer::put(void* self, const etb_event* event) noexcept {
  auto& tracer = *static_cast<EtdumpTracer*>(self);
  if (tracer.options_.profile_level == ProfileLevel::kMethod) return ETB_OK;
  const Identity identity = tracer.identify(event->name, event->debug_id);
  if (identity.is_lost) return tracer.log_.count_dropped(), ETB_OK;
  if (tracer.filters_events_ && !tracer.accepts(tracer.options_.event_filter, identity, kEventRule))
    return ETB_OK;
  const uint64_t begin_ns = to_ns(event->begin_ticks, *event);
  tracer.log_.add_span(
      LogKind::kInner,
      {{},
       tracer.delegate_chain_,
       tracer.delegate_instruction_,
       identity.debug_id,
       identity.name,
       begin_ns,
       std::max(begin_ns, to_ns(event->end_ticks, *event))},
      {static_cast<const std::byte*>(event->metadata.data), static_cast<size_t>(event->metadata.nbytes)});
  return ETB_OK;
}

uint32_t EtdumpTracer::wants_value(void* self, const char* name, int64_t debug_id) noexcept {
  auto& tracer = *static_cast<EtdumpTracer*>(self);
  const Identity identity = tracer.identify(name, debug_id);
  return !identity.is_lost && tracer.accepts(tracer.options_.value_filter, identity, kValueRule) ? 1 : 0;
}

etb_status EtdumpTracer::put_value(void* self, const etb_inner_value* value) noexcept {
  auto& tracer = *static_cast<EtdumpTracer*>(self);
  const Identity identity = tracer.identify(value->name, value->debug_id);
  if (identity.is_lost) return ++tracer.dropped_value_count_, ETB_OK;
  if (!tracer.accepts(tracer.options_.value_filter, identity, kValueRule)) return ETB_OK;
  LogValue record{};
  record.chain_index = tracer.delegate_chain_;
  record.instruction_index = tracer.delegate_instruction_;
  record.debug_id = identity.debug_id;
  record.debug_name = identity.name;
  switch (value->kind) {
    case ETB_INNER_TENSORS:
      return tracer.add_inner_tensors(record, *value);
    case ETB_INNER_INT:
      record.kind = kInt, record.integer = value->integer;
      break;
    case ETB_INNER_BOOL:
      record.kind = kBool, record.integer = value->integer != 0 ? 1 : 0;
      break;
    case ETB_INNER_DOUBLE:
      record.kind = kDouble, record.real = value->real;
      break;
    default:
      return ETB_INVALID_ARGUMENT;
  }
  tracer.log_.add_value(record, {}, {});
  return ETB_OK;
}

etb_status EtdumpTracer::add_inner_tensors(LogValue record, const etb_inner_value& value) noexcept {
  constexpr uint32_t kMaxInner = 16;
  if (value.tensor_count == 0 || value.tensor_count > kMaxInner) return ETB_INVALID_ARGUMENT;
  TensorStorage storage[kMaxInner];
  Tensor tensors[kMaxInner];
  const Tensor* pointers[kMaxInner];
  for (uint32_t i = 0; i < value.tensor_count; ++i) {
    const etb_tensor& from = *ETB_AT(etb_tensor, value.tensors, i);
    if (from.rank > kMaxRank || from.buffer != nullptr || !is_known(from.dtype)) return ETB_INVALID_ARGUMENT;
    const std::span<const int64_t> sizes(from.sizes, from.rank);
    int64_t numel = 0;
    if (!count_elements(sizes, &numel)) return ETB_INVALID_ARGUMENT;
    tensors[i] = storage[i].make(static_cast<Dtype>(from.dtype), sizes, from.data, from.capacity_bytes,
                                 {from.dim_order, from.dim_order == nullptr ? 0 : from.rank});
    if (tensors[i].nbytes() > from.capacity_bytes) return ETB_INVALID_ARGUMENT;
    const bool is_packed = from.strides == nullptr ||
                           std::equal(from.strides, from.strides + from.rank, tensors[i].strides().data());
    if (!is_packed) return ETB_INVALID_ARGUMENT;
    pointers[i] = &tensors[i];
  }
  record.kind = value.tensor_count == 1 ? kTensor : kTensorList;
  add_tensors(record, {pointers, value.tensor_count});
  return ETB_OK;
}

void EtdumpTracer::on_value(const Event& call, const EValue& value) noexcept {
  if (filters_values_) {
    const LogName* const name =
        call.kind == EventKind::kKernel ? log_.native_name_of(call.name) : log_.name_of(call.name);
    if (!accepts(options_.value_filter, call.instruction_index, name, kValueRule)) return;
  }
  LogValue record{};
  record.chain_index = call.chain_index;
  record.instruction_index = call.instruction_index;
  record.debug_id = -1;
  add_value(record, value);
}

void EtdumpTracer::on_output(const EValue& value) noexcept {
  LogValue record{};
  record.chain_index = -1;
  record.debug_id = -1;
  record.is_output = true;
  add_value(record, value);
}

// Stores the elements. False: the sink did not take them.
bool EtdumpTracer::store(const Tensor& tensor, int64_t* out_offset) noexcept {
  *out_offset = -1;
  const uint64_t nbytes = tensor.nbytes();
  if (nbytes == 0 || tensor.data() == nullptr || options_.debug_sink == nullptr) return true;
  if (options_.widens_bfloat16 && tensor.dtype() == Dtype::BFLOAT16) return store_widened(tensor, out_offset);
  *out_offset =
      options_.debug_sink->write({static_cast<const std::byte*>(tensor.data()), static_cast<size_t>(nbytes)});
  return *out_offset >= 0;
}

// A bfloat16 is the upper half of a float32.
bool EtdumpTracer::store_widened(const Tensor& tensor, int64_t* out_offset) noexcept {
  constexpr int64_t kPiece = 256;  // 1 KiB of floats, so that pieces follow each other without a gap
  uint32_t piece[kPiece];
  const auto* const elements = tensor.data_as<uint16_t>();
  for (int64_t i = 0; i < tensor.numel(); i += kPiece) {
    const int64_t count = std::min(kPiece, tensor.numel() - i);
    for (int64_t k = 0; k < count; ++k) piece[k] = uint32_t{elements[i + k]} << 16;
    const int64_t offset =
        options_.debug_sink->write(std::as_bytes(std::span(piece, static_cast<size_t>(count))));
    if (offset < 0) return false;
    if (i == 0) *out_offset = offset;
  }
  return true;
}

void EtdumpTracer::add_tensors(LogValue record, std::span<const Tensor* const> tensors) noexcept {
  int64_t offsets[kMaxListed];
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!store(*tensors[i], &offsets[i])) return static_cast<void>(++dropped_value_count_);
  }
  record.widens_bfloat16 = options_.widens_bfloat16;
  log_.add_value(record, tensors, {offsets, tensors.size()});
}

// As officially, None and lists of numbers are no values of an ETDump; a text has a kind there and no field.
void EtdumpTracer::add_value(LogValue record, const EValue& value) noexcept {
  const Tensor* tensors[kMaxListed];
  size_t count = 0;
  if (value.is_tensor()) {
    record.kind = kTensor;
    tensors[count++] = &value.tensor();
  } else if (value.is_int()) {
    record.kind = kInt, record.integer = value.to_int();
  } else if (value.is_bool()) {
    record.kind = kBool, record.integer = value.to_bool() ? 1 : 0;
  } else if (value.is_double()) {
    record.kind = kDouble, record.real = value.to_double();
  } else if (value.tag() == Tag::kTensorList || value.tag() == Tag::kOptionalTensorList) {
    record.kind = kTensorList;
    for (const EValue* item : value.values()) {
      if (item == nullptr || !item->is_tensor()) continue;
      if (count == kMaxListed) return static_cast<void>(++dropped_value_count_);
      tensors[count++] = &item->tensor();
    }
  } else {
    return;
  }
  add_tensors(record, {tensors, count});
}

void EtdumpTracer::on_allocation(const Allocation& allocation) noexcept {
  char buffer[32];
  log_.add_allocation(log_.allocator_of(name_of(allocation, buffer)), allocation.nbytes);
}

// Names such as "XnnpackBackend context".
void EtdumpTracer::on_delegate_memory(std::string_view id, const DelegateMemory& memory) noexcept {
  const struct {
    const char* name;
    uint64_t nbytes;
  } parts[] = {{"resident", memory.resident},
               {"context", memory.context},
               {"scratch", memory.scratch},
               {"from the host's allocator", memory.allocator}};
  for (const auto& part : parts) {
    if (part.nbytes == 0) continue;
    char buffer[128];
    std::snprintf(buffer, sizeof(buffer), "%.*s %s", static_cast<int>(std::min<size_t>(id.size(), 64)),
                  id.data(), part.name);
    log_.add_allocation(log_.allocator_of(buffer), part.nbytes);
  }
}

}  // namespace etb::host
