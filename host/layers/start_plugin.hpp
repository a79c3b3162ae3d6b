// From a plugin's table to a running plugin: services, layers, init.
#pragma once

#include <span>
#include <string>

#include "host/layers/layer.hpp"
#include "host/plugin/plugin_context.hpp"
#include "host/services/plugin_services.hpp"

namespace etb::host {

struct StartArgs {
  std::span<const Layer> layers;  // outermost first; only what the application or the command line asked for
  SharedServices services;        // outlive the plugin
  uint64_t memory_cap_bytes = AccountedAllocator::kUnbounded;
  const etb_host* application =
      nullptr;  // a host struct of the application's own: its name, its services; outlives it
  std::string plugin_dir;
  uint32_t host_flags = 0;              // ETB_HOST_*
  std::span<const etb_option> options;  // scope ETB_OBJECT_PLUGIN
};

// `library` keeps what `table` points into alive, and is told how deinit went; NULL for a plugin that is linked in.
[[nodiscard]] Result<PluginContext> start_plugin(std::shared_ptr<PluginLife> library,
                                                 const etb_plugin_table& table, const StartArgs& args);

}  // namespace etb::host
