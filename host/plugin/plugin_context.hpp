// SPDX-License-Identifier: Apache-2.0
// PluginContext: an initialised plugin. Destroying the last object made from it calls deinit.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/plugin.h"

namespace etb::host {

class Device;
class Delegate;

// Keeps alive all that a plugin's table points into: the mapped library, completed tables, layers, host
// struct, services. on_deinit() receives the status of deinit, because a library may be unmapped only after
// deinit succeeded (ABI-LOAD-05).
class PluginLife {
 public:
  virtual ~PluginLife() = default;
  virtual void on_deinit(etb_status) noexcept {}
  // Live bytes that the plugin has from the host's allocator.
  virtual uint64_t allocated_bytes() noexcept { return 0; }
};

// The handles of this folder are move-only. Each keeps its parent alive, so objects are destroyed before
// their parents (ABI-LIFE-01), and a library is never unmapped under a living object.
class PluginContext {
 public:
  // Calls init. `table` is complete (complete_table.hpp). `life` owns the table and `host`.
  [[nodiscard]] static Result<PluginContext> make(std::shared_ptr<PluginLife> life,
                                                  const etb_plugin_table& table, const etb_host& host,
                                                  std::span<const etb_option> options = {});

  PluginContext(PluginContext&&) noexcept = default;
  PluginContext& operator=(PluginContext&&) noexcept = default;

  const etb_plugin_table& table() const noexcept { return core_->table; }
  etb_plugin* handle() const noexcept { return core_->plugin; }
  // Live bytes that the plugin has from the host's allocator.
  uint64_t allocated_bytes() const noexcept { return core_->life->allocated_bytes(); }

  // Calls `put` for each device. The info is valid during the call.
  [[nodiscard]] Status each_device(const std::function<void(const etb_device_info&)>& put) const;

  // Opens the device with this uuid.
  [[nodiscard]] Result<Device> open_device(const uint8_t (&uuid)[16],
                                           std::span<const etb_option> options = {}) const;

  // Asks the plugin for its verdict on a payload, before a delegate is created.
  [[nodiscard]] Result<etb_verdict> check_payload(const etb_payload_check& check) const;

  // Creates a delegate from a payload. `device` NULL: the plugin's default. Sets args.device from `device`.
  [[nodiscard]] Result<Delegate> create_delegate(etb_delegate_args args,
                                                 const Device* device = nullptr) const;

  // Returns an extension table of the plugin, or NULL.
  const void* find_extension(const char* id) const;

  // Calls `put` for each option that the plugin knows.
  [[nodiscard]] Status each_option(const std::function<void(const etb_option_schema&)>& put) const;

  [[nodiscard]] Status set_option(const etb_option& option) const;

  // Calls `put` with the value of an option.
  [[nodiscard]] Status get_option(const char* key, const std::function<void(const etb_option&)>& put) const;

  // The part of a context that its children share. Members are declared in order of life.
  struct Core {
    std::shared_ptr<PluginLife> life;
    const etb_plugin_table& table;
    etb_plugin* plugin;
    Core(std::shared_ptr<PluginLife> keep, const etb_plugin_table& functions)
        : life(std::move(keep)), table(functions), plugin(nullptr) {}
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();

    // Changes an option of the object that `handle` names; `object_kind` is ETB_OBJECT_*.
    [[nodiscard]] Status set_option(uint32_t object_kind, void* handle, const etb_option& option) const;
  };

 private:
  explicit PluginContext(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

  std::shared_ptr<const Core> core_;
};

}  // namespace etb::host
