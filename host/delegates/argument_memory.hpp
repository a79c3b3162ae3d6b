// ArgumentMemory: a delegate's arguments, lying as its plugin asked in query_io. Those that may not (a caller's pointer, a
// constant in the file, the end of an arena) get memory of their own when the delegate is made, and are copied.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/delegate.h"
#include "host/runtime/evalue.hpp"

namespace etb::host {

class ArgumentMemory {
 public:
  // `arenas` is copied. Of `argument_count` arguments the first `input_count` are inputs.
  ArgumentMemory(std::span<const std::span<std::byte>> arenas, uint32_t input_count, size_t argument_count);

  // Notes one item of query_io. NOT_SUPPORTED for what no host could give, INVALID_DATA for an argument that is not there.
  [[nodiscard]] Status require(const etb_io_req& req);

  // Takes memory for `argument` unless it lies well and stays there (`may_move` is false).
  [[nodiscard]] Status reserve(uint32_t argument, const EValue& value, bool may_move);

  // Where the plugin finds the `nbytes` of an argument that are at `data`, which holds `capacity_bytes`: there, or in a copy.
  // Null data when nothing was reserved for it.
  struct Lent {
    void* data;
    uint64_t capacity_bytes;
  };
  Lent lend(uint32_t argument, void* data, uint64_t nbytes, uint64_t capacity_bytes) noexcept;

 private:
  struct AlignedFree {
    std::align_val_t alignment;
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
  };
  struct Need {
    uint64_t alignment = 1;
    uint64_t padding_bytes = 0;
    uint64_t upper_nbytes = 0;
    std::unique_ptr<std::byte, AlignedFree> own{nullptr, {std::align_val_t{1}}};
  };

  bool lies_well(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept;

  std::vector<std::span<std::byte>> arenas_;
  std::vector<Need> needs_;
  uint32_t input_count_;
};

}  // namespace etb::host
