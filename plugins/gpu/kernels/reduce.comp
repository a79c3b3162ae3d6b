// SPDX-License-Identifier: Apache-2.0
// REDUCTION of elements: 0 their sum, 1 mean, 2 maximum, 3 minimum, 4 and 5 the position of the first maximum and minimum among them. Each invocation computes one result. Sums are added up
// in parts of 64, so that their error grows with the root of the number of elements at most.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;                      // results
  uint reduced;                    // elements of each
  uint kept_rank, rank;            // of the results, and of all
  uint sizes[6], strides[6];       // kept dimensions, then reduced ones; of each kind the last one first
END_PUSH

KERNEL2(READS, float, x, WRITES, float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint from = 0, rest = index;
  ROLLED for (uint d = 0; d < push.kept_rank; ++d) {
    uint above = rest / push.sizes[d];
    from += (rest - above * push.sizes[d]) * push.strides[d];
    rest = above;
  }
#if REDUCTION < 2
  float total = 0.0f, part = 0.0f;
#else
  float total = REDUCTION % 2 == 0 ? -INFINITY : INFINITY;
#endif
#if REDUCTION >= 4
  float position = 0.0f;
#endif
  bool has_inner = push.rank > push.kept_rank;
  uint inner = has_inner ? push.sizes[push.kept_rank] : 1, step = has_inner ? push.strides[push.kept_rank] : 0;
  for (uint outer = 0; outer * inner < push.reduced; ++outer) {
    uint at = from;
    rest = outer;
    ROLLED for (uint d = push.kept_rank + 1; d < push.rank; ++d) {
      uint above = rest / push.sizes[d];
      at += (rest - above * push.sizes[d]) * push.strides[d];
      rest = above;
    }
    FOUR_EACH(first, inner) {
#if REDUCTION < 2
      float four[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#endif
      EACH_OF_FOUR(i, first, inner) {
        float element = LOAD(x, at + i * step);
#if REDUCTION < 2
        four[n] = element;
#elif REDUCTION == 2
        total = is_nan(element) || element > total ? element : total;  // a comparison with NaN is false
#elif REDUCTION == 3
        total = is_nan(element) || element < total ? element : total;
#else
        bool is_better = is_nan(element) || (REDUCTION == 4 ? element > total : element < total);
        is_better = is_better && !is_nan(total);
        position = is_better ? float(outer * inner + i) : position;
        total = is_better ? element : total;
#endif
      }
#if REDUCTION < 2
      part += (four[0] + four[1]) + (four[2] + four[3]);
      if ((first & 63) == 60) {
        total += part;
        part = 0.0f;
      }
#endif
    }
#if REDUCTION < 2
    total += part;
    part = 0.0f;
#endif
  }
#if REDUCTION == 1
  total = divided(total, float(push.reduced));
#endif
#if REDUCTION >= 4
  total = position;
#endif
  STORE(y, index, total)
}
