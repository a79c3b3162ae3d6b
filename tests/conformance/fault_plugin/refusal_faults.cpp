// SPDX-License-Identifier: Apache-2.0
// Faults 547 to 560 and 562 to 565 of the tables: statuses and texts of refused calls, borrowed files, processes with fewer or more
// rights, and contexts that cannot be made.
// Fault 561 is in claims.cpp.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables honest;  // before they are changed

etb_status fail_with(etb_error* error, etb_status from, etb_status to, etb_status found) {
  return found == from ? etb::fail(error, to, "refused") : found;
}

void break_refusals_of_delegates(etb_delegate_table& table) {
  if (has_fault(547))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = honest.delegate.create(plugin, args, out, error);
      if (args->option_count == 0) return status;
      return fail_with(error, ETB_INVALID_ARGUMENT, ETB_NOT_SUPPORTED, status);
    };
  if (has_fault(548))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = honest.delegate.execute(context, args, error);
      return fail_with(error, ETB_INVALID_ARGUMENT, ETB_INVALID_ARGUMENT, status);
    };
  if (has_fault(549))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = honest.delegate.execute(context, args, error);
      return status == ETB_INVALID_ARGUMENT && error != nullptr ? error->code = ETB_INTERNAL : status;
    };
  if (has_fault(552))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = honest.delegate.create(plugin, args, out, error);
      return fail_with(error, ETB_INVALID_DATA, ETB_INTERNAL, status);
    };
  if (has_fault(560))
    table.execute_async = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = honest.delegate.execute_async(context, args, error);
      return fail_with(error, ETB_NOT_SUPPORTED, ETB_INVALID_ARGUMENT, status);
    };
}

void break_refusals_of_compilers(etb_aot_table& table) {
  if (has_fault(550))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      return fail_with(error, ETB_NOT_SUPPORTED, ETB_NOT_SUPPORTED, honest.aot.compile(plugin, args, error));
    };
  if (has_fault(551))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      const etb_status status = honest.aot.compile(plugin, args, error);
      return status == ETB_NOT_SUPPORTED && error != nullptr ? error->code = ETB_INVALID_PROGRAM : status;
    };
  if (has_fault(553))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      const etb_status status = honest.aot.compile(plugin, args, error);
      if (args->spec_count == 0) return status;
      return fail_with(error, ETB_INVALID_ARGUMENT, ETB_NOT_SUPPORTED, status);
    };
}

void break_rights(Tables& tables) {
  if (has_fault(554))
    tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                            etb_error* error) {
      if (std::getenv("FAULTY_DEBUG") != nullptr) (void)!::write(STDERR_FILENO, "debug\n", 6);
      return honest.plugin.init(host, options, count, out, error);
    };
  if (has_fault(555))
    tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                etb_error* error) {
      const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
      if (file < 0) return etb::fail(error, ETB_ACCESS_FAILED, "the status of the process");
      ::close(file);
      return honest.delegate.create(plugin, args, out, error);
    };
}

void break_lent_files(etb_delegate_table& table) {
  if (has_fault(558))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = honest.delegate.create(plugin, args, out, error);
      if (args->payload->fd >= 0) ::close(args->payload->fd);
      return status;
    };
  if (has_fault(559))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      char first = 0;
      if (args->payload->fd >= 0) (void)!::read(args->payload->fd, &first, 1);
      return honest.delegate.create(plugin, args, out, error);
    };
}

void break_promises(etb_aot_table& table) {
  if (has_fault(556))
    table.preserve_ops = [](etb_plugin* plugin, const etb_text_sink* sink, etb_error* error) {
      const etb_status status = honest.aot.preserve_ops(plugin, sink, error);
      return status == ETB_OK ? sink->put(sink->ctx, "aten.gelu.default") : status;
    };
  if (has_fault(557))
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      etb_partition_sink costly = *sink;
      costly.ctx = const_cast<etb_partition_sink*>(sink);
      costly.claim = [](void* ctx, const etb_claim* claim) {
        const auto& real = *static_cast<const etb_partition_sink*>(ctx);
        etb_claim with = *claim;
        with.cost_ns = -1;
        return real.claim(real.ctx, &with);
      };
      costly.reject = [](void* ctx, const etb_reject* reject) {
        const auto& real = *static_cast<const etb_partition_sink*>(ctx);
        return real.reject(real.ctx, reject);
      };
      return honest.aot.partition(plugin, args, &costly, error);
    };
}

std::mutex mutex;
std::map<etb_context*, etb_delegate*> contexts;  // guarded by `mutex`

// One context of a delegate may run at a time, and no second one can be made.
void break_contexts(etb_delegate_table& table) {
  if (!has_fault(562)) return;
  table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
    const etb_status status = honest.delegate.query(delegate, info, error);
    info->max_contexts = 1;
    return status;
  };
  table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                            etb_context** out, etb_error* error) {
    const std::lock_guard lock(mutex);
    for (const auto& [context, owner] : contexts)
      if (owner == delegate) return etb::fail(error, ETB_OUT_OF_RESOURCES, "one context at a time");
    const etb_status status = honest.delegate.context_create(delegate, options, option_count, out, error);
    if (status == ETB_OK) contexts[*out] = delegate;
    return status;
  };
  table.context_destroy = [](etb_context* context, etb_error* error) {
    const std::lock_guard lock(mutex);
    const etb_status status = honest.delegate.context_destroy(context, error);
    if (status == ETB_OK) contexts.erase(context);
    return status;
  };
}

// Deinit counts delegates only, and leaves an open device alone.
void break_deinit(Tables& tables) {
  if (!has_fault(565)) return;
  static std::atomic<int> delegate_count{0};
  tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                              etb_error* error) {
    const etb_status status = honest.delegate.create(plugin, args, out, error);
    if (status == ETB_OK) ++delegate_count;
    return status;
  };
  tables.delegate.destroy = [](etb_delegate* delegate, etb_error* error) {
    const etb_status status = honest.delegate.destroy(delegate, error);
    if (status == ETB_OK) --delegate_count;
    return status;
  };
  tables.plugin.deinit = [](etb_plugin* plugin, etb_error* error) -> etb_status {
    const etb_status status = honest.plugin.deinit(plugin, error);
    return status == ETB_BUSY && delegate_count == 0 ? ETB_OK : status;
  };
}

void break_devices(Tables& tables) {
  if (has_fault(563))
    tables.delegate.check_payload = [](etb_plugin* plugin, const etb_payload_check* check,
                                       etb_verdict* verdict, etb_error* error) {
      const etb_status status = honest.delegate.check_payload(plugin, check, verdict, error);
      if (status == ETB_OK && check->target != nullptr) {
        verdict->kind = ETB_VERDICT_UNSUPPORTED;
        verdict->reasons = ETB_REASON_DEVICE;
      }
      return status;
    };
  if (has_fault(564))
    tables.device.open = [](etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                            uint64_t count, etb_device** out, etb_error* error) {
      const etb_status status = honest.device.open(plugin, uuid, options, count, out, error);
      return fail_with(error, ETB_NOT_FOUND, ETB_UNAVAILABLE, status);
    };
}

}  // namespace

void break_refusals(Tables& tables) {
  honest = tables;
  break_refusals_of_delegates(tables.delegate);
  break_refusals_of_compilers(tables.aot);
  break_rights(tables);
  break_lent_files(tables.delegate);
  break_promises(tables.aot);
  break_contexts(tables.delegate);
  break_devices(tables);
  break_deinit(tables);
}

}  // namespace faulty
