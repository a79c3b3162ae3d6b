// SPDX-License-Identifier: Apache-2.0
// Optional functions that the plugin base makes from classes which this plugin does not have: dry_check, estimate.
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

uint64_t spec_nbytes(const etb_graph_spec& spec) {
  uint64_t nbytes = nbytes_of(static_cast<etb_dtype>(spec.dtype));
  for (uint32_t i = 0; i < spec.rank; ++i) nbytes *= static_cast<uint64_t>(spec.sizes[i]);
  return nbytes;
}

etb_status ETB_CALL dry_check(etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
  return etb::guard(error, [&]() -> etb::Status {
    ETB_TRY(ETB_ACCEPT(etb_partition_args, args, option_count));
    ETB_ASSIGN(const auto request, etb::CompileRequest::make(*args, Plugin::kOptions));
    ETB_ASSIGN(const etb::graph::View view, etb::detail::open_graph(args->graph));
    return etb::check_claimed(plugin_of(plugin), view.method(), request);
  });
}

// Counts bytes: a run reads its operands and writes its results, at some bytes a nanosecond.
etb_status ETB_CALL estimate(etb_plugin*, const etb_partition_args* args, etb_estimate* out,
                             etb_error* error) {
  return etb::guard(error, [&]() -> etb::Status {
    ETB_TRY(ETB_ACCEPT(etb_partition_args, args, option_count));
    ETB_TRY(etb::Options::make(args->options, args->option_count, Plugin::kOptions, ETB_OBJECT_PLUGIN));
    ETB_TRY(ETB_ACCEPT(etb_estimate, out, energy_nj));
    ETB_ASSIGN(const etb::graph::View view, etb::detail::open_graph(args->graph));
    const etb::Graph graph = view.method();
    out->latency_ns = 1000;
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      const etb::Node node = graph.node(i);
      double depth = 1;  // elements that each result reads
      for (const etb::Value& operand : node.operands()) {
        out->moved_bytes += spec_nbytes(operand.spec());
        if (node.op_name() == "aten.mm.default") depth = static_cast<double>(operand.spec().sizes[0]);
      }
      for (const etb::Value& result : node.results()) {
        if (!has_fault(592)) out->moved_bytes += spec_nbytes(result.spec());
        out->peak_bytes += spec_nbytes(result.spec());
        out->latency_ns += static_cast<double>(spec_nbytes(result.spec())) * depth;
      }
    }
    if (has_fault(591)) out->peak_bytes /= 2;
    out->confidence = 0.5;
    return {};
  });
}

}  // namespace

void add_optional_functions(Tables& tables) {
  tables.aot.caps |= ETB_AOT_CAP_DRY_CHECK | ETB_AOT_CAP_ESTIMATE;
  tables.aot.dry_check = dry_check;
  tables.aot.estimate = estimate;
  add_async_runs(tables);
}

}  // namespace faulty
