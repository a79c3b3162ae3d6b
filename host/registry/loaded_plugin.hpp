// SPDX-License-Identifier: Apache-2.0
// LoadedPlugin: a plugin whose code is in this process: loaded, queried and checked, with complete tables.
// Not yet initialised; pass it to PluginContext::make for that.
#pragma once

#include <memory>
#include <vector>

#include "host/plugin/complete_table.hpp"
#include "host/plugin/plugin_context.hpp"
#include "host/registry/load_code.hpp"
#include "host/registry/plugin_entry.hpp"

namespace etb::host {

struct LoadOptions : CodePolicy {
  // Source of the host struct that the plugin receives: its name, version, ctx and get_service when not
  // null. It outlives the plugin.
  const etb_host* host = nullptr;
};

class LoadedPlugin final : public PluginLife {
 public:
  // Checks all files again, because they may have changed since the search.
  [[nodiscard]] static Result<std::shared_ptr<LoadedPlugin>> load(const PluginEntry& entry,
                                                                  const LoadOptions& options);

  // Makes a plugin from code that is linked into the program.
  [[nodiscard]] static Result<std::shared_ptr<LoadedPlugin>> link(etb_plugin_query_fn query,
                                                                  const LoadOptions& options);

  ~LoadedPlugin() override;

  const PluginIdent& ident() const noexcept { return ident_; }

  // Complete: no function is NULL. For a layer it is the layer's own table; complete it with
  // CompleteTable::assign_layer.
  const etb_plugin_table& table() const noexcept { return is_layer() ? *raw_ : complete_.table(); }
  const etb_host& host() const noexcept { return host_; }
  // For tests of the plugin itself: its query function and its unchanged table.
  etb_plugin_query_fn query_function() const noexcept { return query_; }
  const etb_plugin_table& raw_table() const noexcept { return *raw_; }
  bool is_layer() const noexcept { return (ident_.profiles & ETB_PROFILE_LAYER) != 0; }

  // Returns a symbol exported by the library or by one that it needs, or NULL. Always NULL for a static
  // plugin.
  void* find_symbol(const char* name) const;

  void on_deinit(etb_status status) noexcept override;

 private:
  LoadedPlugin() = default;
  void make_host(const LoadOptions& options, std::string directory);
  [[nodiscard]] Status ask(etb_plugin_query_fn query);

  // Declared in order of life: the library outlives all that points into it.
  std::optional<LoadedCode> code_;  // nullopt for a static plugin
  bool may_unload_ = false;
  std::string directory_;
  etb_host host_{};
  PluginIdent ident_;
  etb_plugin_query_fn query_ = nullptr;
  const etb_plugin_table* raw_ = nullptr;
  CompleteTable complete_;
};

}  // namespace etb::host
