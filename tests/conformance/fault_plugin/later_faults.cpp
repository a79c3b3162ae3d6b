// SPDX-License-Identifier: Apache-2.0
// Faults 450 to 464 of the tables: what is wrong only behind the first of several options, items, graphs or runs.
#include <cstring>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables kept;  // before they are changed

etb_status create_with(etb_plugin* plugin, const etb_delegate_args& args,
                       const std::vector<etb_option>& options, etb_delegate** out, etb_error* error) {
  etb_delegate_args own = args;
  own.options = options.data();
  own.option_count = options.size();
  return kept.delegate.create(plugin, &own, out, error);
}

void break_options(etb_delegate_table& table) {
  if (has_fault(450))  // ends at the first hint
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      std::vector<etb_option> options;
      for (uint64_t i = 0; i < args->option_count; ++i) {
        const etb_option& option = *ETB_AT(etb_option, args->options, i);
        if (std::strncmp(option.key, "x-", 2) == 0) break;
        options.push_back(option);
        options.back().struct_size = sizeof(etb_option);
      }
      return create_with(plugin, *args, options, out, error);
    };
  if (has_fault(451))  // as far apart as in this version
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      std::vector<etb_option> options(args->options, args->options + args->option_count);
      for (etb_option& option : options) option.struct_size = sizeof(option);
      return create_with(plugin, *args, options, out, error);
    };
  if (has_fault(452))  // compares the beginning of a key
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      std::vector<etb_option> options;
      for (uint64_t i = 0; i < args->option_count; ++i) {
        options.push_back(*ETB_AT(etb_option, args->options, i));
        options.back().struct_size = sizeof(etb_option);
        if (std::strncmp(options.back().key, "mode", 4) == 0) options.back().key = "mode";
      }
      return create_with(plugin, *args, options, out, error);
    };
}

// Cuts the text of an error at a byte, not at a character.
void break_texts(etb_delegate_table& table) {
  if (has_fault(463))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = kept.delegate.create(plugin, args, out, error);
      if (status != ETB_OK && error != nullptr) error->text[61] = '\0';
      return status;
    };
}

void break_sinks(etb_delegate_table& table) {
  if (has_fault(453))  // forgets the answer to the last item
    table.query_io = [](etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
      const etb_io_req_sink own = {ETB_INIT_SIZE(etb_io_req_sink), 0, const_cast<etb_io_req_sink*>(sink),
                                   [](void* ctx, const etb_io_req* req) {
                                     const auto& to = *static_cast<const etb_io_req_sink*>(ctx);
                                     const etb_status status = to.put(to.ctx, req);
                                     return req->role == ETB_ROLE_OUTPUT ? etb_status{ETB_OK} : status;
                                   }};
      return kept.delegate.query_io(delegate, &own, error);
    };
}

void break_compile(etb_aot_table& table) {
  if (has_fault(454))  // graphs as far apart as in this version
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      std::vector<etb_graph_image> graphs(args->graphs, args->graphs + args->graph_count);
      for (etb_graph_image& graph : graphs) graph.struct_size = sizeof(graph);
      etb_compile_args own = *args;
      own.graphs = graphs.data();
      return kept.aot.compile(plugin, &own, error);
    };
  if (has_fault(464))  // ends at the first hint
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      etb_partition_args own = *args;
      for (uint64_t i = args->option_count; i-- > 0;)
        if (std::strncmp(ETB_AT(etb_option, args->options, i)->key, "x-", 2) == 0) own.option_count = i;
      return kept.aot.partition(plugin, &own, sink, error);
    };
  if (has_fault(461))  // certain, in ticks of another length than those of events
    table.estimate = [](etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                        etb_error* error) {
      const etb_status status = kept.aot.estimate(plugin, args, out, error);
      out->latency_ns = 1.25 * kOwnTicks;
      out->confidence = 1;
      return status;
    };
}

// Says that options may change, and has no function for it.
void break_schema(etb_plugin_table& table) {
  if (!has_fault(462)) return;
  table.caps &= ~ETB_PLUGIN_CAP_SET_OPTION;
  table.set_option = nullptr;
}

}  // namespace

void break_later(Tables& tables) {
  kept = tables;
  break_options(tables.delegate);
  break_texts(tables.delegate);
  break_sinks(tables.delegate);
  break_compile(tables.aot);
  break_schema(tables.plugin);
}

}  // namespace faulty
