// SPDX-License-Identifier: Apache-2.0
#include "host/layers/start_plugin.hpp"

#include "host/layers/chain.hpp"

namespace etb::host {
namespace {

// Members are declared in order of life.
struct StartedPlugin : PluginLife {
  StartedPlugin(std::shared_ptr<PluginLife> keep, Chain tables, const StartArgs& args,
                const etb_plugin_ident* ident)
      : library(std::move(keep)),
        services(args.services, args.memory_cap_bytes, args.application, ident),
        chain(std::move(tables)),
        record(services.table(), args.plugin_dir, args.host_flags, args.application) {
    for (const Layer& layer : args.layers)
      if (layer.service_id != nullptr) services.table().add(layer.service_id, layer.service);
    record.set_layer_link(chain.link());
  }

  void on_deinit(etb_status status) noexcept override {
    if (library != nullptr) library->on_deinit(status);
  }
  uint64_t allocated_bytes() noexcept override { return services.memory().usage().live_bytes; }

  std::shared_ptr<PluginLife> library;
  PluginServices services;
  Chain chain;
  HostRecord record;
};

}  // namespace

Result<PluginContext> start_plugin(std::shared_ptr<PluginLife> library, const etb_plugin_table& table,
                                   const StartArgs& args) {
  ETB_ASSIGN(Chain chain, Chain::make(table, args.layers));
  auto life = std::make_shared<StartedPlugin>(std::move(library), std::move(chain), args, table.ident);
  const StartedPlugin& started = *life;
  return PluginContext::make(life, started.chain.table(), started.record.host(), args.options);
}

}  // namespace etb::host
