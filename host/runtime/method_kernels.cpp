// SPDX-License-Identifier: Apache-2.0
// Selects the kernel of each call, and finds the arguments that need no check during a run.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "etb/cpp/fail.hpp"
#include "host/runtime/method_state.hpp"

// Checks and texts of a run time that etb_add_runtime() made.
#if defined(ETB_SELECTED_KERNELS)
#include "host/runtime/selected_dtypes.hpp"
#define ETB_KERNEL_HINT "; etbackend select MODEL -o ops.yaml adds them to the list of etb_add_runtime"
#else
#define ETB_KERNEL_HINT ""
#endif

namespace etb::host {

namespace {

using format::InstructionKind;

#if ETB_ERROR_TEXTS
__attribute__((format(printf, 2, 3))) size_t print(std::span<char> out, const char* format, ...) noexcept {
  if (out.empty()) return 0;
  va_list args;
  va_start(args, format);
  const int written = std::vsnprintf(out.data(), out.size(), format, args);
  va_end(args);
  return written < 0 ? 0 : std::min(static_cast<size_t>(written), out.size() - 1);
}

// Writes one missing operator as text, and logs it in full. Returns the characters written.
size_t report_missing(const MethodState& state, const format::OperatorView& op,
                      const Instruction& instruction, bool is_first, std::span<char> out) noexcept {
  char text[160];
  size_t used = print(text, "%s%.*s%s%.*s(", is_first ? "" : ", ", shown(op.name), op.name.data(),
                      op.overload.empty() ? "" : ".", shown(op.overload), op.overload.data());
  bool is_empty = true;
  for (uint32_t i = 0; i < instruction.argument_count && used + 24 < sizeof(text); ++i) {
    if (!instruction.arguments[i]->is_tensor()) continue;
    used += print(std::span(text).subspan(used), "%s%s", is_empty ? "" : " ",
                  to_text(instruction.arguments[i]->tensor().dtype()));
    is_empty = false;
  }
  print(std::span(text).subspan(used), ")");
  if (const auto* platform = state.options.platform; platform->log != nullptr) {
    char line[200];
    print(line, "no kernel for %s", is_first ? text : text + 2);
    platform->log(platform->self, LogLevel::kError, line);
  }
  return print(out, "%s", text);
}

etb_status fail_missing(const MethodState& state, std::span<OperatorKernel> kernels,
                        etb_error* error) noexcept {
  char missing[300];
  size_t used = 0;
  uint32_t missing_count = 0;
  for (const Instruction& instruction : state.instructions) {
    if (instruction.kind != InstructionKind::kKernel || instruction.kernel != nullptr) continue;
    if (std::exchange(kernels[instruction.target].is_reported, true)) continue;
    used += report_missing(state, state.view().op(instruction.target), instruction, missing_count++ == 0,
                           {missing + used, sizeof(missing) - used});
  }
  return fail(error, ETB_OPERATOR_MISSING, "no kernel for %u of %u operators: %s" ETB_KERNEL_HINT,
              missing_count, state.view().operator_count(), missing);
}
#else
etb_status fail_missing(const MethodState& state, std::span<OperatorKernel>, etb_error* error) noexcept {
  const auto is_missing = [](const Instruction& instruction) {
    return instruction.kind == InstructionKind::kKernel && instruction.kernel == nullptr;
  };
  return fail(error, ETB_OPERATOR_MISSING, "no kernel for operator %u",
              std::ranges::find_if(state.instructions, is_missing)->target);
}
#endif

const Kernel* find_kernel(const MethodState& state, uint32_t op_index, const Instruction& instruction,
                          OperatorKernel& entry) noexcept {
  const auto op = state.view().op(op_index);
  const auto* registry = state.options.kernels;
  if (!entry.is_looked_up) {
    entry.is_looked_up = true;
    if (registry != nullptr) {
      entry.kernel = registry->find(op.name, op.overload);
      entry.is_specialised = registry->has_keyed(op.name, op.overload);
    }
    if (entry.kernel == nullptr && !entry.is_specialised) entry.kernel = find_prim_op(op.name, op.overload);
  }
  if (!entry.is_specialised || registry == nullptr) return entry.kernel;
  return registry->find(op.name, op.overload, instruction.arguments, instruction.argument_count);
}

#if defined(ETB_SELECTED_KERNELS)
// Also in branches that may never run: a program is refused by its text, not by its inputs.
etb_status check_selected_calls(const MethodState& state, etb_error* error) noexcept {
  KernelContext context({}, nullptr, error);
  for (const Instruction& instruction : state.instructions) {
    if (instruction.kind != InstructionKind::kKernel) continue;
    context.begin_kernel(instruction.kernel->name);
    ETB_CHECK(check_selected_call(context, *instruction.kernel,
                                  {instruction.arguments, instruction.argument_count}));
  }
  return ETB_OK;
}
#else
etb_status check_selected_calls(const MethodState&, etb_error*) noexcept { return ETB_OK; }
#endif

}  // namespace

etb_status find_kernels(MethodState& state, std::span<OperatorKernel> kernels, etb_error* error) noexcept {
  bool has_all = true;
  for (Instruction& instruction : state.instructions) {
    if (instruction.kind != InstructionKind::kKernel) continue;
    instruction.kernel = find_kernel(state, instruction.target, instruction, kernels[instruction.target]);
    has_all = has_all && instruction.kernel != nullptr;
  }
  return has_all ? check_selected_calls(state, error) : fail_missing(state, kernels, error);
}

void mark_changing_arguments(MethodState& state, std::span<uint8_t> changes) noexcept {
  const auto changes_of = [&](const EValue* value) -> uint8_t& {
    return changes[static_cast<size_t>(value - state.values.data())];
  };
  for (const Instruction& instruction : state.instructions) {
    if (instruction.kind == InstructionKind::kMove) {
      // Both values share one tensor after the move, so a change of one changes the other.
      changes_of(instruction.value) |= kMayChange | kMayMove;
      changes_of(instruction.from) |= kMayChange | kMayMove;
    }
    if (instruction.kind == InstructionKind::kFree) changes_of(instruction.value) |= kMayChange;
    const bool is_core_op = instruction.kind == InstructionKind::kKernel && is_prim_op(*instruction.kernel);
    if (!is_core_op && instruction.kind != InstructionKind::kDelegate) continue;
    const bool is_view = is_core_op && is_view_op(*instruction.kernel);
    state.has_views = state.has_views || is_view;
    for (uint32_t i = 0; i < instruction.argument_count; ++i)
      changes_of(instruction.arguments[i]) |= is_view && i == 2 ? kMayChange | kMayMove : kMayChange;
  }
  for (Instruction& instruction : state.instructions) {
    if (instruction.kind != InstructionKind::kKernel && instruction.kind != InstructionKind::kDelegate)
      continue;
    uint8_t found = 0;
    for (uint32_t i = 0; i < instruction.argument_count; ++i) {
      const EValue* value = instruction.arguments[i];
      found |= changes_of(value);
      if (value->tag() < Tag::kIntList) continue;
      for (const EValue* item : value->values()) found |= item == nullptr ? uint8_t{0} : changes_of(item);
    }
    instruction.checks_arguments = (found & kMayChange) != 0;
    const bool is_delegate = instruction.kind == InstructionKind::kDelegate;
    instruction.checks_overlap = (found & kMayMove) != 0 && (is_delegate || !is_prim_op(*instruction.kernel));
    if (instruction.checks_arguments || is_delegate) continue;
    // Reports a call that can never pass when it runs, not here: it may be in a branch that is never
    // executed.
    state.context.begin_kernel(instruction.kernel->name);
    instruction.checks_arguments = check_arguments(state.context, *instruction.kernel, instruction.arguments,
                                                   instruction.argument_count) != ETB_OK;
  }
}

}  // namespace etb::host
