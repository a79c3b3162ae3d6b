// SPDX-License-Identifier: Apache-2.0
// Runs DS-CNN once, in memory of this file: the part of the firmware that is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "etb/status.h"

constexpr int kInputCount = 490;  // 49 frames of 10 coefficients
constexpr int kClassCount = 12;

struct Result {
  float scores[kClassCount];
  int best;
  uint64_t ticks;          // of the run, on the clock that `now` reads
  uint32_t model_bytes;    // memory that program, method and plugin use
  uint32_t scratch_bytes;  // memory that kernels need during a run, besides
};

// model  a program in memory, on a 16-byte boundary. It may be damaged: then the answer is an error with its place.
// input  kInputCount floats.
// runs   false: loads the program only.
// now    a clock.
etb_status classify(std::span<const std::byte> model, const float* input, bool runs, uint64_t (*now)(),
                    Result& out, etb_error* error) noexcept;
