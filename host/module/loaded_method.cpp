// SPDX-License-Identifier: Apache-2.0
#include "host/module/loaded_method.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "host/module/core_error.hpp"

namespace etb::host {
namespace {

// Smallest scratch of a method. It has none until a kernel asks for some, because many programs need none.
constexpr uint64_t kFirstScratchBytes = uint64_t{64} << 10;

bool is_input(const MethodMeta& meta, uint32_t output) {
  const auto& inputs = meta.view().inputs();
  return std::find(inputs.begin(), inputs.end(), meta.view().outputs()[output]) != inputs.end();
}

bool has_stopped(etb_status answer) { return answer == ETB_CANCELLED || answer == ETB_DEADLINE_EXCEEDED; }

// The number is that of no other run of the process.
uint64_t next_run_id() noexcept {
  static std::atomic<uint64_t> count{0};
  return count.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Status LoadedMethod::load(const Program& program, const MethodMeta& meta,
                          std::span<const std::span<std::byte>> arenas, const MethodOptions& given) {
  auto state = ZeroedBuffer::make(budget_, "state", meta.state_nbytes());
  if (!state)
    return tl::make_unexpected(
        with_context(std::move(state).error(), "method '" + std::string(meta.name()) + "'"));
  tracer_ = given.tracer;
  MethodOptions options = given;
  if (tracer_ != nullptr && tracer_->wants().allocations && given.delegates != nullptr)
    options.delegates = &recorded_delegates_.emplace(*given.delegates, *tracer_);
  state_ = *std::move(state);
  state_allocator_ = BumpAllocator(state_.bytes());
  const MethodMemory memory{&state_allocator_, arenas, scratch_.bytes()};
  ETB_TRY(
      checked([&](etb_error* error) { return method_.load(program, meta.name(), memory, options, error); }));
  inputs_seen_.resize(meta.input_count());
  missing_input_count_ = meta.input_count();
  for (uint32_t i = 0; i < meta.input_count(); ++i)
    if (meta.is_fixed_input(i)) set_input_seen(i);
  return {};
}

void LoadedMethod::keep_on_devices(bool keeps_state) {
  if (tracer_ != nullptr && tracer_->wants().values) return;
  kept_count_ = KeptValues::keep(method_);
  if (!keeps_state) return;
  kept_state_ = KeptState::keep(method_);
  kept_count_ += kept_state_.count();
}

std::vector<StateCandidate> LoadedMethod::find_state() {
  if (tracer_ != nullptr && tracer_->wants().values) return {};
  return KeptState::find(method_);
}

bool LoadedMethod::keep_state(const StateCandidate& candidate, DeviceState** state) {
  if (!kept_state_.add(method_, candidate, state)) return false;
  ++kept_count_;
  return true;
}

// Both depend on the arguments that stay on devices.
void LoadedMethod::end_keeping() {
  reservations_ = InputReservations::make(method_);
  if (overlapped_) overlap();
}

Status LoadedMethod::allocate_outputs() {
  for (uint32_t i = 0; i < output_count(); ++i) {
    const auto output = meta().output(i);
    if (output.kind() != format::ValueKind::kTensor) continue;
    const auto record = output.as_tensor();
    // An output that is also an input keeps the caller's memory.
    if (record.storage != format::Storage::kCaller || is_input(meta(), i)) continue;
    ETB_ASSIGN(ZeroedBuffer memory,
               ZeroedBuffer::make(budget_, ("output " + std::to_string(i)).c_str(), record.nbytes));
    ETB_TRY(set_output(i, memory.bytes()));
    if (tracer_ != nullptr && tracer_->wants().allocations)
      tracer_->on_allocation({AllocatorKind::kOutput, i, record.nbytes});
    outputs_.push_back(std::move(memory));
  }
  return {};
}

void LoadedMethod::set_input_seen(uint32_t index) {
  if (inputs_seen_[index]) return;
  inputs_seen_[index] = true;
  --missing_input_count_;
}

Status LoadedMethod::put_input(uint32_t index, const EValue& value) {
  etb_error error;
  clear(error);
  if (const etb_status status = method_.set_input(index, value, &error); status != ETB_OK)
    return check(status, error);
  set_input_seen(index);
  return {};
}

Status LoadedMethod::check_input_count(uint64_t count) const {
  if (count == input_count()) return {};
  return make_error(Code::INVALID_ARGUMENT, std::to_string(count) + " inputs given, method '" +
                                                std::string(meta().name()) + "' expects " +
                                                std::to_string(input_count()));
}

Status LoadedMethod::set_inputs(std::span<const EValue> values) {
  ETB_TRY(check_input_count(values.size()));
  for (uint32_t i = 0; i < values.size(); ++i) ETB_TRY(put_input(i, values[i]));
  end_inputs();
  return {};
}

Status LoadedMethod::check_inputs() const {
  if (missing_input_count_ == 0) return {};
  const auto missing = std::find(inputs_seen_.begin(), inputs_seen_.end(), false);
  return make_error(Code::INVALID_STATE,
                    "input " + std::to_string(missing - inputs_seen_.begin()) + " was never set");
}

Status LoadedMethod::set_output(uint32_t index, std::span<std::byte> memory) {
  return checked([&](etb_error* error) { return method_.set_output_memory(index, memory, error); });
}

std::vector<EValue> LoadedMethod::outputs() const {
  std::vector<EValue> values;
  values.reserve(output_count());
  for (uint32_t i = 0; i < output_count(); ++i) values.push_back(output(i));
  return values;
}

Status LoadedMethod::run(const RunLimits& given) {
  ETB_TRY(check_inputs());
  RunLimits limits = given;
  if (limits.run_id == 0) limits.run_id = next_run_id();
  if (kept_count_ != 0 && tracer_ != nullptr && tracer_->wants().values) {
    KeptValues::let_go(method_);
    kept_count_ = 0;
  }
  etb_error error;
  clear(error);
  has_run_ = true;
  const etb_status status =
      overlapped_ ? overlapped_->execute(&error, limits) : method_.execute(&error, limits);
  if (method_.scratch_peak_bytes() <= scratch_.bytes().size()) return check(status, error);
  return resume_with_scratch(status, error, limits);
}

// A kernel that gets too little scratch fails before it writes anything, so the run resumes at that kernel.
Status LoadedMethod::resume_with_scratch(etb_status status, etb_error& error, const RunLimits& limits) {
  while (status != ETB_OK && !has_stopped(status) && method_.scratch_peak_bytes() > scratch_.bytes().size()) {
    ETB_TRY(grow_scratch());
    status = overlapped_ ? overlapped_->resume(&error, limits) : method_.resume(&error, limits);
  }
  // Grows the scratch to the size that kernels wished for, from the next run on. Without it they are
  // slower, so a failure is no error.
  if (status == ETB_OK && method_.scratch_peak_bytes() > scratch_.bytes().size()) {
    static_cast<void>(grow_scratch());
  }
  return check(status, error);
}

Status LoadedMethod::grow_scratch() {
  const uint64_t needed = method_.scratch_peak_bytes();
  if (needed > max_scratch_bytes_) {
    return make_error(Code::OUT_OF_MEMORY,
                      "a kernel asks for " + std::to_string(needed) +
                          " bytes of scratch, more than the limit max_scratch_bytes of " +
                          std::to_string(max_scratch_bytes_) +
                          "\nhint: raise it in LoadLimits when the program is trusted");
  }
  const uint64_t doubled = 2 * uint64_t{scratch_.bytes().size()};
  const uint64_t wanted = std::min(max_scratch_bytes_, std::max({needed, doubled, kFirstScratchBytes}));
  auto larger = ZeroedBuffer::make(budget_, "scratch", wanted);
  if (!larger && wanted > needed) larger = ZeroedBuffer::make(budget_, "scratch", needed);
  if (!larger) return tl::make_unexpected(std::move(larger).error());
  method_.set_scratch(larger->bytes());
  scratch_ = *std::move(larger);
  return {};
}

}  // namespace etb::host
