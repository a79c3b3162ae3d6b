// SPDX-License-Identifier: Apache-2.0
/* Runs the examples of the contract headers: relu_aot.c partitions a graph, host.c runs a payload on the plugin relu.c. Exit
   code 0 when every value is the expected one.      usage: header_examples GRAPH.etg */
#include <stdio.h>
#include <string.h>

#include "etb/all.h"

/* The examples: aot.h, delegate.h, graph.h, plugin.h. */
extern const etb_aot_table relu_aot;
etb_status run_once(etb_plugin_query_fn query, etb_bytes payload, const float* from, float* to, int64_t count,
                    etb_error* error);
etb_status list_nodes(const etb_graph_image* image);

#define EXPECT(condition)                                              \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "line %d: expected %s\n", __LINE__, #condition); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

/* The items that the sinks received. */
static int op_count, claim_count, reject_count;

static etb_status ETB_CALL put_op(void* ctx, const etb_op_capability* op) {
  (void)ctx;
  op_count += strcmp(op->op, "aten.relu.default") == 0;
  return ETB_OK;
}

static etb_status ETB_CALL put_claim(void* ctx, const etb_claim* claim) {
  (void)ctx;
  claim_count += claim->node_count == 1 && claim->node_ids[0] == 0;
  return ETB_OK;
}

static etb_status ETB_CALL put_reject(void* ctx, const etb_reject* reject) {
  (void)ctx;
  reject_count += reject->node_ids[0] == 1 && strcmp(reject->reason, "op") == 0;
  return ETB_OK;
}

int main(int argc, char** argv) {
  static _Alignas(ETB_GRAPH_ALIGNMENT) unsigned char bytes[4096];
  etb_graph_image image = {ETB_INIT_SIZE(etb_graph_image), 0, {bytes, 0}};
  etb_error error = ETB_ERROR_INIT;
  FILE* file = fopen(argc == 2 ? argv[1] : "relu.etg", "rb");
  EXPECT(file != NULL);
  image.image.nbytes = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  EXPECT(list_nodes(&image) == ETB_OK);

  const etb_op_sink ops = {ETB_INIT_SIZE(etb_op_sink), 0, NULL, put_op};
  EXPECT(relu_aot.op_table(NULL, &ops, &error) == ETB_OK && op_count == 1);
  const etb_partition_sink answers = {ETB_INIT_SIZE(etb_partition_sink), 0, NULL, put_claim, put_reject};
  const etb_partition_args question = {
      .struct_size = ETB_INIT_SIZE(etb_partition_args), .graph = &image, .backend_id = "ReluBackend"};
  EXPECT(relu_aot.partition(NULL, &question, &answers, &error) == ETB_OK);
  EXPECT(claim_count == 1 && reject_count == 1);

  /* Not a region that it claims: the second node is another op. */
  const etb_artifact_sink artifacts = {.struct_size = ETB_INIT_SIZE(etb_artifact_sink)};
  const etb_compile_args compilation = {.struct_size = ETB_INIT_SIZE(etb_compile_args),
                                        .backend_id = "ReluBackend",
                                        .graphs = &image,
                                        .graph_count = 1,
                                        .sink = &artifacts};
  EXPECT(relu_aot.compile(NULL, &compilation, &error) == ETB_NOT_SUPPORTED);
  EXPECT(strcmp(error.text, "node 1: op") == 0);

  const float from[3] = {-1.5f, 0.0f, 2.5f};
  float to[3] = {9.0f, 9.0f, 9.0f};
  const unsigned char payload[4] = {1, 0, 0, 0};
  const etb_bytes compiled = {payload, sizeof payload};
  EXPECT(run_once(etb_plugin_query, compiled, from, to, 3, &error) == ETB_OK);
  EXPECT(to[0] == 0.0f && to[1] == 0.0f && to[2] == 2.5f);

  const etb_bytes damaged = {payload, 3};
  EXPECT(run_once(etb_plugin_query, damaged, from, to, 3, &error) == ETB_INVALID_DATA);
  EXPECT(strcmp(error.text, "payload: expected 4 bytes") == 0);
  puts("the examples agree");
  return 0;
}
