// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/device.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "plugins/vulkan/kernel_code.hpp"
#include "plugins/vulkan/linked_code.hpp"
#include "plugins/vulkan/pipeline_cache.hpp"

namespace etb::vulkan {

namespace {

// The device half fills structs whose other fields are zero.
template <class T>
T vk_struct(VkStructureType type) {
  T made{};
  made.sType = type;
  return made;
}

}  // namespace

Device::Device(std::shared_ptr<Instance> instance, const DeviceFacts& facts)
    : instance_(std::move(instance)), facts_(facts) {}

Result<std::shared_ptr<Device>> Device::open(std::shared_ptr<Instance> instance, const DeviceFacts& facts) {
  const std::shared_ptr<Device> made(new Device(std::move(instance), facts));
  ETB_TRY(made->create());
  ETB_TRY(made->create_layouts());
  made->instance_->keep_libraries();
  return made;
}

Status Device::create() {
  const InstanceFunctions& vk = instance_->functions();
  const float priority = 1;
  auto queue = vk_struct<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = facts_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceFeatures features{};
  features.robustBufferAccess = facts_.has_robust_access ? VK_TRUE : VK_FALSE;
  std::vector<const char*> extensions;
  if (facts_.needs_float_controls) extensions.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  if (facts_.host_import_alignment != 0) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  auto storage = vk_struct<VkPhysicalDevice16BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  storage.storageBuffer16BitAccess = VK_TRUE;
  auto arithmetic = vk_struct<VkPhysicalDeviceShaderFloat16Int8Features>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  arithmetic.shaderFloat16 = VK_TRUE;
  if (facts_.has_float16 && facts_.needs_float16_extension)
    extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  auto info = vk_struct<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  if (facts_.has_16bit_storage) info.pNext = &storage;
  if (facts_.has_16bit_storage && facts_.has_float16) storage.pNext = &arithmetic;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.pEnabledFeatures = &features;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  ETB_TRY(from_vk(vk.CreateDevice(facts_.handle, &info, nullptr, &handle_), "vkCreateDevice"));
#define ETB_VK_INSTANCE(name)
#define ETB_VK_DEVICE(name) \
  functions_.name = reinterpret_cast<PFN_vk##name>(vk.GetDeviceProcAddr(handle_, "vk" #name));
#include "plugins/vulkan/functions.def"
#undef ETB_VK_DEVICE
#undef ETB_VK_INSTANCE
  functions_.GetDeviceQueue(handle_, facts_.queue_family, 0, &queue_);
  vk.GetPhysicalDeviceMemoryProperties(facts_.handle, &memory_);
  return {};
}

Status Device::create_layout(uint32_t count, uint32_t texels) {
  std::array<VkDescriptorSetLayoutBinding, gpu::kMaxBindings> bindings{};
  for (uint32_t i = 0; i < count; ++i)
    bindings[i] = {i,
                   i < texels ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                   1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  Layouts& made = layouts_[count][texels];
  auto set = vk_struct<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = count;
  set.pBindings = bindings.data();
  ETB_TRY(from_vk(functions_.CreateDescriptorSetLayout(handle_, &set, nullptr, &made.set),
                  "vkCreateDescriptorSetLayout"));
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, gpu::kMaxPushWords * 4};
  auto layout = vk_struct<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &made.set;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  return from_vk(functions_.CreatePipelineLayout(handle_, &layout, nullptr, &made.pipeline),
                 "vkCreatePipelineLayout");
}

Status Device::create_layouts() {
  for (uint32_t i = 0; i < gpu::kKernelCount; ++i) {
    const auto kernel = static_cast<gpu::Kernel>(i);
    if (layouts_of(kernel).pipeline == VK_NULL_HANDLE)
      ETB_TRY(create_layout(gpu::kKernelBindings[i], gpu::texels_of(kernel).count));
  }
  return {};
}

Device::~Device() {
  if (handle_ == VK_NULL_HANDLE) return;
  for (const VkPipeline pipeline : pipelines_) functions_.DestroyPipeline(handle_, pipeline, nullptr);
  for (const auto& [variant, pipeline] : variant_pipelines_)
    functions_.DestroyPipeline(handle_, pipeline, nullptr);
  functions_.DestroyPipelineCache(handle_, pipeline_cache_, nullptr);
  for (const auto& by_count : layouts_) {
    for (const Layouts& layouts : by_count) {
      functions_.DestroyPipelineLayout(handle_, layouts.pipeline, nullptr);
      functions_.DestroyDescriptorSetLayout(handle_, layouts.set, nullptr);
    }
  }
  functions_.DestroyDevice(handle_, nullptr);
}

Status Device::note(VkResult result, const char* what) const {
  if (result == VK_ERROR_DEVICE_LOST) is_lost_ = true;
  return from_vk(result, what);
}

// Products and convolutions share loads among the invocations of a workgroup. CPU drivers run eight at once.
uint32_t Device::local_size(gpu::Kernel kernel) const {
  if (const uint32_t fixed = gpu::fixed_group_of(kernel); fixed != 0) return fixed;
  const bool is_linear = gpu::is_linear(kernel);
  return facts_.is_cpu && !is_linear ? gpu::kLeastLocalSize : 64;
}

Result<uint32_t> Device::find_memory_type(uint32_t allowed, VkMemoryPropertyFlags required,
                                          VkMemoryPropertyFlags wanted) const {
  int best = -1;
  uint32_t found = 0;
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) == 0 || (flags & required) != required) continue;
    const int count = std::popcount(flags & wanted);
    if (count <= best) continue;
    best = count;
    found = i;
  }
  if (best < 0) return make_error(Code::OUT_OF_MEMORY, "no memory type of the device fits");
  return found;
}

Result<Buffer> Device::make_buffer(uint64_t nbytes, BufferUse use) const {
  constexpr VkMemoryPropertyFlags kVisible =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const std::shared_ptr<const Device> self = shared_from_this();
  auto info = vk_struct<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = std::max<uint64_t>(nbytes, 16) + (facts_.has_tiles ? kViewRoom : 0);
  info.usage = kBufferUsage;
  VkBuffer handle = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateBuffer(handle_, &info, nullptr, &handle), "vkCreateBuffer"));
  Buffer made;
  made.buffer = OwnedBuffer(self, handle);
  VkMemoryRequirements needs{};
  functions_.GetBufferMemoryRequirements(handle_, handle, &needs);
  uint32_t type = 0;
  if (use == BufferUse::kTransfer) {
    ETB_ASSIGN(type,
               find_memory_type(needs.memoryTypeBits, kVisible, kLocal | VK_MEMORY_PROPERTY_HOST_CACHED_BIT));
  } else {
    const VkMemoryPropertyFlags wanted = use == BufferUse::kConstants ? kLocal | kVisible : kLocal;
    const auto local = find_memory_type(needs.memoryTypeBits, kLocal, wanted);
    ETB_ASSIGN(type, local ? *local : find_memory_type(needs.memoryTypeBits, 0, wanted));
  }
  auto allocation = vk_struct<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  if (Status allocated =
          note(functions_.AllocateMemory(handle_, &allocation, nullptr, &memory), "vkAllocateMemory");
      !allocated)
    return tl::make_unexpected(
        with_context(std::move(allocated).error(), std::to_string(needs.size) + " bytes of device memory"));
  made.memory = OwnedMemory(self, memory);
  ETB_TRY(note(functions_.BindBufferMemory(handle_, handle, memory, 0), "vkBindBufferMemory"));
  if (use == BufferUse::kArena || (memory_.memoryTypes[type].propertyFlags & kVisible) != kVisible)
    return made;
  void* mapped = nullptr;
  ETB_TRY(note(functions_.MapMemory(handle_, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
  made.mapped = static_cast<std::byte*>(mapped);
  return made;
}

Result<OwnedBufferView> Device::make_view(VkBuffer buffer, uint64_t offset, uint64_t nbytes,
                                          uint32_t floats) const {
  auto info = vk_struct<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
  info.buffer = buffer;
  info.format = floats == 4 ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R32_SFLOAT;
  info.offset = offset;
  info.range = nbytes;
  VkBufferView view = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateBufferView(handle_, &info, nullptr, &view), "vkCreateBufferView"));
  return OwnedBufferView(shared_from_this(), view);
}

VkPipeline Device::pipeline(const gpu::Dispatch& dispatch) const {
  const gpu::KernelVariant variant = dispatch.variant();
  if (is_plain(variant)) return pipelines_[gpu::index_of(dispatch.kernel)];
  const std::lock_guard lock(variant_pipelines_mutex_);
  const auto found = variant_pipelines_.find(variant);
  return found == variant_pipelines_.end() ? VK_NULL_HANDLE : found->second;
}

Result<VkPipeline> Device::make_pipeline(const gpu::KernelVariant& variant) const {
  const auto& [kernel, chain, halves] = variant;
  std::span<const uint32_t> code = kernel_code(kernel, halves);
  std::vector<uint32_t> linked, supported;
  if (gpu::is_chain(kernel)) {
    ETB_ASSIGN(linked, link_chain(code, chain));
    code = linked;
  }
  if ((halves & gpu::kArithmeticBit) != 0 && !facts_.keeps_subnormal_halves)
    code = supported = without_denorm_preserve(code);
  auto shader = vk_struct<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  shader.codeSize = code.size_bytes();
  shader.pCode = code.data();
  VkShaderModule handle = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateShaderModule(handle_, &shader, nullptr, &handle), "vkCreateShaderModule"));
  const OwnedShader owned(shared_from_this(), handle);
  // Constant 0 of each kernel is the workgroup size; those after it are the steps of a chain, if a product has a residual, and the
  // buffers of float16.
  std::array<uint32_t, 3 + gpu::kMaxChainSteps> numbers = {local_size(kernel)};
  std::copy(chain.steps.begin(), chain.steps.end(), numbers.begin() + 1);
  numbers[1 + gpu::kMaxChainSteps] = chain.steps[0];
  numbers.back() = halves;
  std::array<VkSpecializationMapEntry, numbers.size()> entries{};
  for (uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(), sizeof(numbers),
                                       numbers.data()};
  auto info = vk_struct<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = handle;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = pipeline_layout(kernel);
  VkPipeline pipeline = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateComputePipelines(handle_, pipeline_cache_, 1, &info, nullptr, &pipeline),
               "vkCreateComputePipelines"));
  return pipeline;
}

Status Device::prepare(const gpu::ExecutionPlan& plan, const Host& host) {
  const std::lock_guard lock(pipelines_mutex_);
  const gpu::KernelCache cache(host);
  if (cache.is_there() && pipeline_cache_ == VK_NULL_HANDLE) load_pipelines(cache);
  bool has_new = false;
  ETB_TRY(create_pipelines(plan, has_new));
  if (has_new && pipeline_cache_ != VK_NULL_HANDLE) save_pipelines(cache);
  return {};
}

void Device::load_pipelines(const gpu::KernelCache& cache) {
  const auto found = cache.find(pipeline_cache_key(facts_));
  const bool suits = found && is_pipeline_data_of(facts_.properties, found->bytes());
  if (found && !suits) cache.report_dropped("pipelines of another driver or device");
  auto info = vk_struct<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = saved_nbytes_ = suits ? found->bytes().size() : 0;
  info.pInitialData = suits ? found->bytes().data() : nullptr;
  VkResult made = functions_.CreatePipelineCache(handle_, &info, nullptr, &pipeline_cache_);
  if (made != VK_SUCCESS && suits) {  // a right header and a wrong rest, which some drivers reject
    info.initialDataSize = saved_nbytes_ = 0;
    info.pInitialData = nullptr;
    made = functions_.CreatePipelineCache(handle_, &info, nullptr, &pipeline_cache_);
  }
  if (made != VK_SUCCESS) pipeline_cache_ = VK_NULL_HANDLE;
}

void Device::save_pipelines(const gpu::KernelCache& cache) {
  size_t nbytes = 0;
  if (functions_.GetPipelineCacheData(handle_, pipeline_cache_, &nbytes, nullptr) != VK_SUCCESS ||
      nbytes <= kPipelineHeaderNbytes || nbytes == saved_nbytes_)
    return;
  std::vector<std::byte> data(nbytes);
  if (functions_.GetPipelineCacheData(handle_, pipeline_cache_, &nbytes, data.data()) != VK_SUCCESS) return;
  cache.put(pipeline_cache_key(facts_), std::span(data).first(nbytes));
  saved_nbytes_ = nbytes;
}

Status Device::create_pipelines(const gpu::ExecutionPlan& plan, bool& out_has_new) {
  const auto create = [&](const gpu::KernelVariant& variant) -> Result<VkPipeline> {
    auto made = make_pipeline(variant);
    if (!made)
      return tl::make_unexpected(
          with_context(std::move(made).error(), name_of_node(plan, find_user(plan, variant)) + ": kernel " +
                                                    gpu::kKernelNames[gpu::index_of(variant.kernel)] +
                                                    " on '" + facts_.name + "'"));
    out_has_new = true;
    return *made;
  };
  for (uint32_t i = 0; i < gpu::kKernelCount; ++i) {
    const auto kernel = static_cast<gpu::Kernel>(i);
    if (!plan.uses_plain[i] || pipelines_[i] != VK_NULL_HANDLE) continue;
    ETB_ASSIGN(pipelines_[i], create({kernel}));
  }
  for (const gpu::KernelVariant& each : plan.variants) {
    if (variant_pipelines_.count(each) != 0) continue;
    ETB_ASSIGN(const VkPipeline made, create(each));
    const std::lock_guard lock(variant_pipelines_mutex_);
    variant_pipelines_.emplace(each, made);
  }
  return {};
}

Result<OwnedCommandPool> Device::make_command_pool() const {
  auto info = vk_struct<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = facts_.queue_family;
  VkCommandPool pool = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateCommandPool(handle_, &info, nullptr, &pool), "vkCreateCommandPool"));
  return OwnedCommandPool(shared_from_this(), pool);
}

Result<VkCommandBuffer> Device::make_command_buffer(const OwnedCommandPool& pool) const {
  auto info = vk_struct<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool.get();
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.AllocateCommandBuffers(handle_, &info, &commands), "vkAllocateCommandBuffers"));
  return commands;
}

Result<OwnedFence> Device::make_fence() const {
  const auto info = vk_struct<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  VkFence fence = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateFence(handle_, &info, nullptr, &fence), "vkCreateFence"));
  return OwnedFence(shared_from_this(), fence);
}

Result<OwnedQueryPool> Device::make_timestamps(uint32_t count) const {
  auto info = vk_struct<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count;
  VkQueryPool pool = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateQueryPool(handle_, &info, nullptr, &pool), "vkCreateQueryPool"));
  return OwnedQueryPool(shared_from_this(), pool);
}

Status Device::read_timestamps(const OwnedQueryPool& pool, std::span<uint64_t> out) const {
  ETB_TRY(note(functions_.GetQueryPoolResults(handle_, pool.get(), 0, static_cast<uint32_t>(out.size()),
                                              out.size_bytes(), out.data(), sizeof(uint64_t),
                                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
               "vkGetQueryPoolResults"));
  // The counter has so many bits, and wraps.
  const uint64_t mask = facts_.timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << facts_.timestamp_bits) - 1;
  const double ns_per_tick = static_cast<double>(facts_.properties.limits.timestampPeriod);
  const uint64_t first = out.empty() ? 0 : out[0];
  uint64_t last_ns = 0;
  for (uint64_t& stamp : out) {
    const auto ns = static_cast<uint64_t>(static_cast<double>((stamp - first) & mask) * ns_per_tick);
    stamp = last_ns = std::max(ns, last_ns);
  }
  return {};
}

Status Device::submit(VkCommandBuffer commands, VkFence fence) const {
  auto info = vk_struct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  ETB_TRY(check_process());
  ETB_TRY(note(functions_.ResetFences(handle_, 1, &fence), "vkResetFences"));
  const std::lock_guard lock(queue_mutex_);
  return note(functions_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

Result<bool> Device::wait(VkFence fence, std::chrono::nanoseconds most) const {
  const VkResult result =
      functions_.WaitForFences(handle_, 1, &fence, VK_TRUE, static_cast<uint64_t>(most.count()));
  if (result == VK_TIMEOUT) return false;
  ETB_TRY(note(result, "vkWaitForFences"));
  return true;
}

Status Device::run(VkCommandBuffer commands, VkFence fence) const {
  ETB_TRY(submit(commands, fence));
  return note(functions_.WaitForFences(handle_, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
}

Status Device::copy(const Buffer& from, const Buffer& to, uint64_t nbytes) const {
  ETB_ASSIGN(const OwnedCommandPool pool, make_command_pool());
  ETB_ASSIGN(const VkCommandBuffer commands, make_command_buffer(pool));
  ETB_ASSIGN(const OwnedFence fence, make_fence());
  const auto begin = vk_struct<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  ETB_TRY(note(functions_.BeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer"));
  const VkBufferCopy region{0, 0, nbytes};
  functions_.CmdCopyBuffer(commands, from.buffer.get(), to.buffer.get(), 1, &region);
  auto barrier = vk_struct<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
  functions_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  ETB_TRY(note(functions_.EndCommandBuffer(commands), "vkEndCommandBuffer"));
  return run(commands, fence.get());
}

}  // namespace etb::vulkan
