// SPDX-License-Identifier: Apache-2.0
// ArgumentStaging: provides a delegate's arguments with the alignment and padding that its plugin requires in
// query_io. An argument that does not meet them (a caller's pointer, a constant in the file, the end of an arena)
// is staged: the plugin gets a copy. The memory for copies is allocated when the delegate is created. Bytes after
// an output in an arena are not staged. They are saved before each run and restored after it, unless other instructions
// use them meanwhile: then the output is staged.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/delegate.h"
#include "host/delegates/staging_memory.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::host {

class ArgumentStaging {
 public:
  // Copies `arenas`. The first `input_count` of `argument_count` arguments are inputs. Delegates that never run at the same
  // time share `copies`. `runs_alone`: no other instruction runs during a run.
  ArgumentStaging(std::span<const std::span<std::byte>> arenas, std::shared_ptr<StagingMemory> copies,
                  uint32_t input_count, size_t argument_count, bool runs_alone);

  // Records one item of query_io. Returns NOT_SUPPORTED for a requirement that no host can meet, INVALID_DATA
  // for an unknown argument.
  [[nodiscard]] Status require(const etb_io_req& req);

  // Allocates memory for each argument of a call, unless its address is suitable and fixed (`may_move` is
  // false).
  [[nodiscard]] Status reserve(std::span<EValue* const> arguments, bool may_move);

  // Returns the address that the plugin gets for an argument's `nbytes` at `data`, which has room for
  // `capacity_bytes`: `data` itself, or a copy. Null data if nothing was reserved for the argument.
  struct StagedArgument {
    void* data;
    uint64_t capacity_bytes;
  };
  StagedArgument stage(uint32_t argument, void* data, uint64_t nbytes, uint64_t capacity_bytes) noexcept;

  // True if stage() copies the bytes of an input.
  bool copies_input(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept {
    return requirements_[argument].upper_nbytes != 0 && !is_compatible(argument, data, capacity_bytes);
  }

  // Saves the bytes after outputs that the plugin may write. Call it before a run, with all arguments staged;
  // call restore_padding() after the run. Returns false if another argument overlaps these bytes but did not when
  // memory was reserved.
  [[nodiscard]] bool save_padding(std::span<const etb_tensor> staged) noexcept;
  void restore_padding() noexcept;

 private:
  static constexpr uint64_t kMaxSavedNbytes = 64;
  static constexpr size_t kNone = SIZE_MAX;

  struct Requirement {
    uint64_t alignment = 1;
    uint64_t padding_bytes = 0;
    uint64_t upper_nbytes = 0;
    bool saves_padding = false;  // an output with writable padding in an arena, over other tensors
    size_t copy = kNone;         // index of its block in copies
  };
  struct SavedPadding {
    uint32_t argument;
    std::byte* address = nullptr;  // in this run; NULL: nothing to restore
    std::array<std::byte, kMaxSavedNbytes> bytes{};
  };

  Status reserve_argument(uint32_t argument, const EValue& value, bool may_move);
  bool is_padding_free(uint32_t argument, std::span<EValue* const> arguments) const;
  bool is_compatible(uint32_t argument, const void* data, uint64_t capacity_bytes) const noexcept;

  std::vector<std::span<std::byte>> arenas_;
  std::shared_ptr<StagingMemory> copies_;
  size_t copy_count_ = 0;
  std::vector<Requirement> requirements_;
  std::vector<SavedPadding> saved_;  // one for each argument that `saves_padding`
  uint32_t input_count_;
  bool runs_alone_;
};

}  // namespace etb::host
