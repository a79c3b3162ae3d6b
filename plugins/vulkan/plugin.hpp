// SPDX-License-Identifier: Apache-2.0
// The Vulkan plugin: finds devices, and owns those that its delegates share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "etb/cpp/plugin.hpp"
#include "plugins/gpu/compile/op.hpp"
#include "plugins/vulkan/delegate.hpp"

namespace etb::vulkan {

class VulkanPlugin {
 public:
  using Delegate = VulkanDelegate;
  static constexpr uint32_t kFlags = ETB_PLUGIN_OWN_THREADS;  // drivers have threads
  // Tables built on first use, not when the library is loaded.
  struct Rows {
    operator std::span<const OpRow>() const { return gpu::op_rows(); }
  };
  static constexpr Rows kOps = {};
  struct Preserved {
    operator std::span<const char* const>() const { return gpu::preserved_ops(); }
  };
  static constexpr Preserved kPreserveOps = {};

  static constexpr const char* kKernelChoices[] = {"auto", "registers"};
  static constexpr OptionRow kOptions[] = {text_option(
      "kernels", "auto", ETB_OBJECT_DELEGATE,
      "auto: products and convolutions by the kernels that suit the device; registers: by those for GPUs.",
      kKernelChoices)};

  static Result<VulkanPlugin> make(const Host& host, const Options& options);

  Status enumerate(const DeviceSink& sink) const;
  Verdict check_payload(const etb_payload_check& check) const;
  Status partition(const Graph& graph, const PartitionSink& sink) const;
  Result<Artifact> compile(const Region& region) const;

  // Opens a device by its uuid, or the best one for NULL. Each is opened once.
  [[nodiscard]] Result<std::shared_ptr<Device>> open(const uint8_t* uuid) const;

 private:
  // On the heap: a plugin moves while it is made.
  struct SharedState {
    std::mutex mutex;
    std::shared_ptr<Instance> instance;
    std::map<std::array<uint8_t, 16>, std::shared_ptr<Device>> devices;  // opened
  };

  // Returns the instance and the devices of the machine. The caller locks the mutex.
  Result<std::vector<DeviceFacts>> find_devices() const;
  void warn(const std::string& text) const;

  Host host_;
  std::unique_ptr<SharedState> shared_ = std::make_unique<SharedState>();
};

}  // namespace etb::vulkan
