// SPDX-License-Identifier: Apache-2.0
// Faults 537 to 540, 544 and 545 of the tables: what a host may choose, from the number of its workers to the time of a question. Faults
// 541 to 543, about what a compiler may choose, are in compile.cpp.
#include <atomic>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables kept;  // before they are changed
const etb_parallel_service* workers = nullptr;
std::atomic<uint32_t> workers_at_create{0};
std::atomic<bool> is_running{false};

uint32_t worker_count() { return workers != nullptr ? workers->max_workers(workers->ctx) : 1; }

void damage_first_output(const etb_exec_args* args) {
  if (args->output_count != 0 && args->outputs[0].capacity_bytes != 0)
    std::memset(args->outputs[0].data, 0x7f, 1);
}

// Memory for each worker that there was when the delegate was created.
void break_worker_memory(Tables& tables) {
  if (!has_fault(537)) return;
  tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                          etb_error* error) {
    workers = static_cast<const etb_parallel_service*>(host->get_service(host, ETB_SERVICE_PARALLEL));
    return kept.plugin.init(host, options, count, out, error);
  };
  tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                              etb_error* error) {
    workers_at_create = worker_count();
    return kept.delegate.create(plugin, args, out, error);
  };
  tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const etb_status status = kept.delegate.execute(context, args, error);
    if (status == ETB_OK && worker_count() > workers_at_create) damage_first_output(args);
    return status;
  };
}

// Reads named data by vectors of 32 bytes.
void break_alignment(etb_delegate_table& table) {
  if (!has_fault(538)) return;
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out, etb_error* error) {
    if (args->payload->alignment == 16 && reinterpret_cast<uintptr_t>(args->payload->data) % 32 != 0)
      __builtin_trap();
    return kept.delegate.create(plugin, args, out, error);
  };
}

// The scratch of a delegate is larger than its artifact states (compile.cpp).
void break_scratch(etb_delegate_table& table) {
  if (!has_fault(539)) return;
  table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
    const etb_status status = kept.delegate.query(delegate, info, error);
    info->scratch_bytes = 64;
    info->scratch_alignment = 16;
    return status;
  };
}

// While a run has the delegate, it says that no context may run.
void break_facts(etb_delegate_table& table) {
  if (!has_fault(540)) return;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    is_running = true;
    const etb_status status = kept.delegate.execute(context, args, error);
    is_running = false;
    return status;
  };
  table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
    const etb_status status = kept.delegate.query(delegate, info, error);
    if (is_running) info->max_contexts = 1;
    return status;
  };
}

// Copies payloads by their address: bytes at a known address are taken for those that were there.
void break_addresses(etb_delegate_table& table) {
  static std::map<std::pair<const void*, uint64_t>, std::vector<std::byte>> copies;
  if (!has_fault(544)) return;
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out, etb_error* error) {
    const etb_payload_view& payload = *args->payload;
    if (payload.data == nullptr) return kept.delegate.create(plugin, args, out, error);
    std::vector<std::byte>& copy = copies[{payload.data, payload.nbytes}];
    const auto* const bytes = static_cast<const std::byte*>(payload.data);
    if (copy.empty()) copy.assign(bytes, bytes + payload.nbytes);
    etb_payload_view own = payload;
    own.data = copy.data();
    own.fd = -1;
    own.release = nullptr;
    etb_delegate_args with = *args;
    with.payload = &own;
    const etb_status status = kept.delegate.create(plugin, &with, out, error);
    if (payload.release != nullptr) payload.release(payload.release_ctx);
    return status;
  };
}

// A payload of a later version is called damaged.
void break_version(etb_delegate_table& table) {
  if (!has_fault(545)) return;
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out, etb_error* error) {
    const etb_status status = kept.delegate.create(plugin, args, out, error);
    return status == ETB_INCOMPATIBLE ? etb::fail(error, ETB_INVALID_DATA, "the payload is damaged") : status;
  };
}

}  // namespace

void break_choices(Tables& tables) {
  kept = tables;
  break_worker_memory(tables);
  break_alignment(tables.delegate);
  break_scratch(tables.delegate);
  break_facts(tables.delegate);
  break_addresses(tables.delegate);
  break_version(tables.delegate);
}

}  // namespace faulty
