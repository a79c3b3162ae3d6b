// SPDX-License-Identifier: Apache-2.0
// DeviceStateBuffer: two buffers of a device for one mutable buffer of a method, or of several methods. A run reads one and writes
// the other, so that a run which fails leaves the state of the run before.
#pragma once

#include <array>
#include <memory>

#include "host/plugin/device_buffer.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

class DeviceStateBuffer final : public DeviceState, public std::enable_shared_from_this<DeviceStateBuffer> {
 public:
  // Index of a buffer; kHost: the state is in memory of the host.
  static constexpr int kHost = -1, kCount = 2;
  using Buffers = std::array<std::shared_ptr<DeviceBuffer>, kCount>;

  DeviceStateBuffer(Buffers buffers, const Device* device) : buffers_(std::move(buffers)), device_(device) {}

  bool update() noexcept override;
  void reset() noexcept override;
  // Frees buffers without state now.
  void let_go() noexcept override;
  // Chooses the buffer for a new result.
  void begin_result() noexcept { result_ = is_leaving_ ? kHost : state_ == 0 ? 1 : 0; }
  // NULL after let_go().
  const Device* device() const noexcept { return is_leaving_ ? nullptr : device_; }
  const Buffers& buffers() const noexcept { return buffers_; }
  int state() const noexcept { return state_; }
  int result() const noexcept { return result_; }

 private:
  Buffers buffers_;
  const Device* device_;
  int state_ = kHost, result_ = kHost;
  bool is_leaving_ = false;
};

}  // namespace etb::host
