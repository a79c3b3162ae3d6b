// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/sinks.hpp"

namespace etb::host::validate {

etb_status SinkGuard::check_call() {
  if (!is_open_.load()) {
    state_.report("ABI-SINK-01", Side::PLUGIN, function_,
                  fmt::format("{} was called after the call returned", name_));
    return ETB_INVALID_STATE;
  }
  if (std::this_thread::get_id() != thread_) {
    state_.report("ABI-SINK-01", Side::PLUGIN, function_,
                  fmt::format("{} was called on another thread than its caller's", name_));
    return ETB_INVALID_STATE;
  }
  if (stopped_with_ != ETB_OK) {
    state_.report("ABI-SINK-02", Side::PLUGIN, function_,
                  fmt::format("{} was called again after it had returned {}", name_, stopped_with_));
    return stopped_with_;
  }
  return ETB_OK;
}

void SinkGuard::close(etb_status status) {
  is_open_.store(false);
  if (stopped_with_ != ETB_OK && status != stopped_with_)
    call_->plugin("ABI-SINK-02", "{} returned {}, the call {}", name_, stopped_with_, status);
  call_ = nullptr;
}

}  // namespace etb::host::validate
