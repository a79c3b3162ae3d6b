// SPDX-License-Identifier: Apache-2.0
// ArgumentMemory: provides a delegate's arguments with the alignment and padding that its plugin asked for in
// query_io. Copies arguments that lack them (a caller's pointer, a constant in the file, the end of an
// arena). The memory for copies is allocated when the delegate is created. Bytes after an output in an arena
// are not copied; they are saved and restored around each run.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/delegate.h"
#include "host/delegates/copy_memory.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::host {

class ArgumentMemory {
 public:
  // Copies `arenas`. The first `input_count` of `argument_count` arguments are inputs. The method's
  // delegates share `copies`.
  ArgumentMemory(std::span<const std::span<std::byte>> arenas, std::shared_ptr<CopyMemory> copies,
                 uint32_t input_count, size_t argument_count);

  // Records one item of query_io. Returns NOT_SUPPORTED for a requirement that no host can meet, INVALID_DATA
  // for an unknown argument.
  [[nodiscard]] Status require(const etb_io_req& req);

  // Allocates memory for each argument of a call, unless its address is suitable and fixed (`may_move` is
  // false).
  [[nodiscard]] Status reserve(std::span<EValue* const> arguments, bool may_move);

  // Returns the address for the plugin of an argument's `nbytes` at `data`, which has room for
  // `capacity_bytes`: `data` itself, or a copy. Null data when nothing was reserved for the argument.
  struct Lent {
    void* data;
    uint64_t capacity_bytes;
  };
  Lent lend(uint32_t argument, void* data, uint64_t nbytes, uint64_t capacity_bytes) noexcept;

  // Saves the bytes after outputs that the plugin may write, before a run with all arguments lent;
  // put_back() restores them. Returns false when another argument overlaps them, which was not so
  // when memory was reserved.
  [[nodiscard]] bool keep_what_is_behind(std::span<const etb_tensor> lent) noexcept;
  void put_back() noexcept;

 private:
  static constexpr uint64_t kMaxKeptNbytes = 64;
  static constexpr size_t kNone = SIZE_MAX;

  struct Need {
    uint64_t alignment = 1;
    uint64_t padding_bytes = 0;
    uint64_t upper_nbytes = 0;
    bool keeps = false;   // an output with writable padding in an arena, over other tensors
    size_t copy = kNone;  // index of its block in copies
  };
  struct Kept {
    uint32_t argument;
    std::byte* place = nullptr;  // in this run; NULL: nothing to restore
    std::array<std::byte, kMaxKeptNbytes> bytes{};
  };

  Status reserve_one(uint32_t argument, const EValue& value, bool may_move);
  bool is_free_behind(uint32_t argument, std::span<EValue* const> arguments) const;
  bool lies_well(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept;

  std::vector<std::span<std::byte>> arenas_;
  std::shared_ptr<CopyMemory> copies_;
  size_t copy_count_ = 0;
  std::vector<Need> needs_;
  std::vector<Kept> kept_;  // one for each argument that `keeps`
  uint32_t input_count_;
};

}  // namespace etb::host
