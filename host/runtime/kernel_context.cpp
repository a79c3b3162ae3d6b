// SPDX-License-Identifier: Apache-2.0
// Scratch, error text and random numbers for kernels.
#include "host/runtime/kernel_context.hpp"

#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace etb::host {
namespace {
constexpr uint64_t kAlignment = 64;  // a cache line, and the widest vector register
}

void* KernelContext::allocate(uint64_t nbytes) noexcept {
  const auto base = reinterpret_cast<uintptr_t>(scratch_.data());
  const uint64_t start = ((base + used_bytes_ + kAlignment - 1) & ~(kAlignment - 1)) - base;
  uint64_t end = 0;
  if (__builtin_add_overflow(start, nbytes, &end)) return nullptr;
  if (end > peak_bytes_) peak_bytes_ = end;
  if (end > scratch_.size()) return nullptr;
  used_bytes_ = end;
  return scratch_.data() + start;
}

#if ETB_ERROR_TEXTS
etb_status KernelContext::fail(etb_status status, const char* format, ...) noexcept {
  if (error_ == nullptr || error_->struct_size < sizeof(etb_error)) return status;
  error_->code = status;
  error_->vendor_code = 0;
  error_->reason[0] = '\0';
  int written = std::snprintf(error_->text, sizeof(error_->text), "%s: ", kernel_name_);
  if (written < 0 || static_cast<size_t>(written) >= sizeof(error_->text)) return status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error_->text + written, sizeof(error_->text) - static_cast<size_t>(written), format,
                 arguments);
  va_end(arguments);
  return status;
}
#endif

etb_status KernelContext::fail_scratch(uint64_t nbytes) noexcept {
  wish_for(nbytes + kAlignment);
  return fail(ETB_OUT_OF_RESOURCES, "needs %llu bytes of scratch, %llu of %llu are left",
              static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(scratch_left_bytes()),
              static_cast<unsigned long long>(scratch_.size()));
}

// SplitMix64 (Steele, Lea, Flood 2014): passes BigCrush, needs eight bytes of state.
uint64_t RandomNumbers::next() noexcept {
  uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double RandomNumbers::next_uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double RandomNumbers::next_gaussian() noexcept {
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2.0 * std::log(1.0 - next_uniform()));  // Box and Muller; 1 - u is never 0
  return radius * std::cos(kTwoPi * next_uniform());
}

}  // namespace etb::host
