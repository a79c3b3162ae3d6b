// SPDX-License-Identifier: Apache-2.0
// Options of a module as the C API passes them, checked and converted.
#pragma once

#include <memory>
#include <optional>

#include "etb/module.h"
#include "etb/recording.h"
#include "host/application/engine.hpp"
#include "host/application/tracer.hpp"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"

namespace etb::host {

// Runs the delegates of one module on the plugins of an engine. Nothing is searched until a method with a
// delegate is loaded.
class EngineDelegates final : public DelegateResolver {
 public:
  explicit EngineDelegates(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  etb_status create(const DelegateRequest& request, MethodDelegate** out, etb_error* error) noexcept override;
  std::vector<std::shared_ptr<const Decision>> decisions() const;
  // As PluginDelegates::change_option.
  [[nodiscard]] Status change_option(const std::string& backend_id, const std::string& key,
                                     const std::string& text) {
    return delegates().change_option(backend_id, key, text);
  }

  // Choices of the application, by delegate id. Filled before the first method is loaded.
  struct Choices : BackendChoices {
    std::map<std::string, OptionTexts> options;
    bool is_async = false;
    uint64_t max_device_bytes = 0;
  };
  Choices choices;
  FileMapping file;  // mapping of the program; set before the first method is loaded

 private:
  PluginDelegates& delegates();  // makes them at the first call

  std::shared_ptr<Engine> engine_;
  std::optional<PluginDelegates> delegates_;
};

// All that a module of the C API needs besides its program. Members are in order of life.
struct ModuleParts {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<EngineDelegates> delegates;  // NULL: ETB_MODULE_NO_PLUGINS
  std::unique_ptr<SinkTracer> tracer;          // NULL: nothing is traced
  ModuleOptions options;                       // points to the parts above
  std::shared_ptr<etb_recording> recording;    // NULL: nothing is recorded
};

// `given` NULL: the defaults. Errors name the field, what was found and what was expected.
[[nodiscard]] Result<ModuleParts> read_module_options(const etb_module_options* given);

}  // namespace etb::host
