// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/measured_device.hpp"

#include "plugins/opencl/plugin.hpp"

namespace etb::gpu {

namespace {

class OpenclMeasuredDevice final : public MeasuredDeviceOf<opencl::OpenclApi> {
 public:
  using MeasuredDeviceOf::MeasuredDeviceOf;

  // From memory of the host.
  Status copy(uint64_t nbytes) override {
    if (nbytes != from_.size()) {
      from_.resize(nbytes);
      ETB_ASSIGN(to_, device().make_buffer(nbytes));
      ETB_ASSIGN(queue_, device().make_queue(false));
    }
    return opencl::from_cl(device().functions().EnqueueWriteBuffer(queue_.get(), to_.get(), CL_TRUE, 0,
                                                                   nbytes, from_.data(), 0, nullptr, nullptr),
                           "clEnqueueWriteBuffer");
  }

 private:
  std::vector<std::byte> from_;
  opencl::OwnedMemory to_;
  opencl::OwnedQueue queue_;
};

}  // namespace

Result<std::unique_ptr<MeasuredDevice>> make_measured_device() {
  ETB_ASSIGN(opencl::OpenclPlugin plugin, opencl::OpenclPlugin::make(Host(), Options()));
  ETB_ASSIGN(auto device, plugin.open(nullptr));
  return std::make_unique<OpenclMeasuredDevice>(std::move(plugin), std::move(device));
}

}  // namespace etb::gpu
