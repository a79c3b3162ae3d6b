// SPDX-License-Identifier: Apache-2.0
// As peak.comp, with vectors of 16 numbers.

BEGIN_PUSH
  uint count;  // work-items
  uint turns;
END_PUSH

KERNEL2(READS, float, x, WRITES, float16, y) {
  uint i = GLOBAL_X;
  if (i >= push.count) return;
  float16 factor = x[0], term = x[1];
  float16 sum[CHAINS];
  UNROLL for (uint c = 0; c < CHAINS; ++c) sum[c] = (float)(c);
  for (uint turn = 0; turn < push.turns; ++turn)
    UNROLL for (uint c = 0; c < CHAINS; ++c) sum[c] = fma(sum[c], factor, term);
  float16 total = sum[0];
  UNROLL for (uint c = 1; c < CHAINS; ++c) total += sum[c];
  y[i] = total;
}
