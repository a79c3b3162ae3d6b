// SPDX-License-Identifier: Apache-2.0
// BorrowedCopy: a copy of arguments that the plugin may read during the call only (ABI-OWN-01): options, specs,
// targets, graph images and texts, with all that they point to. A later read is reported, and so is a write.
#pragma once

#include <memory>

#include "host/layers/validate/structs.hpp"

namespace etb::host::validate {

// Copies arguments that have passed the checks of structs.hpp into one block. The first pass has no block and measures it.
class ArgumentCopier {
 public:
  ArgumentCopier() = default;
  ArgumentCopier(uint8_t* block, uint8_t* inside) : block_(block), inside_(inside) {}

  uint64_t nbytes() const noexcept { return nbytes_; }

  // Each returns the address of the copy for the plugin. NULL stays NULL.
  const void* bytes(const void* from, uint64_t nbytes, uint64_t alignment);
  const char* text(const char* from);
  const etb_option* options(const etb_option* from, uint64_t count);
  const etb_compile_spec* specs(const etb_compile_spec* from, uint64_t count);
  const etb_target* target(const etb_target* from);
  const etb_graph_image* graphs(const etb_graph_image* from, uint64_t count);
  const etb_fence* fences(const etb_fence* from, uint64_t count);

  // Copies a struct whose fields were replaced in `patched`, and the rest of a struct that is longer.
  template <class T>
  const T* whole(const T* real, const T& patched) {
    const void* const copy = bytes(real, real->struct_size, alignof(T));
    replace(copy, &patched, std::min<uint64_t>(real->struct_size, sizeof(T)));
    return static_cast<const T*>(copy);
  }

 private:
  template <class T, class Patch>
  const T* array(const T* from, uint64_t count, Patch&& patch);
  void replace(const void* copy, const void* from, uint64_t nbytes);

  uint8_t* block_ = nullptr;
  uint8_t* inside_ = nullptr;
  uint64_t nbytes_ = 0;
};

class BorrowedCopy {
 public:
  // `fill(copier)` copies the arguments and keeps their addresses; it is called twice, or never if the arguments are not
  // sound or the call is rejected. `what` names the arguments in reports.
  template <class Fill>
  BorrowedCopy(Call& call, bool is_sound, const char* what, Fill&& fill) : call_(call), what_(what) {
    if (!is_sound || call.is_refused()) return;
    ArgumentCopier measured;
    fill(measured);
    if (measured.nbytes() == 0) return;
    block_ = std::make_unique<GuardedBytes>(call.memory(), measured.nbytes(), kAlignment, Access::kReads);
    ArgumentCopier copier(block_->data(), block_->inside());
    fill(copier);
    block_->seal();
  }
  BorrowedCopy(const BorrowedCopy&) = delete;
  BorrowedCopy& operator=(const BorrowedCopy&) = delete;

  // Called after the call: reports writes, and every later access.
  void end();

 private:
  static constexpr uint64_t kAlignment = ETB_GRAPH_ALIGNMENT;

  Call& call_;
  const char* const what_;
  std::unique_ptr<GuardedBytes> block_;
};

// Options as a parameter of a function: checked, and copied for the time of the call.
class BorrowedOptions {
 public:
  BorrowedOptions(Call& call, const etb_option* options, uint64_t count)
      : given_(options),
        copy_(call, check_options(call, Side::HOST, options, count, "options"), "options",
              [this, options, count](ArgumentCopier& to) { given_ = to.options(options, count); }) {}

  const etb_option* get() const { return given_; }
  void end() { copy_.end(); }

 private:
  const etb_option* given_;
  BorrowedCopy copy_;
};

}  // namespace etb::host::validate
