// SPDX-License-Identifier: Apache-2.0
// REDUCTION of elements: 0 their sum, 1 mean, 2 maximum, 3 minimum. Each invocation computes one result. Sums are added up
// in parts of 64, so that their error grows with the root of the number of elements at most.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;                      // results
  uint reduced;                    // elements of each
  uint kept_rank, rank;            // of the results, and of all
  uint sizes[6], strides[6];       // kept dimensions, then reduced ones; of each kind the last one first
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint from = 0, rest = index;
  for (uint d = 0; d < kept_rank; ++d) {
    uint above = rest / sizes[d];
    from += (rest - above * sizes[d]) * strides[d];
    rest = above;
  }
#if REDUCTION < 2
  float total = 0.0, part = 0.0;
#else
  float total = REDUCTION == 2 ? -INFINITY : INFINITY;
#endif
  uint inner = rank > kept_rank ? sizes[kept_rank] : 1, step = rank > kept_rank ? strides[kept_rank] : 0;
  for (uint outer = 0; outer * inner < reduced; ++outer) {
    uint at = from;
    rest = outer;
    for (uint d = kept_rank + 1; d < rank; ++d) {
      uint above = rest / sizes[d];
      at += (rest - above * sizes[d]) * strides[d];
      rest = above;
    }
    FOUR_EACH(first, inner) {
      EACH_OF_FOUR(i, first, inner) {
        float element = x[at + i * step];
#if REDUCTION < 2
        part += element;
#elif REDUCTION == 2
        total = is_nan(element) || element > total ? element : total;  // a comparison with NaN is false
#else
        total = is_nan(element) || element < total ? element : total;
#endif
      }
#if REDUCTION < 2
      if ((first & 63) == 60) {
        total += part;
        part = 0.0;
      }
#endif
    }
#if REDUCTION < 2
    total += part;
    part = 0.0;
#endif
  }
#if REDUCTION == 1
  total /= float(reduced);
#endif
  y[index] = total;
}
