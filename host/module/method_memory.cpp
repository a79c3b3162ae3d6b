#include "host/module/method_memory.hpp"

namespace etb::host {

namespace {

constexpr uint64_t kBoundary = 64;

// Behind each arena. Plugins that read past a tensor's end ask for less, and so need no copy of the last tensor.
constexpr uint64_t kArenaPadding = 64;

}  // namespace

Result<ZeroedBuffer> ZeroedBuffer::make(uint64_t nbytes) {
  ZeroedBuffer buffer;
  if (nbytes > SIZE_MAX - kBoundary) {
    return make_error(Code::OUT_OF_MEMORY, std::to_string(nbytes) + " bytes of memory");
  }
  // calloc, because fresh zero pages cost nothing until they are used.
  buffer.memory_.reset(std::calloc(1, static_cast<size_t>(nbytes + kBoundary)));
  if (buffer.memory_ == nullptr)
    return make_error(Code::OUT_OF_MEMORY, std::to_string(nbytes) + " bytes of memory");
  const auto address = reinterpret_cast<uintptr_t>(buffer.memory_.get());
  const size_t lead = (kBoundary - address % kBoundary) % kBoundary;
  buffer.bytes_ = {static_cast<std::byte*>(buffer.memory_.get()) + lead, static_cast<size_t>(nbytes)};
  return buffer;
}

Status Arenas::make(std::span<const uint64_t> sizes, uint64_t max_bytes) {
  uint64_t total = 0;
  for (const uint64_t size : sizes) {
    if (__builtin_add_overflow(total, size, &total) || total > max_bytes) {
      return make_error(Code::OUT_OF_MEMORY, "the memory plan asks for more than " +
                                                 std::to_string(max_bytes) + " bytes, the module's limit");
    }
  }
  for (const uint64_t size : sizes) {
    if (size > UINT64_MAX - kArenaPadding)
      return make_error(Code::OUT_OF_MEMORY, std::to_string(size) + " bytes of memory");
    ETB_ASSIGN(ZeroedBuffer buffer, ZeroedBuffer::make(size + kArenaPadding));
    spans.push_back(buffer.bytes());
    buffers.push_back(std::move(buffer));
  }
  return {};
}

}  // namespace etb::host
