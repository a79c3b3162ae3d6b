// SPDX-License-Identifier: Apache-2.0
// Memory for buffer/1.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "plugins/opencl/device.hpp"

namespace etb::opencl {

namespace {

constexpr uint64_t kPageNbytes = 4096;  // so that other devices can import the memory

uint64_t round_up(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

}  // namespace

Result<SharedMemory> Device::share(uint64_t nbytes, bool is_for_host) const {
  SharedMemory made;
  made.nbytes = round_up(std::max<uint64_t>(nbytes, 16), is_for_host ? kPageNbytes : 16);
  if (!is_for_host) {
    ETB_ASSIGN(made.buffer, make_buffer(made.nbytes));
    return made;
  }
  made.own.reset(static_cast<std::byte*>(std::aligned_alloc(kPageNbytes, made.nbytes)));
  if (made.own == nullptr)
    return make_error(Code::OUT_OF_MEMORY, std::to_string(nbytes) + " bytes for a buffer");
  ETB_ASSIGN(SharedMemory imported, import_host(made.own.get(), made.nbytes));
  imported.own = std::move(made.own);
  return imported;
}

Result<SharedMemory> Device::import_host(std::byte* data, uint64_t nbytes) const {
  const uint64_t alignment = std::max<uint64_t>(facts_.offset_alignment, 64);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0 || nbytes % 16 != 0)
    return make_error(Code::INVALID_ARGUMENT, "import of " + std::to_string(nbytes) +
                                                  " bytes, expected an address at a multiple of " +
                                                  std::to_string(alignment) + " and a size of 16");
  if (nbytes > facts_.max_range_bytes)
    return make_error(Code::OUT_OF_MEMORY, "import of " + std::to_string(nbytes) + " bytes, '" + facts_.name +
                                               "' allows at most " + std::to_string(facts_.max_range_bytes));
  SharedMemory made;
  cl_int result = CL_SUCCESS;
  made.buffer = OwnedMemory(
      functions(), functions().CreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, nbytes,
                                            data, &result));
  ETB_TRY(note(result, "clCreateBuffer"));
  ETB_ASSIGN(made.queue, make_queue(false));
  made.host = data;
  made.nbytes = nbytes;
  return made;
}

Result<void*> Device::find_host_address(cl_mem buffer) const {
  cl_mem_flags flags = 0;
  void* address = nullptr;
  ETB_TRY(from_cl(functions().GetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof(flags), &flags, nullptr),
                  "clGetMemObjectInfo"));
  if ((flags & CL_MEM_USE_HOST_PTR) != 0)
    ETB_TRY(from_cl(functions().GetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(address), &address, nullptr),
                    "clGetMemObjectInfo"));
  return address;
}

// A driver may have a copy of the host's memory. A read or write of the buffer at its own address makes both equal.
Status Device::sync_shared(const SharedMemory& memory, bool is_write) const {
  if (memory.host == nullptr) return {};
  const Functions& cl = functions();
  return note(is_write ? cl.EnqueueWriteBuffer(memory.queue.get(), memory.buffer.get(), CL_TRUE, 0,
                                               memory.nbytes, memory.host, 0, nullptr, nullptr)
                       : cl.EnqueueReadBuffer(memory.queue.get(), memory.buffer.get(), CL_TRUE, 0,
                                              memory.nbytes, memory.host, 0, nullptr, nullptr),
              "sync of a buffer");
}

}  // namespace etb::opencl
