// A plugin whose code is in this process: loaded, asked, checked, its tables complete. Not yet initialised; for that give it
// to PluginContext::make.
#pragma once

#include <memory>
#include <vector>

#include "host/plugin/complete_table.hpp"
#include "host/plugin/plugin_context.hpp"
#include "host/registry/load_code.hpp"
#include "host/registry/plugin_entry.hpp"

namespace etb::host {

struct LoadOptions : CodePolicy {
  // What the plugin sees of the host: name, version, ctx and get_service are taken from here when it is given. It outlives
  // the plugin.
  const etb_host* host = nullptr;
};

class LoadedPlugin final : public PluginLife {
 public:
  // Checks the files again from the start: what the search saw may have changed since.
  [[nodiscard]] static Result<std::shared_ptr<LoadedPlugin>> load(const PluginEntry& entry,
                                                                  const LoadOptions& options);

  // Of a plugin that is linked into the program.
  [[nodiscard]] static Result<std::shared_ptr<LoadedPlugin>> link(etb_plugin_query_fn query,
                                                                  const LoadOptions& options);

  ~LoadedPlugin() override;

  const PluginIdent& ident() const noexcept { return ident_; }

  // Complete: no function is NULL. Of a layer it is what the layer gave; complete it with CompleteTable::assign_layer.
  const etb_plugin_table& table() const noexcept { return is_layer() ? *raw_ : complete_.table(); }
  const etb_host& host() const noexcept { return host_; }
  // For tests of the plugin itself: its one function, and what it gave as it is.
  etb_plugin_query_fn query_function() const noexcept { return query_; }
  const etb_plugin_table& raw_table() const noexcept { return *raw_; }
  bool is_layer() const noexcept { return (ident_.profiles & ETB_PROFILE_LAYER) != 0; }

  // A symbol that the library or one that it needs exports, or NULL; of a static plugin always NULL.
  void* find_symbol(const char* name) const;

  void on_deinit(etb_status status) noexcept override;

 private:
  LoadedPlugin() = default;
  void make_host(const LoadOptions& options, std::string directory);
  [[nodiscard]] Status ask(etb_plugin_query_fn query);

  // In order of life: the library outlives what points into it.
  std::optional<LoadedCode> code_;  // nothing for a static plugin
  bool may_unload_ = false;
  std::string directory_;
  etb_host host_{};
  PluginIdent ident_;
  etb_plugin_query_fn query_ = nullptr;
  const etb_plugin_table* raw_ = nullptr;
  CompleteTable complete_;
};

}  // namespace etb::host
