// SPDX-License-Identifier: Apache-2.0
// DeviceValues: arguments of one plugin delegate that stay in device memory. A value between delegates of one device is one
// buffer of it. Between two devices it is memory of the host that both use without a copy, where their plugins can. A mutable
// buffer that only delegates of one device use is two buffers of it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "host/delegates/device_state.hpp"
#include "host/plugin/device_buffer.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// How arguments of runs reached plugins, counted for all delegates of a resolver.
struct TransferCounts {
  std::atomic<uint64_t> host_arguments{0}, host_bytes{0};  // in memory of the host: a device copies them
  std::atomic<uint64_t> device_arguments{0};               // in device memory, without a copy
};

class DeviceValues final : public DeviceArguments {
 public:
  // `device`: of the delegate.
  DeviceValues(std::shared_ptr<const Device> device, size_t argument_count)
      : device_(std::move(device)), arguments_(argument_count) {}

  // Records the kinds of memory that the plugin accepts for an argument, and the bytes that it uses after the last element.
  void set_memory(size_t argument, const etb_io_req& req);

  etb_status keep(uint32_t argument, uint64_t nbytes, std::span<const Reader> readers,
                  etb_error* error) noexcept override;
  etb_status keep_state(uint32_t argument, uint64_t nbytes, std::span<const Reader> readers,
                        std::span<const Reader> result_readers, DeviceState** state,
                        etb_error* error) noexcept override;
  void let_go() noexcept override;

  // Returns the memory of an argument for the run that begins; NULL for memory of the host.
  const etb_buffer_desc* bind(size_t argument) noexcept;
  // Called before and after each run: other devices may have written inputs, and read outputs.
  [[nodiscard]] Status before_run() noexcept;
  [[nodiscard]] Status after_run() noexcept;
  // True if an argument stays in device memory.
  bool has_any() const noexcept;
  bool has_work_before_run() const noexcept { return !synced_inputs_.empty(); }
  bool has_work_after_run() const noexcept { return !synced_outputs_.empty(); }

 private:
  struct Argument {
    std::vector<std::string> kinds;
    uint64_t padding_bytes = 0;
    std::shared_ptr<DeviceBuffer> buffer;
    etb_buffer_desc desc{};
    // For state.
    enum class Role : uint8_t { kRead, kWriteResult, kReadResult } role = Role::kRead;
    std::shared_ptr<DeviceStateBuffer> state;
    std::array<etb_buffer_desc, DeviceStateBuffer::kCount> state_descs{};
  };
  // A buffer for an argument, before it is used.
  struct Found {
    DeviceValues* values;
    uint32_t argument;
    std::shared_ptr<DeviceBuffer> buffer;
    etb_buffer_desc desc;
    bool is_shared;
  };

  // Returns the largest padding of these arguments and of `more`.
  static uint64_t padding_of(std::span<const Reader> readers, uint64_t more);
  Result<std::vector<Found>> find_own_memory(uint32_t argument, uint64_t nbytes,
                                             std::span<const Reader> readers);
  Result<std::vector<Found>> find_shared_memory(uint32_t argument, uint64_t nbytes,
                                                std::span<const Reader> readers);
  Result<DeviceStateBuffer::Buffers> allocate_state(uint32_t argument, uint64_t nbytes) const;
  // Returns `shared`, or makes a state.
  Result<std::shared_ptr<DeviceStateBuffer>> find_state(DeviceState* shared, uint32_t argument,
                                                        uint64_t nbytes) const;
  // Adds an argument that uses the buffers of a state.
  struct StateUse {
    DeviceValues* values;
    uint32_t argument;
    Argument::Role role;
    std::array<etb_buffer_desc, DeviceStateBuffer::kCount> descs;
  };
  Result<StateUse> use_state(const DeviceStateBuffer::Buffers& buffers, uint32_t argument, uint64_t nbytes,
                             Argument::Role role);
  // Describes a buffer as a kind that the plugin accepts for the argument.
  Result<etb_buffer_desc> describe(const DeviceBuffer& buffer, uint32_t argument, uint64_t nbytes) const;

  std::shared_ptr<const Device> device_;
  std::vector<Argument> arguments_;                       // inputs, then outputs
  std::vector<uint32_t> synced_inputs_, synced_outputs_;  // shared with a device, and not coherent
};

}  // namespace etb::host
