// The graph image: what a plugin is shown ahead of time. One contiguous, pointer-free FlatBuffer (file id
// "ETG1", schema api/schema/graph.fbs) holds one method: nodes with edge-dialect op names, attributes, tensor
// specs, quantisation, constants by key, size and digest, aliases and mutations, and the subgraphs of control
// flow.
#ifndef ETB_GRAPH_H_
#define ETB_GRAPH_H_

#include "etb/base.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// One image as it crosses the boundary.
//
// image    [borrowed-for-call] the bytes of a file *.etg. Two promises of the host:
//            ABI-GRAPH-01  it has passed the host's verifier: every rule of api/schema/graph.fbs holds.
//            ABI-GRAPH-02  image.data is aligned to ETB_GRAPH_ALIGNMENT bytes; what the image aligns inside
//            is then aligned.
//          Constants that lie outside the image are read with the etb_constant_reader of the call
//          (etb/aot.h), by key.
typedef struct etb_graph_image {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_bytes image;
} etb_graph_image;

#define ETB_GRAPH_ALIGNMENT 16u

#ifdef __cplusplus
}
#endif

#endif
