// SPDX-License-Identifier: Apache-2.0
#include "tools/run/searched_delegates.hpp"

namespace etb::tools {

etb_status SearchedDelegates::create(const host::DelegateRequest& request, host::MethodDelegate** out,
                                     etb_error* error) noexcept {
  if (delegates_ == nullptr) {
    registry_ = std::make_unique<host::Registry>(options_);
    delegates_ = std::make_unique<host::PluginDelegates>(*registry_);
    for (const auto& [id, plugin] : choices_.pins) delegates_->pin(id, plugin);
    for (const auto& [id, device] : choices_.devices) delegates_->set_device(id, device);
    for (const auto& [id, key, value] : choices_.options) delegates_->set_option(id, key, value);
  }
  return delegates_->create(request, out, error);
}

std::vector<std::shared_ptr<const host::Decision>> SearchedDelegates::decisions() const {
  if (delegates_ == nullptr) return {};
  return delegates_->decisions();
}

}  // namespace etb::tools
