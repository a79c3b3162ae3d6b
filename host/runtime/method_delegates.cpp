// SPDX-License-Identifier: Apache-2.0
// Makes and runs the delegates of a method.
#include "etb/cpp/fail.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;

// Counts a payload once for each delegate, although several may name the same bytes.
uint64_t payload_nbytes(const MethodState& state) noexcept {
  const format::ProgramView& program = state.program->view();
  uint64_t total = 0;
  for (uint32_t i = 0; i < state.view().delegate_count(); ++i) {
    const auto delegate = state.view().delegate(i);
    const uint64_t nbytes = delegate.is_inline() ? program.inline_payload(delegate.payload_index()).size()
                                                 : program.segment(delegate.payload_index()).nbytes;
    if (__builtin_add_overflow(total, nbytes, &total)) return UINT64_MAX;
  }
  return total;
}

etb_status make_delegate(MethodState& state, std::span<const std::span<std::byte>> arenas, uint32_t index,
                         const format::DelegateView& delegate, etb_error* error) noexcept {
  DataBlock payload;
  if (delegate.is_inline()) {
    payload = DataBlock(state.program->view().inline_payload(delegate.payload_index()));
  } else {
    ETB_CHECK(state.program->load_segment(delegate.payload_index(), &payload, error));
  }
  DelegateRequest request{delegate.id(),
                          state.meta.name(),
                          delegate,
                          &payload,
                          &state.named_data,
                          state.options.platform,
                          {},
                          arenas,
                          false,
                          state.options.limits.max_scratch_bytes,
                          state.instructions.data()};
  request.index = index;
  request.files = state.options.files;
  request.program = state.program;
  for (const Instruction& instruction : state.instructions) {
    if (instruction.kind == InstructionKind::kMove) request.may_move = true;
    if (instruction.kind != InstructionKind::kDelegate || instruction.delegate != index) continue;
    if (!request.arguments.empty()) continue;
    request.arguments = {instruction.arguments, instruction.argument_count};
    request.first_call = static_cast<uint32_t>(&instruction - state.instructions.data());
  }
  return state.options.delegates->create(request, &state.delegates[index], error);
}

etb_status make_delegates(MethodState& state, std::span<const std::span<std::byte>> arenas,
                          etb_error* error) noexcept {
  const uint64_t most = state.options.limits.max_payload_bytes;
  ETB_CHECK(check_limit("max_payload_bytes", payload_nbytes(state), most, error));
  for (uint32_t i = 0; i < state.view().delegate_count(); ++i) {
    const auto delegate = state.view().delegate(i);
    if (const etb_status status = make_delegate(state, arenas, i, delegate, error); status != ETB_OK) {
      return fail_in(error, status, "delegate %u '%.*s'", i, shown(delegate.id()), delegate.id().data());
    }
  }
  return ETB_OK;
}

etb_status run_delegate(MethodState& state, const Instruction& instruction, const RunLimits& limits,
                        const etb_event_sink* events) noexcept {
  const DelegateRun run{{instruction.arguments, instruction.argument_count}, limits, events, &state.error};
  const etb_status status = state.delegates[instruction.delegate]->execute(run);
  if (status == ETB_OK) return ETB_OK;
  const auto id = state.view().delegate(instruction.delegate).id();
  if (state.error.text[0] == '\0')
    return fail(&state.error, status, "delegate '%.*s' failed", shown(id), id.data());
  return fail_in(&state.error, status, "delegate '%.*s'", shown(id), id.data());
}

}  // namespace

const DelegateFunctions kDelegateFunctions{make_delegates, run_delegate};

}  // namespace etb::host
