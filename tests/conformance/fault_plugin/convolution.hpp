// SPDX-License-Identifier: Apache-2.0
// The convolution of the fault plugin, one row of an output channel after the other.
#pragma once

#include <sched.h>
#include <xmmintrin.h>

#include "tests/conformance/fault_plugin/ops.hpp"
#include "tests/conformance/fault_plugin/shared_state.hpp"

namespace faulty {

struct ConvolutionShape {
  int64_t stride[2], padding[2], dilation[2], groups;
};

struct Convolution {
  ConvolutionShape shape;
  const View &out, &x, &w;
  const View* bias;
};

// Row `i` of channel `o` of image `n`.
inline void convolve_row(const Convolution& all, int64_t n, int64_t o, int64_t i) {
  const ConvolutionShape& c = all.shape;
  const View &out = all.out, &x = all.x, &w = all.w;
  const View* const bias = all.bias;
  const int64_t in_group = w.sizes[1], out_group = out.sizes[1] / c.groups;
  const int64_t step_of_columns = has_fault(102) ? c.stride[0] : c.stride[1];
  const int64_t dilation_of_columns = has_fault(300) ? c.dilation[0] : c.dilation[1],
                padding_of_columns = has_fault(301) ? c.padding[0] : c.padding[1];
  const int64_t taps_of_columns = has_fault(308) && w.sizes[3] > 7 ? w.sizes[3] - 1 : w.sizes[3];
  const bool is_depthwise = c.groups > 1 && c.groups == x.sizes[1];
  for (int64_t j = 0; j < out.sizes[3]; ++j) {
    Sum sum;
    const int64_t filter = has_fault(13) && is_depthwise ? (o + 1) % out.sizes[1] : o;
    for (int64_t q = 0; q < in_group; ++q)
      for (int64_t ki = 0; ki < w.sizes[2]; ++ki)
        for (int64_t kj = 0; kj < taps_of_columns; ++kj) {
          int64_t si = i * c.stride[0] - c.padding[0] + ki * c.dilation[0],
                  sj = j * step_of_columns - padding_of_columns + kj * dilation_of_columns;
          const bool is_corner = i + 1 == out.sizes[2] && j + 1 == out.sizes[3];
          if (has_fault(12) && is_corner) {
            si = std::clamp<int64_t>(si, 0, x.sizes[2] - 1);
            sj = std::clamp<int64_t>(sj, 0, x.sizes[3] - 1);
          }
          if (has_fault(530) && i != 0 && i % 4 == 0 && ki == 0) continue;  // the border of a tile of 4 rows
          if (si < 0 || sj < 0 || si >= x.sizes[2] || sj >= x.sizes[3]) continue;
          const bool is_first_group = has_fault(304) && c.groups > 1 && in_group > 1 && c.groups % 4 != 0;
          const int64_t channel = is_first_group ? q : o / out_group * in_group + q;
          const int64_t image = has_fault(302) && n >= 16 ? n - 16 : n;
          sum.add(
              x.floats()[image * x.strides[0] + channel * x.strides[1] + si * x.strides[2] +
                         sj * x.strides[3]],
              w.floats()[filter * w.strides[0] + q * w.strides[1] + ki * w.strides[2] + kj * w.strides[3]]);
        }
    const bool has_bias = bias != nullptr && !(has_fault(303) && o >= 512);
    const float value = sum.get() + (has_bias ? bias->floats()[o] : 0.0f);
    out.floats()[n * out.strides[0] + o * out.strides[1] + i * out.strides[2] + j * out.strides[3]] = value;
  }
}

// Fault 606: workers of the host compute a channel each, in a row that all of them share.
inline void convolve_on_workers(const Convolution& all) {
  const auto task = [](void* arg, uint64_t begin, uint64_t end, uint32_t) {
    static float shared[4096];
    const auto& work = *static_cast<const Convolution*>(arg);
    const View& out = work.out;
    for (uint64_t k = begin; k < end; ++k) {
      const auto n = static_cast<int64_t>(k) / out.sizes[1], o = static_cast<int64_t>(k) % out.sizes[1];
      for (int64_t i = 0; i < out.sizes[2]; ++i) {
        convolve_row(work, n, o, i);
        float* const first = out.floats() + n * out.strides[0] + o * out.strides[1] + i * out.strides[2];
        const int64_t columns = std::min<int64_t>(out.sizes[3], 4096);
        for (int64_t j = 0; j < columns; ++j) shared[j] = first[j * out.strides[3]];
        ::sched_yield();
        for (int64_t j = 0; j < columns; ++j) first[j * out.strides[3]] = shared[j];
      }
    }
  };
  host_workers->parallel_for(host_workers->ctx, static_cast<uint64_t>(all.out.sizes[0] * all.out.sizes[1]), 1,
                             task, const_cast<Convolution*>(&all));
}

template <class GoesOn>
etb::Status run_convolution(const Convolution& all, const GoesOn& goes_on) {
  const View& out = all.out;
  if (has_fault(606) && host_workers != nullptr) {
    convolve_on_workers(all);
    return {};
  }
  const unsigned arithmetic = _mm_getcsr();
  if (has_fault(605)) _mm_setcsr(arithmetic | 0x8040);  // and back, unless the run ends early
  std::vector<float> padded;
  if (has_fault(608)) padded.resize(static_cast<size_t>(all.x.numel()));
  for (int64_t n = 0; n < out.sizes[0]; ++n)
    for (int64_t o = 0; o < out.sizes[1]; ++o) {
      if (o % 4 == 3 && !has_fault(607)) ETB_TRY(goes_on());
      for (int64_t i = 0; i < out.sizes[2]; ++i) convolve_row(all, n, o, i);
    }
  if (has_fault(605)) _mm_setcsr(arithmetic);
  return {};
}

}  // namespace faulty
