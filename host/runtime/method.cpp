// SPDX-License-Identifier: Apache-2.0
// Running a method: inputs, outputs, and the loop over instructions.
#include "host/runtime/method.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;
using Count = unsigned long long;  // for printf

constexpr size_t kDescriptionNbytes = 128;

etb_status wrong_input(uint32_t index, const char* what, const EValue& found, const EValue& expected,
                       etb_error* error) noexcept {
  char found_text[kDescriptionNbytes];
  char expected_text[kDescriptionNbytes];
  if (kHasErrorTexts) {
    describe(found, found_text);
    describe(expected, expected_text);
  }
  return fail(error, ETB_INVALID_ARGUMENT, "input %u: %s: found %s, expected %s", index, what, found_text,
              expected_text);
}

// Compares numbers, bools, texts and None of one kind.
bool is_same_scalar(const EValue& a, const EValue& b) noexcept {
  if (a.is_int()) return a.to_int() == b.to_int();
  if (a.is_bool()) return a.to_bool() == b.to_bool();
  if (a.is_double()) return a.to_double() == b.to_double();
  return a.tag() != Tag::kString || a.string() == b.string();
}

// Records the new memory of an input or output, and detaches views of the old memory, which the caller may
// free now. Inputs and outputs keep theirs, because the caller may have set it for two of them.
void replace_caller_memory(MethodState& state, CallerMemory& caller_memory, const void* data,
                           uint64_t nbytes) noexcept {
  const CallerMemory old = caller_memory;
  caller_memory.data = data;
  caller_memory.nbytes = nbytes;
  if (!state.has_views || old.data == nullptr || old.data == data) return;
  const auto begin = reinterpret_cast<uintptr_t>(old.data);
  for (EValue& value : state.values) {
    if (!value.is_tensor()) continue;
    const auto address = reinterpret_cast<uintptr_t>(value.tensor().data());
    const bool is_left = address - begin < old.nbytes && !std::ranges::count(state.inputs, &value) &&
                         !std::ranges::count(state.outputs, &value);
    if (is_left) value.tensor().set_data(nullptr, 0);
  }
}

// Sets the method's tensor from the caller's: copies the elements where the program planned the
// memory, else sets the pointer.
etb_status set_tensor(uint32_t index, const EValue& value, EValue& input, bool is_planned,
                      uint64_t upper_nbytes, etb_error* error) noexcept {
  const Tensor& from = value.tensor();
  Tensor& to = input.tensor();
  if (from.dtype() != to.dtype()) return wrong_input(index, "dtype", value, input, error);
  if (from.rank() != to.rank()) return wrong_input(index, "rank", value, input, error);
  if (from.data() == nullptr && from.numel() != 0)
    return wrong_input(index, "no memory", value, input, error);
  int64_t before[kMaxRank];
  std::ranges::copy(to.sizes(), before);
  Tensor changed = to;  // shares the arrays of sizes, but not data
  if (!is_planned) changed.set_data(from.data(), upper_nbytes);
  if (changed.resize(from.sizes()) != ETB_OK) {
    return wrong_input(index, to.dynamism() == Dynamism::kStatic ? "sizes" : "sizes beyond the upper bound",
                       value, input, error);
  }
  if (!from.has_layout_of(changed)) {
    static_cast<void>(changed.resize({before, static_cast<size_t>(to.rank())}));
    char found[kDescriptionNbytes];
    char expected[kDescriptionNbytes];
    if (kHasErrorTexts) {
      describe(from.strides(), found);
      describe(changed.strides(), expected);
    }
    return fail(error, ETB_INVALID_ARGUMENT, "input %u: dim order: found strides %s, expected %s", index,
                found, expected);
  }
  to = changed;
  if (!is_planned) {
    to.set_data(from.data(), from.nbytes());
  } else if (from.nbytes() != 0 && from.data() != to.data()) {
    // A hostile program may have moved a tensor without memory to this input.
    if (to.data() == nullptr || to.capacity_bytes() < from.nbytes()) {
      return fail(error, ETB_INVALID_PROGRAM, "input %u: the program left it without memory", index);
    }
    // memmove: the caller may pass memory of an arena, such as an output of the run before.
    std::memmove(to.data(), from.data(), from.nbytes());
  }
  return ETB_OK;
}

// False if any element of a bool tensor is false. The answer is unspecified when the run has to stop.
etb_status to_condition(MethodState& state, const EValue& value, bool* out) noexcept {
  if (value.is_bool()) return *out = value.to_bool(), ETB_OK;
  if (!value.is_tensor() || value.tensor().dtype() != Dtype::BOOL ||
      (value.tensor().data() == nullptr && value.tensor().numel() != 0)) {
    char text[kDescriptionNbytes];
    if (kHasErrorTexts) describe(value, text);
    return fail(&state.error, ETB_INVALID_PROGRAM, "jump on %s, expected a bool or a bool tensor", text);
  }
  const auto* bytes = value.tensor().data_as<const uint8_t>();
  const int64_t count = value.tensor().numel();
  *out = true;
  for (int64_t begin = 0; *out && begin < count; begin += KernelContext::kPiece) {
    const int64_t end = std::min(begin + KernelContext::kPiece, count);
    *out = std::all_of(bytes + begin, bytes + end, [](uint8_t byte) { return byte != 0; });
    if (state.context.should_stop(end - begin)) return state.context.stopped();
  }
  return ETB_OK;
}

// Called at each jump back. Runs without a jump back always end, so only loops pay for counting.
etb_status check_loop(MethodState& state, const Instruction& instruction, const RunLimits& limits) noexcept {
  if (instruction.repeats_itself) {
    return fail(
        &state.error, ETB_INVALID_PROGRAM,
        "jumps back to itself over nothing that changes its condition, so the program would never end");
  }
  if (limits.max_instructions != 0) return ETB_OK;  // counted exactly, or unlimited on purpose
  const uint64_t most = state.options.limits.max_run_instructions;
  state.looped_count += state.next - instruction.target + 1;
  if (state.looped_count <= most) return ETB_OK;
  return fail(&state.error, ETB_OUT_OF_RESOURCES,
              "about %llu instructions executed in loops, more than the limit max_run_instructions of %llu\n"
              "hint: raise it in LoadLimits, or RunLimits::max_instructions, when the program is trusted",
              static_cast<Count>(state.looped_count), static_cast<Count>(most));
}

bool has_instruction_limit(const RunLimits& limits) noexcept {
  return limits.max_instructions != 0 && limits.max_instructions != RunLimits::kNoInstructionLimit;
}

etb_status check_time(MethodState& state, const RunLimits& limits) noexcept {
  if (limits.cancel != nullptr && limits.cancel->load(std::memory_order_relaxed)) {
    return fail(&state.error, ETB_CANCELLED, "cancelled after %llu instructions",
                static_cast<Count>(state.executed_count));
  }
  const PlatformHooks& platform = *state.options.platform;
  if (limits.deadline_ns != 0 && platform.now_ns(platform.self) >= limits.deadline_ns) {
    return fail(&state.error, ETB_DEADLINE_EXCEEDED, "deadline passed after %llu instructions",
                static_cast<Count>(state.executed_count));
  }
  return ETB_OK;
}

etb_status check_limits(MethodState& state, const RunLimits& limits) noexcept {
  if (has_instruction_limit(limits) && state.executed_count >= limits.max_instructions) {
    return fail(&state.error, ETB_OUT_OF_RESOURCES, "%llu instructions executed, the run's limit",
                static_cast<Count>(state.executed_count));
  }
  return check_time(state, limits);
}

bool has_limits(const RunLimits& limits) noexcept {
  return has_instruction_limit(limits) || limits.deadline_ns != 0 || limits.cancel != nullptr;
}

// Replaces the error text, because a kernel that had to stop may have left none or an unrelated one.
etb_status stopped(MethodState& state, const Instruction& instruction) noexcept {
  const etb_status reason = state.context.stopped();
  return fail(&state.error, reason, "%s inside %s, after %llu instructions",
              reason == ETB_CANCELLED ? "cancelled" : "deadline passed", event_name(state, instruction),
              static_cast<Count>(state.executed_count - 1));
}

etb_status after_delegate(MethodState& state, const RunLimits& limits, etb_status answered) noexcept {
  const etb_status status = check_time(state, limits);
  return status != ETB_OK ? status : answered;
}

bool traces_instructions(const MethodState& state) noexcept {
  return state.options.tracer != nullptr && state.options.tracer->wants().instructions;
}

etb_status run_checked(MethodState& state, const RunLimits& limits) noexcept {
  ETB_CHECK(check_limits(state, limits));
  ++state.executed_count;
  const Instruction& instruction = state.instructions[state.next];
  const etb_status status = traces_instructions(state)
                                ? state.options.tracer->functions().run(state, instruction, limits)
                                : run_instruction(state, instruction, limits, nullptr);
  if (state.context.stop_check().is_stopped()) return stopped(state, instruction);
  if (instruction.kind != InstructionKind::kDelegate) return status;
  // A delegate may have run beyond the deadline, and a stopped delegate reports it with its own text.
  return status == ETB_OK || status == ETB_CANCELLED || status == ETB_DEADLINE_EXCEEDED
             ? after_delegate(state, limits, status)
             : status;
}

// Copies the text that a kernel or the loop left in state.error to the caller, with the instruction's
// location.
etb_status report(const MethodState& state, etb_status status, etb_error* error) noexcept {
#if !ETB_ERROR_TEXTS
  if (!detail::can_write(error)) return status;
  const uint32_t struct_size = error->struct_size, flags = error->flags;
  *error = state.error;
  error->struct_size = struct_size;
  error->flags = flags;
  error->code = status;
  return fail_in(error, status, "instruction %u", state.next);
#endif
  int32_t chain = 0;
  int32_t index = 0;
  state.locate(state.next, &chain, &index);
  const auto name = state.meta.name();
  const char* text = state.error.text[0] != '\0' ? state.error.text : "failed without a reason";
  fail(error, status, "method '%.*s', chain %d, instruction %d: %s", shown(name), name.data(), chain, index,
       text);
  if (detail::can_write(error)) {
    error->vendor_code = state.error.vendor_code;
    std::memcpy(error->reason, state.error.reason, sizeof(error->reason));
  }
  return status;
}

}  // namespace

etb_status run_instruction(MethodState& state, const Instruction& instruction, const RunLimits& limits,
                           const etb_event_sink* events) noexcept {
  uint32_t next = state.next + 1;
  switch (instruction.kind) {
    case InstructionKind::kKernel: {
      const Kernel& kernel = *instruction.kernel;
      state.context.begin_kernel(kernel.name);
      if (instruction.checks_arguments) {
        ETB_CHECK(check_arguments(state.context, kernel, instruction.arguments, instruction.argument_count));
        if (instruction.checks_overlap) ETB_CHECK(check_operands(state, instruction));
      }
      ETB_CHECK(kernel.function(state.context, instruction.arguments));
      break;
    }
    case InstructionKind::kDelegate:
      if (instruction.checks_overlap) ETB_CHECK(check_operands(state, instruction));
      ETB_CHECK(state.options.delegates->functions().run(state, instruction, limits, events));
      break;
    case InstructionKind::kMove:
      *instruction.value = *instruction.from;
      break;
    case InstructionKind::kJumpFalse: {
      bool condition = true;
      ETB_CHECK(to_condition(state, *instruction.value, &condition));
      if (condition) break;
      next = instruction.target;
      if (next <= state.next) ETB_CHECK(check_loop(state, instruction, limits));
      break;
    }
    case InstructionKind::kFree:
      // A move may have stored a value of another kind here.
      if (instruction.value->is_tensor()) instruction.value->tensor().set_data(nullptr, 0);
      break;
  }
  state.next = next;
  return ETB_OK;
}

const char* event_name(const MethodState& state, const Instruction& instruction) noexcept {
  switch (instruction.kind) {
    case InstructionKind::kKernel:
      return instruction.kernel->name;
    // FlatBuffers strings end with a zero byte.
    case InstructionKind::kDelegate:
      return state.view().delegate(instruction.delegate).id().data();
    case InstructionKind::kMove:
      return "move";
    case InstructionKind::kJumpFalse:
      return "jump_false";
    case InstructionKind::kFree:
      break;
  }
  return "free";
}

uint64_t now_ns(const MethodState& state) noexcept {
  const PlatformHooks& platform = *state.options.platform;
  return platform.now_ns(platform.self);
}

void MethodState::locate(uint32_t instruction, int32_t* out_chain, int32_t* out_index) const noexcept {
  size_t chain = chains.size();
  while (chain > 1 && chains[chain - 1].first > instruction) --chain;
  *out_chain = static_cast<int32_t>(chain) - 1;
  *out_index = static_cast<int32_t>(instruction - chains[chain - 1].first);
}

void describe(std::span<const int64_t> numbers, std::span<char> out) noexcept {
  size_t used = static_cast<size_t>(std::snprintf(out.data(), out.size(), "["));
  for (size_t i = 0; i < numbers.size() && used + 24 < out.size(); ++i) {
    used += static_cast<size_t>(
        std::snprintf(out.data() + used, out.size() - used, "%s%" PRId64, i == 0 ? "" : ", ", numbers[i]));
  }
  std::snprintf(out.data() + used, out.size() - used, "]");
}

void describe(Dtype dtype, std::span<const int64_t> sizes, std::span<char> out) noexcept {
  const auto used = static_cast<size_t>(std::snprintf(out.data(), out.size(), "%s ", to_text(dtype)));
  describe(sizes, out.subspan(used));
}

void describe(const EValue& value, std::span<char> out) noexcept {
  if (value.is_tensor()) return describe(value.tensor().dtype(), value.tensor().sizes(), out);
  if (value.is_int()) {
    std::snprintf(out.data(), out.size(), "int %lld", static_cast<long long>(value.to_int()));
  } else if (value.is_double()) {
    std::snprintf(out.data(), out.size(), "double %g", value.to_double());
  } else if (value.is_bool()) {
    std::snprintf(out.data(), out.size(), "bool %s", value.to_bool() ? "true" : "false");
  } else {
    std::snprintf(out.data(), out.size(), "%s", to_text(value.tag()));
  }
}

Method& Method::operator=(Method&& other) noexcept {
  if (this == &other) return *this;
  unload();
  state_ = other.state_;
  other.state_ = nullptr;
  return *this;
}

const MethodMeta& Method::meta() const noexcept { return state_->meta; }
uint32_t Method::input_count() const noexcept { return static_cast<uint32_t>(state_->inputs.size()); }
uint32_t Method::output_count() const noexcept { return static_cast<uint32_t>(state_->outputs.size()); }
const EValue& Method::input(uint32_t index) const noexcept { return *state_->inputs[index]; }
const EValue& Method::output(uint32_t index) const noexcept { return *state_->outputs[index]; }
uint64_t Method::scratch_peak_bytes() const noexcept { return state_->context.scratch_peak_bytes(); }

etb_status Method::set_input(uint32_t index, const EValue& value, etb_error* error) noexcept {
  if (state_ == nullptr) return fail(error, ETB_INVALID_STATE, "set_input: no method is loaded");
  if (index >= input_count()) {
    return fail(error, ETB_INVALID_ARGUMENT, "input %u: the method has %u inputs", index, input_count());
  }
  EValue& input = *state_->inputs[index];
  CallerMemory& memory = state_->caller_memory[index];
  if (value.is_tensor() && input.is_tensor() && memory.is_tensor) {
    if (input.tensor().is_read_only()) {
      return fail(error, ETB_INVALID_ARGUMENT, "input %u: the program made it a constant", index);
    }
    ETB_CHECK(set_tensor(index, value, input, memory.is_planned, memory.upper_nbytes, error));
    const Tensor& given = value.tensor();
    if (!memory.is_planned) replace_caller_memory(*state_, memory, given.data(), given.nbytes());
    return ETB_OK;
  }
  const bool is_number = input.is_double() && value.is_int();
  if (value.tag() != input.tag() && !is_number) return wrong_input(index, "kind", value, input, error);
  if (value.is_tensor() || value.tag() >= Tag::kBoolList) {
    return fail(error, ETB_NOT_SUPPORTED, "input %u: a %s cannot be given from outside", index,
                to_text(value.tag()));
  }
  const EValue given = is_number ? EValue(value.to_double()) : value;
  if (!is_same_scalar(given, input) && state_->meta.is_fixed_input(index))
    return wrong_input(index, "a value that the program fixes", value, input, error);
  input = given;
  return ETB_OK;
}

etb_status Method::set_output_memory(uint32_t index, std::span<std::byte> memory, etb_error* error) noexcept {
  if (state_ == nullptr) return fail(error, ETB_INVALID_STATE, "set_output_memory: no method is loaded");
  if (index >= output_count()) {
    return fail(error, ETB_INVALID_ARGUMENT, "output %u: the method has %u outputs", index, output_count());
  }
  const auto spec = state_->meta.output(index);
  if (spec.kind() != format::ValueKind::kTensor || !output(index).is_tensor() ||
      spec.as_tensor().storage != format::Storage::kCaller) {
    return fail(error, ETB_INVALID_ARGUMENT, "output %u: the program planned its memory; read it from there",
                index);
  }
  // A hostile program may have moved another tensor to this output.
  Tensor& tensor = output(index).tensor();
  const uint64_t nbytes = std::max(spec.as_tensor().nbytes, tensor.nbytes());
  if (memory.size() < nbytes) {
    return fail(error, ETB_INVALID_ARGUMENT, "output %u: %zu bytes given, expected %llu", index,
                memory.size(), static_cast<Count>(nbytes));
  }
  if (tensor.is_read_only())
    return fail(error, ETB_INVALID_ARGUMENT, "output %u: the program made it a constant", index);
  if (reinterpret_cast<uintptr_t>(memory.data()) % element_nbytes(tensor.dtype()) != 0) {
    return fail(error, ETB_INVALID_ARGUMENT,
                "output %u: memory at %p, expected a multiple of the element size", index,
                static_cast<void*>(memory.data()));
  }
  tensor.set_data(memory.data(), tensor.dynamism() == Dynamism::kStatic ? nbytes : memory.size());
  replace_caller_memory(*state_, state_->caller_memory[input_count() + index], memory.data(), memory.size());
  return ETB_OK;
}

void Method::set_scratch(std::span<std::byte> scratch) noexcept { state_->context.set_scratch(scratch); }

void Method::restart() noexcept {
  state_->next = 0;
  state_->executed_count = 0;
  state_->looped_count = 0;
}

// Begins a run at the first instruction.
etb_status Method::start(etb_error* error) noexcept {
  if (state_ == nullptr) return fail(error, ETB_INVALID_STATE, "execute: no method is loaded");
  restart();
  MethodState& state = *state_;
  if (state.options.tracer != nullptr) {
    state.options.tracer->on_begin(EventKind::kExecute);
    state.begin_ns = now_ns(state);
  }
  return ETB_OK;
}

// Runs the instructions that are left, without checks between them.
etb_status Method::run_to_end(etb_error* error, const RunLimits& limits) noexcept {
  if (state_ == nullptr) return fail(error, ETB_INVALID_STATE, "resume: no method is loaded");
  MethodState& state = *state_;
  state.error.text[0] = '\0';
  const bool is_traced = traces_instructions(state);
  if (is_traced) state.traced_ns = state.next == 0 ? state.begin_ns : now_ns(state);
  etb_status status = ETB_OK;
  while (status == ETB_OK && state.next < state.instructions.size()) {
    const Instruction& instruction = state.instructions[state.next];
    status = is_traced ? state.options.tracer->functions().run(state, instruction, limits)
                       : run_instruction(state, instruction, limits, nullptr);
  }
  return finish(status, error);
}

etb_status Method::finish(etb_status status, etb_error* error) noexcept {
  if (status != ETB_OK) return report(*state_, status, error);
  if (state_->options.tracer != nullptr) state_->options.tracer->functions().end_run(*state_);
  return ETB_OK;
}

etb_status Method::execute(etb_error* error) noexcept {
  ETB_CHECK(start(error));
  return run_to_end(error, {});
}

etb_status Method::execute(etb_error* error, const RunLimits& limits) noexcept {
  ETB_CHECK(start(error));
  return resume(error, limits);
}

etb_status Method::resume(etb_error* error) noexcept { return run_to_end(error, {}); }

etb_status Method::resume(etb_error* error, const RunLimits& limits) noexcept {
  if (state_ == nullptr || !has_limits(limits)) return run_to_end(error, limits);
  MethodState& state = *state_;
  state.error.text[0] = '\0';
  if (traces_instructions(state)) state.traced_ns = state.next == 0 ? state.begin_ns : now_ns(state);
  etb_status status = ETB_OK;
  state.context.set_stop_check(StopCheck(limits, *state.options.platform));
  while (status == ETB_OK && state.next < state.instructions.size()) status = run_checked(state, limits);
  state.context.set_stop_check(StopCheck());
  if (status == ETB_OK) status = check_time(state, limits);
  return finish(status, error);
}

etb_status Method::step(etb_error* error, const RunLimits& limits) noexcept {
  if (state_ == nullptr) return fail(error, ETB_INVALID_STATE, "step: no method is loaded");
  MethodState& state = *state_;
  if (state.next >= state.instructions.size()) {
    restart();
    return fail(error, ETB_END_OF_METHOD, "no instruction is left");
  }
  state.error.text[0] = '\0';
  state.context.set_stop_check(StopCheck(limits, *state.options.platform));
  if (state.options.tracer != nullptr) {
    if (state.next == 0 && state.executed_count == 0) state.options.tracer->on_begin(EventKind::kExecute);
    state.traced_ns = now_ns(state);
  }
  const etb_status status = run_checked(state, limits);
  state.context.set_stop_check(StopCheck());
  return status == ETB_OK ? ETB_OK : report(state, status, error);
}

}  // namespace etb::host
