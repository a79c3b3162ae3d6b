// SPDX-License-Identifier: Apache-2.0
// DeviceMemory: the memory that delegates hold on each device, as their plugins state it, and its limit.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/plugin/device.hpp"

namespace etb::host {

// Memory of one delegate.
struct DelegateHolding {
  std::string backend_id, method_name;
  std::string plugin_id;
  std::string device_name;      // "" for the plugin's default device
  uint64_t resident_bytes = 0;  // weights, code
  uint64_t context_bytes = 0;   // for runs of all modules that use the delegate
};

// Modules may share one object. For several threads.
class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 private:
  using Uuid = std::array<uint8_t, 16>;
  struct Row {
    const PluginContext* plugin;
    std::optional<Uuid> device;  // none: the default
    DelegateHolding holding;
    uint64_t bytes_per_context = 0, context_count = 1;
  };

 public:
  // Counts one delegate until it ends.
  class Share {
   public:
    Share(std::shared_ptr<DeviceMemory> memory, std::list<Row>::iterator row)
        : memory_(std::move(memory)), row_(row) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { memory_->remove(row_); }
    // Counts one more context. Returns OUT_OF_RESOURCES as add().
    [[nodiscard]] Status add_context(uint64_t max_bytes) { return memory_->add_context(*row_, max_bytes); }
    void remove_context() { memory_->remove_context(*row_); }

   private:
    std::shared_ptr<DeviceMemory> memory_;
    std::list<Row>::iterator row_;
  };

  // Counts a delegate with one context. `device` NULL: the default of the plugin. Returns OUT_OF_RESOURCES, with the memory of each delegate, if those of the
  // device need more than `max_bytes` with the new one; 0: no limit. The object must be in a shared_ptr.
  [[nodiscard]] Result<std::unique_ptr<Share>> add(DelegateHolding holding, const PluginContext& plugin,
                                                   const Device* device, uint64_t max_bytes);

  // In the order in which they were made.
  std::vector<DelegateHolding> holdings() const;

 private:
  void remove(std::list<Row>::iterator row);
  Status add_context(Row& row, uint64_t max_bytes);
  void remove_context(Row& row);
  // Returns the error if the device of a row has too little with the row as it is now. `row` is in rows_ or will be.
  Status check(const Row& row, uint64_t max_bytes) const;

  mutable std::mutex mutex_;
  std::list<Row> rows_;
};

}  // namespace etb::host
