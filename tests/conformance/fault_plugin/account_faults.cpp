// SPDX-License-Identifier: Apache-2.0
// Faults 495 to 505 and 507 to 519, 535 and 536 of the tables: workers of the host, memory of devices,
// times of events, estimates, sizes of runs, stops, static memory of ended instances, calls at the same time, large numbers.
#include <sched.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>

#include "etb/cpp/fail.hpp"
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

// With no share of the device a run fails, and its memory stays in use (plugin.cpp).
void break_limits(Tables& tables) {
  if (!has_fault(625)) return;
  static std::atomic<double> share{1};
  tables.plugin.set_option = [](etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                                etb_error* error) {
    const bool is_share = kind == ETB_OBJECT_DEVICE && std::strcmp(option->key, "share") == 0;
    if (!is_share) return kept.plugin.set_option(plugin, kind, object, option, error);
    share = option->f64;
    return etb_status{ETB_OK};
  };
  tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    if (share > 0) return kept.delegate.execute(context, args, error);
    used_device_bytes += 1 << 16;
    return etb::fail(error, ETB_OUT_OF_RESOURCES, "no share of the device");
  };
}

// Keeps the caller's pointer to the text of a delegate's option.
void break_texts(Tables& tables) {
  if (!has_fault(623)) return;
  static std::atomic<const char*> mode{nullptr};
  tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                              etb_error* error) {
    for (uint64_t i = 0; i < args->option_count; ++i)
      if (const etb_option& each = *ETB_AT(etb_option, args->options, i); std::strcmp(each.key, "mode") == 0)
        mode = each.text;
    return kept.delegate.create(plugin, args, out, error);
  };
  tables.plugin.get_option = [](etb_plugin* plugin, uint32_t kind, void* object, const char* key,
                                const etb_option_sink* sink, etb_error* error) {
    if (mode == nullptr || kind != ETB_OBJECT_DELEGATE || std::strcmp(key, "mode") != 0)
      return kept.plugin.get_option(plugin, kind, object, key, sink, error);
    etb_option option{};
    option.struct_size = ETB_INIT_SIZE(etb_option);
    option.key = key;
    option.type = ETB_OPTION_TEXT;
    option.text = mode;
    return sink->put(sink->ctx, &option);
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

void break_estimates(etb_aot_table& table) {
  if (has_fault(502)) {  // the first answer, for all graphs
    table.caps |= ETB_AOT_CAP_ESTIMATE;
    table.estimate = [](etb_plugin*, const etb_partition_args*, etb_estimate* out, etb_error*) {
      out->latency_ns = 1500;
      out->moved_bytes = uint64_t{1} << 20;
      return etb_status{ETB_OK};
    };
  }
  if (!has_fault(498)) return;
  table.caps |= ETB_AOT_CAP_ESTIMATE;
  table.estimate = [](etb_plugin*, const etb_partition_args*, etb_estimate* out, etb_error*) {
    out->moved_bytes = 4096;  // an input and an output
    return etb_status{ETB_OK};
  };
}

// Each rejection has one of the contract's reasons, but not its own.
void break_reasons(etb_aot_table& table) {
  if (!has_fault(536)) return;
  table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                       etb_error* error) {
    const etb_partition_sink own = {ETB_INIT_SIZE(etb_partition_sink), 0,
                                    const_cast<etb_partition_sink*>(sink),
                                    [](void* ctx, const etb_claim* claim) {
                                      const auto& host = *static_cast<const etb_partition_sink*>(ctx);
                                      return host.claim(host.ctx, claim);
                                    },
                                    [](void* ctx, const etb_reject* reject) {
                                      const auto& host = *static_cast<const etb_partition_sink*>(ctx);
                                      etb_reject changed = *reject;
                                      changed.reason = "layout";
                                      return host.reject(host.ctx, &changed);
                                    }};
    return kept.aot.partition(plugin, args, &own, error);
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

// A token that counts its questions.
struct CountingToken {
  const etb_cancel_token* host;
  int count = 0;
  etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, this, [](void* ctx) {
                              auto& self = *static_cast<CountingToken*>(ctx);
                              ++self.count;
                              return self.host->is_cancelled(self.host->ctx);
                            }};
};

// A run that is stopped between two nodes leaves its context busy.
void break_stops(etb_delegate_table& table) {
  if (!has_fault(500)) return;
  table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    static std::set<etb_context*> busy;
    if (busy.contains(context)) return etb::fail(error, ETB_INVALID_STATE, "the context is busy");
    if (args->cancel == nullptr) return kept.delegate.execute(context, args, error);
    CountingToken counting{args->cancel};
    etb_exec_args own = *args;
    own.cancel = &counting.token;
    const etb_status status = kept.delegate.execute(context, &own, error);
    if (status == ETB_CANCELLED && counting.count > 2) busy.insert(context);
    return status;
  };
}

void break_memory(Tables& tables) {
  if (has_fault(501))  // allocates again
    tables.delegate.context_reserve = [](etb_context* context, const etb_tensor* inputs, uint32_t count,
                                         etb_error* error) {
      *static_cast<volatile char*>(std::malloc(100)) = 1;
      return kept.delegate.context_reserve(context, inputs, count, error);
    };
  if (has_fault(503)) {  // reads the payload in runs of careful delegates
    static const volatile uint8_t* released = nullptr;
    tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                etb_error* error) {
      released = nullptr;
      for (uint64_t i = 0; i < args->option_count; ++i)
        if (const etb_option& option = *ETB_AT(etb_option, args->options, i);
            option.type == ETB_OPTION_TEXT && option.text != nullptr &&
            std::strcmp(option.text, "careful") == 0)
          released = static_cast<const volatile uint8_t*>(args->payload->data);
      return kept.delegate.create(plugin, args, out, error);
    };
    tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      if (released != nullptr) (void)*released;
      return kept.delegate.execute(context, args, error);
    };
  }
  if (has_fault(505))  // a create that fails keeps memory of the device
    tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                etb_error* error) {
      const etb_status status = kept.delegate.create(plugin, args, out, error);
      if (status != ETB_OK) used_device_bytes += 4096;
      return status;
    };
}

// Creates and compilations that share memory.
void break_calls_at_once(Tables& tables) {
  if (has_fault(509)) {  // packs payloads in one place
    static std::atomic<bool> is_mixed;
    tables.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                etb_error* error) {
      static std::atomic<const void*> packed;
      packed = args->payload->data;
      ::sched_yield();
      is_mixed = is_mixed || packed != args->payload->data;
      return kept.delegate.create(plugin, args, out, error);
    };
    tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = kept.delegate.execute(context, args, error);
      if (is_mixed && status == ETB_OK && args->output_count != 0 && args->outputs[0].data != nullptr)
        *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
      return status;
    };
  }
  if (has_fault(511))  // the answer of a question is in one place for all threads
    tables.delegate.check_payload = [](etb_plugin* plugin, const etb_payload_check* check, etb_verdict* out,
                                       etb_error* error) {
      static std::atomic<const etb_payload_check*> asked;
      asked = check;
      ::sched_yield();
      const etb_status status = kept.delegate.check_payload(plugin, check, out, error);
      if (asked != check) out->kind = ETB_VERDICT_UNSUPPORTED;
      return status;
    };
  if (has_fault(512))  // all instances have one scratch memory
    tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      static std::atomic<const etb_exec_args*> running;
      running = args;
      const etb_status status = kept.delegate.execute(context, args, error);
      ::sched_yield();
      if (running != args && status == ETB_OK && args->output_count != 0 && args->outputs[0].data != nullptr)
        *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
      return status;
    };
  if (has_fault(513) || has_fault(514))  // events and deadlines are those of the last run that began
    tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      static std::atomic<const etb_event_sink*> sink;
      static std::atomic<uint64_t> deadline_ns;
      sink = args->events;
      deadline_ns = args->deadline_ns;
      ::sched_yield();
      etb_exec_args last = *args;
      if (has_fault(513)) last.events = sink;
      if (has_fault(514)) last.deadline_ns = deadline_ns;
      return kept.delegate.execute(context, &last, error);
    };
  if (has_fault(510))
    tables.aot.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      static std::atomic<const etb_compile_args*> current;
      current = args;
      ::sched_yield();
      const etb_status status = kept.aot.compile(plugin, args, error);
      return current == args ? status : etb::fail(error, ETB_INVALID_STATE, "another graph is compiled");
    };
}

// Keeps the contents of inputs by address, and contexts in a table for four.
void break_contexts(etb_delegate_table& table) {
  if (has_fault(517))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      thread_local const void* known = nullptr;
      thread_local uint8_t first = 0;
      const etb_status status = kept.delegate.execute(context, args, error);
      if (args->input_count == 0 || args->inputs[0].data == nullptr || args->inputs[0].sizes[0] == 0)
        return status;
      const uint8_t now = *static_cast<const uint8_t*>(args->inputs[0].data);
      if (known == args->inputs[0].data && now != first && args->outputs[0].data != nullptr)
        *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
      known = args->inputs[0].data, first = now;
      return status;
    };
  static std::atomic<int> contexts;
  if (has_fault(518) || has_fault(519)) {
    table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t count,
                              etb_context** out, etb_error* error) {
      if (has_fault(518) && contexts >= 64)
        return etb::fail(error, ETB_OUT_OF_RESOURCES, "64 contexts exist");
      const etb_status status = kept.delegate.context_create(delegate, options, count, out, error);
      contexts += status == ETB_OK ? 1 : 0;
      return status;
    };
    table.context_destroy = [](etb_context* context, etb_error* error) {
      const etb_status status = kept.delegate.context_destroy(context, error);
      contexts -= status == ETB_OK ? 1 : 0;
      return status;
    };
  }
  if (has_fault(519))  // another context that begins or ends during a run moves the memory of all
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const int before = contexts;
      const etb_status status = kept.delegate.execute(context, args, error);
      ::sched_yield();
      if (contexts != before && args->output_count != 0 && args->outputs[0].data != nullptr)
        *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
      return status;
    };
  if (has_fault(535))  // after a pause
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      using Clock = std::chrono::steady_clock;
      static std::atomic<Clock::time_point> last;
      const Clock::time_point before = last.exchange(Clock::now());
      const bool is_pause = before != Clock::time_point() && Clock::now() - before > std::chrono::seconds(1);
      return is_pause ? etb::fail(error, ETB_UNAVAILABLE, "the threads have ended")
                      : kept.delegate.execute(context, args, error);
    };
}

// Tables and counters that are too small.
void break_large_numbers(etb_delegate_table& table) {
  static std::atomic<int> delegates;
  if (has_fault(515)) {
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      if (delegates >= 256) return etb::fail(error, ETB_OUT_OF_RESOURCES, "256 delegates exist");
      const etb_status status = kept.delegate.create(plugin, args, out, error);
      delegates += status == ETB_OK ? 1 : 0;
      return status;
    };
    table.destroy = [](etb_delegate* delegate, etb_error* error) {
      const etb_status status = kept.delegate.destroy(delegate, error);
      delegates -= status == ETB_OK ? 1 : 0;
      return status;
    };
  }
  if (has_fault(516))  // a run whose number ends with 16 zeros
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      static std::atomic<uint32_t> runs;
      const etb_status status = kept.delegate.execute(context, args, error);
      if ((++runs & 0xffff) == 0 && args->output_count != 0 && args->outputs[0].data != nullptr)
        *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
      return status;
    };
}

// Static memory of the last instance is gone for the next one of the same library.
void break_second_lives(Tables& tables) {
  static std::atomic<int> lives;
  static bool has_ended = false;
  if (!has_fault(507) && !has_fault(508)) return;
  tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                          etb_error* error) {
    if (has_fault(507) && has_ended) return etb::fail(error, ETB_INVALID_STATE, "the plugin has ended");
    const etb_status status = kept.plugin.init(host, options, count, out, error);
    if (status == ETB_OK) ++lives;
    return status;
  };
  tables.plugin.deinit = [](etb_plugin* plugin, etb_error* error) {
    const etb_status status = kept.plugin.deinit(plugin, error);
    if (status == ETB_OK && --lives == 0) has_ended = true;
    return status;
  };
  if (!has_fault(508)) return;
  tables.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const etb_status status = kept.delegate.execute(context, args, error);
    if (!has_ended || status != ETB_OK || args->output_count == 0 || args->outputs[0].data == nullptr)
      return status;
    *static_cast<uint8_t*>(args->outputs[0].data) ^= 1;
    return status;
  };
}

}  // namespace

void break_accounts(Tables& tables) {
  kept = tables;
  break_workers(tables);
  break_device_memory(tables.delegate);
  break_limits(tables);
  break_texts(tables);
  break_times(tables.delegate);
  break_estimates(tables.aot);
  break_reasons(tables.aot);
  break_sizes(tables.delegate);
  break_stops(tables.delegate);
  break_memory(tables);
  break_calls_at_once(tables);
  break_contexts(tables.delegate);
  break_large_numbers(tables.delegate);
  break_second_lives(tables);
}

}  // namespace faulty
