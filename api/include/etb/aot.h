// SPDX-License-Identifier: Apache-2.0
//
// Ahead of time: the ops that a plugin supports, the nodes of a graph that it claims, and the payloads it
// compiles.
//
// The compiler shows the whole method as a graph image (graph.h). The plugin claims or rejects every node.
// The compiler groups claimed nodes into convex regions. Each region comes back as a graph image of its own,
// and the plugin compiles it into a payload:
//
//   op_table, preserve_ops -> partition -> [regions] -> dry_check, estimate -> compile -> payload
//
// Everything here works without a device (ABI-AOT-03) and is a pure function of its arguments: same bytes in,
// same bytes out, in any process, in any order (ABI-AOT-02).
//
// An ahead-of-time table in C is at the end of this header (example relu_aot.c).
#ifndef ETB_AOT_H_
#define ETB_AOT_H_

#include "etb/base.h"
#include "etb/device.h"
#include "etb/graph.h"
#include "etb/host.h"
#include "etb/option.h"
#include "etb/payload.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Capabilities as data -----------------------------------------------------------------------

// Layouts of tensors that an op row accepts (etb_op_capability.layouts).
#define ETB_LAYOUT_CONTIGUOUS 0x1u     // dim order 0, 1, ..., rank - 1
#define ETB_LAYOUT_CHANNELS_LAST 0x2u  // dim order 0, 2, ..., rank - 1, 1
#define ETB_LAYOUT_ANY 0x4u            // any dim order

// Flag of etb_op_capability.flags: the row accepts dynamic dimensions.
#define ETB_OP_DYNAMIC_SIZES 0x1u

// One row of the op table: the plugin accepts this op with these element types, ranks and layouts, unless
// `constraint` restricts it further. A row lists what can be claimed; partition decides what is claimed.
typedef struct etb_op_capability {
  uint32_t struct_size;
  uint32_t flags;           // ETB_OP_*
  const char* op;           // edge name with overload, "aten.add.Tensor"
  const etb_dtype* dtypes;  // dtype_count element types of the first tensor input
  uint32_t dtype_count;
  uint32_t min_rank;        // ranks and layouts hold for each tensor operand and each tensor result
  uint32_t max_rank;
  uint32_t layouts;         // ETB_LAYOUT_*

  // Ids of quantisation schemes, quant_scheme_count of them: "per-tensor", "per-channel", ...; none: float
  // only.
  const char* const* quant_schemes;
  uint32_t quant_scheme_count;

  uint32_t reserved;       // must be zero
  const char* constraint;  // what else must hold, one sentence for people; "" when nothing
} etb_op_capability;

// Sink of op rows. The rules of all sinks are in base.h.
typedef struct etb_op_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one row of the op table.
  //
  // op       [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_op_capability* op);
} etb_op_sink;

// ---- Partition ----------------------------------------------------------------------------------

// Flags of a claim.
//
//   WHOLE_GROUP  the claim is worthless unless all nodes of the group end up in one region
//   OWN_REGION   the group (of a node without a group: the node) is a region of its own, merged with no other
#define ETB_CLAIM_WHOLE_GROUP 0x1u
#define ETB_CLAIM_OWN_REGION 0x2u

// Nodes that the plugin accepts. Node ids are those of graph.h: they number the nodes of all graphs of the
// image.
typedef struct etb_claim {
  uint32_t struct_size;
  uint32_t flags;            // ETB_CLAIM_*
  const uint32_t* node_ids;  // node_count of them
  uint32_t node_count;
  uint32_t group;            // nodes of one group belong together (a fused pattern); 0: each node by itself
  double cost_ns;            // estimated time of these nodes together, 0: unknown
} etb_claim;

// Nodes that the plugin rejects, with the reason.
typedef struct etb_reject {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  const uint32_t* node_ids;  // node_count of them
  uint32_t node_count;
  uint32_t reserved;         // must be zero

  // Stable id: "op", "dtype", "rank", "layout", "dynamic", "quant", "attribute", or reverse DNS.
  const char* reason;

  // For people: what was found, and what the plugin would accept.
  const char* text;
} etb_reject;

// Sink of claims and rejections. The rules of all sinks are in base.h.
typedef struct etb_partition_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Receives one claim.
  //
  // claim    [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* claim)(void* ctx, const etb_claim* claim);

  // Receives one rejection.
  //
  // reject   [borrowed-for-call]
  // returns  ETB_OK; any other status ends the call that was given the sink (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* reject)(void* ctx, const etb_reject* reject);
} etb_partition_sink;

// Arguments of partition, dry_check and estimate.
typedef struct etb_partition_args {
  uint32_t struct_size;
  uint32_t flags;                // must be zero
  const etb_graph_image* graph;  // the whole method; for dry_check and estimate one region
  const etb_target* target;      // NULL: the plugin's default
  const char* backend_id;        // the delegate id of the plugin that is asked for
  const etb_option* options;     // option_count of them, scope ETB_OBJECT_PLUGIN
  uint64_t option_count;
} etb_partition_args;

// ---- Compilation --------------------------------------------------------------------------------

// Reader of constants by the keys in the images.
typedef struct etb_constant_reader {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Returns the bytes of a constant.
  //
  // key      [borrowed-for-call] etb_graph_constant.key.
  // out      the caller sets struct_size; [host-releases-on-callback], at the latest when the compile call
  //          returns.
  // returns  ETB_OK; ETB_NOT_FOUND (no such key); ETB_ACCESS_FAILED (the file could not be read).
  // presence required
  // threads  [any]   may block: yes
  // since    1.0
  etb_status(ETB_CALL* read)(void* ctx, const char* key, etb_payload_view* out, etb_error* error);
} etb_constant_reader;

// Writer of one payload.
typedef struct etb_blob_writer {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Writes bytes at an offset. Gaps read as zero.
  //
  // offset_bytes  from the start of the payload.
  // data          [borrowed-for-call] nbytes of them.
  // returns       ETB_OK; any other status: return it from compile.
  // presence required
  // threads  [serial:writer]
  // since    1.0
  etb_status(ETB_CALL* write)(void* ctx, uint64_t offset_bytes, const void* data, uint64_t nbytes);
} etb_blob_writer;

// Bytes that the program stores beside the payloads under a key, once for all payloads that name the key.
typedef struct etb_named_blob {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  const char* key;           // blobs with equal keys must have equal bytes (ABI-AOT-04)
  etb_bytes value;           // borrowed-for-call
  const char* constant_key;  // not NULL: the bytes are this constant's, unchanged, and value is empty
  uint64_t alignment;        // a power of two, 0: the host's choice
} etb_named_blob;

// Mapping from a debug id, which the delegate's events carry, to the debug handles of the graph's nodes.
typedef struct etb_debug_entry {
  uint32_t struct_size;
  uint32_t flags;           // must be zero
  int64_t debug_id;         // -1: name is the id
  const char* name;         // NULL: debug_id is the id
  const uint32_t* handles;  // handle_count of them
  uint64_t handle_count;
} etb_debug_entry;

// One compiled region.
typedef struct etb_artifact {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  uint32_t graph_index;           // in etb_compile_args.graphs
  uint32_t format_version;        // version of the payload
  const char* const* named_keys;  // named_key_count keys of named blobs that the payload reads
  uint64_t named_key_count;
  uint64_t scratch_bytes;         // upper bound of scratch per run, for planning; 0: unknown
  uint64_t resident_bytes;        // upper bound of memory per delegate, for planning; 0: unknown

  // Compile specs to store with the payload, spec_count of them; create receives them byte for byte
  // (ABI-SPEC-01).
  const etb_compile_spec* specs;
  uint64_t spec_count;

  const etb_debug_entry* debug_map;  // debug_entry_count of them (ABI-SIZE-04)
  uint64_t debug_entry_count;
} etb_artifact;

// Sink of compiled regions. The calls for each graph, in order: begin_payload, writes through its writer,
// end_payload (ABI-AOT-05). The rules of all sinks are in base.h.
typedef struct etb_artifact_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Begins the payload of one graph.
  //
  // graph_index  in etb_compile_args.graphs; each once, ascending.
  // out_writer   [borrowed-until-destroy] valid until the end_payload of this payload.
  // returns      ETB_OK; any other status ends the compile call (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* begin_payload)(void* ctx, uint32_t graph_index, const etb_blob_writer** out_writer);

  // Adds bytes under a key, at any time between the first begin_payload and the last end_payload.
  //
  // blob     [borrowed-for-call]
  // returns  ETB_OK; any other status ends the compile call (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* named_blob)(void* ctx, const etb_named_blob* blob);

  // Ends the payload that was begun last.
  //
  // artifact [borrowed-for-call]
  // returns  ETB_OK; any other status ends the compile call (ABI-SINK-02).
  // presence required
  // threads  [serial:sink]
  // since    1.0
  etb_status(ETB_CALL* end_payload)(void* ctx, const etb_artifact* artifact);
} etb_artifact_sink;

// Arguments of compile.
typedef struct etb_compile_args {
  uint32_t struct_size;
  uint32_t flags;                        // must be zero
  const char* backend_id;                // the delegate id that the payloads are for
  const etb_graph_image* graphs;         // graph_count regions of all methods of the program (ABI-SIZE-04)
  uint64_t graph_count;
  const etb_compile_spec* specs;         // spec_count of them, as the user gave them; an unknown key is an error
  uint64_t spec_count;
  const etb_target* target;              // NULL: the plugin's default
  const etb_constant_reader* constants;  // data of the constants in the images
  const etb_artifact_sink* sink;         // receives the payloads
  const etb_option* options;             // option_count of them, scope ETB_OBJECT_PLUGIN
  uint64_t option_count;
  const etb_progress* progress;          // NULL: no progress reports
  const etb_cancel_token* cancel;        // NULL: not cancellable
} etb_compile_args;

// Estimated cost of one region. The caller sets struct_size and zeroes the rest; 0 means unknown.
typedef struct etb_estimate {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  double latency_ns;  // latency of one run
  double confidence;  // 0 to 1

  // Bytes that one run reads and writes, each at least once: inputs, constants, outputs, results outside of the chip's memory.
  uint64_t moved_bytes;

  // Most memory that the delegate holds for one run: intermediate values, scratch, its own copies of inputs and outputs.
  uint64_t peak_bytes;  // without constants and the tensors that the host passes
  double energy_nj;     // energy of one run
} etb_estimate;

// ---- The table ----------------------------------------------------------------------------------

// Capability bits of etb_aot_table.caps. A set bit promises that the function of that name is not NULL
// (ABI-CALL-01).
#define ETB_AOT_CAP_PRESERVE_OPS 0x1u
#define ETB_AOT_CAP_DRY_CHECK 0x2u
#define ETB_AOT_CAP_ESTIMATE 0x4u
#define ETB_AOT_CAPS_KNOWN 0x7u

// The ahead-of-time table. A plugin with ETB_PROFILE_AOT has one.
typedef struct etb_aot_table {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  uint32_t caps;      // ETB_AOT_CAP_*
  uint32_t reserved;  // must be zero

  // Lists every op that the plugin may claim: the same rows in every call.
  //
  // plugin   from init.
  // sink     [borrowed-for-call] receives one item per row.
  // returns  ETB_OK; the sink's status when it stopped.
  // presence required
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* op_table)(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error);

  // Lists ops of the ATen dialect that the compiler must not decompose.
  //
  // plugin   from init.
  // sink     [borrowed-for-call] receives names with overload, "aten.gelu.default".
  // returns  ETB_OK; the sink's status when it stopped.
  // presence optional: ETB_AOT_CAP_PRESERVE_OPS
  // threads  [any]
  // since    1.0     mirrors  ExecuTorch exir/backend/partitioner.py, Partitioner.ops_to_not_decompose
  etb_status(ETB_CALL* preserve_ops)(etb_plugin* plugin, const etb_text_sink* sink, etb_error* error);

  // Claims or rejects every node of a graph, each exactly once (ABI-AOT-01).
  //
  // plugin   from init.
  // args     [borrowed-for-call]
  // sink     [borrowed-for-call] receives claims and rejections in any order.
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (option); the status of etb_graph_open (an image version that the
  //          plugin does not read); the sink's status when it stopped.
  // presence required
  // threads  [any]
  // since    1.0     mirrors  ExecuTorch exir/backend/partitioner.py, Partitioner.partition
  etb_status(ETB_CALL* partition)(etb_plugin* plugin, const etb_partition_args* args,
                                  const etb_partition_sink* sink, etb_error* error);

  // Checks whether a region would compile, initialise and run. A claim looks at nodes one by one; this call
  // sees the region as a whole.
  //
  // plugin   from init.
  // args     [borrowed-for-call] its graph is the region.
  // returns  ETB_OK; the error that compile would return, with the node in its text.
  // presence optional: ETB_AOT_CAP_DRY_CHECK; without it the host compiles and drops the payload
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* dry_check)(etb_plugin* plugin, const etb_partition_args* args, etb_error* error);

  // Estimates the cost of a region.
  //
  // plugin   from init.
  // args     [borrowed-for-call] its graph is the region.
  // estimate the caller sets struct_size and zeroes the rest; filled by the callee.
  // returns  ETB_OK.
  // presence optional: ETB_AOT_CAP_ESTIMATE
  // threads  [any]
  // since    1.0
  etb_status(ETB_CALL* estimate)(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* estimate,
                                 etb_error* error);

  // Compiles regions into payloads.
  //
  // plugin   from init.
  // args     [borrowed-for-call] its sink receives one payload per graph, in order (ABI-AOT-05).
  // returns  ETB_OK; ETB_NOT_SUPPORTED (a node that the plugin did not claim, named in the text);
  //          ETB_INVALID_ARGUMENT (compile spec, by key; option); ETB_CANCELLED; the sink's status when it
  //          stopped. On error the host drops everything that the sink received.
  // presence required
  // threads  [any]   may block: yes
  // since    1.0     mirrors  ExecuTorch exir/backend/backend_details.py, BackendDetails.preprocess
  etb_status(ETB_CALL* compile)(etb_plugin* plugin, const etb_compile_args* args, etb_error* error);
} etb_aot_table;

#ifdef __cplusplus
}
#endif

// ---- Example ------------------------------------------------------------------------------------

// Example relu_aot.c: an ahead-of-time table in C11 that claims aten.relu.default on float32, one region per
// node. It writes the payload that relu.c of plugin.h reads. In a plugin, etb_plugin_table.aot points to the
// table, and the identity has ETB_PROFILE_AOT. The test header_examples_verify has the plugin of both judged by
// `etbackend verify`.
//
//   #include <stdio.h>
//   #include <string.h>
//
//   #include "etb/all.h"
//
//   static const etb_dtype float32_only[] = {ETB_DTYPE_FLOAT32};
//   static const etb_op_capability relu_row = {.struct_size = ETB_INIT_SIZE(etb_op_capability),
//                                              .flags = ETB_OP_DYNAMIC_SIZES,
//                                              .op = "aten.relu.default",
//                                              .dtypes = float32_only,
//                                              .dtype_count = 1,
//                                              .max_rank = ETB_MAX_RANK,
//                                              .layouts = ETB_LAYOUT_CONTIGUOUS,
//                                              .constraint = ""};
//
//   static etb_status fail(etb_error* error, etb_status code, const char* text) {
//     if (error != NULL && ETB_HAS_FIELD(etb_error, error, text)) {
//       error->code = code;
//       strncpy(error->text, text, sizeof error->text - 1);
//     }
//     return code;
//   }
//
//   static etb_status ETB_CALL op_table(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
//     (void)plugin, (void)error;
//     return sink->put(sink->ctx, &relu_row);
//   }
//
//   /* As in relu.c. */
//   #define READABLE(type, ptr, last) ((ptr) != NULL && ETB_HAS_FIELD(type, ptr, last) && (ptr)->flags == 0)
//
//   static etb_status check_options(const etb_option* options, uint64_t count, etb_error* error) {
//     uint64_t i;
//     for (i = 0; i < count; ++i) {
//       const etb_option* option = ETB_AT(etb_option, options, i);
//       if (!READABLE(etb_option, option, reserved_pointer) || option->key == NULL ||
//           strncmp(option->key, "x-", 2) != 0)
//         return fail(error, ETB_INVALID_ARGUMENT, "options: found one, the plugin knows none");
//     }
//     return ETB_OK;
//   }
//
//   /* Returns NULL to claim the node, else the id of the reason to reject it. */
//   static const char* reason_to_reject(const etb_graph_view* view, const etb_graph_body* body,
//                                       const etb_graph_node* node) {
//     const etb_graph_argument self = etb_graph_get_argument(view, node, 0);
//     uint32_t ids[2], v, i;
//     if (strcmp(etb_graph_op_name(view, node->op), relu_row.op) != 0) return "op";
//     ids[0] = self.value;
//     ids[1] = node->first_output;
//     for (v = 0; v < 2; ++v) {
//       const etb_graph_value value = etb_graph_get_value(view, body, ids[v]);
//       const etb_graph_spec spec = etb_graph_get_spec(view, value.spec);
//       if (value.quant != ETB_GRAPH_NONE) return "quant";
//       if (spec.dtype != ETB_DTYPE_FLOAT32) return "dtype";
//       for (i = 0; i < spec.rank; ++i)
//         if (spec.dim_order[i] != i) return "layout";
//     }
//     /* Not a constant or state: the payload has no room for it. */
//     if (self.value < body->inputs.count &&
//         etb_graph_get_input(view, body, self.value).kind != ETB_GRAPH_INPUT_USER)
//       return "com.example.relu.constant";
//     return NULL;
//   }
//
//   static etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
//                                        const etb_partition_sink* sink, etb_error* error) {
//     etb_graph_view view;
//     etb_status status;
//     uint32_t g, i;
//     (void)plugin;
//     if (!READABLE(etb_partition_args, args, option_count) ||
//         !READABLE(etb_graph_image, args->graph, image) || !READABLE(etb_partition_sink, sink, reject))
//       return fail(error, ETB_INVALID_ARGUMENT, "a struct that is too short, or has flags");
//     status = check_options(args->options, args->option_count, error);
//     if (status != ETB_OK) return status;
//     status = etb_graph_open(args->graph, &view);
//     if (status != ETB_OK)
//       return fail(error, status, "graph image: found a version that the plugin does not read");
//     for (g = 0; g < view.graphs.count; ++g) {
//       const etb_graph_body body = etb_graph_get_body(&view, g);
//       for (i = 0; i < body.nodes.count; ++i) {
//         const etb_graph_node node = etb_graph_get_node(&view, &body, i);
//         const char* reason = reason_to_reject(&view, &body, &node);
//         const uint32_t id = body.first_node_id + i;
//         const etb_claim claim = {.struct_size = ETB_INIT_SIZE(etb_claim),
//                                  .flags = ETB_CLAIM_OWN_REGION,
//                                  .node_ids = &id,
//                                  .node_count = 1};
//         const etb_reject reject = {.struct_size = ETB_INIT_SIZE(etb_reject),
//                                    .node_ids = &id,
//                                    .node_count = 1,
//                                    .reason = reason,
//                                    .text = "expected aten.relu.default on contiguous float32"};
//         status = reason == NULL ? sink->claim(sink->ctx, &claim) : sink->reject(sink->ctx, &reject);
//         if (status != ETB_OK) return fail(error, status, "the sink stopped"); /* ABI-SINK-02 */
//       }
//     }
//     return ETB_OK;
//   }
//
//   /* Refuses a region that partition does not make: it has one claimed node. */
//   static etb_status check_region(const etb_graph_image* image, etb_error* error) {
//     etb_graph_view view;
//     etb_graph_body body;
//     char text[96];
//     uint32_t i;
//     if (!READABLE(etb_graph_image, image, image) || etb_graph_open(image, &view) != ETB_OK)
//       return fail(error, ETB_INVALID_ARGUMENT, "a graph image that the plugin cannot read");
//     body = etb_graph_get_body(&view, 0);
//     for (i = 0; i < body.nodes.count; ++i) {
//       const etb_graph_node node = etb_graph_get_node(&view, &body, i);
//       const char* reason = reason_to_reject(&view, &body, &node);
//       if (reason == NULL) continue;
//       snprintf(text, sizeof text, "node %u: %s", (unsigned)i, reason);
//       return fail(error, ETB_NOT_SUPPORTED, text);
//     }
//     if (body.nodes.count != 1 || body.outputs.count != 1)
//       return fail(error, ETB_NOT_SUPPORTED, "a region of more than one node, expected one");
//     return ETB_OK;
//   }
//
//   static etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
//     const uint32_t payload = 1; /* the version that relu.c reads; little-endian machines only */
//     const etb_artifact_sink* sink;
//     etb_status status;
//     uint32_t i;
//     (void)plugin;
//     if (!READABLE(etb_compile_args, args, cancel) || !READABLE(etb_artifact_sink, args->sink, end_payload))
//       return fail(error, ETB_INVALID_ARGUMENT, "a struct that is too short, or has flags");
//     if (args->spec_count != 0)
//       return fail(error, ETB_INVALID_ARGUMENT, "compile specs: found some, expected none");
//     status = check_options(args->options, args->option_count, error);
//     if (status != ETB_OK) return status;
//     sink = args->sink;
//     for (i = 0; i < args->graph_count; ++i) {
//       const etb_artifact artifact = {
//           .struct_size = ETB_INIT_SIZE(etb_artifact), .graph_index = i, .format_version = 1};
//       const etb_blob_writer* writer = NULL;
//       status = check_region(ETB_AT(etb_graph_image, args->graphs, i), error);
//       if (status != ETB_OK) return status;
//       status = sink->begin_payload(sink->ctx, i, &writer);
//       if (status == ETB_OK) status = writer->write(writer->ctx, 0, &payload, sizeof payload);
//       if (status == ETB_OK) status = sink->end_payload(sink->ctx, &artifact);
//       if (status != ETB_OK) return fail(error, status, "the sink stopped");
//     }
//     return ETB_OK;
//   }
//
//   const etb_aot_table relu_aot = {.struct_size = ETB_INIT_SIZE(etb_aot_table),
//                                   .op_table = op_table,
//                                   .partition = partition,
//                                   .compile = compile};

#endif
