// SPDX-License-Identifier: Apache-2.0
// Engine: what modules of the C API share: threads, and the registry with its loaded plugins.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host/delegates/device_memory.hpp"
#include "host/delegates/shared_delegates.hpp"
#include "host/layers/layer_kind.hpp"
#include "host/registry/registry.hpp"
#include "host/services/thread_pool.hpp"

namespace etb::host {

// Plugins and devices that the application chose, by delegate id.
struct BackendChoices {
  std::map<std::string, std::string> pins, devices;
};

class Engine {
 public:
  // `options` without services: the engine adds its threads and the log of the process. thread_count 0: one for
  // each processor.
  Engine(RegistryOptions options, uint32_t thread_count, LayerSet layers = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  ThreadPool& pool() noexcept { return pool_; }

  // Memory of the delegates of all modules.
  const std::shared_ptr<DeviceMemory>& device_memory() const noexcept { return device_memory_; }

  // Delegates that modules on one program share.
  const std::shared_ptr<SharedDelegates>& shared_delegates() const noexcept { return shared_delegates_; }

  // Choices for all modules, set before the engine is shared.
  BackendChoices choices;

  // Searches for plugins at the first call, because most programs need none.
  Registry& registry();

 private:
  ThreadPool pool_;
  LayerSet layers_;
  RegistryOptions options_;
  std::once_flag searched_;
  std::optional<Registry> registry_;
  std::shared_ptr<DeviceMemory> device_memory_ = std::make_shared<DeviceMemory>();
  std::shared_ptr<SharedDelegates> shared_delegates_ = std::make_shared<SharedDelegates>();
};

// The engine of all modules that name no registry and ask for this number of threads. It lives as long as one
// of them.
std::shared_ptr<Engine> default_engine(uint32_t thread_count);

// Makes layers from their texts. Their lines go to the log of the process.
[[nodiscard]] Result<LayerSet> make_layers(std::span<const std::string> texts);

// Registry options with the folders of plugins that were installed with this library.
RegistryOptions installed_plugins();

}  // namespace etb::host
