// SPDX-License-Identifier: Apache-2.0
// Faults 571 to 575 and 582 of the tables: wrong facts about costs, memory, payloads and ops, and contents that are kept.
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables honest;  // before they are changed

// Passes claims on with a cost that is not a number.
etb_status partition_without_costs(etb_plugin* plugin, const etb_partition_args* args,
                                   const etb_partition_sink* sink, etb_error* error) {
  etb_partition_sink costly = *sink;
  costly.ctx = const_cast<etb_partition_sink*>(sink);
  costly.claim = [](void* ctx, const etb_claim* claim) {
    const auto& real = *static_cast<const etb_partition_sink*>(ctx);
    etb_claim with = *claim;
    with.cost_ns = std::nan("");
    return real.claim(real.ctx, &with);
  };
  costly.reject = [](void* ctx, const etb_reject* reject) {
    const auto& real = *static_cast<const etb_partition_sink*>(ctx);
    return real.reject(real.ctx, reject);
  };
  return honest.aot.partition(plugin, args, &costly, error);
}

// Passes rows on without the condition of `alpha`.
etb_status op_table_without_alpha(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
  etb_op_sink shorter = *sink;
  shorter.ctx = const_cast<etb_op_sink*>(sink);
  shorter.put = [](void* ctx, const etb_op_capability* op) {
    const auto& real = *static_cast<const etb_op_sink*>(ctx);
    etb_op_capability with = *op;
    if (std::strstr(op->constraint, "alpha") != nullptr) with.constraint = "operands of one type";
    return real.put(real.ctx, &with);
  };
  return honest.aot.op_table(plugin, &shorter, error);
}

void break_aot(etb_aot_table& table) {
  if (has_fault(582)) table.op_table = op_table_without_alpha;
  if (has_fault(573)) table.partition = partition_without_costs;
  if (has_fault(571))
    table.estimate = [](etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                        etb_error* error) {
      const etb_status status = honest.aot.estimate(plugin, args, out, error);
      out->confidence = 1.5;
      return status;
    };
}

std::mutex mutex;
std::set<std::string> contents;  // guarded by `mutex`

// Reads named data of the host, and keeps the contents.
etb_status ETB_CALL get_and_keep(void* ctx, const char* key, etb_payload_view* out, etb_error* error) {
  const auto& real = *static_cast<const etb_named_data*>(ctx);
  const etb_status status = real.get(real.ctx, key, out, error);
  if (status != ETB_OK || out->data == nullptr) return status;
  const std::lock_guard lock(mutex);
  contents.emplace(static_cast<const char*>(out->data), out->nbytes);
  return status;
}

void break_create(etb_delegate_table& table) {
  if (has_fault(572))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      if (args->named_data == nullptr) return honest.delegate.create(plugin, args, out, error);
      const etb_named_data named = {ETB_INIT_SIZE(etb_named_data), 0,
                                    const_cast<etb_named_data*>(args->named_data), get_and_keep};
      etb_delegate_args own = *args;
      own.named_data = &named;
      return honest.delegate.create(plugin, &own, out, error);
    };
  if (has_fault(574))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = honest.delegate.create(plugin, args, out, error);
      if (status != ETB_INVALID_DATA) return status;
      if (error != nullptr) error->code = ETB_NOT_SUPPORTED;
      return etb_status{ETB_NOT_SUPPORTED};
    };
}

// A context that ran a large image keeps nine addresses for each of its elements.
void break_memory(etb_delegate_table& table) {
  if (!has_fault(575)) return;
  static std::map<etb_context*, std::vector<void*>> tables;  // guarded by `mutex`
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    constexpr size_t kNeighbours = 9;
    const etb_tensor* const input = args->input_count != 0 ? args->inputs : nullptr;
    if (input != nullptr && input->rank == 4 && input->sizes[2] > 256) {
      const std::lock_guard lock(mutex);
      tables[context].assign(kNeighbours * static_cast<size_t>(input->sizes[2] * input->sizes[3]),
                             input->data);
    }
    return honest.delegate.execute(context, args, error);
  };
  table.context_destroy = [](etb_context* context, etb_error* error) {
    const etb_status status = honest.delegate.context_destroy(context, error);
    const std::lock_guard lock(mutex);
    if (status == ETB_OK) tables.erase(context);
    return status;
  };
}

}  // namespace

void break_promised_facts(Tables& tables) {
  honest = tables;
  break_aot(tables.aot);
  break_create(tables.delegate);
  break_memory(tables.delegate);
}

}  // namespace faulty
