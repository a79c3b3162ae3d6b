// SPDX-License-Identifier: Apache-2.0
// DelegateResolver: creates the delegates that a program names. The core uses delegates only through the two
// small classes here. The registry implements them over the C ABI, a firmware over a static table.
#pragma once

#include <span>
#include <string_view>

#include "api/format/program_view.hpp"
#include "etb/delegate.h"
#include "host/runtime/data_loader.hpp"
#include "host/runtime/evalue.hpp"
#include "host/runtime/named_data.hpp"
#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

struct Instruction;
class Program;
class ProgramFiles;  // host/loaders/program_files.hpp

// Input for the creation of one delegate.
struct DelegateRequest {
  std::string_view id;  // the name in the program, e.g. "XnnpackBackend"
  std::string_view method_name;
  format::DelegateView compile_specs;  // its compile_spec(i)
  DataBlock* payload;                  // moved from to keep it; else released after this call
  const NamedDataMap* named_data;      // valid during the delegate's life
  const PlatformHooks* platform;       // valid during the delegate's life
  std::span<EValue* const>
      arguments;  // arguments of its first call, tensors at their largest; empty without a call
  std::span<const std::span<std::byte>> arenas;  // the method's readable arenas; borrowed for the call
  bool may_move;  // the program moves values, so a tensor's address may change later
  uint64_t max_scratch_bytes = UINT64_MAX;    // LoadLimits
  const Instruction* instructions = nullptr;  // all of the method; borrowed for the call
  uint32_t first_call = 0;                    // index of the delegate's first call among them
  uint32_t index = 0;                         // of the delegate in the method
  // Keeps the bytes of the request in place after the method has ended. NULL: they live as long as the method.
  const ProgramFiles* files = nullptr;
  const Program* program = nullptr;  // NULL: of another run time
};

// One call of a delegate.
struct DelegateRun {
  std::span<EValue* const> arguments;  // inputs, then outputs; only the delegate knows the first output
  RunLimits limits;
  const etb_event_sink* events;  // null: no events wanted
  etb_error* error;
};

// The arguments that a delegate writes. The runtime rejects calls in which they share memory with other
// arguments.
struct DelegateOperands {
  uint32_t input_count = 0;  // index of the first written argument; 0: unknown, may write all
  // For each output: 1 + index of the input whose memory it may use, or 0. An output without an entry counts
  // as 0.
  std::span<const uint32_t> shared_inputs = {};
};

// Memory of one delegate and its context in bytes, for a recording. 0: unknown, or none.
struct DelegateMemory {
  uint64_t resident = 0;   // of the delegate: packed weights, code; as its plugin states it
  uint64_t context = 0;    // for one run at a time; as its plugin states it
  uint64_t scratch = 0;    // that the host passes to each run
  uint64_t allocator = 0;  // that the plugin took from the host's allocator while the delegate was made
};

// Runs of one delegate that go on while the host does other work. One at a time. [serial:delegate]
class AsyncRuns {
 public:
  // Starts a run. `run` stays valid until finish. An error means that no run was started.
  virtual etb_status start(const DelegateRun& run) noexcept = 0;
  // Waits for the end of the run, then writes sizes of outputs, and the error where one was wanted.
  virtual etb_status finish() noexcept = 0;
  // Duration of the latest finished run.
  virtual uint64_t latest_ns() const noexcept = 0;

  // True if start_after may succeed. The arguments of such runs are tensors of fixed sizes.
  virtual bool can_follow() const noexcept { return false; }
  // Allows runs of other delegates to follow this one's. Returns false without the resources.
  virtual bool allow_followers() noexcept { return false; }
  // As start, for a run that begins when the runs `after`, which are under way, have ended. Returns ETB_NOT_SUPPORTED if it
  // cannot follow them this time; then no run was started, and no error is written.
  virtual etb_status start_after(const DelegateRun& run, std::span<AsyncRuns* const> after) noexcept {
    (void)run, (void)after;
    return ETB_NOT_SUPPORTED;
  }
  // Ends a run early that follows a failed one.
  virtual void stop() noexcept {}
  // Descriptor that becomes readable when the run that is under way has ended without an error; -1: its result is not ready
  // then, or followers are not allowed.
  virtual int end_descriptor() const noexcept { return -1; }

 protected:
  AsyncRuns() noexcept = default;
  AsyncRuns(const AsyncRuns&) = default;
  AsyncRuns& operator=(const AsyncRuns&) = default;
  ~AsyncRuns() = default;
};

// A mutable buffer of a method in device memory. [serial:method]
class DeviceState {
 public:
  // Makes the latest result the contents of the buffer, without a copy. Returns false if the result is in memory of the host:
  // then the caller copies it into the buffer's memory of the host, which is current from then on.
  virtual bool update() noexcept = 0;
  // Makes the memory of the host current, which has new contents. Called between runs.
  virtual void reset() noexcept = 0;
  // Lets the next result go to memory of the host, and all that follow. Called between runs.
  virtual void let_go() noexcept = 0;

 protected:
  DeviceState() noexcept = default;
  DeviceState(const DeviceState&) = default;
  DeviceState& operator=(const DeviceState&) = default;
  ~DeviceState() = default;
};

// Arguments of one delegate that may stay in the memory of its device from one run to another delegate's run.
// [serial:delegate]
class DeviceArguments {
 public:
  struct Reader {
    DeviceArguments* delegate;
    uint32_t argument;
  };
  // Gives an output, and the inputs of other delegates that are the same value, memory of a device of so many bytes. From then
  // on their tensors of the host have sizes only. An error changes nothing: the delegates have no memory in common.
  virtual etb_status keep(uint32_t argument, uint64_t nbytes, std::span<const Reader> readers,
                          etb_error* error) noexcept = 0;
  // Gives a mutable buffer of a method memory of a device. `readers` are inputs that read the buffer. Output `argument` is the
  // result that the program copies into the buffer after the run, and `result_readers` read it before or after that. The first
  // run reads the memory of the host. `*state`: the same buffer of another method; NULL: the delegate makes it. It lives as long
  // as a delegate that keeps it. An error changes nothing.
  virtual etb_status keep_state(uint32_t argument, uint64_t nbytes, std::span<const Reader> readers,
                                std::span<const Reader> result_readers, DeviceState** state,
                                etb_error* error) noexcept = 0;
  // Uses memory of the host for all arguments again. The next run still reads state that is in device memory, and writes
  // the new state to memory of the host.
  virtual void let_go() noexcept = 0;

 protected:
  DeviceArguments() noexcept = default;
  DeviceArguments(const DeviceArguments&) = default;
  DeviceArguments& operator=(const DeviceArguments&) = default;
  ~DeviceArguments() = default;
};

// One delegate made ready for one method. `execute` never runs twice at the same time, nor beside a started run.
class MethodDelegate {
 public:
  // Changes only the sizes and elements of outputs, not the address of any tensor.
  virtual etb_status execute(const DelegateRun& run) noexcept = 0;
  virtual DelegateOperands operands() const noexcept { return {}; }
  virtual DelegateMemory memory() const noexcept { return {}; }
  // True if reserve() has an effect.
  virtual bool can_reserve() const noexcept { return false; }
  // Plans for the sizes that the inputs of a call have now. Their elements may be those of the last run. Called between
  // runs. An error means that the next run plans itself.
  virtual etb_status reserve(std::span<EValue* const> arguments) noexcept {
    (void)arguments;
    return ETB_OK;
  }
  virtual void destroy() noexcept = 0;                                      // called once
  virtual AsyncRuns* async_runs() noexcept { return nullptr; }              // null: it has none
  virtual DeviceArguments* device_arguments() noexcept { return nullptr; }  // null: it has none

 protected:
  MethodDelegate() noexcept = default;
  MethodDelegate(const MethodDelegate&) = default;
  MethodDelegate& operator=(const MethodDelegate&) = default;
  ~MethodDelegate() = default;
};

// The code of Method that only delegates need: method_delegates.cpp. Objects of DelegateResolver name it, so the linker
// leaves it out of a program without them.
struct DelegateFunctions;
extern const DelegateFunctions kDelegateFunctions;

class DelegateResolver {
 public:
  // Returns ETB_NOT_FOUND, with the paths searched, when no backend has the id. Any error ends load_method.
  virtual etb_status create(const DelegateRequest& request, MethodDelegate** out,
                            etb_error* error) noexcept = 0;
  const DelegateFunctions& functions() const noexcept { return *functions_; }

 protected:
  DelegateResolver() noexcept : functions_(&kDelegateFunctions) {}
  DelegateResolver(const DelegateResolver&) = default;
  DelegateResolver& operator=(const DelegateResolver&) = default;
  ~DelegateResolver() = default;

 private:
  const DelegateFunctions* functions_;
};

}  // namespace etb::host
