// SPDX-License-Identifier: Apache-2.0
// Splits the products of a run (including convolutions as matrix products) into tiles whose weights stay in
// the second-level cache.
//
// This release computes as many rows as a kernel handles at once, and reads all weights for them. With more
// threads it also splits columns, but in the same order. Weights larger than the cache are then read again
// from the third level or from memory for each group of rows, by each thread. This file computes columns
// first: as many at a time as have weights that fit, and all rows for them. In products with few columns a
// thread computes several groups of rows at once: scheduling one costs more than computing it. Each element
// is computed as before, so the results are the same.
//
// Replaces pthreadpool's function of that shape for operators (CMakeLists.txt renames it there).
#include <cpuinfo.h>
#include <pthreadpool.h>
#include <stddef.h>
#include <stdint.h>

#include "xnnpack/compute.h"

struct product {
  pthreadpool_task_2d_tile_2d_t task;
  void* context;
  size_t mr, nr;         // rows and columns that a kernel computes at once
  size_t column_nbytes;  // of packed weights
  size_t row_nbytes;     // of the input, approximately
};

static int describe_gemm(const struct gemm_context* context, struct product* out) {
  out->nr = context->cn_stride >> context->log2_csize;
  out->column_nbytes = context->w_stride;
  out->row_nbytes = context->k_scaled;
  return out->nr != 0;
}

static int describe_igemm(const struct igemm_context* context, struct product* out) {
  out->nr = context->cn_stride >> context->log2_csize;
  out->column_nbytes = context->w_stride;
  out->row_nbytes = context->kc;
  return out->nr != 0;
}

// Returns false if the task is no product.
static int describe(struct product* out) {
  if (out->task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_gemm ||
      out->task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqgemm)
    return describe_gemm(out->context, out);
  if (out->task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_igemm ||
      out->task == (pthreadpool_task_2d_tile_2d_t)xnn_compute_dqigemm)
    return describe_igemm(out->context, out);
  return 0;
}

// pthreadpool counts its second range fastest, so rows are the second range here.
static void compute_by_columns(const struct product* product, size_t column, size_t row, size_t columns,
                               size_t rows) {
  for (size_t done = 0; done < rows; done += product->mr) {
    const size_t left = rows - done;
    product->task(product->context, row + done, column, left < product->mr ? left : product->mr, columns);
  }
}

static size_t divide_up(size_t a, size_t b) { return a / b + (a % b != 0); }

static size_t cache_nbytes(void) {
  const struct cpuinfo_cache* cache = cpuinfo_initialize() ? cpuinfo_get_l2_cache(0) : NULL;
  return cache != NULL && cache->size != 0 ? cache->size : (size_t)256 << 10;
}

void etb_parallelize_2d_tile_2d(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_t task, void* context,
                                size_t rows, size_t columns, size_t tile_rows, size_t tile_columns,
                                uint32_t flags) {
  enum {
    kLeastTiles = 5,  // per thread, to limit the wait for the last
    kMostTiles = 32,
    kLeastNbytes = 64 << 10,  // of weights that a tile reads, one or more times: some microseconds
  };
  struct product product = {task, context, tile_rows, 0, 0, 0};
  const size_t groups = divide_up(rows, tile_rows);
  if (groups <= 1 || !describe(&product)) {
    pthreadpool_parallelize_2d_tile_2d(pool, task, context, rows, columns, tile_rows, tile_columns, flags);
    return;
  }
  const size_t cache = cache_nbytes() / 2;  // the rest is for input and output
  const size_t panels = divide_up(columns, product.nr);
  const size_t panel_nbytes = product.column_nbytes * product.nr;
  size_t panels_at_once = panels;
  if (panels * panel_nbytes > cache) panels_at_once = panel_nbytes < cache ? cache / panel_nbytes : 1;
  // Input that does not fit either is read again for each pass. Then the variant that reads less is used.
  const size_t input_nbytes = rows * product.row_nbytes;
  const size_t passes = divide_up(panels, panels_at_once);
  if (passes > 1 && input_nbytes > cache && passes * input_nbytes > groups * panels * panel_nbytes) {
    pthreadpool_parallelize_2d_tile_2d(pool, task, context, rows, columns, tile_rows, tile_columns, flags);
    return;
  }
  size_t groups_at_once = 1;
  const size_t threads = pthreadpool_get_threads_count(pool);
  if (threads > 1) {
    const size_t least = divide_up(threads * kLeastTiles, groups);
    if (divide_up(panels, panels_at_once) < least) panels_at_once = divide_up(panels, least);
    const size_t tile_nbytes = panels_at_once * panel_nbytes;
    const size_t tiles = groups * divide_up(panels, panels_at_once);
    const size_t most = tiles / (threads * kLeastTiles);
    groups_at_once = divide_up(tiles, threads * kMostTiles);
    if (groups_at_once * tile_nbytes < kLeastNbytes) groups_at_once = divide_up(kLeastNbytes, tile_nbytes);
    if (groups_at_once > most) groups_at_once = most != 0 ? most : 1;
  }
  pthreadpool_parallelize_2d_tile_2d(pool, (pthreadpool_task_2d_tile_2d_t)compute_by_columns, &product,
                                     columns, rows, panels_at_once * product.nr, groups_at_once * tile_rows,
                                     flags);
}
