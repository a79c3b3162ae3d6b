// SPDX-License-Identifier: Apache-2.0
// Writes memory for packed weights only once. This release clears memory from a weights cache before it packs
// into it, although the plugin's cache returns zeros. It also packs depthwise filters before it looks them
// up. So a network whose packed weights come from a file had these packed again, and their filters read.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "xnnpack/allocator.h"
extern "C" {
#include "xnnpack/operator-utils.h"
}
#include "xnnpack/operator.h"
#include "xnnpack/pack.h"

namespace {

// The cache of the operator being created. XNNPACK creates an operator on one thread: it reserves memory,
// packs, and looks up or inserts.
thread_local xnn_weights_cache_t current_cache = nullptr;

bool is_known(size_t seed, const void* filter, const void* bias) {
  if (current_cache == nullptr) return false;
  xnn_weights_cache_look_up_key key;
  key.seed = ~static_cast<uint32_t>(seed);
  key.kernel = filter;
  key.bias = bias;
  return current_cache->look_up(current_cache->context, &key) != SIZE_MAX;
}

}  // namespace

// Replaces the packing function of each type for convolutions (CMakeLists.txt renames it there). The seed
// must equal the seed of the later lookup; with any other, no entry would be found.
#define ETB_PACK_UNLESS_KNOWN(type, Filter, Bias, Scale, Packed, Params)                                    \
  extern "C" XNN_INTERNAL void etb_pack_##type##_dwconv_hwg_w(                                              \
      size_t primary_tile, size_t middle_tile, size_t last_tile, size_t height, size_t width,               \
      size_t channels, size_t channel_tile, size_t channel_subtile, size_t channel_round,                   \
      const Filter* filter, const Bias* bias, const Scale* scale, Packed* packed, size_t tile_extra_nbytes, \
      size_t subtile_extra_nbytes, const Params* params) {                                                  \
    if (is_known(primary_tile ^ middle_tile ^ last_tile ^ height ^ width ^ channels ^ channel_tile ^        \
                     channel_subtile ^ channel_round ^ tile_extra_nbytes / channel_tile,                    \
                 filter, bias))                                                                             \
      return;                                                                                               \
    xnn_pack_##type##_dwconv_hwg_w(primary_tile, middle_tile, last_tile, height, width, channels,           \
                                   channel_tile, channel_subtile, channel_round, filter, bias, scale,       \
                                   packed, tile_extra_nbytes, subtile_extra_nbytes, params);                \
  }
ETB_PACK_UNLESS_KNOWN(f32, float, float, void, float, void)
ETB_PACK_UNLESS_KNOWN(f16, uint16_t, uint16_t, void, uint16_t, void)
ETB_PACK_UNLESS_KNOWN(f32_to_f16, float, float, void, xnn_float16, void)
ETB_PACK_UNLESS_KNOWN(qs8, int8_t, int32_t, float, void, xnn_qs8_packing_params)
ETB_PACK_UNLESS_KNOWN(qu8, uint8_t, int32_t, void, void, xnn_qu8_packing_params)

// The release's function is compiled under another name.
extern "C" XNN_INTERNAL void* xnn_get_pointer_to_write_weights(xnn_operator_t op, size_t nbytes,
                                                               int padding_byte) {
  current_cache = op->weights_cache;
  if (current_cache != nullptr) {
    void* const space = current_cache->reserve_space(current_cache->context, nbytes);
    return space == nullptr || padding_byte == 0 ? space : memset(space, padding_byte, nbytes);
  }
  op->packed_weights.pointer = xnn_allocate_simd_memory(nbytes);
  return op->packed_weights.pointer == nullptr ? nullptr
                                               : memset(op->packed_weights.pointer, padding_byte, nbytes);
}
