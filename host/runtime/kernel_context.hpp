// SPDX-License-Identifier: Apache-2.0
// KernelContext: the services of the runtime for a kernel - scratch memory, an error to fill, threads, random
// numbers, and the check for a stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "etb/cpp/fail.hpp"
#include "host/runtime/stop_check.hpp"

namespace etb::host {

struct VectorTable;  // host/kernels/vector/table.hpp: the hot loops for one kind of CPU

// Runs body(argument, i) for i in [0, count), possibly on many threads. Returns when all calls are done.
struct ParallelFor {
  void* self;
  int thread_count;
  void (*run)(void* self, int64_t count, void (*body)(void* argument, int64_t index), void* argument);
};

// A small counter-based generator. Equal seeds result in equal numbers on every machine.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed = 0) noexcept : state_(seed) {}
  uint64_t next() noexcept;         // 64 uniform bits
  double next_uniform() noexcept;   // [0, 1)
  double next_gaussian() noexcept;  // mean 0, deviation 1

 private:
  uint64_t state_;
};

// One per executing method; not shared between threads. Never allocates: the creator provides the scratch.
class KernelContext {
 public:
  // `scratch` and `error` (may be null) are borrowed and outlive the context. A null vector table means the
  // portable loops, a null `parallel` means one thread.
  explicit KernelContext(std::span<std::byte> scratch, const VectorTable* vector_table = nullptr,
                         etb_error* error = nullptr, const ParallelFor* parallel = nullptr,
                         uint64_t random_seed = 0) noexcept
      : scratch_(scratch),
        vector_table_(vector_table),
        error_(error),
        parallel_(parallel),
        random_(random_seed) {}

  // Returns memory valid until the kernel returns, aligned to 64 bytes, or null when the scratch is used up.
  [[nodiscard]] void* allocate(uint64_t nbytes) noexcept;
  template <class T>
  [[nodiscard]] T* allocate_array(int64_t count) noexcept {
    uint64_t nbytes = 0;
    if (count < 0 || __builtin_mul_overflow(static_cast<uint64_t>(count), sizeof(T), &nbytes)) return nullptr;
    return static_cast<T*>(allocate(nbytes));
  }
  // Replaces the scratch from the next kernel on, for a caller that grows it.
  void set_scratch(std::span<std::byte> scratch) noexcept {
    scratch_ = scratch;
    used_bytes_ = 0;
  }
  // Releases in its destructor the scratch allocated during its life.
  class Mark {
   public:
    explicit Mark(KernelContext& context) noexcept : context_(context), used_bytes_(context.used_bytes_) {}
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark() { context_.used_bytes_ = used_bytes_; }

   private:
    KernelContext& context_;
    uint64_t used_bytes_;
  };
  uint64_t scratch_left_bytes() const noexcept { return scratch_.size() - used_bytes_; }
  // The most scratch that a kernel has asked or wished for, granted or not. The arena should have this size.
  uint64_t scratch_peak_bytes() const noexcept { return peak_bytes_; }

  // Measures the scratch of one kernel: end_peak() returns the most bytes that it got since begin_peak(), whose
  // answer it takes.
  uint64_t begin_peak() noexcept { return std::exchange(peak_bytes_, 0); }
  uint64_t end_peak(uint64_t peak_before) noexcept {
    const uint64_t found = peak_bytes_;
    if (peak_before > peak_bytes_) peak_bytes_ = peak_before;
    return found < scratch_.size() ? found : scratch_.size();
  }

  // Records that `nbytes` more scratch would make the kernel faster. The kernel continues
  // with the scratch it has.
  void wish_for(uint64_t nbytes) noexcept {
    if (used_bytes_ + nbytes > peak_bytes_) peak_bytes_ = used_bytes_ + nbytes;
  }

  // Checks for a deadline or a cancelled run. A kernel reports the work of its loops in elements, at least 1
  // a call and at most kPiece between two calls. It returns stopped() as soon as this is true, so that a
  // deadline holds within some milliseconds. The run ignores the kernel's status then and checks by itself.
  // Outputs and scratch may be half written and must not be read.
  static constexpr int64_t kPiece = int64_t{1} << 16;
  bool should_stop(int64_t work) noexcept { return stop_.should_stop(work); }
  etb_status stopped() const noexcept { return stop_.reason(); }
  // Number of elements to process before the next should_stop, at most `count`. Returns `count` when the run
  // has no limits, so that the fastest loops are not split.
  int64_t piece_of(int64_t count, int64_t piece = kPiece) const noexcept {
    return stop_.is_watching() && count > piece ? piece : count;
  }
  const StopCheck& stop_check() const noexcept { return stop_; }
  StopCheck& stop_check() noexcept { return stop_; }
  void set_stop_check(const StopCheck& check) noexcept { stop_ = check; }

  // Fills the caller's error with the kernel's name and the formatted text (as printf), and returns `status`.
#if ETB_ERROR_TEXTS
  etb_status fail(etb_status status, const char* format, ...) noexcept __attribute__((format(printf, 3, 4)));
#else
  template <class... Arguments>
  etb_status fail(etb_status status, ErrorId format, const Arguments&... arguments) noexcept {
    return etb::fail(error_, status, format, arguments...);
  }
#endif

  // Error of a kernel that got no scratch.
  etb_status fail_scratch(uint64_t nbytes) noexcept;

  // Called before each kernel. Releases the scratch of the previous kernel; `name` is for error text.
  void begin_kernel(const char* name) noexcept {
    used_bytes_ = 0;
    kernel_name_ = name;
  }

  const VectorTable* vector_table() const noexcept { return vector_table_; }
  const ParallelFor* parallel() const noexcept { return parallel_; }
  RandomNumbers& random() noexcept { return random_; }

 private:
  std::span<std::byte> scratch_;
  uint64_t used_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  const VectorTable* vector_table_;
  etb_error* error_;
  const ParallelFor* parallel_;
  const char* kernel_name_ = "";
  RandomNumbers random_;
  StopCheck stop_;
};

}  // namespace etb::host
