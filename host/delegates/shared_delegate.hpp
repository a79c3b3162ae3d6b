// SPDX-License-Identifier: Apache-2.0
// SharedDelegate: a plugin's delegate with all that it borrows. Methods of several modules may use it, each with a context.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "host/delegates/borrowed_data.hpp"
#include "host/delegates/device_memory.hpp"
#include "host/plugin/delegate.hpp"

namespace etb::host {

class SharedDelegate {
 public:
  // Arguments of make(). References and spans are borrowed for the call.
  struct Source {
    std::shared_ptr<const PluginContext> plugin;
    std::shared_ptr<const Device> device;  // NULL: the plugin's default
    const DelegateRequest& request;
    std::span<const etb_compile_spec> specs;
    std::span<const etb_option> options;  // of the delegate
    FileMapping file;  // of the program, lent to the plugin; it lives as long as the delegate
  };

  // Moves the payload of the request.
  [[nodiscard]] static Result<std::shared_ptr<SharedDelegate>> make(const Source& source);

  const PluginContext& plugin() const noexcept { return *plugin_; }
  const Delegate& delegate() const noexcept { return *delegate_; }
  const etb_delegate_info& info() const noexcept { return info_; }

  // Lets no further method use the delegate, because its device was lost: a new delegate may run.
  void stop_sharing() noexcept { users_.fetch_or(kIsClosed, std::memory_order_relaxed); }
  // The same if the delegate has one user. Returns false if it has more: then nothing has changed.
  [[nodiscard]] bool stop_sharing_if_unshared() noexcept;

 private:
  friend class DelegateUse;

  SharedDelegate(const Source& source)
      : plugin_(source.plugin), device_(source.device), borrowed_(source.request, source.file) {}

  // Counts one more user, and returns how many there were. Nothing if as many contexts as may run at the same time have one.
  std::optional<uint32_t> take_place() noexcept;

  // Declared in order of life.
  std::shared_ptr<const PluginContext> plugin_;
  std::shared_ptr<const Device> device_;
  BorrowedData borrowed_;
  etb_named_data named_data_ = borrowed_.named_data();
  std::optional<Delegate> delegate_;
  etb_delegate_info info_{};
  static constexpr uint32_t kIsClosed = 1U << 31;  // bit of users_: no further user
  std::atomic<uint32_t> users_{0};                 // their number, and the bit
  std::unique_ptr<DeviceMemory::Share> share_;     // set before the second user
};

// The use of a delegate by one method, for one context. The context ends before it.
class DelegateUse {
 public:
  // Returns an empty one if the delegate has no place for one more context, or its device was lost.
  static DelegateUse of(std::shared_ptr<SharedDelegate> delegate) noexcept;
  DelegateUse() noexcept = default;
  DelegateUse(DelegateUse&& other) noexcept = default;
  DelegateUse& operator=(DelegateUse&& other) noexcept;
  ~DelegateUse() { end(); }

  explicit operator bool() const noexcept { return delegate_ != nullptr; }
  SharedDelegate& operator*() const noexcept { return *delegate_; }
  SharedDelegate* operator->() const noexcept { return delegate_.get(); }

  // True if the delegate had no other user when this use began.
  bool is_first() const noexcept { return is_first_; }
  // Counts the memory of the delegate, with that of one context, or that of one more context.
  [[nodiscard]] Status count_memory(DeviceMemory& memory, const DelegateRequest& request, uint64_t max_bytes);

 private:
  DelegateUse(std::shared_ptr<SharedDelegate> delegate, bool is_first) noexcept
      : delegate_(std::move(delegate)), is_first_(is_first) {}
  void end() noexcept;

  std::shared_ptr<SharedDelegate> delegate_;
  bool is_first_ = false;
  bool is_counted_ = false;
};

}  // namespace etb::host
