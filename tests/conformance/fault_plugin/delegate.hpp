// SPDX-License-Identifier: Apache-2.0
// A compiled region ready to run, and its runs.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <thread>

#include "etb/cpp/plugin.hpp"
#include "tests/conformance/fault_plugin/interpreter.hpp"
#include "tests/conformance/fault_plugin/resources.hpp"
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
    use_resources_of_create();
    Delegate made;
    made.is_wrong_ = is_wrong_in(plugin);
    etb::Result<Program> program = Reader(args.payload.bytes()).read();
    if (!program) {
      use_resources_of_refusal();
      return tl::make_unexpected(program.error());
    }
    for (ValueInfo& value : program->values)
      if (value.kind == Kind::kNamed) ETB_TRY(fetch(args.named_data, value));
    made.program_ = std::make_unique<Program>(std::move(*program));
    made.is_fast_ = args.options.get_bool("fast");
    is_any_fast = is_any_fast || made.is_fast_;
    made.mode_ = args.options.get_text("mode");
    if (has_fault(611) && args.options.find("mode") != nullptr) mode_of_last_delegate = made.mode_;
    if (has_fault(611) && !mode_of_last_delegate.empty()) made.mode_ = mode_of_last_delegate;
    if (has_fault(618) && made.program_->steps[0].op == Op::kConvolution) {
      const int file = ::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
      if (file < 0) return etb::make_error(etb::Code::UNAVAILABLE, "kinds of processors");
      ::close(file);
    }
    if (has_fault(91) && made.program_->steps[0].op == Op::kClamp)
      return etb::make_error(etb::Code::NOT_SUPPORTED, "payload: clamp is not in this release");
    made.memory_ = args.host.service<etb_alloc_service>(ETB_SERVICE_ALLOC);
    made.stale_payload_ = args.payload.bytes().data();
    return made;
  }

  void describe_io(etb_io_req& req) const {
    static constexpr const char* kKinds[] = {"fault.memory"};  // extensions.cpp
    req.kind_count = 1;
    req.kinds = kKinds;
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
    for (const ValueInfo& value : program_->values) {
      out.resident_bytes += value.data.size() + sizeof(ValueInfo);
      if (value.kind != Kind::kInput) out.context_bytes += value.nbytes() + kSpareBytes;
    }
    if (has_fault(615)) out.scratch_bytes = widest_row_bytes(*program_);
    if (has_fault(421) && !program_->values.empty())  // two values at a time, as in a chain
      out.context_bytes = std::min(out.context_bytes, 2 * program_->values[0].nbytes());
    return out;
  }

  etb::Status get_option(std::string_view key, etb_option& out) const {
    if (key == "fast") out.i64 = is_fast_ ? 1 : 0;
    if (key == "mode") out.text = mode_.c_str();
    return {};
  }
  etb::Status set_option(const etb::Options& options) {
    if (options.find("fast") != nullptr) is_fast_ = options.get_bool("fast");
    if (options.find("mode") != nullptr) mode_ = options.get_text("mode");
    return {};
  }

  class Context {
   public:
    explicit Context(const Delegate& delegate)
        : delegate_(&delegate), interpreter_(*delegate.program_), number_(++*delegate.context_count_) {
      use_resources_of_context();
      if (has_fault(594)) slot_ = living_contexts++ % std::size(constants_of_slots);
    }
    ~Context() {
      if (has_fault(594)) --living_contexts;
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Allocates the memory of all values. Sizes are at most those of the payload, so one plan suits all.
    etb::Status reserve(std::span<const etb::Tensor> inputs);

    // Stops the run in progress.
    etb::Status cancel() {
      if (is_running_) is_stopped_ = true;
      return {};
    }

    // Number of runs, which is the state of a context.
    std::atomic<uint64_t> run_count = 0;
    // Bytes of an output's row in the first run in buffers. Fault 629 places later rows by it.
    uint64_t row_nbytes = 0;

    etb::Status execute(const etb::Run& run) {
      if (const etb::Status planned = plan_memory(); !planned) return has_fault(39) ? etb::Status{} : planned;
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
      is_stopped_ = false;
      is_running_ = true;
      etb::Status status = has_fault(41) || has_fault(77) || has_fault(78) || has_fault(115) ||
                                   has_fault(373) || has_fault(375) || has_fault(460) || has_fault(461) ||
                                   has_fault(628)
                               ? with_wrong_event(run)
                               : run.timed("fault.run", [&] { return run_once(run); });
      is_running_ = false;
      has_failed_ = has_failed_ || !status;
      if (status)
        ++run_count;
      else
        use_resources_of_failed_run();
      return status;
    }

   private:
    etb::Status plan_memory();
    void before(const etb::Run& run);
    etb::Status with_wrong_event(const etb::Run& run);
    etb::Status run_once(const etb::Run& run);
    etb::Status bind_inputs(const etb::Run& run);
    etb::Status write_output(const etb::Run& run, uint32_t index);

    const Delegate* delegate_;
    Interpreter interpreter_;
    int number_;  // of the contexts of its delegate, from 1
    uint32_t slot_ = 0;
    std::vector<HostMemory> memory_;
    bool is_planned_ = false;
    std::atomic<bool> is_running_{false}, is_stopped_{false};
    bool has_failed_ = false;
    bool was_cancelled_ = false;
    float sum_of_runs_ = 0;  // for fault 84
    uint32_t run_count_ = 0;
    int runs_ = 0;
    pid_t builder_ = ::getpid();
  };

 private:
  static constexpr uint64_t kSpareBytes = 64;

  static bool is_wrong_in(const Plugin& plugin);

  // Reads as many bytes as the tensor has, however many there are.
  static etb::Status read_all(const etb::Payload& bytes, ValueInfo& value) {
    const auto* const from = static_cast<const volatile std::byte*>(bytes.bytes().data());
    value.data.resize(value.nbytes());
    for (size_t i = 0; i < value.data.size(); ++i) value.data[i] = from[i];
    value.kind = Kind::kConstant;
    return {};
  }

  // Replaces the key of a constant by its bytes.
  static etb::Status fetch(const etb::NamedData& named_data, ValueInfo& value) {
    const std::string key(reinterpret_cast<const char*>(value.data.data()), value.data.size());
    etb::Result<etb::Payload> found = named_data.get(key.c_str());
    if (!found && has_fault(237)) {
      value.data.assign(value.nbytes(), std::byte{});
      value.kind = Kind::kConstant;
      return {};
    }
    ETB_ASSIGN(const etb::Payload bytes, std::move(found));
    if (has_fault(236)) return read_all(bytes, value);
    if (has_fault(238)) stale_named = bytes.bytes().data();
    if (has_fault(488)) {  // keeps the data that it has not seen
      static std::set<std::vector<std::byte>> seen;
      seen.emplace(bytes.bytes().begin(), bytes.bytes().end());
    }
    if (bytes.bytes().size() != value.nbytes())
      return etb::make_error(has_fault(584) ? etb::Code::INVALID_ARGUMENT : etb::Code::INVALID_DATA,
                             "named data '" + key + "' has " + std::to_string(bytes.bytes().size()) +
                                 " bytes, expected " + std::to_string(value.nbytes()));
    value.data.assign(bytes.bytes().begin(), bytes.bytes().end());
    value.kind = Kind::kConstant;
    return {};
  }

  std::unique_ptr<Program> program_;
  std::unique_ptr<std::atomic<int>> context_count_ = std::make_unique<std::atomic<int>>(0);
  bool is_wrong_ = false;  // for faults 111 and 116
  bool is_fast_ = false;
  std::string mode_;
  const etb_alloc_service* memory_ = nullptr;
  const std::byte* stale_payload_ = nullptr;
};

}  // namespace faulty
