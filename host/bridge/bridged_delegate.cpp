// SPDX-License-Identifier: Apache-2.0
#include "host/bridge/bridged_delegate.hpp"

#include "etb/cpp/fail.hpp"
#include "etb/cpp/guard.hpp"
#include "host/application/process_log.hpp"
#include "host/bridge/current_call.hpp"

namespace etb::host {

Result<std::unique_ptr<BridgedDelegate>> BridgedDelegate::make(PluginDelegates& delegates,
                                                               BridgedRequest request) {
  std::unique_ptr<BridgedDelegate> made(new BridgedDelegate(request.backend_id, request.named_data));
  DelegateRequest wanted{};
  wanted.id = request.backend_id;
  wanted.method_name = request.method_name;
  wanted.payload = &request.payload;
  wanted.named_data = &made->named_data_;
  wanted.platform = &logging_hooks();
  wanted.max_scratch_bytes = UINT64_MAX;
  const std::string plugin = delegates.plugin_of(request.backend_id);
  const CurrentCall call(request.backend_id.c_str(), plugin.c_str(), "create");
  made->options_ = std::move(request.options);
  Result<PluginDelegate*> delegate = delegates.make(wanted, request.specs, made->options_);
  if (!delegate) {
    const std::string where = plugin.empty() ? "bridge" : "plugin '" + plugin + "'";
    return tl::make_unexpected(with_context(std::move(delegate).error(), where));
  }
  made->delegate_.reset(*delegate);
  made->arguments_ = CallArguments(made->delegate_->input_count());
  return made;
}

etb_status BridgedDelegate::execute(std::span<const ForeignValue> values, etb_error* error) noexcept {
  const auto with_plugin = [&](etb_status status) {
    return status == ETB_OK
               ? status
               : fail_in(error, status, "plugin '%s', delegate '%s'", plugin_id(), backend_id_.c_str());
  };
  const CurrentCall call(backend_id_.c_str(), plugin_id(), "execute");
  if (const etb_status status = arguments_.read(values, error); status != ETB_OK) return with_plugin(status);
  if (arguments_.has_new_bounds()) {
    const etb_status status = guard(error, [&] {
      return arguments_.at_bounds(
          [&](std::span<EValue* const> largest) { return delegate_->prepare(largest, {}, true); });
    });
    if (status != ETB_OK) return arguments_.forget_bounds(), with_plugin(status);
  }
  return with_plugin(delegate_->execute({arguments_.values(), {}, nullptr, error}));
}

}  // namespace etb::host
