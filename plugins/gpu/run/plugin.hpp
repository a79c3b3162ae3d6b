// SPDX-License-Identifier: Apache-2.0
// A GPU plugin: finds devices, and owns those that its delegates share.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "etb/cpp/bytes.hpp"
#include "etb/cpp/plugin.hpp"
#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/official/write/writer.hpp"
#include "plugins/gpu/run/buffers.hpp"
#include "plugins/gpu/run/delegate.hpp"
#include "plugins/gpu/run/device_facts.hpp"

namespace etb::gpu {

// Returns the verdict about the beginning of a payload. `official`: that about the header of an official one.
inline Verdict check_prefix(const etb_payload_check& check, etb_verdict_kind official) {
  if (check.backend_id != nullptr && check.backend_id == kOfficialBackend) {
    if (!is_official_payload(to_span(check.prefix)))
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "does not begin with a header VH00"};
    return {official, 0, {}};
  }
  ByteReader prefix(to_span(check.prefix));
  if (prefix.read<uint32_t>() != kPayloadMagic)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "does not begin with ETBG"};
  if (const auto version = prefix.read<uint32_t>(); version == 0 || version > kPayloadVersion)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, "another version"};
  return {};
}

// Api: as of GpuDelegate; and Instance, which finds devices; DeviceFacts, with those of gpu::DeviceFacts; kName; kNoDevice,
// the message of a machine without a device; kOfficialVerdict, by which a host chooses among plugins for official payloads.
template <class Api>
class GpuPlugin {
 public:
  using Delegate = GpuDelegate<Api>;
  using Device = typename Api::Device;
  using Facts = typename Api::DeviceFacts;

  static constexpr uint32_t kFlags =
      ETB_PLUGIN_OWN_THREADS;  // drivers have threads, and each device one here
  // Tables built on first use, not when the library is loaded.
  struct Rows {
    operator std::span<const OpRow>() const { return op_rows(); }
  };
  static constexpr Rows kOps = {};
  struct Preserved {
    operator std::span<const char* const>() const { return preserved_ops(); }
  };
  static constexpr Preserved kPreserveOps = {};

  static constexpr const char* kKernelChoices[] = {"auto", "registers", "groups"};
  static constexpr const char* kFusionChoices[] = {"on", "off", "all"};
  static constexpr const char* kFloat16Choices[] = {"auto", "storage", "arithmetic", "wide"};
  static constexpr const char* kTuneChoices[] = {"stored", "measured", "off"};
  static constexpr OptionRow kOptions[] = {
      text_option("kernels", "auto", ETB_OBJECT_DELEGATE,
                  "auto: products and convolutions by the kernels that suit the device; registers: by those "
                  "that every device has; groups: by those for GPUs.",
                  kKernelChoices),
      text_option(
          "fusion", "on", ETB_OBJECT_DELEGATE,
          "on: chains of functions of single elements are one dispatch each, and on processors attention "
          "is; off: each node has its own; all: attention is on GPUs, too. Only attention sums in another "
          "order.",
          kFusionChoices),
      text_option(
          "float16", "auto", ETB_OBJECT_DELEGATE,
          "storage: the device has values of float16 as 16 bits, and rounds each to them; arithmetic: "
          "it also converts them itself, and computes in float16 what has the same results; wide: it has "
          "them as float32; auto: arithmetic on GPUs where no bit changes, storage on others with 16 "
          "bits, wide on processors. Sums are float32.",
          kFloat16Choices),
      text_option(
          "tune", "stored", ETB_OBJECT_DELEGATE,
          "stored: with kernels auto, products and convolutions by the fastest kernels in the host's cache; "
          "measured: creation measures those that the cache lacks, and stores them; off: by rules. Kernels "
          "sum in different orders.",
          kTuneChoices)};

  // A machine without a driver is no error: the log has the reason.
  Status enumerate(const DeviceSink& sink) const {
    std::vector<Facts> devices;
    {
      const std::lock_guard lock(shared_->mutex);
      auto found = find_devices();
      if (!found) {
        warn(found.error().message);
        return {};
      }
      devices = *std::move(found);
    }
    for (const Facts& facts : devices) {
      const std::vector<etb_option> attributes = attributes_of(facts);
      ETB_TRY(sink.put(describe(facts, attributes)));
    }
    return {};
  }

  const void* get_extension(uint32_t object_kind, std::string_view id) const {
    static constexpr etb_buffer_table kBuffers = Buffers<Api>::table();
    return object_kind == ETB_OBJECT_DEVICE && id == ETB_EXT_BUFFER ? &kBuffers : nullptr;
  }
  Verdict check_payload(const etb_payload_check& check) const {
    return check_prefix(check, Api::kOfficialVerdict);
  }
  // The delegate id decides which runtime executes the payload: this plugin, or ExecuTorch's own as well.
  Status partition(const Graph& graph, const CompileRequest& request, const PartitionSink& sink) const {
    return request.backend_id() == kOfficialBackend ? claim_official_nodes(graph, sink)
                                                    : claim_nodes(graph, sink, request.target());
  }
  Result<Artifact> compile(const Region& region) const {
    return region.backend_id() == kOfficialBackend ? compile_official_region(region) : compile_region(region);
  }

  // A handle of the host keeps its device, so that delegates and buffers on it need not look for it.
  Result<std::shared_ptr<Device>> open_device(const DeviceArgs& args) const { return open(args.uuid); }

  // Returns the device of the host's handle, or the best one for NULL. A lost one is opened again.
  [[nodiscard]] Result<std::shared_ptr<Device>> device_for(etb_device* handle) const {
    if (handle == nullptr) return open(nullptr);
    const std::shared_ptr<Device>& held = device_of<typename Api::Plugin>(handle);
    if (held->is_lost()) return open(uuid_of<typename Api::Plugin>(handle));
    ETB_TRY(held->check_process());
    return held;
  }

  // Opens a device by its uuid, or the best one for NULL. Each is opened once.
  [[nodiscard]] Result<std::shared_ptr<Device>> open(const uint8_t* uuid) const {
    const std::lock_guard lock(shared_->mutex);
    ETB_ASSIGN(const std::vector<Facts> devices, find_devices());
    const Facts* chosen = nullptr;
    for (const Facts& facts : devices) {
      const bool is_wanted = uuid == nullptr || std::memcmp(uuid, facts.uuid.data(), facts.uuid.size()) == 0;
      if (is_wanted && chosen == nullptr) chosen = &facts;
    }
    if (chosen == nullptr) return make_error(Code::UNAVAILABLE, "device: no device of this uuid now");
    std::shared_ptr<Device>& device = shared_->devices[chosen->uuid];
    if (!device || device->is_lost()) {
      ETB_ASSIGN(device, Device::open(shared_->instance, *chosen));
    }
    ETB_TRY(device->check_process());
    return device;
  }

  // Returns the thread of a device. It lives as long as a delegate has it.
  std::shared_ptr<CompletionThread> completions(const Device& device) const {
    const std::lock_guard lock(shared_->mutex);
    std::weak_ptr<CompletionThread>& known = shared_->completions[&device];
    std::shared_ptr<CompletionThread> found = known.lock();
    if (!found) known = found = std::make_shared<CompletionThread>();
    return found;
  }

 protected:
  explicit GpuPlugin(const Host& host) : host_(host) {}

 private:
  // On the heap: a plugin moves while it is made.
  struct SharedState {
    std::mutex mutex;
    std::shared_ptr<typename Api::Instance> instance;
    std::map<std::array<uint8_t, 16>, std::shared_ptr<Device>> devices;  // opened
    std::map<const Device*, std::weak_ptr<CompletionThread>> completions;
  };

  // Returns the devices of the machine, the best one first. The caller locks the mutex.
  Result<std::vector<Facts>> find_devices() const {
    if (!shared_->instance) {
      ETB_ASSIGN(shared_->instance, Api::Instance::make());
    }
    std::vector<std::string> reasons;
    ETB_ASSIGN(std::vector<Facts> devices, shared_->instance->find_devices(reasons));
    std::stable_sort(devices.begin(), devices.end(),
                     [](const Facts& a, const Facts& b) { return a.preference > b.preference; });
    for (const std::string& reason : reasons) warn(reason);
    if (devices.empty()) return make_error(Code::UNAVAILABLE, Api::kNoDevice);
    return devices;
  }
  void warn(const std::string& text) const {
    host_.log(ETB_LOG_WARNING, (std::string(Api::kName) + ": " + text).c_str());
  }

  Host host_;
  std::unique_ptr<SharedState> shared_ = std::make_unique<SharedState>();
};

}  // namespace etb::gpu
