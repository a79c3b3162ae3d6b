// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/device_state.hpp"

namespace etb::host {

bool DeviceStateBuffer::update() noexcept {
  state_ = result_;
  if (state_ != kHost) return true;
  if (is_leaving_) buffers_ = {};
  return false;
}

void DeviceStateBuffer::reset() noexcept {
  state_ = result_ = kHost;
  if (is_leaving_) buffers_ = {};
}

void DeviceStateBuffer::let_go() noexcept {
  is_leaving_ = true;
  for (int i = 0; i < kCount; ++i)
    if (i != state_) buffers_[static_cast<size_t>(i)].reset();
}

}  // namespace etb::host
