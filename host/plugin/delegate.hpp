// A delegate and its contexts. A context keeps its delegate alive, a delegate its device and plugin.
#pragma once

#include "host/plugin/device.hpp"
#include "host/plugin/plugin_context.hpp"

namespace etb::host {

class Context;

// One payload made ready. What its creation borrowed until destroy (payload bytes, named data) must live as long as it
// and its contexts do.
class Delegate {
 public:
  Delegate(Delegate&&) noexcept = default;
  Delegate& operator=(Delegate&&) noexcept = default;

  etb_delegate* handle() const noexcept { return core_->delegate; }

  [[nodiscard]] Result<etb_delegate_info> query() const;

  // Calls `put` once an input, then once an output. The requirement is valid during the call.
  [[nodiscard]] Status query_io(const std::function<void(const etb_io_req&)>& put) const;

  [[nodiscard]] Result<Context> create_context(std::span<const etb_option> options = {}) const;

  // The delegate as its contexts share it. Members in order of life.
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

// One run in flight. Its functions are [serial:context], cancel alone is [any].
class Context {
 public:
  Context(Context&& other) noexcept;
  Context& operator=(Context&& other) noexcept;
  ~Context();

  etb_context* handle() const noexcept { return context_; }

  // Runs once. Takes nothing from the heap unless it fails.
  [[nodiscard]] Status execute(const etb_exec_args& args);

  // ETB_OK also when the plugin has nothing to reserve.
  [[nodiscard]] Status reserve(std::span<const etb_tensor> inputs);

  // Starts a run; `args` and all in it stay valid until its fences are signalled.
  [[nodiscard]] Status execute_async(const etb_exec_args& args);

  bool can_cancel() const noexcept {
    return (delegate_->plugin->table.delegate->caps & ETB_DELEGATE_CAP_CANCEL) != 0;
  }
  // Asks a run to stop. Code::NOT_IMPLEMENTED when the plugin cannot be asked.
  [[nodiscard]] Status cancel() const;

 private:
  friend class Delegate;
  explicit Context(std::shared_ptr<const Delegate::Core> delegate) : delegate_(std::move(delegate)) {}
  Status answer(etb_status status);

  std::shared_ptr<const Delegate::Core> delegate_;
  etb_context* context_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;  // zeroed again only after a failure: a run does not pay for it
};

}  // namespace etb::host
