// SPDX-License-Identifier: Apache-2.0
// Faults 593 to 601 of the tables: facts and statuses that differ from what the schema, the header or another function states.
// Fault 592 is in optional_functions.cpp, 594 in delegate.cpp, 597 in claims.cpp.
#include <mutex>
#include <set>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables honest;  // before they are changed

std::mutex mutex;
std::set<etb_delegate*> without_options;  // guarded by `mutex`

// Without an option, a delegate is made in another way than with the defaults of the schema.
void break_defaults(etb_delegate_table& table) {
  if (!has_fault(593)) return;
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out, etb_error* error) {
    const etb_status status = honest.delegate.create(plugin, args, out, error);
    const std::lock_guard lock(mutex);
    if (status == ETB_OK && args->option_count == 0) without_options.insert(*out);
    return status;
  };
  table.destroy = [](etb_delegate* delegate, etb_error* error) {
    const std::lock_guard lock(mutex);
    const etb_status status = honest.delegate.destroy(delegate, error);
    if (status == ETB_OK) without_options.erase(delegate);
    return status;
  };
  table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
    const etb_status status = honest.delegate.query(delegate, info, error);
    const std::lock_guard lock(mutex);
    if (without_options.contains(delegate)) info->resident_bytes += 64;
    return status;
  };
}

etb_status set_option_with_another_status(etb_plugin* plugin, uint32_t kind, void* object,
                                          const etb_option* option, etb_error* error) {
  const etb_status status = honest.plugin.set_option(plugin, kind, object, option, error);
  return status == ETB_INVALID_STATE ? etb::fail(error, ETB_INVALID_ARGUMENT, "the option is fixed") : status;
}

// Reports a value of a context for any key.
etb_status get_any_option(etb_plugin* plugin, uint32_t kind, void* object, const char* key,
                          const etb_option_sink* sink, etb_error* error) {
  if (kind != ETB_OBJECT_CONTEXT) return honest.plugin.get_option(plugin, kind, object, key, sink, error);
  etb_option slot{};
  slot.struct_size = ETB_INIT_SIZE(etb_option);
  slot.key = "slot";
  slot.type = ETB_OPTION_I64;
  return sink->put(sink->ctx, &slot);
}

void break_options(etb_plugin_table& table) {
  if (has_fault(595)) table.set_option = set_option_with_another_status;
  if (has_fault(600)) table.get_option = get_any_option;
}

// Compares the payload with another release, where it is asked about a device.
void break_verdicts(etb_delegate_table& table) {
  if (!has_fault(596)) return;
  table.check_payload = [](etb_plugin* plugin, const etb_payload_check* check, etb_verdict* verdict,
                           etb_error* error) {
    const etb_status status = honest.delegate.check_payload(plugin, check, verdict, error);
    if (status == ETB_OK && verdict->kind == ETB_VERDICT_OPTIMAL && check->target != nullptr) {
      verdict->kind = ETB_VERDICT_PREFER_RECOMPILE;
      verdict->reasons = ETB_REASON_DEVICE;
    }
    return status;
  };
}

// Other statuses than the header names.
void break_statuses(etb_delegate_table& table) {
  if (has_fault(599))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = honest.delegate.execute(context, args, error);
      return status == ETB_INVALID_ARGUMENT && args->input_count != 1
                 ? etb::fail(error, ETB_INVALID_STATE, "another number of tensors")
                 : status;
    };
  if (has_fault(601))
    table.context_reserve = [](etb_context* context, const etb_tensor* inputs, uint32_t count,
                               etb_error* error) {
      const etb_status status = honest.delegate.context_reserve(context, inputs, count, error);
      return status == ETB_INVALID_ARGUMENT ? etb::fail(error, ETB_NOT_SUPPORTED, "other sizes") : status;
    };
}

void break_dry_check(etb_aot_table& table) {
  if (!has_fault(598)) return;
  table.dry_check = [](etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
    const etb_status status = honest.aot.dry_check(plugin, args, error);
    return status == ETB_NOT_SUPPORTED ? etb::fail(error, ETB_INVALID_ARGUMENT, "a node is not supported")
                                       : status;
  };
}

}  // namespace

void break_stated_facts(Tables& tables) {
  honest = tables;
  break_defaults(tables.delegate);
  break_options(tables.plugin);
  break_verdicts(tables.delegate);
  break_statuses(tables.delegate);
  break_dry_check(tables.aot);
}

}  // namespace faulty
