// SPDX-License-Identifier: Apache-2.0
// Memory for buffer/1.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "plugins/vulkan/device.hpp"

namespace etb::vulkan {

namespace {

constexpr auto kHostAllocation = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

uint64_t round_up(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

}  // namespace

Result<SharedMemory> Device::share(uint64_t nbytes, bool is_for_host) const {
  SharedMemory made;
  const uint64_t alignment = is_for_host ? facts_.host_import_alignment : 0;
  made.nbytes = round_up(std::max<uint64_t>(nbytes, 16), std::max<uint64_t>(alignment, 16));
  if (alignment != 0) {
    made.own.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, made.nbytes)));
    if (made.own == nullptr)
      return make_error(Code::OUT_OF_MEMORY, std::to_string(nbytes) + " bytes for a buffer");
    ETB_ASSIGN(SharedMemory imported, import_host(made.own.get(), made.nbytes));
    imported.own = std::move(made.own);
    return imported;
  }
  ETB_ASSIGN(made.buffer,
             make_buffer(made.nbytes, is_for_host ? BufferUse::kTransfer : BufferUse::kConstants));
  made.host = made.buffer.mapped;
  return made;
}

Result<SharedMemory> Device::import_host(std::byte* data, uint64_t nbytes) const {
  const uint64_t alignment = facts_.host_import_alignment;
  if (alignment == 0) return make_error(Code::NOT_SUPPORTED, "the driver cannot import memory of the host");
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0 || nbytes % alignment != 0)
    return make_error(Code::INVALID_ARGUMENT, "import of " + std::to_string(nbytes) +
                                                  " bytes, expected address and size to be multiples of " +
                                                  std::to_string(alignment));
  const std::shared_ptr<const Device> self = shared_from_this();
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kHostAllocation;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = &external;
  info.size = nbytes;
  info.usage = kBufferUsage;
  VkBuffer handle = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.CreateBuffer(handle_, &info, nullptr, &handle), "vkCreateBuffer"));
  SharedMemory made;
  made.buffer.buffer = OwnedBuffer(self, handle);
  VkMemoryRequirements needs{};
  functions_.GetBufferMemoryRequirements(handle_, handle, &needs);
  VkMemoryHostPointerPropertiesEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  ETB_TRY(note(functions_.GetMemoryHostPointerPropertiesEXT(handle_, kHostAllocation, data, &pointer),
               "vkGetMemoryHostPointerPropertiesEXT"));
  ETB_ASSIGN(const uint32_t type, find_memory_type(needs.memoryTypeBits & pointer.memoryTypeBits,
                                                   VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0));
  VkImportMemoryHostPointerInfoEXT import{};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import.handleType = kHostAllocation;
  import.pHostPointer = data;
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = &import;
  allocation.allocationSize = nbytes;
  allocation.memoryTypeIndex = type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  ETB_TRY(note(functions_.AllocateMemory(handle_, &allocation, nullptr, &memory), "vkAllocateMemory"));
  made.buffer.memory = OwnedMemory(self, memory);
  ETB_TRY(note(functions_.BindBufferMemory(handle_, handle, memory, 0), "vkBindBufferMemory"));
  made.host = data;
  made.nbytes = nbytes;
  return made;
}

// All memory that the host sees is coherent, and runs end with a fence.
Status Device::sync_shared(const SharedMemory&, bool) const { return {}; }

}  // namespace etb::vulkan
