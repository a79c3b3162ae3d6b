// SPDX-License-Identifier: Apache-2.0
// A compiled region ready to run, and its runs.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "etb/cpp/plugin.hpp"
#include "tests/conformance/fault_plugin/interpreter.hpp"
#include "tests/conformance/fault_plugin/shared_state.hpp"

namespace faulty {

struct Plugin;

// Memory from the host's allocator.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const etb_alloc_service* service, uint64_t nbytes) : service_(service) {
    data_ = service != nullptr ? service->allocate(service->ctx, nbytes, 64, "values") : std::malloc(nbytes);
  }
  HostMemory(HostMemory&& other) noexcept
      : service_(other.service_), data_(std::exchange(other.data_, nullptr)) {}
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~HostMemory() {
    if (data_ == nullptr) return;
    if (service_ != nullptr)
      service_->free(service_->ctx, data_);
    else
      std::free(data_);
  }
  std::byte* get() const { return static_cast<std::byte*>(data_); }

 private:
  const etb_alloc_service* service_ = nullptr;
  void* data_ = nullptr;
};

class Delegate {
 public:
  static etb::Result<Delegate> make(const Plugin& plugin, etb::CreateArgs& args) {
    if (has_fault(29)) {
      const std::lock_guard b(lock_b);
      ::usleep(300);
      const std::lock_guard a(lock_a);
    }
    if (has_fault(25)) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (has_fault(61))
      (void)::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
          (void)::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (has_fault(62)) *static_cast<volatile char*>(std::malloc(500)) = 1;
    if (has_fault(26)) start_thread_for_ever();
    Delegate made;
    made.is_wrong_ = is_wrong_in(plugin);
    ETB_ASSIGN(Program program, Reader(args.payload.bytes()).read());
    made.program_ = std::make_unique<Program>(std::move(program));
    if (has_fault(91) && made.program_->steps[0].op == Op::kClamp)
      return etb::make_error(etb::Code::NOT_SUPPORTED, "payload: clamp is not in this release");
    made.memory_ = args.host.service<etb_alloc_service>(ETB_SERVICE_ALLOC);
    made.stale_payload_ = args.payload.bytes().data();
    return made;
  }

  void describe_io(etb_io_req& req) const {
    // A single step with one input of the same sizes may overwrite it.
    const std::vector<ValueInfo>& values = program_->values;
    const bool is_unary = program_->steps.size() == 1 && program_->steps[0].args.size() == 1 &&
                          program_->steps[0].op != Op::kSum && program_->steps[0].op != Op::kQuantize;
    if (req.role == ETB_ROLE_OUTPUT && is_unary && values[program_->steps[0].args[0]].kind == Kind::kInput)
      req.may_alias_input = 1;
  }

  etb::DelegateInfo info() const {
    etb::DelegateInfo out;
    for (const ValueInfo& value : program_->values) out.input_count += value.kind == Kind::kInput ? 1 : 0;
    out.output_count = static_cast<uint32_t>(program_->outputs.size());
    return out;
  }

  class Context {
   public:
    explicit Context(const Delegate& delegate) : delegate_(&delegate), interpreter_(*delegate.program_) {
      const Program& program = *delegate.program_;
      for (uint32_t i = 0; i < program.values.size(); ++i) {
        const ValueInfo& value = program.values[i];
        uint64_t nbytes = nbytes_of(value.dtype);
        for (const int64_t size : value.sizes) nbytes *= static_cast<uint64_t>(size);
        if (value.kind == Kind::kInput) continue;
        if (has_fault(89) && delegate.memory_ != nullptr)
          (void)delegate.memory_->allocate(delegate.memory_->ctx, 64, 64, "forgotten");
        memory_.emplace_back(delegate.memory_, nbytes + 64);
        View& view = interpreter_.view(i);
        view.data = memory_.back().get();
        is_out_of_memory_ = is_out_of_memory_ || view.data == nullptr;
        if (has_fault(75)) *static_cast<volatile std::byte*>(view.data) = std::byte{};
        if (value.kind != Kind::kConstant || view.data == nullptr) continue;
        std::memcpy(view.data, value.data.data(), value.data.size());
        interpreter_.set_sizes(i, value.sizes);
      }
    }

    etb::Status execute(const etb::Run& run) {
      if (is_out_of_memory_ && has_fault(39)) return {};
      if (is_out_of_memory_) return etb::make_error(etb::Code::OUT_OF_MEMORY, "no memory for the values");
      if (has_fault(48) && has_failed_) return wrong("a run failed before");
      has_lost_device = has_lost_device || run.options().get_bool("x-lose-device");
      if (has_lost_device && !has_fault(108))
        return etb::make_error(etb::Code::UNAVAILABLE, "the device is lost");
      before(run);
      if (has_fault(69) && run.raw().cancel != nullptr &&
          run.raw().cancel->is_cancelled(run.raw().cancel->ctx) != 0) {
        was_cancelled_ = true;
        return etb::make_error(etb::Code::CANCELLED, "cancelled");
      }
      if (was_cancelled_) return wrong("a run was cancelled before");
      etb::Status status = has_fault(41) || has_fault(77) || has_fault(78) || has_fault(115)
                               ? with_wrong_event(run)
                               : run.timed("fault.run", [&] { return run_once(run); });
      has_failed_ = has_failed_ || !status;
      return status;
    }

   private:
    void before(const etb::Run& run);
    etb::Status with_wrong_event(const etb::Run& run);
    etb::Status run_once(const etb::Run& run);
    etb::Status bind_inputs(const etb::Run& run);
    etb::Status write_output(const etb::Run& run, uint32_t index);

    const Delegate* delegate_;
    Interpreter interpreter_;
    std::vector<HostMemory> memory_;
    bool is_out_of_memory_ = false;
    bool has_failed_ = false;
    bool was_cancelled_ = false;
    float sum_of_runs_ = 0;  // for fault 84
    pid_t builder_ = ::getpid();
  };

 private:
  static bool is_wrong_in(const Plugin& plugin);

  std::unique_ptr<Program> program_;
  bool is_wrong_ = false;  // for faults 111 and 116
  const etb_alloc_service* memory_ = nullptr;
  const std::byte* stale_payload_ = nullptr;
};

}  // namespace faulty
