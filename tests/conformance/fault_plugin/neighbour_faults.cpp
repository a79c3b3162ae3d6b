// SPDX-License-Identifier: Apache-2.0
// Faults 370 to 396 of the tables: what one object leaves for others, and hosts that are not like this one.
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables kept;  // before they are changed

void break_devices(etb_device_table& table) {
  if (has_fault(370))  // forgets to return the device's reference
    table.close = [](etb_device*, etb_error*) { return etb_status{ETB_OK}; };
  if (has_fault(379))  // compares four bytes of a uuid
    table.open = [](etb_plugin* plugin, const uint8_t* uuid, const etb_option* options, uint64_t count,
                    etb_device** out, etb_error* error) {
      uint8_t known[16];
      std::memcpy(known, "faulty device 0", sizeof(known));
      known[14] = std::memcmp(uuid, known, 14) == 0 ? uuid[14] : known[14];
      const bool is_known = std::memcmp(uuid, known, 4) == 0;
      return kept.device.open(plugin, is_known ? known : uuid, options, count, out, error);
    };
}

void break_runs(etb_delegate_table& table) {
  if (has_fault(380))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      etb_exec_args own = *args;
      std::vector<etb_tensor> inputs(args->inputs,
                                     args->inputs + args->input_count);  // by this version's size
      for (etb_tensor& input : inputs) input.struct_size = sizeof(input);
      own.inputs = inputs.data();
      own.struct_size = sizeof(own);
      return kept.delegate.execute(context, &own, error);
    };
  if (has_fault(381))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      return args->struct_size != sizeof(*args)
                 ? etb::fail(error, ETB_INVALID_ARGUMENT, "arguments of another size")
                 : kept.delegate.create(plugin, args, out, error);
    };
  if (has_fault(382))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      const etb_status status = kept.delegate.execute(context, args, error);
      return args->events != nullptr && !has_clock
                 ? etb::fail(error, ETB_UNAVAILABLE, "no clock for the events")
                 : status;
    };
}

void break_compile(etb_aot_table& table) {
  if (has_fault(383))  // the first graph each time
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      const std::vector<etb_graph_image> graphs(args->graph_count, args->graphs[0]);
      etb_compile_args own = *args;
      own.graphs = graphs.data();
      return kept.aot.compile(plugin, &own, error);
    };
  if (has_fault(384))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      const bool is_cancelled = args->cancel != nullptr && args->cancel->is_cancelled(args->cancel->ctx) != 0;
      return is_cancelled ? etb_status{ETB_OK} : kept.aot.compile(plugin, args, error);
    };
}

// ---- hosts that differ in what the contract leaves open

// Times of the processor's clock, under the name of the host's (389).
etb_status ETB_CALL put_own_time(void* ctx, const etb_event* event) {
  const auto* const sink = static_cast<const etb_event_sink*>(ctx);
  etb_event copy = *event;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  copy.begin_ticks = copy.end_ticks =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  return sink->put(sink->ctx, &copy);
}

std::map<etb_context*, std::thread::id> makers;  // threads that made the contexts
size_t ended_contexts = 0;

etb_status ETB_CALL execute_on_strange_host(etb_context* context, const etb_exec_args* args,
                                            etb_error* error) {
  etb_exec_args own = *args;
  if (has_fault(394)) own.wait_count = 0;
  etb_event_sink sink{};
  sink.struct_size = ETB_INIT_SIZE(etb_event_sink);
  sink.ctx = const_cast<etb_event_sink*>(args->events);
  sink.put = put_own_time;
  if (has_fault(389) && args->events != nullptr) own.events = &sink;
  if (has_fault(391))
    for (uint32_t i = 0; i < args->input_count; ++i)
      if (const etb_tensor& input = args->inputs[i];
          input.strides != nullptr &&
          (input.dim_order == nullptr || input.rank < 2 || input.dim_order[1] == 1))
        return etb::fail(error, ETB_INVALID_ARGUMENT, "input %u has strides, expected none", i);
  if (has_fault(392) && makers[context] != std::this_thread::get_id())
    return etb::fail(error, ETB_INVALID_STATE, "a context of another thread");
  if (has_fault(393) && ended_contexts != 0)
    return etb::fail(error, ETB_INVALID_STATE, "the queue of this process ended");
  const etb_status status = kept.delegate.execute(context, &own, error);
  if (has_fault(396) && status == ETB_OK && args->input_count == 2 && args->inputs[0].data != nullptr &&
      args->inputs[0].data == args->inputs[1].data && args->outputs[0].data != nullptr)
    std::memset(args->outputs[0].data, 0, args->outputs[0].capacity_bytes);  // uploaded once, bound once
  return status;
}

void break_strange_hosts(etb_delegate_table& table) {
  if (has_fault(389) || has_fault(391) || has_fault(392) || has_fault(393) || has_fault(394) ||
      has_fault(396))
    table.execute = execute_on_strange_host;
  if (has_fault(392))
    table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t count,
                              etb_context** out, etb_error* error) {
      const etb_status status = kept.delegate.context_create(delegate, options, count, out, error);
      if (status == ETB_OK) makers[*out] = std::this_thread::get_id();
      return status;
    };
  if (has_fault(393)) {
    table.context_destroy = [](etb_context* context, etb_error* error) {
      ++ended_contexts;
      return kept.delegate.context_destroy(context, error);
    };
    table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t count,
                              etb_context** out, etb_error* error) {
      ended_contexts = 0;  // a new queue
      return kept.delegate.context_create(delegate, options, count, out, error);
    };
  }
  if (has_fault(395))
    table.check_payload = [](etb_plugin* plugin, const etb_payload_check* check, etb_verdict* verdict,
                             etb_error* error) {
      const etb_status status = kept.delegate.check_payload(plugin, check, verdict, error);
      if (check->prefix.nbytes < check->payload_nbytes) verdict->kind = ETB_VERDICT_UNSUPPORTED;
      return status;
    };
}

// Claims the node of a graph with a quantised value, as an implementation that reads sizes and dtypes only.
void break_claims(etb_aot_table& table) {
  if (!has_fault(388)) return;
  table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                       etb_error* error) {
    etb_graph_view view;
    if (etb_graph_open(args->graph, &view) != ETB_OK || view.quants.count == 0)
      return kept.aot.partition(plugin, args, sink, error);
    const etb_graph_body body = etb_graph_get_body(&view, 0);
    for (uint32_t i = 0; i < body.nodes.count; ++i) {
      const uint32_t id = body.first_node_id + i;
      etb_claim claim{};
      claim.struct_size = ETB_INIT_SIZE(etb_claim);
      claim.node_ids = &id;
      claim.node_count = 1;
      if (const etb_status status = sink->claim(sink->ctx, &claim); status != ETB_OK) return status;
    }
    return etb_status{ETB_OK};
  };
}

}  // namespace

void break_neighbours(Tables& tables) {
  kept = tables;
  break_devices(tables.device);
  break_runs(tables.delegate);
  break_compile(tables.aot);
  break_claims(tables.aot);
  break_strange_hosts(tables.delegate);
  if (has_fault(374))
    tables.plugin.deinit = [](etb_plugin* plugin, etb_error* error) {
      const etb_status status = kept.plugin.deinit(plugin, error);
      has_ended_any = has_ended_any || status == ETB_OK;
      return status;
    };
  if (has_fault(390))
    tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                            etb_error* error) {
      const bool has_both = (host->get_service(host, ETB_SERVICE_ALLOC) != nullptr) ==
                            (host->get_service(host, ETB_SERVICE_PARALLEL) != nullptr);
      return has_both ? kept.plugin.init(host, options, count, out, error)
                      : etb::fail(error, ETB_UNAVAILABLE, "alloc/1 and parallel/1 come together");
    };
  if (has_fault(382))
    tables.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                            etb_error* error) {
      has_clock = host->get_service(host, ETB_SERVICE_CLOCK) != nullptr;
      return kept.plugin.init(host, options, count, out, error);
    };
}

}  // namespace faulty
