// SPDX-License-Identifier: Apache-2.0
// For tests: reads everything in an image, in C11 and with etb/graph.h alone, like a plugin.
#ifndef ETB_API_FORMAT_GRAPH_WALK_H_
#define ETB_API_FORMAT_GRAPH_WALK_H_

#include "etb/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct etb_graph_walk_result {
  uint64_t node_count;
  uint64_t value_count;
  uint64_t argument_count;
  uint64_t hash;  // hash of every byte and number read
} etb_graph_walk_result;

// Stops after `max_steps` items, because the lists of an unverified image may overlap.
etb_status etb_graph_walk(const etb_graph_image* image, uint64_t max_steps,
                          etb_graph_walk_result* out_result);

#ifdef __cplusplus
}
#endif

#endif
