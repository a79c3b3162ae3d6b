// SPDX-License-Identifier: Apache-2.0
// Faults 411 to 417 of the tables: what only some hosts see. Faults 410, 418 and 419 are at their places.
#include <cstdio>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables before;  // they are changed

// Copies as many bytes of a text as fit, and not whole characters.
void break_texts(etb_plugin_table& table) {
  if (!has_fault(411)) return;
  table.set_option = [](etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                        etb_error* error) {
    const etb_status status = before.plugin.set_option(plugin, kind, object, option, error);
    if (status != ETB_OK && error != nullptr && option->key != nullptr)
      std::snprintf(error->text, sizeof(error->text), "'%s' cannot be set", option->key);
    return status;
  };
}

std::vector<int64_t> refused_sizes;  // of the last run, all inputs

void break_runs(etb_delegate_table& table) {
  if (has_fault(414))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = before.delegate.create(plugin, args, out, error);
      return status == ETB_NOT_FOUND ? etb::fail(error, ETB_INTERNAL, "a constant cannot be read") : status;
    };
  if (has_fault(416))  // by this version's distance
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      std::vector<etb_option> options;
      for (uint64_t i = 0; i < args->option_count; ++i) options.push_back(args->options[i]);
      for (etb_option& option : options) option.struct_size = sizeof(option);
      etb_delegate_args own = *args;
      own.struct_size = sizeof(own);
      own.options = options.data();
      return before.delegate.create(plugin, &own, out, error);
    };
  if (has_fault(417))  // what was refused once counts as prepared
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      std::vector<int64_t> sizes;
      for (uint32_t i = 0; i < args->input_count; ++i) {
        const etb_tensor& input = *ETB_AT(etb_tensor, args->inputs, i);
        sizes.insert(sizes.end(), input.sizes, input.sizes + input.rank);
      }
      if (!sizes.empty() && sizes == refused_sizes) return etb_status{ETB_OK};
      const etb_status status = before.delegate.execute(context, args, error);
      refused_sizes = status == ETB_INVALID_ARGUMENT ? sizes : std::vector<int64_t>{};
      return status;
    };
}

struct Shares {
  const etb_progress* host;
  uint64_t graph_count;
};

// Counts graphs, where shares of the whole are expected.
void break_compile(etb_aot_table& table) {
  if (!has_fault(413)) return;
  table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
    if (args->progress == nullptr) return before.aot.compile(plugin, args, error);
    Shares shares = {args->progress, args->graph_count};
    const etb_progress own = {
        ETB_INIT_SIZE(etb_progress), 0, &shares, [](void* ctx, double done, const char* what) {
          const auto& to = *static_cast<const Shares*>(ctx);
          to.host->report(to.host->ctx, done * static_cast<double>(to.graph_count), what);
        }};
    etb_compile_args changed = *args;
    changed.struct_size = sizeof(changed);
    changed.progress = &own;
    return before.aot.compile(plugin, &changed, error);
  };
}

}  // namespace

void break_for_some_hosts(Tables& tables) {
  before = tables;
  break_texts(tables.plugin);
  break_runs(tables.delegate);
  break_compile(tables.aot);
}

}  // namespace faulty
