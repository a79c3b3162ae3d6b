// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/device.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "plugins/opencl/driver_scope.hpp"
#include "plugins/opencl/kernel_source.hpp"

namespace etb::opencl {

namespace {

// Devices stay open until the process ends. Drivers have threads that never end, and PoCL 3.1 loses memory with each program
// that is released, so a device for each instance of the plugin would grow without end.
struct OpenedDevices {
  std::mutex mutex;
  std::map<cl_device_id, std::shared_ptr<Device>> devices;
};
OpenedDevices& opened_devices() {
  static auto* const made = new OpenedDevices;
  return *made;
}

}  // namespace

Result<std::shared_ptr<Device>> Device::open(std::shared_ptr<Instance> instance, const DeviceFacts& facts) {
  OpenedDevices& opened = opened_devices();
  const std::lock_guard lock(opened.mutex);
  std::shared_ptr<Device>& device = opened.devices[facts.handle];
  if (!device || device->is_lost()) {
    ETB_ASSIGN(device, make(std::move(instance), facts));
  }
  return device;
}

Result<std::shared_ptr<Device>> Device::make(std::shared_ptr<Instance> instance, const DeviceFacts& facts) {
  const DriverScope scope;
  const std::shared_ptr<Device> made(new Device(std::move(instance), facts));
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(facts.platform), 0};
  cl_int result = CL_SUCCESS;
  made->context_ = {made->functions(),
                    made->functions().CreateContext(properties, 1, &facts.handle, nullptr, nullptr, &result)};
  ETB_TRY(from_cl(result, "clCreateContext"));
  return made;
}

Status Device::note(cl_int result, const char* what) const {
  Status noted = from_cl(result, what);
  if (!noted && noted.error().code == Code::UNAVAILABLE) is_lost_ = true;
  return noted;
}

// NVIDIA's driver returns CL_OUT_OF_RESOURCES or CL_INVALID_COMMAND_QUEUE after a kernel that faulted.
Status Device::note_end(cl_int result, const char* what) const {
  Status ended = from_cl(result, what);
  if (ended) return ended;
  is_lost_ = true;
  if (ended.error().code != Code::OUT_OF_MEMORY) ended.error().code = Code::UNAVAILABLE;
  return ended;
}

Status Device::finish(const OwnedQueue& queue) const {
  return note_end(functions().Finish(queue.get()), "clFinish");
}

Result<OwnedEvent> Device::flush(const OwnedQueue& queue) const {
  cl_event event = nullptr;
  ETB_TRY(note(functions().EnqueueMarkerWithWaitList(queue.get(), 0, nullptr, &event),
               "clEnqueueMarkerWithWaitList"));
  OwnedEvent made(functions(), event);
  ETB_TRY(note(functions().Flush(queue.get()), "clFlush"));
  return made;
}

Result<bool> Device::wait(const OwnedEvent& event, bool may_block) const {
  const cl_event handle = event.get();
  cl_int state = CL_COMPLETE;
  if (may_block) ETB_TRY(note_end(functions().WaitForEvents(1, &handle), "clWaitForEvents"));
  ETB_TRY(note_end(
      functions().GetEventInfo(handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr),
      "clGetEventInfo"));
  if (state < 0) ETB_TRY(note_end(state, "commands of an asynchronous run"));
  return state == CL_COMPLETE;
}

Result<OwnedMemory> Device::make_buffer(uint64_t nbytes) const {
  cl_int result = CL_SUCCESS;
  nbytes = std::max<uint64_t>(nbytes, 16);
  if (nbytes > facts_.max_range_bytes) {
    return make_error(Code::OUT_OF_MEMORY, "a buffer of " + std::to_string(nbytes) + " bytes, '" +
                                               facts_.name + "' allows at most " +
                                               std::to_string(facts_.max_range_bytes));
  }
  OwnedMemory made(functions(),
                   functions().CreateBuffer(context_.get(), CL_MEM_READ_WRITE, nbytes, nullptr, &result));
  if (Status created = note(result, "clCreateBuffer"); !created)
    return tl::make_unexpected(
        with_context(std::move(created).error(), std::to_string(nbytes) + " bytes of device memory"));
  return made;
}

Result<OwnedMemory> Device::make_part(const OwnedMemory& buffer, const gpu::Location& location) const {
  cl_int result = CL_SUCCESS;
  const cl_buffer_region region{location.offset, location.nbytes};
  OwnedMemory made(functions(), functions().CreateSubBuffer(buffer.get(), CL_MEM_READ_WRITE,
                                                            CL_BUFFER_CREATE_TYPE_REGION, &region, &result));
  ETB_TRY(note(result, "clCreateSubBuffer"));
  return made;
}

Result<OwnedQueue> Device::make_queue(bool is_timed) const {
  cl_int result = CL_SUCCESS;
  OwnedQueue made(functions(),
                  functions().CreateCommandQueue(context_.get(), facts_.handle,
                                                 is_timed ? CL_QUEUE_PROFILING_ENABLE : 0, &result));
  ETB_TRY(note(result, "clCreateCommandQueue"));
  return made;
}

Result<std::byte*> Device::map(const OwnedQueue& queue, const OwnedMemory& buffer, uint64_t nbytes) const {
  cl_int result = CL_SUCCESS;
  void* const mapped =
      functions().EnqueueMapBuffer(queue.get(), buffer.get(), CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                   nbytes, 0, nullptr, nullptr, &result);
  ETB_TRY(note(result, "clEnqueueMapBuffer"));
  return static_cast<std::byte*>(mapped);
}

Status Device::unmap(const OwnedQueue& queue, const OwnedMemory& buffer, std::byte* mapped) const {
  ETB_TRY(note(functions().EnqueueUnmapMemObject(queue.get(), buffer.get(), mapped, 0, nullptr, nullptr),
               "clEnqueueUnmapMemObject"));
  return finish(queue);
}

// No option lets the compiler ignore NaN, infinities or signs of zeros. -w: PoCL prints the number of warnings, and has some for
// vectors of 16 numbers on processors without AVX-512.
std::string Device::build_options(const std::string& macros) const {
  std::string options = "-w -cl-std=CL1.2";
  if (facts_.has_exact_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options + macros;
}

Status Device::build(const OwnedProgram& program, const std::string& options) const {
  Status built =
      from_cl(functions().BuildProgram(program.get(), 1, &facts_.handle, options.c_str(), nullptr, nullptr),
              "clBuildProgram");
  if (built) return built;
  std::string log(4096, '\0');
  size_t nbytes = 0;
  if (functions().GetProgramBuildInfo(program.get(), facts_.handle, CL_PROGRAM_BUILD_LOG, log.size(),
                                      log.data(), &nbytes) != CL_SUCCESS)
    nbytes = 0;
  log.resize(std::min(nbytes, log.size()));
  built.error().message += "\n" + std::string(log.c_str());
  return built;
}

OwnedProgram Device::load_program(const gpu::KernelCache& cache, const format::Sha256& key,
                                  const std::string& options) const {
  const auto found = cache.find(key);
  if (!found) return {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(found->bytes().data());
  const size_t nbytes = found->bytes().size();
  cl_int status = CL_SUCCESS, result = CL_SUCCESS;
  OwnedProgram made(functions(), functions().CreateProgramWithBinary(context_.get(), 1, &facts_.handle,
                                                                     &nbytes, &bytes, &status, &result));
  if (result != CL_SUCCESS || status != CL_SUCCESS || !build(made, options)) return {};
  return made;
}

void Device::save_program(const gpu::KernelCache& cache, const format::Sha256& key,
                          const OwnedProgram& program) const {
  size_t nbytes = 0;
  if (!cache.is_there() || functions().GetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(nbytes),
                                                      &nbytes, nullptr) != CL_SUCCESS)
    return;
  std::vector<std::byte> bytes(nbytes);
  auto* to = reinterpret_cast<unsigned char*>(bytes.data());
  if (functions().GetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof(to), static_cast<void*>(&to),
                                 nullptr) == CL_SUCCESS)
    cache.put(key, bytes);
}

Result<OwnedProgram> Device::make_program(const gpu::KernelVariant& kernel, const gpu::KernelCache& cache,
                                          std::optional<format::Sha256>& out_unsaved) const {
  const KernelSource source = kernel_source(kernel);
  const std::string options = build_options(source.macros);
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  format::Sha256Sum key;
  key.add(facts_.fingerprint);
  for (const std::string_view text : source.texts) {
    texts.push_back(text.data());
    sizes.push_back(text.size());
    key.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  key.add({reinterpret_cast<const uint8_t*>(options.data()), options.size()});
  const format::Sha256 digest = key.finish();
  if (OwnedProgram found = load_program(cache, digest, options)) return found;
  cl_int result = CL_SUCCESS;
  OwnedProgram made(functions(),
                    functions().CreateProgramWithSource(context_.get(), static_cast<cl_uint>(texts.size()),
                                                        texts.data(), sizes.data(), &result));
  ETB_TRY(from_cl(result, "clCreateProgramWithSource"));
  ETB_TRY(build(made, options));
  if (cache.is_there()) out_unsaved = digest;
  return made;
}

Result<BuiltKernel> Device::make_kernel(const gpu::KernelVariant& kernel) {
  ETB_ASSIGN(const Program* const program, build_program(kernel, gpu::KernelCache(Host())));
  BuiltKernel made;
  ETB_ASSIGN(made.handle, create_kernel(kernel.kernel, program->handle));
  made.group_size = program->group_size;
  return made;
}

Result<OwnedKernel> Device::create_kernel(gpu::Kernel kernel, const OwnedProgram& program) const {
  cl_int result = CL_SUCCESS;
  OwnedKernel made(functions(), functions().CreateKernel(program.get(),
                                                         gpu::kKernelNames[gpu::index_of(kernel)], &result));
  ETB_TRY(from_cl(result, "clCreateKernel"));
  return made;
}

Error Device::with_kernel(Error error, gpu::Kernel kernel) const {
  return with_context(std::move(error), std::string("kernel ") + gpu::kKernelNames[gpu::index_of(kernel)] +
                                            " on '" + facts_.name + "'");
}

// Vector kernels give each work-item a tile of its own. Others share loads in a workgroup.
Result<size_t> Device::find_group_size(gpu::Kernel kernel, const OwnedProgram& program) const {
  ETB_ASSIGN(const OwnedKernel made, create_kernel(kernel, program));
  size_t allowed = 0;
  ETB_TRY(from_cl(functions().GetKernelWorkGroupInfo(made.get(), facts_.handle, CL_KERNEL_WORK_GROUP_SIZE,
                                                     sizeof(allowed), &allowed, nullptr),
                  "clGetKernelWorkGroupInfo"));
  if (const uint32_t fixed = gpu::fixed_group_of(kernel); fixed != 0) {
    if (allowed >= fixed) return fixed;
    return make_error(Code::NOT_SUPPORTED, "workgroups of " + std::to_string(allowed) +
                                               " work-items, expected at least " + std::to_string(fixed) +
                                               "\nhint: set the option kernels to registers");
  }
  size_t wanted = 64;
  if (gpu::family_of(kernel) == gpu::KernelFamily::kVectors) {
    wanted = 1;
  } else if (facts_.is_cpu && !gpu::is_linear(kernel)) {
    wanted = gpu::kLeastLocalSize;
  }
  return std::min({wanted, allowed, static_cast<size_t>(facts_.max_group_size)});
}

Result<const Device::Program*> Device::build_program(const gpu::KernelVariant& variant,
                                                     const gpu::KernelCache& cache) {
  // Products with and without a residual are one program.
  const gpu::KernelVariant kernel =
      gpu::is_chain(variant.kernel) ? variant : gpu::KernelVariant{variant.kernel, {}, variant.halves};
  const std::lock_guard lock(programs_mutex_);
  if (const auto found = programs_.find(kernel); found != programs_.end()) return &found->second;
  const DriverScope scope;
  Program made;
  std::optional<format::Sha256> unsaved;
  const auto build = [&]() -> Status {
    ETB_ASSIGN(made.handle, make_program(kernel, cache, unsaved));
    ETB_ASSIGN(made.group_size, find_group_size(kernel.kernel, made.handle));
    return {};
  };
  if (Status built = build(); !built)
    return tl::make_unexpected(with_kernel(std::move(built).error(), kernel.kernel));
  const Program* const kept = &programs_.emplace(kernel, std::move(made)).first->second;
  if (unsaved) unsaved_.emplace_back(kept, *unsaved);
  return kept;
}

Status Device::prepare(const gpu::ExecutionPlan& plan, const Host& host) {
  const gpu::KernelCache cache(host);
  for (const gpu::Dispatch& dispatch : plan.dispatches)
    if (auto built = build_program(dispatch.variant(), cache); !built)
      return tl::make_unexpected(with_context(std::move(built).error(), name_of_node(plan, dispatch.node)));
  const DriverScope scope;
  ETB_TRY(run_empty(plan));
  save_programs(cache);
  return {};
}

// After the first run: a binary of PoCL has the code of the runs until then.
void Device::save_programs(const gpu::KernelCache& cache) {
  const std::lock_guard lock(programs_mutex_);
  for (const auto& [program, key] : unsaved_) save_program(cache, key, program->handle);
  unsaved_.clear();
}

// All counts are zero, so no kernel reads or writes the buffer.
Status Device::run_empty(const gpu::ExecutionPlan& plan) {
  std::vector<gpu::Dispatch> dispatches = plan.dispatches;
  ETB_ASSIGN(const OwnedQueue queue, make_queue(false));
  ETB_ASSIGN(const OwnedMemory buffer, make_buffer(0));
  const cl_mem memory = buffer.get();
  for (gpu::Dispatch& dispatch : dispatches) {
    ETB_ASSIGN(const BuiltKernel kernel, make_kernel(dispatch.variant()));
    for (uint32_t b = 0; b < dispatch.binding_count; ++b)
      ETB_TRY(from_cl(functions().SetKernelArg(kernel.handle.get(), b, sizeof(memory), &memory),
                      "clSetKernelArg"));
    dispatch.push = {};
    ETB_TRY(set_push(kernel.handle, dispatch));
    if (Status enqueued = enqueue(queue, kernel, dispatch, nullptr); !enqueued)
      return tl::make_unexpected(
          with_context(std::move(enqueued).error(), name_of_node(plan, dispatch.node)));
  }
  return finish(queue);
}

Status Device::set_push(const OwnedKernel& kernel, const gpu::Dispatch& dispatch) const {
  return from_cl(functions().SetKernelArg(kernel.get(), dispatch.binding_count,
                                          dispatch.push_count * sizeof(uint32_t), dispatch.push.data()),
                 "clSetKernelArg");
}

Status Device::enqueue(const OwnedQueue& queue, const BuiltKernel& kernel, const gpu::Dispatch& dispatch,
                       cl_event* out_event) const {
  if (dispatch.items[0] == 0 || dispatch.items[1] == 0 || dispatch.items[2] == 0) return {};
  const size_t group = kernel.group_size;
  size_t groups = (dispatch.items[0] - 1) / group + 1, y = dispatch.items[1];
  if (gpu::is_linear(dispatch.kernel)) {
    const size_t width = std::min<size_t>(groups, gpu::kMaxGroups);
    y = (groups - 1) / width + 1;
    groups = width;
  }
  const size_t global[3] = {groups * group, y, dispatch.items[2]}, local[3] = {group, 1, 1};
  Status enqueued = note(functions().EnqueueNDRangeKernel(queue.get(), kernel.handle.get(), 3, nullptr,
                                                          global, local, 0, nullptr, out_event),
                         "clEnqueueNDRangeKernel");
  if (!enqueued) return tl::make_unexpected(with_kernel(std::move(enqueued).error(), dispatch.kernel));
  return enqueued;
}

}  // namespace etb::opencl
