// SPDX-License-Identifier: Apache-2.0
/* Runs the examples of the contract headers together: relu_aot.c claims and compiles a graph, host.c runs the payload on the
   plugin relu.c. Exit code 0 when every value is the expected one.      usage: header_examples GRAPH.etg */
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
static int op_count, claim_count, reject_count, end_count;
static unsigned char payload[64];
static uint64_t payload_nbytes;

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

static etb_status ETB_CALL write_payload(void* ctx, uint64_t offset_bytes, const void* data,
                                         uint64_t nbytes) {
  (void)ctx;
  if (offset_bytes + nbytes > sizeof payload) return ETB_OUT_OF_RESOURCES;
  memcpy(payload + offset_bytes, data, nbytes);
  payload_nbytes = offset_bytes + nbytes;
  return ETB_OK;
}

static etb_status ETB_CALL begin_payload(void* ctx, uint32_t graph_index,
                                         const etb_blob_writer** out_writer) {
  static const etb_blob_writer writer = {ETB_INIT_SIZE(etb_blob_writer), 0, NULL, write_payload};
  (void)ctx, (void)graph_index;
  *out_writer = &writer;
  return ETB_OK;
}

static etb_status ETB_CALL end_payload(void* ctx, const etb_artifact* artifact) {
  (void)ctx;
  end_count += artifact->graph_index == 0 && artifact->format_version == 1;
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

  const etb_artifact_sink artifacts = {.struct_size = ETB_INIT_SIZE(etb_artifact_sink),
                                       .begin_payload = begin_payload,
                                       .end_payload = end_payload};
  const etb_compile_args compilation = {.struct_size = ETB_INIT_SIZE(etb_compile_args),
                                        .backend_id = "ReluBackend",
                                        .graphs = &image,
                                        .graph_count = 1,
                                        .sink = &artifacts};
  EXPECT(relu_aot.compile(NULL, &compilation, &error) == ETB_OK);
  EXPECT(end_count == 1 && payload_nbytes == 4);

  const float from[3] = {-1.5f, 0.0f, 2.5f};
  float to[3] = {9.0f, 9.0f, 9.0f};
  const etb_bytes compiled = {payload, payload_nbytes};
  EXPECT(run_once(etb_plugin_query, compiled, from, to, 3, &error) == ETB_OK);
  EXPECT(to[0] == 0.0f && to[1] == 0.0f && to[2] == 2.5f);

  const etb_bytes damaged = {payload, 3};
  EXPECT(run_once(etb_plugin_query, damaged, from, to, 3, &error) == ETB_INVALID_DATA);
  EXPECT(strcmp(error.text, "payload: expected 4 bytes") == 0);
  puts("the examples agree");
  return 0;
}
