// SPDX-License-Identifier: Apache-2.0
// Delegate and Context. A context keeps its delegate alive, a delegate its device and plugin.
#pragma once

#include "host/plugin/device.hpp"
#include "host/plugin/plugin_context.hpp"

namespace etb::host {

class Context;

// One payload made ready. The payload bytes and named data that its creation borrowed must
// outlive it and its contexts.
class Delegate {
 public:
  Delegate(Delegate&&) noexcept = default;
  Delegate& operator=(Delegate&&) noexcept = default;

  etb_delegate* handle() const noexcept { return core_->delegate; }

  [[nodiscard]] Result<etb_delegate_info> query() const;

  // Calls `put` for each input, then for each output. The requirement is valid during the call.
  [[nodiscard]] Status query_io(const std::function<void(const etb_io_req&)>& put) const;

  // [serial:delegate] with every other call on it.
  [[nodiscard]] Status set_option(const etb_option& option) const {
    return core_->plugin->set_option(ETB_OBJECT_DELEGATE, core_->delegate, option);
  }

  [[nodiscard]] Result<Context> create_context(std::span<const etb_option> options = {}) const;

  // The part of a delegate that its contexts share. Members are declared in order of life.
  struct Core {
    std::shared_ptr<const PluginContext::Core> plugin;
    std::shared_ptr<const Device::Core> device;
    etb_delegate* delegate = nullptr;
    Core(std::shared_ptr<const PluginContext::Core> keep, std::shared_ptr<const Device::Core> keep_device)
        : plugin(std::move(keep)), device(std::move(keep_device)) {}
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();
  };

 private:
  friend class PluginContext;
  explicit Delegate(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

  std::shared_ptr<const Core> core_;
};

// One run in flight. Its functions are [serial:context]; only cancel is [any].
class Context {
 public:
  Context(Context&& other) noexcept;
  Context& operator=(Context&& other) noexcept;
  ~Context();

  etb_context* handle() const noexcept { return context_; }

  // Runs once. Allocates nothing from the heap unless it fails.
  [[nodiscard]] Status execute(const etb_exec_args& args);

  // Returns ETB_OK also when the plugin has no reserve function.
  [[nodiscard]] Status reserve(std::span<const etb_tensor> inputs);

  // Starts a run. `args` and all that they point to stay valid until its fences are signalled.
  [[nodiscard]] Status execute_async(const etb_exec_args& args);

  [[nodiscard]] Status set_option(const etb_option& option) const {
    return delegate_->plugin->set_option(ETB_OBJECT_CONTEXT, context_, option);
  }

  bool can_cancel() const noexcept {
    return (delegate_->plugin->table.delegate->caps & ETB_DELEGATE_CAP_CANCEL) != 0;
  }
  // Asks a run to stop. Returns Code::NOT_IMPLEMENTED when the plugin has no cancel function.
  [[nodiscard]] Status cancel() const;

 private:
  friend class Delegate;
  explicit Context(std::shared_ptr<const Delegate::Core> delegate) : delegate_(std::move(delegate)) {}
  Status answer(etb_status status);

  std::shared_ptr<const Delegate::Core> delegate_;
  etb_context* context_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;  // zeroed again only after a failure, so that a run does not pay for it
};

}  // namespace etb::host
