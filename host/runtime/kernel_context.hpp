// KernelContext: what a kernel may use besides its arguments - scratch memory, an error to fill, threads,
// random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "etb/status.h"
#include "host/runtime/stop_check.hpp"

namespace etb::host {

struct VectorTable;  // host/kernels/vector/table.hpp: the hot loops for one kind of CPU

// Runs body(argument, i) for i in [0, count), possibly on many threads; returns when all are done.
struct ParallelFor {
  void* self;
  int thread_count;
  void (*run)(void* self, int64_t count, void (*body)(void* argument, int64_t index), void* argument);
};

// A small counter-based generator: equal seeds give equal numbers on every machine.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed = 0) noexcept : state_(seed) {}
  uint64_t next() noexcept;         // 64 uniform bits
  double next_uniform() noexcept;   // [0, 1)
  double next_gaussian() noexcept;  // mean 0, deviation 1

 private:
  uint64_t state_;
};

// One per method being executed; not shared between threads. Never allocates: scratch comes from the maker.
class KernelContext {
 public:
  // `scratch` and `error` (may be null) stay with the caller and outlive the context. A null vector table
  // means the portable loops, a null `parallel` means one thread.
  explicit KernelContext(std::span<std::byte> scratch, const VectorTable* vector_table = nullptr,
                         etb_error* error = nullptr, const ParallelFor* parallel = nullptr,
                         uint64_t random_seed = 0) noexcept
      : scratch_(scratch),
        vector_table_(vector_table),
        error_(error),
        parallel_(parallel),
        random_(random_seed) {}

  // Memory valid until the kernel returns, aligned to 64 bytes; null when the scratch arena is used up.
  [[nodiscard]] void* allocate(uint64_t nbytes) noexcept;
  template <class T>
  [[nodiscard]] T* allocate_array(int64_t count) noexcept {
    uint64_t nbytes = 0;
    if (count < 0 || __builtin_mul_overflow(static_cast<uint64_t>(count), sizeof(T), &nbytes)) return nullptr;
    return static_cast<T*>(allocate(nbytes));
  }
  // Other scratch from the next kernel on, for a caller that grows it.
  void set_scratch(std::span<std::byte> scratch) noexcept {
    scratch_ = scratch;
    used_bytes_ = 0;
  }
  // Gives back at its end what was allocated since it was made.
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
  // The most scratch that a kernel asked or wished for so far, granted or not: what the arena should have.
  uint64_t scratch_peak_bytes() const noexcept { return peak_bytes_; }

  // Notes how much more scratch would make the kernel faster; it goes on with what there is.
  void wish_for(uint64_t nbytes) noexcept {
    if (used_bytes_ + nbytes > peak_bytes_) peak_bytes_ = used_bytes_ + nbytes;
  }

  // When the run has to stop. A kernel reports the work of its loops in elements, at least 1 a call and no more than kPiece between two
  // calls, and returns stopped() as soon as the answer is true: a deadline then holds within some milliseconds. What it returns does not
  // matter to the run, which looks for itself, but outputs and scratch may be half written: nothing may be read from them any more.
  static constexpr int64_t kPiece = int64_t{1} << 16;
  bool should_stop(int64_t work) noexcept { return stop_.should_stop(work); }
  etb_status stopped() const noexcept { return stop_.reason(); }
  // How many of `count` elements to work on before the next should_stop: all where no run has to stop, so that the fastest loops
  // stay whole.
  int64_t piece_of(int64_t count, int64_t piece = kPiece) const noexcept {
    return stop_.is_watching() && count > piece ? piece : count;
  }
  const StopCheck& stop_check() const noexcept { return stop_; }
  StopCheck& stop_check() noexcept { return stop_; }
  void set_stop_check(const StopCheck& check) noexcept { stop_ = check; }

  // Fills the caller's error with printf-style text behind the kernel's name and returns `status`.
  etb_status fail(etb_status status, const char* format, ...) noexcept __attribute__((format(printf, 3, 4)));

  // A kernel that did not get scratch returns this.
  etb_status fail_scratch(uint64_t nbytes) noexcept;

  // Called before each kernel: frees the scratch of the previous one; `name` is for error text.
  void begin_kernel(const char* name) noexcept {
    used_bytes_ = 0;
    kernel_name_ = name;
  }
  const char* kernel_name() const noexcept { return kernel_name_; }

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
