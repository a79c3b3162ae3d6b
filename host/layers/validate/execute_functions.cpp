// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/borrowed.hpp"
#include "host/layers/validate/functions.hpp"
#include "host/layers/validate/sinks.hpp"
#include "host/layers/validate/tensors.hpp"
#include "host/layers/values_through.hpp"

namespace etb::host::validate {
namespace {

// Checks that at most the delegate's declared number of contexts run at once (ABI-EXEC-03).
class RunningContext {
 public:
  RunningContext(Call& call, ContextHandle& context) : delegate_(context.delegate) {
    const uint32_t running = delegate_->running_count.fetch_add(1) + 1;
    const std::lock_guard lock(delegate_->mutex);
    if (delegate_->has_info && running > delegate_->info.max_contexts)
      call.host("ABI-EXEC-03", ETB_INVALID_STATE,
                "{} contexts of this delegate run now, its max_contexts is {}", running,
                delegate_->info.max_contexts);
  }
  ~RunningContext() {
    if (delegate_ != nullptr) delegate_->running_count.fetch_sub(1);
  }

  // Leaves the decrement to another object.
  void hand_over() noexcept { delegate_ = nullptr; }
  RunningContext(const RunningContext&) = delete;
  RunningContext& operator=(const RunningContext&) = delete;

 private:
  DelegateHandle* delegate_;
};

bool check_tensors(Call& call, const etb_tensor* tensors, uint32_t count, const std::vector<IoNeed>& needs,
                   bool has_data, const char* name) {
  uint32_t index = 0;
  const bool readable = check_array(
      call, Side::HOST, tensors, count, name, [&](const etb_tensor& tensor, const std::string& where) {
        static constexpr IoNeed kNothing;
        const IoNeed* const need = index < needs.size() ? &needs[index] : &kNothing;
        ++index;
        return check_tensor(call, tensor, has_data ? need : nullptr, where);
      });
  if (!readable) call.refuse();
  return readable;
}

void check_against_info(Call& call, const DelegateHandle& delegate, const etb_exec_args& args) {
  if (!delegate.has_info) return;
  const etb_delegate_info& info = delegate.info;
  if (args.input_count != info.input_count || args.output_count != info.output_count)
    call.host("ABI-EXEC-04", ETB_INVALID_ARGUMENT,
              "{} inputs and {} outputs, delegate query reported {} and {}", args.input_count,
              args.output_count, info.input_count, info.output_count);
  if (args.scratch_nbytes < info.scratch_bytes)
    call.host("ABI-EXEC-04", ETB_INVALID_ARGUMENT, "{} bytes of scratch, delegate query reported {}",
              args.scratch_nbytes, info.scratch_bytes);
  else if (info.scratch_bytes != 0 && reinterpret_cast<uintptr_t>(args.scratch) % info.scratch_alignment != 0)
    call.host("ABI-EXEC-04", ETB_INVALID_ARGUMENT, "the scratch is not aligned to {}",
              info.scratch_alignment);
}

void check_fences(Call& call, const etb_fence* fences, uint32_t count, const char* name) {
  const bool readable = check_array(call, Side::HOST, fences, count, name,
                                    [&](const etb_fence& fence, const std::string& where) {
                                      if (!check_text(call, Side::HOST, fence.kind, where + ".kind"))
                                        return false;
                                      if (std::strcmp(fence.kind, "callback") != 0 || fence.signal != nullptr)
                                        return true;
                                      call.report(Side::HOST, "ABI-CALL-04", where + ".signal is NULL");
                                      return false;
                                    });
  if (!readable) call.refuse();
}

// Checks the arguments of execute and execute_async. Rejects the call when they cannot be read. Returns true if their options
// can.
bool check_args(Call& call, DelegateHandle& delegate, const etb_exec_args* args) {
  if (!check_struct(call, Side::HOST, args, "args")) {
    call.refuse();
    return false;
  }
  const std::lock_guard lock(delegate.mutex);
  check_tensors(call, args->inputs, args->input_count, delegate.inputs, true, "inputs");
  check_tensors(call, args->outputs, args->output_count, delegate.outputs, true, "outputs");
  check_against_info(call, delegate, *args);
  if (args->scratch == nullptr && args->scratch_nbytes != 0)
    call.fatal("ABI-CALL-04", ETB_INVALID_ARGUMENT, "args.scratch is NULL, its nbytes {}",
               args->scratch_nbytes);
  if (args->cancel != nullptr)
    check_callable(call, args->cancel, &etb_cancel_token::is_cancelled, "args.cancel");
  if (args->priority > 1000)
    call.host("ABI-TYPE-03", ETB_INVALID_ARGUMENT, "args.priority is {}, expected 0 to 1000", args->priority);
  check_fences(call, args->wait, args->wait_count, "args.wait");
  check_fences(call, args->signal, args->signal_count, "args.signal");
  return check_options(call, Side::HOST, args->options, args->option_count, "args.options");
}

bool is_within_reserved(const ContextHandle& context, const etb_exec_args& args) {
  if (context.reserved_sizes.empty() || context.reserved_sizes.size() != args.input_count) return false;
  for (uint32_t i = 0; i < args.input_count; ++i) {
    const etb_tensor& input = *ETB_AT(etb_tensor, args.inputs, i);
    const std::vector<int64_t>& reserved = context.reserved_sizes[i];
    if (input.rank != reserved.size()) return false;
    for (uint32_t d = 0; d < input.rank; ++d)
      if (input.sizes[d] > reserved[d]) return false;
  }
  return true;
}

uint64_t host_now(const Instance& instance) {
  return instance.clock != nullptr ? instance.clock->now_ns(instance.clock->ctx) : 0;
}

// Checks that an event's times are inside the call, if they are on the host's clock (ABI-PROF-01).
bool check_event(Call& call, const Instance& instance, uint64_t begin, const etb_event& event) {
  if (!check_item(call, event)) return false;
  if (instance.clock == nullptr || std::strcmp(event.timebase, ETB_TIMEBASE_HOST) != 0) return true;
  const uint64_t now = host_now(instance);
  if (event.begin_ticks < begin || event.end_ticks > now)
    call.plugin("ABI-PROF-01", "the event '{}' lasts from {} to {}, the call from {} to now, {}",
                event.name != nullptr ? event.name : "", event.begin_ticks, event.end_ticks, begin, now);
  return true;
}

// Runs once on copies of all that the plugin receives.
etb_status run_guarded(Call& call, ContextHandle& context, const etb_exec_args& args, bool has_options) {
  const Instance& instance = *context.handle.instance;
  // Alternates the guard page: every other run detects reads before a tensor, the rest detects reads after
  // it.
  const GuardSide side = context.run_count.fetch_add(1) % 2 == 0 ? GuardSide::kAtEnd : GuardSide::kAtBegin;
  GuardedTensors inputs(call, args.inputs, args.input_count, "inputs", false, true, side);
  GuardedTensors outputs(call, args.outputs, args.output_count, "outputs", true, true, side);
  std::unique_ptr<GuardedBytes> scratch;
  if (args.scratch_nbytes != 0) {
    const auto address = reinterpret_cast<uintptr_t>(args.scratch);
    const uint64_t alignment = std::min<uint64_t>(address & (~address + 1), 4096);
    scratch = std::make_unique<GuardedBytes>(call.memory(), args.scratch_nbytes, alignment);
  }
  const uint64_t begin = host_now(instance);
  std::unique_ptr<GuardedSink<etb_event_sink>> events;
  if (args.events != nullptr)
    events = std::make_unique<GuardedSink<etb_event_sink>>(
        call, args.events, "args.events", [&instance, begin](Call& in, const etb_event& event) {
          return check_event(in, instance, begin, event);
        });

  const ValuesThrough values(events != nullptr ? events->get() : nullptr, args.events);

  etb_exec_args copy = args;
  copy.struct_size = sizeof(copy);
  copy.inputs = inputs.get();
  copy.outputs = outputs.get();
  copy.scratch = scratch != nullptr ? scratch->data() : nullptr;
  copy.events = values.get();
  const etb_exec_args* given = &copy;
  BorrowedCopy borrowed(call, true, "args", [&](ArgumentCopier& to) {
    etb_exec_args patched = copy;
    if (has_options) patched.options = to.options(args.options, args.option_count);
    if (args.cancel != nullptr) patched.cancel = to.whole(args.cancel, *args.cancel);
    patched.wait = to.fences(args.wait, args.wait_count);
    patched.signal = to.fences(args.signal, args.signal_count);
    given = to.whole(&copy, patched);
  });

  const etb_status status = call.run(
      [&](etb_error* inner) { return instance.next->delegate->execute(context.next, given, inner); });
  if (events != nullptr) events->close(status);
  if (call.is_refused()) return status;
  borrowed.end();
  if (scratch != nullptr) {
    if (const auto damage = scratch->take_damage()) call.plugin("ABI-EXEC-04", "the scratch: {}", *damage);
    call.state().watch(std::move(scratch), "ABI-OWN-01", Side::PLUGIN, call.function(),
                       "the scratch after the call");
  }
  inputs.commit(status);
  outputs.commit(status);
  return status;
}

// A run that continues after execute_async has returned, with the fences for the plugin and the host's own
// ones.
struct AsyncRun {
  struct Fence {
    AsyncRun* run = nullptr;
    etb_fence real{};
    std::atomic<int> signal_count{0};
  };

  AsyncRun(ContextHandle& of, const etb_exec_args& real)
      : context(of), fences(real.signal_count), args(real) {
    args.struct_size = sizeof(args);
    for (uint32_t i = 0; i < real.signal_count; ++i) {
      fences[i].run = this;
      fences[i].real = *ETB_AT(etb_fence, real.signal, i);
      given.push_back(fences[i].real);
      given.back().struct_size = sizeof(etb_fence);
      given.back().handle = &fences[i];
      given.back().signal = [](void* handle, etb_status status) {
        auto& fence = *static_cast<Fence*>(handle);
        fence.run->signal(fence, status);
      };
    }
    args.signal = given.data();
    open_count = static_cast<int>(real.signal_count);
  }

  void signal(Fence& fence, etb_status status) {
    State& state = context.handle.instance->state;
    if (fence.signal_count.fetch_add(1) != 0)
      return state.report("ABI-EXEC-05", Side::PLUGIN, "delegate.execute_async",
                          "a fence was signalled again");
    if (is_failed.load())
      return state.report("ABI-EXEC-05", Side::PLUGIN, "delegate.execute_async",
                          "a fence was signalled for a run that returned an error");
    if (open_count.fetch_sub(1) == 1) finish();
    fence.real.signal(fence.real.handle, status);
  }

  // Allows the next call on the context.
  void finish() {
    context.delegate->running_count.fetch_sub(1);
    context.handle.serial_call_count.fetch_sub(1);
    context.handle.call_count.fetch_sub(1);
    context.handle.instance->state.retire(this);
  }

  ContextHandle& context;
  std::vector<Fence> fences;
  std::vector<etb_fence> given;
  etb_exec_args args;
  std::atomic<int> open_count{0};
  std::atomic<bool> is_failed{false};
};

bool has_only_callbacks(const etb_exec_args& args) {
  for (uint32_t i = 0; i < args.signal_count; ++i)
    if (std::strcmp(ETB_AT(etb_fence, args.signal, i)->kind, "callback") != 0) return false;
  return args.signal_count != 0;
}

}  // namespace

etb_status ETB_CALL context_reserve(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                                    etb_error* error) {
  Call call("delegate.context_reserve", error);
  ContextHandle* const object = call.enter(context, Tag::SERIAL);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  check_tensors(call, inputs, input_count, {}, false, "inputs");
  if (call.is_refused()) return call.finish(ETB_INVALID_ARGUMENT);
  GuardedTensors guarded(call, inputs, input_count, "inputs", false, false);
  const etb_status status = call.run([&](etb_error* inner) {
    return object->handle.instance->next->delegate->context_reserve(object->next, guarded.get(), input_count,
                                                                    inner);
  });
  if (call.is_refused()) return call.finish(status);
  guarded.commit(status);
  if (status == ETB_OK) {
    object->reserved_sizes.clear();
    for (uint32_t i = 0; i < input_count; ++i) {
      const etb_tensor& input = *ETB_AT(etb_tensor, inputs, i);
      object->reserved_sizes.emplace_back(input.sizes, input.sizes + input.rank);
    }
  }
  return call.finish(status);
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  Call call("delegate.execute", error);
  ContextHandle* const object = call.enter(context, Tag::SERIAL);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  const RunningContext running(call, *object);
  const bool has_options = check_args(call, *object->delegate, args);
  if (call.is_refused()) return call.finish(ETB_INVALID_ARGUMENT);
  call.is_reserved_run = is_within_reserved(*object, *args);
  return call.finish(run_guarded(call, *object, *args, has_options));
}

etb_status ETB_CALL execute_async(etb_context* context, const etb_exec_args* args, etb_error* error) {
  Call call("delegate.execute_async", error);
  ContextHandle* const object = call.enter(context, Tag::SERIAL);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  RunningContext running(call, *object);
  check_args(call, *object->delegate, args);
  if (!call.is_refused() && args->signal_count == 0)
    call.host("ABI-EXEC-05", ETB_INVALID_ARGUMENT, "args.signal_count is 0, expected a fence at least");
  if (call.is_refused()) return call.finish(ETB_INVALID_ARGUMENT);
  const etb_delegate_table& next = *object->handle.instance->next->delegate;
  if (!has_only_callbacks(*args))  // nothing reports the end of such a run: it is passed on unchanged
    return call.finish(
        call.run([&](etb_error* inner) { return next.execute_async(object->next, args, inner); }));

  const auto run = std::make_shared<AsyncRun>(*object, *args);
  call.state().adopt(run);
  running.hand_over();
  object->handle.serial_call_count.fetch_add(1);
  object->handle.call_count.fetch_add(1);
  const etb_status status =
      call.run([&](etb_error* inner) { return next.execute_async(object->next, &run->args, inner); });
  if (status != ETB_OK) {
    run->is_failed.store(true);
    const int open = run->open_count.load();
    if (open != 0) run->finish();
    if (open != static_cast<int>(args->signal_count))
      call.plugin("ABI-EXEC-05", "the call returned {} and signalled a fence", status);
  }
  return call.finish(status);
}

etb_status ETB_CALL cancel(etb_context* context, etb_error* error) {
  Call call("delegate.cancel", error);
  ContextHandle* const object = call.enter(context);
  if (object == nullptr) return call.finish(ETB_INVALID_HANDLE);
  return call.finish(call.run([&](etb_error* inner) {
    return object->handle.instance->next->delegate->cancel(object->next, inner);
  }));
}

}  // namespace etb::host::validate
