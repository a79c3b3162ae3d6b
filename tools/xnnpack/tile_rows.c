// SPDX-License-Identifier: Apache-2.0
// Hands rows and pixels to threads many at a time. With more than one thread this release gives them out one by one where the rows of an elementwise
// operator lie apart, as in a concatenation along channels, and by tens in bilinear resizing: then threads mostly wait for the counter of
// what is left. 16 tiles a thread are enough that none waits long for the last.
//
// Takes the place of pthreadpool's functions of those shapes where operators are run (CMakeLists.txt renames them there). Other operators keep
// their tiles: what they compute at once may be no more than that.
#include <pthreadpool.h>
#include <stddef.h>
#include <stdint.h>

#include "xnnpack/compute.h"

// A multiple of `tile`.
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
