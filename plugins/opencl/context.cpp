// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/context.hpp"

#include <algorithm>

namespace etb::opencl {

namespace {

// A run that can be cancelled asks so often, and blocks for that until the commands before have ended.
constexpr size_t kDispatchesPerPoll = 8;

}  // namespace

OpenclContext::OpenclContext(const OpenclDelegate& delegate)
    : OpenclContext(delegate.state(), delegate.state().plan) {}

OpenclContext::OpenclContext(const OpenclDelegate::SharedState& state, const gpu::ExecutionPlan& plan)
    : GpuContext(plan, OpenclApi::kBufferKind, *state.completions),
      state_(state),
      cl_(state_.device->functions()),
      created_(create()) {}

Result<std::unique_ptr<gpu::GpuContext>> OpenclContext::make_context(const gpu::ExecutionPlan& plan) const {
  ETB_TRY(state_.device->prepare(plan, Host()));
  return std::make_unique<OpenclContext>(state_, plan);
}

OpenclContext::~OpenclContext() { release_events(); }

Status OpenclContext::create() {
  const Device& device = *state_.device;
  ETB_ASSIGN(transfer_, device.make_buffer(plan().memory.transfer_bytes));
  ETB_ASSIGN(arena_, device.make_buffer(plan().memory.arena_bytes));
  ETB_ASSIGN(queue_, device.make_queue(false));
  parts_.resize(plan().graph.values.size());
  kernels_.resize(dispatches().size());
  host_inputs_.reserve(plan().graph.inputs.size());
  host_outputs_.reserve(plan().graph.outputs.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (location(static_cast<uint32_t>(i)).memory == gpu::Memory::kNone) continue;
    const gpu::Location& where = location(static_cast<uint32_t>(i));
    ETB_ASSIGN(parts_[i], device.make_part(buffer_of(where), where));
  }
  return {};
}

const OwnedMemory& OpenclContext::buffer_of(const gpu::Location& location) const {
  return location.memory == gpu::Memory::kTransfer ? transfer_
         : location.memory == gpu::Memory::kArena  ? arena_
                                                   : state_.constants;
}

Status OpenclContext::bind_memory() {
  for (uint32_t value = 0; value < parts_.size(); ++value)
    if (const gpu::ExternalBuffer* const given = external(value); given != nullptr && given->offset != 0)
      return make_error(Code::INVALID_ARGUMENT,
                        "a buffer at offset " + std::to_string(given->offset) + ", expected 0");
  ETB_TRY(find_host_memory(plan().graph.inputs, host_inputs_));
  ETB_TRY(find_host_memory(plan().graph.outputs, host_outputs_));
  // A call of the driver for each argument of each kernel would take longer than a small network.
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const gpu::Dispatch& dispatch = dispatches()[i];
    const auto end = dispatch.bindings.begin() + dispatch.binding_count;
    if (!std::any_of(dispatch.bindings.begin(), end, [&](uint32_t value) { return has_moved(value); }))
      continue;
    kernels_[i].has_memory = false;
    has_memory_ = false;
  }
  return {};
}

Status OpenclContext::find_host_memory(const std::vector<uint32_t>& ids, std::vector<HostMemory>& out) const {
  out.clear();
  for (const uint32_t id : ids) {
    const gpu::ExternalBuffer* const given = external(id);
    if (given == nullptr) continue;
    ETB_ASSIGN(void* const address, state_.device->find_host_address(static_cast<cl_mem>(given->handle)));
    if (address != nullptr) out.push_back({given, address});
  }
  return {};
}

Status OpenclContext::enqueue_host_writes() {
  for (const HostMemory& input : host_inputs_)
    ETB_TRY(state_.device->note(
        cl_.EnqueueWriteBuffer(queue().get(), static_cast<cl_mem>(input.buffer->handle), CL_FALSE, 0,
                               input.buffer->nbytes, input.address, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer"));
  return {};
}

Status OpenclContext::enqueue_host_reads() {
  for (const HostMemory& output : host_outputs_)
    ETB_TRY(state_.device->note(
        cl_.EnqueueReadBuffer(queue().get(), static_cast<cl_mem>(output.buffer->handle), CL_FALSE, 0,
                              output.buffer->nbytes, output.address, 0, nullptr, nullptr),
        "clEnqueueReadBuffer"));
  return {};
}

Status OpenclContext::prepare(bool has_changed) {
  ETB_TRY(state_.device->check_process());
  if (has_changed) is_prepared_ = false;
  if (is_prepared_ && has_memory_) return {};
  for (size_t i = 0; i < dispatches().size(); ++i)
    if (!is_prepared_ || !kernels_[i].has_memory) ETB_TRY(set_arguments(i));
  is_prepared_ = has_memory_ = true;
  return {};
}

Status OpenclContext::set_arguments(size_t index) {
  const gpu::Dispatch& dispatch = dispatches()[index];
  BoundKernel& bound = kernels_[index];
  const bool is_new = !bound.built.handle || bound.kernel != dispatch.kernel;
  if (is_new) {
    auto made = state_.device->make_kernel(dispatch.variant());
    if (!made)
      return tl::make_unexpected(with_context(std::move(made).error(), name_of_node(plan(), dispatch.node)));
    bound.built = *std::move(made);
    bound.kernel = dispatch.kernel;
  }
  if (is_new || !bound.has_memory) {
    for (uint32_t b = 0; b < dispatch.binding_count; ++b) {
      const cl_mem part = memory_of(dispatch.bindings[b]);
      ETB_TRY(from_cl(cl_.SetKernelArg(bound.built.handle.get(), b, sizeof(part), &part), "clSetKernelArg"));
    }
    bound.has_memory = true;
  }
  return state_.device->set_push(bound.built.handle, dispatch);
}

Status OpenclContext::write(uint64_t offset, std::span<const std::byte> bytes) {
  return state_.device->note(cl_.EnqueueWriteBuffer(queue().get(), transfer_.get(), CL_TRUE, offset,
                                                    bytes.size(), bytes.data(), 0, nullptr, nullptr),
                             "clEnqueueWriteBuffer");
}

Status OpenclContext::read(uint64_t offset, std::span<std::byte> bytes) {
  return state_.device->note(cl_.EnqueueReadBuffer(queue().get(), transfer_.get(), CL_TRUE, offset,
                                                   bytes.size(), bytes.data(), 0, nullptr, nullptr),
                             "clEnqueueReadBuffer");
}

Status OpenclContext::enqueue(size_t index) {
  Status enqueued = state_.device->enqueue(queue(), kernels_[index].built, dispatches()[index],
                                           is_timed_ ? &events_[index] : nullptr);
  if (enqueued) return enqueued;
  return tl::make_unexpected(
      with_context(std::move(enqueued).error(), name_of_node(plan(), dispatches()[index].node)));
}

Status OpenclContext::enqueue_all(const Run& run) {
  const bool can_stop = run.raw().cancel != nullptr || run.raw().deadline_ns != 0;
  ETB_TRY(enqueue_host_writes());
  for (size_t i = 0; i < dispatches().size(); ++i) {
    if (can_stop && i % kDispatchesPerPoll == kDispatchesPerPoll - 1) {
      ETB_TRY(state_.device->finish(queue()));
      ETB_TRY(keep_going(run));
    }
    ETB_TRY(enqueue(i));
  }
  return enqueue_host_reads();
}

// Also after an error no command is left: the next run writes the same memory.
Status OpenclContext::run_all(const Run& run) {
  release_events();
  const Status enqueued = enqueue_all(run);
  ETB_TRY(state_.device->finish(queue()));
  return enqueued;
}

Status OpenclContext::submit() {
  const auto submit = [&]() -> Status {
    ETB_TRY(enqueue_host_writes());
    for (size_t i = 0; i < dispatches().size(); ++i) ETB_TRY(enqueue(i));
    ETB_TRY(enqueue_host_reads());
    ETB_ASSIGN(end_, state_.device->flush(queue()));
    return {};
  };
  Status submitted = submit();
  if (!submitted) (void)state_.device->finish(queue());
  return submitted;
}

Result<bool> OpenclContext::wait(std::chrono::milliseconds most) {
  return state_.device->wait(end_, most.count() != 0);
}

Result<std::byte*> OpenclContext::run_one(size_t index, bool is_wanted) {
  ETB_TRY(enqueue(index));
  ETB_TRY(state_.device->finish(queue()));
  const uint32_t value = dispatches()[index].written();
  if (!is_wanted) return copy_.data();
  copy_.resize(location(value).nbytes);
  ETB_TRY(state_.device->note(cl_.EnqueueReadBuffer(queue().get(), memory_of(value), CL_TRUE, 0, copy_.size(),
                                                    copy_.data(), 0, nullptr, nullptr),
                              "clEnqueueReadBuffer"));
  return copy_.data();
}

bool OpenclContext::set_timed(bool is_timed) {
  if (is_timed && !timed_queue_) {
    auto made = state_.device->make_queue(true);
    if (!made) return is_timed_ = false;  // then the run is one event
    timed_queue_ = std::move(*made);
    events_.resize(dispatches().size());
  }
  return is_timed_ = is_timed;
}

void OpenclContext::release_events() {
  for (cl_event& event : events_)
    if (event != nullptr) (void)cl_.ReleaseEvent(std::exchange(event, nullptr));
}

Status OpenclContext::read_times(std::span<uint64_t> begins_ns, std::span<uint64_t> ends_ns) {
  uint64_t last = 0;
  for (size_t i = 0; i < events_.size(); ++i) {
    const auto read = [&](cl_profiling_info what, uint64_t& to) -> Status {
      cl_ulong stamp = last;
      if (events_[i] != nullptr)
        ETB_TRY(from_cl(cl_.GetEventProfilingInfo(events_[i], what, sizeof(stamp), &stamp, nullptr),
                        "clGetEventProfilingInfo"));
      to = last = std::max<uint64_t>(stamp, last);
      return {};
    };
    ETB_TRY(read(CL_PROFILING_COMMAND_START, begins_ns[i]));
    ETB_TRY(read(CL_PROFILING_COMMAND_END, ends_ns[i]));
  }
  return {};
}

}  // namespace etb::opencl
