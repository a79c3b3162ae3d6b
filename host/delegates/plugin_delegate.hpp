// SPDX-License-Identifier: Apache-2.0
// PluginDelegate: one delegate of one method, over the C ABI.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "host/delegates/argument_selection.hpp"
#include "host/delegates/argument_staging.hpp"
#include "host/delegates/delegate_options.hpp"
#include "host/delegates/device_memory.hpp"
#include "host/delegates/device_values.hpp"
#include "host/delegates/overlapped_run.hpp"
#include "host/delegates/run_watchdog.hpp"
#include "host/loaders/mmap_loader.hpp"
#include "host/plugin/delegate.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// Bytes that a delegate borrows until it is destroyed: its payload, and the named data that it requested.
class BorrowedData {
 public:
  // `file`: bytes of it are lent with its descriptor, too.
  BorrowedData(DataBlock payload, const NamedDataMap* named_data, const FileMapping& file)
      : payload_(std::move(payload)), named_data_(named_data), file_(file) {}
  BorrowedData(const BorrowedData&) = delete;
  BorrowedData& operator=(const BorrowedData&) = delete;

  etb_payload_view payload_view();
  etb_named_data named_data();

 private:
  void put_file(etb_payload_view& view) const;
  static void ETB_CALL release_payload(void* ctx);
  static void ETB_CALL release_named(void* ctx);
  static etb_status ETB_CALL get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error);

  std::mutex mutex_;  // the plugin may release data on any thread
  DataBlock payload_;
  const NamedDataMap* named_data_;
  FileMapping file_;
  std::vector<std::unique_ptr<DataBlock>> named_;  // every requested block; a released block is empty
};

// The compile specs of a request. They point into it and into `keys`.
std::vector<etb_compile_spec> to_specs(const DelegateRequest& request, std::vector<std::string>& keys);

// execute allocates nothing from the heap unless it fails.
class PluginDelegate final : public MethodDelegate {
 public:
  // `device` NULL: the plugin's default. `specs` are borrowed for the call, what `options` point to lives as long
  // as the delegate. `watchdog` outlives the delegate. The method's delegates share `copies`, or each has its own where
  // they run at the same time. End the result with destroy().
  static Result<PluginDelegate*> make(std::shared_ptr<const PluginContext> plugin,
                                      std::shared_ptr<const Device> device, const DelegateRequest& request,
                                      RunWatchdog& watchdog, std::shared_ptr<StagingMemory> copies,
                                      std::span<const etb_compile_spec> specs, DelegateOptions options = {},
                                      std::optional<AsyncSupport> async = {}, const FileMapping& file = {});

  // Plans for the arguments of a call, tensors at their largest sizes: memory for copies, and the plugin's own
  // reservation. make() has done this if the request had arguments. A host that sees the arguments only in its
  // first call prepares then, and again when a tensor becomes larger. `request`: of make(). [serial:delegate]
  Status prepare(std::span<EValue* const> arguments, std::span<const std::span<std::byte>> arenas,
                 bool may_move, const DelegateRequest* request = nullptr);

  uint32_t input_count() const noexcept { return input_count_; }
  // Index in the call of each argument that runs expect; empty: they expect all of them.
  const std::vector<uint32_t>& selection() const noexcept { return selection_; }
  const etb_plugin_ident& plugin_ident() const noexcept { return *plugin_->table().ident; }

  etb_status execute(const DelegateRun& run) noexcept override;
  AsyncRuns* async_runs() noexcept override { return async_ ? &*async_ : nullptr; }
  DeviceArguments* device_arguments() noexcept override { return values_ ? &*values_ : nullptr; }
  // True if the plugin accepts device memory for an argument.
  bool accepts_device_memory() const noexcept { return accepts_device_memory_; }
  // Lets values stay on the delegate's device. Counts how arguments of runs are passed in `counts`.
  Status use_device_memory(std::shared_ptr<const Device> device);
  void count_transfers(std::shared_ptr<TransferCounts> counts) { transfers_ = std::move(counts); }
  void count_memory(std::unique_ptr<DeviceMemory::Share> share) { share_ = std::move(share); }
  DelegateOperands operands() const noexcept override { return {input_count_, shared_inputs_}; }
  DelegateMemory memory() const noexcept override { return memory_; }
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

  PluginDelegate(std::shared_ptr<const PluginContext> plugin, std::shared_ptr<const Device> device,
                 const DelegateRequest& request, RunWatchdog& watchdog, std::shared_ptr<StagingMemory> copies,
                 std::optional<AsyncSupport> async, const FileMapping& file);
  ~PluginDelegate() = default;

  Status set_up(const DelegateRequest& request, std::span<const etb_compile_spec> specs,
                DelegateOptions options);
  Status read_requirements(std::span<const std::span<std::byte>> arenas);
  Status reserve(std::span<EValue* const> arguments);
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
  std::shared_ptr<const PluginContext> plugin_;
  std::shared_ptr<const Device> device_;  // NULL: the plugin's default
  const PlatformHooks& platform_;
  RunWatchdog& watchdog_;
  BorrowedData borrowed_;
  etb_named_data named_data_{};
  std::optional<Delegate> delegate_;
  std::optional<Context> context_;
  std::vector<uint32_t> selection_;
  std::vector<Slot> slots_;          // inputs, then outputs
  std::vector<etb_tensor> tensors_;  // the same
  std::shared_ptr<StagingMemory> copies_;
  std::optional<ArgumentStaging> staging_;
  uint32_t input_count_ = 0;
  std::vector<uint32_t> shared_inputs_;  // etb_io_req.may_alias_input, by output
  std::vector<std::byte> scratch_;
  std::vector<etb_option> run_options_;
  void* aligned_scratch_ = nullptr;
  uint64_t scratch_nbytes_ = 0;
  DelegateMemory memory_;
  bool accepts_device_memory_ = false;
  bool has_output_copies_ = false;  // of the latest bound run
  std::shared_ptr<TransferCounts> transfers_;
  std::unique_ptr<DeviceMemory::Share> share_;
  std::optional<DeviceValues> values_;
  std::optional<OverlappedRun> async_;
};

}  // namespace etb::host
