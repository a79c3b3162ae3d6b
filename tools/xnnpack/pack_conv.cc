// SPDX-License-Identifier: Apache-2.0
// Packs the filter of a float convolution as a matrix with one row per output channel, with XNNPACK's
// vectorised kernel for such matrices. This release packs it element by element, which is most of the time to
// load a network like ResNet. The bytes are the same.
#include <stddef.h>

#include "xnnpack/config.h"
#include "xnnpack/pack.h"

extern "C" {

// The release's own function, compiled under this name (CMakeLists.txt).
XNN_INTERNAL decltype(xnn_pack_f32_conv_goki_w) xnn_pack_f32_conv_goki_w_by_element;

void xnn_pack_f32_conv_goki_w(size_t g, size_t nc, size_t ks, size_t kc, size_t nr, size_t kr, size_t sr,
                              const float* k, const float* b, const void* scale, float* packed_weights,
                              size_t extra_bytes, const void* params) {
  const struct xnn_gemm_config* const config = xnn_init_f32_gemm_config();
  const bool is_matrix = kr == 1 && sr == 1 && extra_bytes == 0;  // else rows are padded between pixels
  if (!is_matrix || config == nullptr || config->nr != nr || config->pack_gemm_goi == nullptr) {
    xnn_pack_f32_conv_goki_w_by_element(g, nc, ks, kc, nr, kr, sr, k, b, scale, packed_weights, extra_bytes,
                                        params);
    return;
  }
  config->pack_gemm_goi(g, nc, ks * kc, nr, kr, sr, k, b, scale, packed_weights, extra_bytes, params);
}

}  // extern "C"
