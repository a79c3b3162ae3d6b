// SPDX-License-Identifier: Apache-2.0
// Faults 202 to 249, 293, 533 and 534: functions that hosts seldom call, and promises over time.
#include <cstdlib>
#include <cstring>
#include <string>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables unbroken;

// ---- devices

const etb_device_sink* host_sink = nullptr;  // of the call in progress

etb_status ETB_CALL put_changed(void*, const etb_device_info* info) {
  etb_device_info changed = *info;
  if (has_fault(210)) changed.uuid[14] = '0';
  if (has_fault(211)) changed.name = "a processor of Universit\xe4t";
  if (has_fault(212)) changed.memory_free_bytes = 2 * changed.memory_total_bytes;
  const etb_status status = host_sink->put(host_sink->ctx, &changed);
  return has_fault(243) ? etb_status{ETB_OK} : status;
}

etb_status ETB_CALL enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
  host_sink = sink;
  const etb_device_sink own = {ETB_INIT_SIZE(etb_device_sink), 0, nullptr, put_changed};
  return unbroken.device.enumerate(plugin, &own, error);
}

// Describes the first device for all.
etb_status ETB_CALL query_first(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  struct First {
    const etb_device_sink* sink;
  } first = {sink};
  const etb_device_sink own = {ETB_INIT_SIZE(etb_device_sink), 0, &first,
                               [](void* ctx, const etb_device_info* info) {
                                 etb_device_info changed = *info;
                                 changed.uuid[14] = '0';
                                 const etb_device_sink& to = *static_cast<First*>(ctx)->sink;
                                 return to.put(to.ctx, &changed);
                               }};
  return unbroken.device.query(device, &own, error);
}

bool has_closed_any = false;

void break_devices(etb_device_table& table) {
  if (has_fault(210) || has_fault(211) || has_fault(212) || has_fault(243)) table.enumerate = enumerate;
  if (has_fault(213)) table.query = query_first;
  if (has_fault(214))
    table.close = [](etb_device* device, etb_error* error) {
      const etb_status status = unbroken.device.close(device, error);
      return status == ETB_BUSY ? etb_status{ETB_OK} : status;
    };
  if (has_fault(215)) {
    table.close = [](etb_device* device, etb_error* error) {
      has_closed_any = true;
      return unbroken.device.close(device, error);
    };
    table.query = [](etb_device* device, const etb_device_sink* sink, etb_error* error) {
      return has_closed_any ? etb::fail(error, ETB_UNAVAILABLE, "the device was closed")
                            : unbroken.device.query(device, sink, error);
    };
    table.open = [](etb_plugin* plugin, const uint8_t* uuid, const etb_option* options, uint64_t count,
                    etb_device** out, etb_error* error) {
      has_closed_any = false;
      return unbroken.device.open(plugin, uuid, options, count, out, error);
    };
  }
}

// ---- runs

int64_t reserved_elements = -1;  // of the first input
bool is_stopped_for_ever = false;

int64_t elements_of(const etb_tensor& tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= tensor.sizes[i];
  return count;
}

void break_runs(etb_delegate_table& table) {
  if (has_fault(216) || has_fault(363)) {  // no growth after a reservation; 363: of nodes with one input
    table.context_reserve = [](etb_context* context, const etb_tensor* inputs, uint32_t count,
                               etb_error* error) {
      const etb_status status = unbroken.delegate.context_reserve(context, inputs, count, error);
      if (status == ETB_OK && count != 0) reserved_elements = elements_of(inputs[0]);
      return status;
    };
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const bool is_affected = has_fault(216) ? args->input_count != 0 : args->input_count == 1;
      if (reserved_elements >= 0 && is_affected && elements_of(args->inputs[0]) > reserved_elements)
        return etb::fail(error, ETB_INVALID_ARGUMENT, "larger than reserved");
      return unbroken.delegate.execute(context, args, error);
    };
    table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t count,
                              etb_context** out, etb_error* error) {
      reserved_elements = -1;
      return unbroken.delegate.context_create(delegate, options, count, out, error);
    };
  }
  if (has_fault(217))
    table.context_reserve = [](etb_context*, const etb_tensor*, uint32_t, etb_error*) {
      return etb_status{ETB_OK};
    };
  if (has_fault(218) || has_fault(219)) {
    table.cancel = [](etb_context*, etb_error*) {
      is_stopped_for_ever = true;
      return etb_status{ETB_OK};
    };
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const bool is_stopped = is_stopped_for_ever;
      is_stopped_for_ever = false;
      const etb_status status = unbroken.delegate.execute(context, args, error);
      if (has_fault(218) ? is_stopped : is_stopped_for_ever)
        return etb::fail(error, ETB_CANCELLED, "the run was cancelled");
      return status;
    };
  }
  if (has_fault(220)) table.cancel = [](etb_context*, etb_error*) { return etb_status{ETB_OK}; };
  if (has_fault(221))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = unbroken.delegate.execute(context, args, error);
      is_stopped_for_ever = is_stopped_for_ever || status == ETB_DEADLINE_EXCEEDED;
      return is_stopped_for_ever ? etb::fail(error, ETB_DEADLINE_EXCEEDED, "too late") : status;
    };
  if (has_fault(222))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      if (args->priority == 0) return etb_status{ETB_OK};  // later, perhaps
      return unbroken.delegate.execute(context, args, error);
    };
}

// ---- facts

void break_facts(etb_delegate_table& table) {
  if (has_fault(223))
    table.query_io = [](etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
      const etb_io_req_sink own = {ETB_INIT_SIZE(etb_io_req_sink), 0, const_cast<etb_io_req_sink*>(sink),
                                   [](void* ctx, const etb_io_req* req) {
                                     const auto& to = *static_cast<const etb_io_req_sink*>(ctx);
                                     return req->role == ETB_ROLE_OUTPUT ? etb_status{ETB_OK}
                                                                         : to.put(to.ctx, req);
                                   }};
      return unbroken.delegate.query_io(delegate, &own, error);
    };
  if (has_fault(224) || has_fault(225) || has_fault(293))
    table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
      const etb_status status = unbroken.delegate.query(delegate, info, error);
      if (has_fault(224)) info->resident_bytes = 0;
      if (has_fault(225)) info->resident_bytes *= 1000;
      if (has_fault(293)) info->context_bytes /= 10;
      return status;
    };
}

// ---- ahead of time

bool is_cancelled_for_ever = false;

void break_estimates(etb_aot_table& table) {
  if (has_fault(534))
    table.estimate = [](etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                        etb_error* error) {
      static double counted = 0;  // cycles of all estimates so far
      const etb_status status = unbroken.aot.estimate(plugin, args, out, error);
      counted += out->latency_ns;
      out->latency_ns = counted;
      return status;
    };
  if (has_fault(229) || has_fault(230))
    table.estimate = [](etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                        etb_error* error) {
      const etb_status status = unbroken.aot.estimate(plugin, args, out, error);
      out->latency_ns = has_fault(229) ? -out->latency_ns : 1e12 / out->latency_ns;
      return status;
    };
}

void break_compile(etb_aot_table& table) {
  if (has_fault(231))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      if (args->progress != nullptr) args->progress->report(args->progress->ctx, 1, "nearly");
      if (args->progress != nullptr) args->progress->report(args->progress->ctx, 0.5, "not yet");
      return unbroken.aot.compile(plugin, args, error);
    };
  if (has_fault(232))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      const etb_status status = unbroken.aot.compile(plugin, args, error);
      is_cancelled_for_ever = is_cancelled_for_ever || status == ETB_CANCELLED;
      return is_cancelled_for_ever ? etb::fail(error, ETB_CANCELLED, "cancelled") : status;
    };
  if (has_fault(533))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      if (args->target != nullptr) return etb::fail(error, ETB_NOT_SUPPORTED, "no target file is read");
      return unbroken.aot.compile(plugin, args, error);
    };
  if (has_fault(233))
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      etb_partition_args without = *args;
      without.option_count = 0;
      return unbroken.aot.partition(plugin, &without, sink, error);
    };
}

void break_lists(etb_aot_table& table) {
  if (has_fault(226) || has_fault(227))
    table.op_table = [](etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
      const etb_op_sink own = {ETB_INIT_SIZE(etb_op_sink), 0, const_cast<etb_op_sink*>(sink),
                               [](void* ctx, const etb_op_capability* op) {
                                 const auto& to = *static_cast<const etb_op_sink*>(ctx);
                                 etb_op_capability changed = *op;
                                 if (has_fault(227))
                                   changed.max_rank = std::min<uint32_t>(changed.max_rank, 2);
                                 const etb_status status = to.put(to.ctx, &changed);
                                 const bool is_twice =
                                     has_fault(226) && std::strcmp(op->op, "aten.neg.default") == 0;
                                 return is_twice && status == ETB_OK ? to.put(to.ctx, &changed) : status;
                               }};
      return unbroken.aot.op_table(plugin, &own, error);
    };
  if (has_fault(228))
    table.preserve_ops = [](etb_plugin*, const etb_text_sink* sink, etb_error*) {
      return sink->put(sink->ctx, "aten.clmp.default");
    };
}

}  // namespace

void break_calls(Tables& tables) {
  unbroken = tables;
  break_devices(tables.device);
  break_runs(tables.delegate);
  break_facts(tables.delegate);
  break_estimates(tables.aot);
  break_compile(tables.aot);
  break_lists(tables.aot);
  if (has_fault(241))
    tables.plugin.set_option = [](etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                                  etb_error* error) {
      const bool is_mode = std::strcmp(option->key, "mode") == 0 && option->type == ETB_OPTION_TEXT;
      return is_mode ? etb_status{ETB_OK} : unbroken.plugin.set_option(plugin, kind, object, option, error);
    };
  if (has_fault(242))
    tables.delegate.context_create = [](etb_delegate* delegate, const etb_option*, uint64_t,
                                        etb_context** out, etb_error* error) {
      return unbroken.delegate.context_create(delegate, nullptr, 0, out, error);
    };
  if (has_fault(246))
    tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                            etb_error* error) {
      *static_cast<volatile char*>(std::malloc(100)) = 1;
      return unbroken.plugin.init(host, options, count, out, error);
    };
}

}  // namespace faulty
