// SPDX-License-Identifier: Apache-2.0
// Functions of the C library, for firmware with newlib: texts without heap, and one way to stop. Linked before the library, so its own are
// left out.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "host/firmware/text_format.h"
#include "host/runtime/platform_functions.h"

int vsnprintf(char* restrict out, size_t capacity, const char* restrict format, va_list args) {
  return etb_format_text(out, capacity, format, args);
}

int snprintf(char* restrict out, size_t capacity, const char* restrict format, ...) {
  va_list args;
  va_start(args, format);
  const int length = etb_format_text(out, capacity, format, args);
  va_end(args);
  return length;
}

__attribute__((weak)) void etb_platform_abort(const char* reason) {
  (void)reason;
  for (;;) {
  }
}

void abort(void) {
  etb_platform_abort("abort");
  for (;;) {
  }
}

void __assert_func(const char* file, int line, const char* function, const char* expression) {
  (void)file, (void)line, (void)function;
  etb_platform_abort(expression);
  for (;;) {
  }
}

void __cxa_pure_virtual(void);
void __cxa_pure_virtual(void) {
  etb_platform_abort("a virtual function without a body");
  for (;;) {
  }
}

// std::__throw_out_of_range_fmt(const char*, ...): std::bitset and std::array call it for an index that our own checks let
// through. libstdc++'s throws, which would link exceptions and a heap.
void throw_out_of_range(const char* format, ...) __asm__("_ZSt24__throw_out_of_range_fmtPKcz");
void throw_out_of_range(const char* format, ...) { etb_platform_abort(format); }

// Atomic 64-bit integers, which Cortex-M has no instruction for: without interrupts, on one core.
static inline uint32_t begin_atomic(void) {
  uint32_t mask;
  __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(mask) : : "memory");
  return mask;
}
static inline void end_atomic(uint32_t mask) { __asm__ volatile("msr primask, %0" : : "r"(mask) : "memory"); }

// GCC knows these names as functions of its own.
uint64_t load_atomic(const volatile void* at, int order) __asm__("__atomic_load_8");
uint64_t load_atomic(const volatile void* at, int order) {
  (void)order;
  const uint32_t mask = begin_atomic();
  const uint64_t value = *(const volatile uint64_t*)at;
  end_atomic(mask);
  return value;
}

void store_atomic(volatile void* at, uint64_t value, int order) __asm__("__atomic_store_8");
void store_atomic(volatile void* at, uint64_t value, int order) {
  (void)order;
  const uint32_t mask = begin_atomic();
  *(volatile uint64_t*)at = value;
  end_atomic(mask);
}

uint64_t add_atomic(volatile void* at, uint64_t value, int order) __asm__("__atomic_fetch_add_8");
uint64_t add_atomic(volatile void* at, uint64_t value, int order) {
  (void)order;
  const uint32_t mask = begin_atomic();
  const uint64_t before = *(volatile uint64_t*)at;
  *(volatile uint64_t*)at = before + value;
  end_atomic(mask);
  return before;
}

// Destructors of objects of the whole program: firmware never ends.
int __aeabi_atexit(void* object, void (*destructor)(void*), void* library);
int __aeabi_atexit(void* object, void (*destructor)(void*), void* library) {
  (void)object, (void)destructor, (void)library;
  return 0;
}
