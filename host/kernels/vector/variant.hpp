// SPDX-License-Identifier: Apache-2.0
// Included by every file that is compiled once per kind of CPU: its namespace and loop hints.
//
// Such a file may define functions only inside ETB_VARIANT (or force them inline): a function with one name in two variants
// would be merged by the linker, and a baseline CPU would run AVX-512 code. This holds for templates of the standard library
// too, so these files use none.
#pragma once

#ifndef ETB_VARIANT
#define ETB_VARIANT baseline
#endif

#if defined(__clang__)
#define ETB_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define ETB_LOOP _Pragma("GCC ivdep")
#endif
#define ETB_INLINE inline __attribute__((always_inline))

// Bytes of the widest vector register, for code that blocks by registers.
#if defined(__AVX512F__)
#define ETB_VECTOR_NBYTES 64
#elif defined(__AVX2__)
#define ETB_VECTOR_NBYTES 32
#else
#define ETB_VECTOR_NBYTES 16
#endif
