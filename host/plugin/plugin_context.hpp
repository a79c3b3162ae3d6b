// A plugin that was initialised: its context, ended by deinit when the last object made from it is gone.
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

// Keeps alive what a plugin's table points into: the mapped library, completed tables, layers, host struct, services.
// It is told how deinit went before it dies, because only after a deinit that succeeded may a library be unmapped
// (ABI-LOAD-05).
class PluginLife {
 public:
  virtual ~PluginLife() = default;
  virtual void on_deinit(etb_status) noexcept {}
};

// Handles of this folder are move-only values; each keeps what it was made from alive, so that objects are always
// destroyed before their parents (ABI-LIFE-01) and no library goes away under a living object.
class PluginContext {
 public:
  // Calls init. `table` is complete (complete_table.hpp); it and `host` live in `life`.
  [[nodiscard]] static Result<PluginContext> make(std::shared_ptr<PluginLife> life,
                                                  const etb_plugin_table& table, const etb_host& host,
                                                  std::span<const etb_option> options = {});

  PluginContext(PluginContext&&) noexcept = default;
  PluginContext& operator=(PluginContext&&) noexcept = default;

  const etb_plugin_table& table() const noexcept { return core_->table; }
  etb_plugin* handle() const noexcept { return core_->plugin; }

  // Calls `put` once a device. The info is valid during the call.
  [[nodiscard]] Status each_device(const std::function<void(const etb_device_info&)>& put) const;

  // Opens the device with this uuid.
  [[nodiscard]] Result<Device> open_device(const uint8_t (&uuid)[16],
                                           std::span<const etb_option> options = {}) const;

  // What the plugin says of a payload before anything is made of it.
  [[nodiscard]] Result<etb_verdict> check_payload(const etb_payload_check& check) const;

  // Makes a payload ready. `device` NULL: the plugin's default; args.device is set from it.
  [[nodiscard]] Result<Delegate> create_delegate(etb_delegate_args args,
                                                 const Device* device = nullptr) const;

  // An extension table of the plugin, or NULL.
  const void* find_extension(const char* id) const;

  // Calls `put` once an option that the plugin knows.
  [[nodiscard]] Status each_option(const std::function<void(const etb_option_schema&)>& put) const;

  [[nodiscard]] Status set_option(const etb_option& option) const;

  // Calls `put` with the value of an option.
  [[nodiscard]] Status get_option(const char* key, const std::function<void(const etb_option&)>& put) const;

  // The context as its children share it. Members in order of life.
  struct Core {
    std::shared_ptr<PluginLife> life;
    const etb_plugin_table& table;
    etb_plugin* plugin;
    Core(std::shared_ptr<PluginLife> keep, const etb_plugin_table& functions)
        : life(std::move(keep)), table(functions), plugin(nullptr) {}
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();
  };

 private:
  explicit PluginContext(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

  std::shared_ptr<const Core> core_;
};

}  // namespace etb::host
