// SPDX-License-Identifier: Apache-2.0
// Faults 465 to 469 of the tables: arguments that a function keeps by address and reads in a later call.
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables honest;  // before they are changed

const void* kept = nullptr;

// Reads what an earlier call kept.
void read_kept() {
  if (kept != nullptr) (void)*static_cast<const volatile std::byte*>(kept);
}

void keep_of_runs(etb_delegate_table& table) {
  if (has_fault(465))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      kept = args->backend_id;
      return honest.delegate.create(plugin, args, out, error);
    };
  if (has_fault(466))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      kept = args->option_count != 0 ? args->options[0].key : nullptr;
      return honest.delegate.create(plugin, args, out, error);
    };
  if (has_fault(465) || has_fault(466))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      read_kept();
      return honest.delegate.execute(context, args, error);
    };
  if (has_fault(467))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      read_kept();
      kept = args->output_count != 0 ? args->outputs[0].upper_sizes : nullptr;
      return honest.delegate.execute(context, args, error);
    };
}

void keep_of_compilers(etb_aot_table& table) {
  if (has_fault(468))
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      read_kept();
      kept = args->graph->image.data;
      return honest.aot.partition(plugin, args, sink, error);
    };
  if (has_fault(469))
    table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      read_kept();
      kept = args->graphs;
      return honest.aot.compile(plugin, args, error);
    };
}

}  // namespace

void keep_borrowed_arguments(Tables& tables) {
  honest = tables;
  keep_of_runs(tables.delegate);
  keep_of_compilers(tables.aot);
}

}  // namespace faulty
