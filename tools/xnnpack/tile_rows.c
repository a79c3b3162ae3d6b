// SPDX-License-Identifier: Apache-2.0
// Assigns rows and pixels to threads in larger tiles. With more than one thread this release assigns rows one
// by one if an elementwise operator's rows are not contiguous, as in a concatenation along channels. In
// bilinear resizing it assigns pixels by tens. Threads then mostly wait for the counter of remaining work. 16
// tiles per thread keep the wait for the last one short.
//
// Replaces pthreadpool's functions of those shapes for operators (CMakeLists.txt renames them there). Other
// operators keep their tiles: those are the maximum that they can compute at once.
#include <pthreadpool.h>
#include <stddef.h>
#include <stdint.h>

#include "xnnpack/compute.h"

// Returns a multiple of `tile`.
static size_t larger_tile(pthreadpool_t pool, size_t range, size_t tile) {
  enum { kMostTiles = 16 };
  const size_t pieces = range / tile, most = pthreadpool_get_threads_count(pool) * kMostTiles;
  return most <= kMostTiles || pieces <= most ? tile : (pieces / most + 1) * tile;
}

void etb_parallelize_1d_tile_1d(pthreadpool_t pool, pthreadpool_task_1d_tile_1d_t task, void* context,
                                size_t range, size_t tile, uint32_t flags) {
  if (task == (pthreadpool_task_1d_tile_1d_t)xnn_compute_univector_strided ||
      task == (pthreadpool_task_1d_tile_1d_t)xnn_compute_univector_contiguous)
    tile = larger_tile(pool, range, tile);
  pthreadpool_parallelize_1d_tile_1d(pool, task, context, range, tile, flags);
}

void etb_parallelize_2d_tile_1d(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_t task, void* context,
                                size_t rows, size_t range, size_t tile, uint32_t flags) {
  if (task == (pthreadpool_task_2d_tile_1d_t)xnn_compute_resize_bilinear)
    tile = larger_tile(pool, range, tile);
  pthreadpool_parallelize_2d_tile_1d(pool, task, context, rows, range, tile, flags);
}
