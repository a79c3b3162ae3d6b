// SPDX-License-Identifier: Apache-2.0
// PluginDelegate: one delegate of one method, over the C ABI. It has a context of its own.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "host/delegates/argument_selection.hpp"
#include "host/delegates/argument_staging.hpp"
#include "host/delegates/delegate_options.hpp"
#include "host/delegates/device_values.hpp"
#include "host/delegates/living_delegates.hpp"
#include "host/delegates/overlapped_run.hpp"
#include "host/delegates/run_watchdog.hpp"
#include "host/delegates/shared_delegate.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// The compile specs of a request. They point into it and into `keys`.
std::vector<etb_compile_spec> to_specs(const DelegateRequest& request, std::vector<std::string>& keys);

// execute allocates nothing from the heap unless it fails.
class PluginDelegate final : public MethodDelegate {
 public:
  struct Parts {
    DelegateUse use;
    std::shared_ptr<StagingMemory>
        copies;  // of all delegates of the method, or its own where they run at the same time
    DelegateOptions options = {};  // borrowed for the call
    std::optional<AsyncSupport> async = {};
    uint64_t allocated_before =
        0;  // bytes that the plugin had from the host's allocator before the use began
  };
  // `watchdog` outlives the delegate. End the result with destroy().
  static Result<PluginDelegate*> make(Parts parts, const DelegateRequest& request, RunWatchdog& watchdog);
  // Makes the plugin's delegate, too, which no other method uses. `device` NULL: the plugin's default. `specs` are borrowed for
  // the call.
  static Result<PluginDelegate*> make(std::shared_ptr<const PluginContext> plugin,
                                      std::shared_ptr<const Device> device, const DelegateRequest& request,
                                      RunWatchdog& watchdog, std::shared_ptr<StagingMemory> copies,
                                      std::span<const etb_compile_spec> specs);

  // Plans for the arguments of a call, tensors at their largest sizes: memory for copies, and the plugin's own
  // reservation. make() has done this if the request had arguments. A host that sees the arguments only in its
  // first call prepares then, and again when a tensor becomes larger. `request`: of make(). [serial:delegate]
  Status prepare(std::span<EValue* const> arguments, std::span<const std::span<std::byte>> arenas,
                 bool may_move, const DelegateRequest* request = nullptr);

  uint32_t input_count() const noexcept { return input_count_; }
  // Index in the call of each argument that runs expect; empty: they expect all of them.
  const std::vector<uint32_t>& selection() const noexcept { return selection_; }
  const etb_plugin_ident& plugin_ident() const noexcept { return *use_->plugin().table().ident; }

  // Accepts a change of an option, or returns why it cannot be made; it changes nothing. A delegate whose own option will change
  // gets no further users. [serial:delegate]
  [[nodiscard]] Status accept_option(const OptionChange& change);
  // Makes a change that was accepted, from the next run on. `change` is borrowed for the call. [serial:delegate]
  [[nodiscard]] Status set_option(const OptionChange& change);
  const PluginContext& plugin() const noexcept { return use_->plugin(); }
  // Lists the delegate in `living`, which outlives it, until it ends.
  void list_in(LivingDelegates& living, const std::string& id) {
    living.add(id, *this);
    living_ = &living;
  }

  etb_status execute(const DelegateRun& run) noexcept override;
  AsyncRuns* async_runs() noexcept override { return async_ ? &*async_ : nullptr; }
  DeviceArguments* device_arguments() noexcept override { return values_ ? &*values_ : nullptr; }
  // True if the plugin accepts device memory for an argument.
  bool accepts_device_memory() const noexcept { return accepts_device_memory_; }
  // Lets values stay on the delegate's device. Counts how arguments of runs are passed in `counts`.
  Status use_device_memory(std::shared_ptr<const Device> device);
  void count_transfers(std::shared_ptr<TransferCounts> counts) { transfers_ = std::move(counts); }
  DelegateOperands operands() const noexcept override { return {input_count_, shared_inputs_}; }
  DelegateMemory memory() const noexcept override { return memory_; }
  // False for a delegate with arguments in device memory: the plugin would plan for memory of the host.
  bool can_reserve() const noexcept override;
  etb_status reserve(std::span<EValue* const> arguments) noexcept override;
  void destroy() noexcept override { delete this; }

 private:
  friend class OverlappedRun;

  // Arrays of one etb_tensor. The plugin writes the sizes of outputs.
  struct Slot {
    std::array<int64_t, kMaxRank> sizes{};
    std::array<int64_t, kMaxRank> upper_sizes{};
    int64_t scalar = 0;
    bool is_bound_known = false;
  };

  PluginDelegate(Parts parts, const DelegateRequest& request, RunWatchdog& watchdog);
  ~PluginDelegate() {
    if (living_ != nullptr) living_->remove(*this);
  }

  Status set_up(const DelegateRequest& request, const DelegateOptions& options, uint64_t allocated_before);
  Status read_requirements(std::span<const std::span<std::byte>> arenas);
  Status reserve_context(std::span<EValue* const> arguments);
  etb_status describe(const EValue& value, uint32_t argument, etb_error* error) noexcept;
  etb_status bind(const EValue& value, uint32_t argument, etb_error* error) noexcept;
  etb_status bind_memory(uint32_t argument, void* data, uint64_t nbytes, uint64_t capacity_bytes,
                         etb_error* error) noexcept;
  // True if the host copies an input of the run, or makes it visible to the device. All arguments are tensors.
  bool has_work_before_run(const DelegateRun& run) noexcept;
  // True if the host does so with an output of the latest bound run.
  bool has_work_after_run() const noexcept {
    return has_output_copies_ || (values_ && values_->has_work_after_run());
  }
  // Fills all arguments of a run but those that end it early.
  etb_status bind_run(const DelegateRun& run, etb_exec_args& args) noexcept;
  // Completes a run that answered `status`.
  etb_status end_run(const Status& status, const DelegateRun& run) noexcept;
  Status run_watched(const etb_exec_args& args, const RunLimits& limits);
  etb_status update_output(uint32_t argument, Tensor& output, etb_error* error) noexcept;

  // Declared in order of life.
  DelegateUse use_;
  const PlatformHooks& platform_;
  RunWatchdog& watchdog_;
  std::optional<Context> context_;
  std::vector<uint32_t> selection_;
  std::vector<Slot> slots_;          // inputs, then outputs
  std::vector<etb_tensor> tensors_;  // the same
  std::shared_ptr<StagingMemory> copies_;
  std::optional<ArgumentStaging> staging_;
  uint32_t input_count_ = 0;
  std::vector<uint32_t> shared_inputs_;  // etb_io_req.may_alias_input, by output
  std::vector<std::byte> scratch_;
  RunOptions run_options_;
  void* aligned_scratch_ = nullptr;
  uint64_t scratch_nbytes_ = 0;
  DelegateMemory memory_;
  bool accepts_device_memory_ = false;
  bool has_output_copies_ = false;  // of the latest bound run
  std::shared_ptr<TransferCounts> transfers_;
  std::optional<DeviceValues> values_;
  std::optional<OverlappedRun> async_;
  LivingDelegates* living_ = nullptr;
};

}  // namespace etb::host
