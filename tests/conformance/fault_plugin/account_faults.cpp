// SPDX-License-Identifier: Apache-2.0
// Faults 495 to 499 of the tables: workers of the host, memory of devices, times of events, moved bytes, sizes of runs.
#include <sched.h>

#include <atomic>
#include <cfenv>
#include <cstring>

#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables kept;  // before they are changed
constexpr uint64_t kDelegateBytes = uint64_t{1} << 20;
const etb_parallel_service* workers = nullptr;

void ETB_CALL round_upwards(void*, uint64_t, uint64_t, uint32_t) { std::fesetround(FE_UPWARD); }

// Restores the calling thread only.
void break_workers(Tables& tables) {
  if (!has_fault(495)) return;
  tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                          etb_error* error) {
    workers = static_cast<const etb_parallel_service*>(host->get_service(host, ETB_SERVICE_PARALLEL));
    return kept.plugin.init(host, options, count, out, error);
  };
  tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const int before = std::fegetround();
    if (workers != nullptr) workers->parallel_for(workers->ctx, 8, 1, round_upwards, nullptr);
    std::fesetround(before);
    return kept.delegate.execute(context, args, error);
  };
}

// Counts delegates of both devices on the first one (plugin.cpp).
void break_device_memory(etb_delegate_table& table) {
  if (!has_fault(496)) return;
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out, etb_error* error) {
    const etb_status status = kept.delegate.create(plugin, args, out, error);
    if (status == ETB_OK) used_device_bytes += kDelegateBytes;
    return status;
  };
  table.destroy = [](etb_delegate* delegate, etb_error* error) {
    const etb_status status = kept.delegate.destroy(delegate, error);
    if (status == ETB_OK) used_device_bytes -= kDelegateBytes;
    return status;
  };
}

// The time of the run in two equal parts, one for each node (compile.cpp).
void break_times(etb_delegate_table& table) {
  if (!has_fault(497)) return;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    etb_event whole{};
    const etb_event_sink own = {ETB_INIT_SIZE(etb_event_sink), 0, &whole,
                                [](void* ctx, const etb_event* event) {
                                  *static_cast<etb_event*>(ctx) = *event;
                                  return etb_status{ETB_OK};
                                }};
    etb_exec_args with = *args;
    if (args->events != nullptr) with.events = &own;
    const etb_status status = kept.delegate.execute(context, &with, error);
    if (args->events == nullptr || whole.timebase == nullptr) return status;
    const uint64_t half = (whole.end_ticks - whole.begin_ticks) / 2;
    for (const char* name : {"fault.run", "fault.last"}) {
      whole.name = name;
      whole.end_ticks = whole.begin_ticks + half;
      (void)args->events->put(args->events->ctx, &whole);
      whole.begin_ticks += half;
    }
    return status;
  };
}

void break_moved_bytes(etb_aot_table& table) {
  if (!has_fault(498)) return;
  table.caps |= ETB_AOT_CAP_ESTIMATE;
  table.estimate = [](etb_plugin*, const etb_partition_args*, etb_estimate* out, etb_error*) {
    out->moved_bytes = 4096;  // an input and an output
    return etb_status{ETB_OK};
  };
}

// The size of the run is in one place for all contexts.
void break_sizes(etb_delegate_table& table) {
  if (!has_fault(499)) return;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    static std::atomic<int64_t> size;
    const bool has_size = args->input_count != 0 && args->inputs[0].rank != 0;
    const int64_t own = has_size ? args->inputs[0].sizes[0] : 0;
    size = own;
    ::sched_yield();
    const etb_status status = kept.delegate.execute(context, args, error);
    if (size == own || args->output_count == 0 || args->outputs[0].data == nullptr) return status;
    *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
    return status;
  };
}

}  // namespace

void break_accounts(Tables& tables) {
  kept = tables;
  break_workers(tables);
  break_device_memory(tables.delegate);
  break_times(tables.delegate);
  break_moved_bytes(tables.aot);
  break_sizes(tables.delegate);
}

}  // namespace faulty
