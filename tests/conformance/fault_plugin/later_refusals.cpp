// SPDX-License-Identifier: Apache-2.0
// Faults 566 to 570 of the tables: reasons, units of events, fences, and what contexts leave.
#include <cstring>

#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables honest;  // before they are changed

// Passes rejections on with another reason.
void break_reasons(etb_aot_table& table) {
  if (!has_fault(566)) return;
  table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                       etb_error* error) {
    etb_partition_sink other = *sink;
    other.ctx = const_cast<etb_partition_sink*>(sink);
    other.claim = [](void* ctx, const etb_claim* claim) {
      const auto& real = *static_cast<const etb_partition_sink*>(ctx);
      return real.claim(real.ctx, claim);
    };
    other.reject = [](void* ctx, const etb_reject* reject) {
      const auto& real = *static_cast<const etb_partition_sink*>(ctx);
      etb_reject with = *reject;
      if (std::strcmp(with.reason, "dynamic") == 0) with.reason = "attribute";
      return real.reject(real.ctx, &with);
    };
    return honest.aot.partition(plugin, args, &other, error);
  };
}

// Events count microseconds and state nanoseconds.
void break_units(etb_delegate_table& table) {
  if (!has_fault(567)) return;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    if (args->events == nullptr) return honest.delegate.execute(context, args, error);
    etb_event_sink shorter = *args->events;
    shorter.ctx = const_cast<etb_event_sink*>(args->events);
    shorter.put = [](void* ctx, const etb_event* event) {
      const auto& real = *static_cast<const etb_event_sink*>(ctx);
      etb_event with = *event;
      with.end_ticks = with.begin_ticks + (event->end_ticks - event->begin_ticks) / 1000;
      return real.put(real.ctx, &with);
    };
    etb_exec_args with = *args;
    with.events = &shorter;
    return honest.delegate.execute(context, &with, error);
  };
}

void break_fences(etb_delegate_table& table) {
  if (has_fault(568))
    table.execute_async = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      etb_exec_args with = *args;
      if (with.wait_count == 1 && std::strcmp(with.wait->kind, "callback") == 0) with.wait_count = 0;
      return honest.delegate.execute_async(context, &with, error);
    };
}

// A context that ran with an event sink leaves memory.
void break_contexts_with_events(etb_delegate_table& table) {
  if (!has_fault(570)) return;
  static thread_local const etb_context* last = nullptr;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    if (args->events != nullptr && context != last) {
      last = context;
      std::memset(::operator new(4096), 1, 4096);
    }
    return honest.delegate.execute(context, args, error);
  };
  table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                            etb_context** out, etb_error* error) {
    last = nullptr;
    return honest.delegate.context_create(delegate, options, option_count, out, error);
  };
}

}  // namespace

void break_later_refusals(Tables& tables) {
  honest = tables;
  break_reasons(tables.aot);
  break_units(tables.delegate);
  break_fences(tables.delegate);
  break_contexts_with_events(tables.delegate);
}

}  // namespace faulty
