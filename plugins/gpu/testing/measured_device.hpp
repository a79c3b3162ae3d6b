// SPDX-License-Identifier: Apache-2.0
// A device on which a benchmark runs single dispatches, without the copies and calls of a whole run.
#pragma once

#include <memory>

#include "plugins/gpu/plan/kernel_candidates.hpp"
#include "plugins/gpu/run/delegate.hpp"

namespace etb::gpu {

class MeasuredDevice {
 public:
  virtual ~MeasuredDevice() = default;
  virtual KernelFamily family() const = 0;
  virtual bool is_cpu() const = 0;
  // Makes a trial ready for time().
  [[nodiscard]] virtual Status prepare(Trial trial) = 0;
  // Runs dispatches of the trial and returns the nanoseconds until they end.
  [[nodiscard]] virtual Result<uint64_t> time(size_t begin, size_t end) = 0;
  // Copies bytes by the driver's own command, and blocks until it ends.
  [[nodiscard]] virtual Status copy(uint64_t nbytes) = 0;
};

// Returns the first device. Defined by each plugin.
[[nodiscard]] Result<std::unique_ptr<MeasuredDevice>> make_measured_device();

// All but copy(). Api: as of GpuDelegate.
template <class Api>
class MeasuredDeviceOf : public MeasuredDevice {
 public:
  MeasuredDeviceOf(typename Api::Plugin plugin, std::shared_ptr<typename Api::Device> device)
      : plugin_(std::move(plugin)) {
    state_.device = std::move(device);
    state_.completions = plugin_.completions(*state_.device);
  }

  KernelFamily family() const override { return device().family(); }
  bool is_cpu() const override { return device().facts().is_cpu; }
  Status prepare(Trial trial) override {
    context_.reset();
    state_.plan = std::move(trial.plan);
    ETB_TRY(state_.device->prepare(state_.plan, Host()));
    context_ = std::make_unique<typename Api::Context>(state_, state_.plan);
    return context_->clear_arguments();
  }
  Result<uint64_t> time(size_t begin, size_t end) override { return context_->time_dispatches(begin, end); }

 protected:
  const typename Api::Device& device() const { return *state_.device; }

 private:
  typename Api::Plugin plugin_;
  typename GpuDelegate<Api>::SharedState state_;
  std::unique_ptr<typename Api::Context> context_;
};

}  // namespace etb::gpu
