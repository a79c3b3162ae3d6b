// SPDX-License-Identifier: Apache-2.0
// A C11 program with api headers only, linked with nothing but graph_walk.c: reads a committed image
// and checks its contents.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/testing/graph_walk.h"

static void* read_file(const char* path, uint64_t* out_nbytes) {
  FILE* file = fopen(path, "rb");
  void* data = NULL;
  long size;
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
    const size_t rounded =
        ((size_t)size + ETB_GRAPH_ALIGNMENT - 1) / ETB_GRAPH_ALIGNMENT * ETB_GRAPH_ALIGNMENT;
    data = aligned_alloc(ETB_GRAPH_ALIGNMENT, rounded);
    *out_nbytes = (uint64_t)size;
    if (data != NULL && fread(data, 1, (size_t)size, file) != (size_t)size) {
      free(data);
      data = NULL;
    }
  }
  fclose(file);
  return data;
}

int main(int argc, char** argv) {
  etb_graph_image image = {ETB_INIT_SIZE(etb_graph_image), 0, {NULL, 0}};
  etb_graph_view view;
  etb_graph_walk_result result;
  void* data;
  uint32_t i;
  uint32_t addmm_count = 0;
  if (argc != 2) return 2;
  data = read_file(argv[1], &image.image.nbytes);
  image.image.data = data;
  if (data == NULL || etb_graph_open(&image, &view) != ETB_OK) return 1;
  if (etb_graph_walk(&image, UINT64_MAX, &result) == ETB_OK) {
    const etb_graph_body body = etb_graph_get_body(&view, 0);
    for (i = 0; i < body.nodes.count; ++i) {
      const etb_graph_node node = etb_graph_get_node(&view, &body, i);
      if (strcmp(etb_graph_op_name(&view, node.op), "aten.addmm.default") == 0) ++addmm_count;
    }
  }
  printf("%s: %u nodes, %u of them aten.addmm.default\n", view.name, (unsigned)result.node_count,
         addmm_count);
  free(data);
  return result.node_count == 2 && addmm_count == 1 ? 0 : 1;
}
