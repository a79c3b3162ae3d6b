// SPDX-License-Identifier: Apache-2.0
#include "conformance/networks/recording_delegates.hpp"

#include <cstring>

#include "etb/cpp/guard.hpp"
#include "host/delegates/plugin_delegate.hpp"

namespace etb::conformance {

TensorData copy_of(const host::Tensor& tensor) {
  TensorData out;
  out.shape.dtype = static_cast<etb_dtype>(tensor.dtype());
  out.shape.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  out.bytes.resize(tensor.nbytes());
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), tensor.data(), out.bytes.size());
  return out;
}

class RecordingDelegates::Recorder final : public host::MethodDelegate {
 public:
  Recorder(MethodDelegate& delegate, uint32_t region, std::vector<RegionCall>& calls)
      : delegate_(delegate), region_(region), calls_(calls) {}

  etb_status execute(const host::DelegateRun& run) noexcept override {
    const size_t inputs = delegate_.operands().input_count;
    RegionCall call;
    call.region = region_;
    for (size_t i = 0; i < inputs; ++i)
      if (run.arguments[i]->is_tensor()) call.inputs.push_back(copy_of(run.arguments[i]->tensor()));
    const etb_status status = delegate_.execute(run);
    for (size_t i = inputs; status == ETB_OK && i < run.arguments.size(); ++i)
      call.outputs.push_back(copy_of(run.arguments[i]->tensor()));
    calls_.push_back(std::move(call));
    return status;
  }
  host::DelegateOperands operands() const noexcept override { return delegate_.operands(); }
  void destroy() noexcept override {
    delegate_.destroy();
    delete this;
  }

 private:
  MethodDelegate& delegate_;
  uint32_t region_;
  std::vector<RegionCall>& calls_;
};

RecordingDelegates::RecordingDelegates(Subject& subject) : subject_(subject) {}

etb_status RecordingDelegates::create(const host::DelegateRequest& request, host::MethodDelegate** out,
                                      etb_error* error) noexcept {
  return guard(error, [&]() -> Status {
    std::vector<std::string> keys;
    const std::vector<etb_compile_spec> specs = host::to_specs(request, keys);
    // The subject owns the plugin.
    const std::shared_ptr<const host::PluginContext> plugin(std::shared_ptr<void>(), &subject_.context());
    ETB_ASSIGN(host::MethodDelegate * delegate,
               host::PluginDelegate::make(plugin, nullptr, request, watchdog_, copies_, specs));
    *out = new Recorder(*delegate, created_++, calls_);
    return {};
  });
}

}  // namespace etb::conformance
