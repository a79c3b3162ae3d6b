// SPDX-License-Identifier: Apache-2.0
// Plans less memory for a runtime's intermediate values, where that is possible.
//
// This release places the largest values first. In a U-Net the largest values are not alive at the node that
// determines the memory, but they block its offsets: the plan needs 4/3 of the minimum. The minimum is the
// size of all values alive at one node. If the release's plan exceeds it, this file tries another one. It
// places nodes by their live bytes, most first, and the largest values of each node first. The smaller plan
// is used.
//
// Replaces XNNPACK's function, which CMakeLists.txt renames.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "xnnpack/common.h"
#include "xnnpack/memory-planner.h"

// The release's own function.
XNN_INTERNAL void xnn_plan_value_allocation_tracker_by_size(struct xnn_value_allocation_tracker* tracker);

struct placed {
  struct xnn_usage_record* record;
  size_t offset;
};

struct node {
  uint32_t index;
  size_t live_nbytes;
};

static bool lives_at(const struct xnn_usage_record* record, uint32_t node) {
  return record->first_node <= node && node <= record->last_node;
}

static bool live_together(const struct xnn_usage_record* a, const struct xnn_usage_record* b) {
  return a->first_node <= b->last_node && b->first_node <= a->last_node;
}

// Sorts by memory, most first. Ties keep the order of the graph, so that plans are deterministic.
static int compare_nodes(const void* a, const void* b) {
  const struct node *x = a, *y = b;
  if (x->live_nbytes != y->live_nbytes) return x->live_nbytes < y->live_nbytes ? 1 : -1;
  return x->index < y->index ? -1 : x->index > y->index;
}

// `placed` is sorted by offset. Returns the smallest gap that fits, or the end of all.
static size_t find_gap(const struct placed* placed, size_t count, const struct xnn_usage_record* wanted) {
  size_t best = SIZE_MAX, best_nbytes = SIZE_MAX, end = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!live_together(placed[i].record, wanted)) continue;
    if (placed[i].offset >= end) {
      const size_t gap = placed[i].offset - end;
      if (gap >= wanted->tensor_size && gap < best_nbytes) {
        best = end;
        best_nbytes = gap;
      }
    }
    const size_t behind = placed[i].offset + placed[i].record->tensor_size;
    if (behind > end) end = behind;
  }
  return best != SIZE_MAX ? best : end;
}

static void insert(struct placed* placed, size_t count, struct xnn_usage_record* record, size_t offset) {
  size_t i = count;
  for (; i > 0 && placed[i - 1].offset > offset; --i) placed[i] = placed[i - 1];
  placed[i].record = record;
  placed[i].offset = offset;
}

// Returns the largest value alive at a node that is not placed yet.
static struct xnn_usage_record* find_next(struct xnn_usage_record* const* values, size_t value_count,
                                          const bool* is_placed, uint32_t node, size_t* out_index) {
  struct xnn_usage_record* found = NULL;
  for (size_t i = 0; i < value_count; ++i) {
    if (is_placed[i] || !lives_at(values[i], node)) continue;
    if (found != NULL && found->tensor_size >= values[i]->tensor_size) continue;
    found = values[i];
    *out_index = i;
  }
  return found;
}

static size_t place_by_node(struct xnn_usage_record** values, size_t value_count, const struct node* nodes,
                            size_t node_count, bool* is_placed, struct placed* placed) {
  size_t arena = 0, placed_count = 0, index = 0;
  for (size_t n = 0; n < node_count && placed_count < value_count; ++n) {
    struct xnn_usage_record* next;
    while ((next = find_next(values, value_count, is_placed, nodes[n].index, &index)) != NULL) {
      const size_t offset = find_gap(placed, placed_count, next);
      insert(placed, placed_count++, next, offset);
      is_placed[index] = true;
      if (offset + next->tensor_size > arena) arena = offset + next->tensor_size;
    }
  }
  return arena;
}

static void use(struct xnn_value_allocation_tracker* tracker, const struct placed* placed, size_t count,
                size_t arena) {
  for (size_t i = 0; i < count; ++i) placed[i].record->alloc_offset = placed[i].offset;
  for (size_t i = tracker->min_value_id; i <= tracker->max_value_id; ++i) {
    struct xnn_usage_record* const record = &tracker->usage[i];
    if (record->reuse_value_id != XNN_INVALID_VALUE_ID)
      record->alloc_offset = tracker->usage[record->reuse_value_id].alloc_offset;
  }
  tracker->mem_arena_size = arena;
}

void xnn_plan_value_allocation_tracker(struct xnn_value_allocation_tracker* tracker) {
  xnn_plan_value_allocation_tracker_by_size(tracker);
  if (tracker->min_value_id == XNN_INVALID_VALUE_ID) return;
  const size_t most = tracker->max_value_id - tracker->min_value_id + 1;
  struct xnn_usage_record** const values = malloc(most * sizeof(*values));
  struct placed* const placed = malloc(most * sizeof(*placed));
  bool* const is_placed = calloc(most, sizeof(*is_placed));
  struct node* nodes = NULL;
  size_t value_count = 0, node_count = 0;
  if (values == NULL || placed == NULL || is_placed == NULL) goto done;  // keeps the existing plan
  for (size_t i = tracker->min_value_id; i <= tracker->max_value_id; ++i) {
    struct xnn_usage_record* const record = &tracker->usage[i];
    if (record->tensor_size == 0) continue;
    values[value_count++] = record;
    if (record->last_node >= node_count) node_count = (size_t)record->last_node + 1;
  }
  nodes = calloc(node_count != 0 ? node_count : 1, sizeof(*nodes));
  if (nodes == NULL) goto done;
  size_t least = 0;
  for (size_t n = 0; n < node_count; ++n) nodes[n].index = (uint32_t)n;
  for (size_t i = 0; i < value_count; ++i)
    for (uint32_t n = values[i]->first_node; n <= values[i]->last_node; ++n)
      nodes[n].live_nbytes += values[i]->tensor_size;
  for (size_t n = 0; n < node_count; ++n)
    if (nodes[n].live_nbytes > least) least = nodes[n].live_nbytes;
  if (least < tracker->mem_arena_size) {
    qsort(nodes, node_count, sizeof(*nodes), compare_nodes);
    const size_t arena = place_by_node(values, value_count, nodes, node_count, is_placed, placed);
    if (arena < tracker->mem_arena_size) use(tracker, placed, value_count, arena);
  }
done:
  free(nodes);
  free(is_placed);
  free(placed);
  free(values);
}
