// ArgumentMemory: a delegate's arguments, lying as its plugin asked in query_io. Those that may not (a caller's pointer, a
// constant in the file, the end of an arena) are copied, to memory that is taken when the delegate is made. What stands behind
// an output in an arena is kept for the time of a run instead.
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
  // `arenas` is copied. Of `argument_count` arguments the first `input_count` are inputs. `copies` is that of the method.
  ArgumentMemory(std::span<const std::span<std::byte>> arenas, std::shared_ptr<CopyMemory> copies,
                 uint32_t input_count, size_t argument_count);

  // Notes one item of query_io. NOT_SUPPORTED for what no host could give, INVALID_DATA for an argument that is not there.
  [[nodiscard]] Status require(const etb_io_req& req);

  // Takes memory for each argument of a call, unless it lies well and stays there (`may_move` is false).
  [[nodiscard]] Status reserve(std::span<EValue* const> arguments, bool may_move);

  // Where the plugin finds the `nbytes` of an argument that are at `data`, which holds `capacity_bytes`: there, or in a copy.
  // Null data when nothing was reserved for it.
  struct Lent {
    void* data;
    uint64_t capacity_bytes;
  };
  Lent lend(uint32_t argument, void* data, uint64_t nbytes, uint64_t capacity_bytes) noexcept;

  // Around a run with all arguments lent: keeps what the plugin may write behind outputs, and puts it back. False when another
  // argument lies there, which was not so when memory was taken.
  [[nodiscard]] bool keep_what_is_behind(std::span<const etb_tensor> lent) noexcept;
  void put_back() noexcept;

 private:
  static constexpr uint64_t kMaxKeptNbytes = 64;
  static constexpr size_t kNone = SIZE_MAX;

  struct Need {
    uint64_t alignment = 1;
    uint64_t padding_bytes = 0;
    uint64_t upper_nbytes = 0;
    bool keeps = false;   // an output with writable padding in an arena, where others stand
    size_t copy = kNone;  // its block of copies
  };
  struct Kept {
    uint32_t argument;
    std::byte* place = nullptr;  // in this run; NULL: nothing to put back
    std::array<std::byte, kMaxKeptNbytes> bytes{};
  };

  Status reserve_one(uint32_t argument, const EValue& value, bool may_move);
  bool is_free_behind(uint32_t argument, std::span<EValue* const> arguments) const;
  bool lies_well(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept;

  std::vector<std::span<std::byte>> arenas_;
  std::shared_ptr<CopyMemory> copies_;
  size_t copy_count_ = 0;
  std::vector<Need> needs_;
  std::vector<Kept> kept_;  // one for each that `keeps`
  uint32_t input_count_;
};

}  // namespace etb::host
