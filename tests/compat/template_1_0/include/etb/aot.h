// Ahead of time: which ops a plugin takes, which nodes of a graph it claims, and making payloads of them.
//
// The compiler shows the whole method as a graph image; the plugin claims or rejects every node; the compiler
// groups claimed nodes into convex regions; each region comes back as a graph image of its own and is
// compiled into a payload.
//
//   op_table, preserve_ops -> partition -> [regions] -> dry_check, estimate -> compile -> payload
//
// Everything here works without a device (ABI-AOT-03) and is a pure function of its arguments: same bytes in,
// same bytes out, in any process, in any order (ABI-AOT-02).
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

// ---- What a plugin can do, as data --------------------------------------------------------------

#define ETB_LAYOUT_CONTIGUOUS 0x1u     // dim order 0, 1, ..., rank - 1
#define ETB_LAYOUT_CHANNELS_LAST 0x2u  // dim order 0, 2, ..., rank - 1, 1
#define ETB_LAYOUT_ANY 0x4u            // any dim order

#define ETB_OP_DYNAMIC_SIZES 0x1u  // takes dynamic dimensions

// One row of the op table: the plugin takes this op with these element types, ranks and layouts, unless
// `constraint` says otherwise. A row is a promise of what can be claimed, not of what will be.
typedef struct etb_op_capability {
  uint32_t struct_size;
  uint32_t flags;           // ETB_OP_*
  const char* op;           // edge name with overload, "aten.add.Tensor"
  const etb_dtype* dtypes;  // dtype_count element types of the first tensor input
  uint32_t dtype_count;
  uint32_t min_rank;
  uint32_t max_rank;
  uint32_t layouts;  // ETB_LAYOUT_*
  const char* const*
      quant_schemes;  // quant_scheme_count string ids, "per-tensor", "per-channel", ...; none: float only
  uint32_t quant_scheme_count;
  uint32_t reserved;       // must be zero
  const char* constraint;  // what else must hold, one sentence for people; "" when nothing
} etb_op_capability;

typedef struct etb_op_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* put)(void* ctx, const etb_op_capability* op);
} etb_op_sink;

// ---- Partition ----------------------------------------------------------------------------------

#define ETB_CLAIM_WHOLE_GROUP 0x1u  // worthless unless all nodes of the group end up in one region
#define ETB_CLAIM_OWN_REGION \
  0x2u  // the group (a node without group: the node) is a region of its own, merged with no other

// Nodes that the plugin takes. Node ids are those of etb/graph.h: nodes are numbered over all graphs of the image.
typedef struct etb_claim {
  uint32_t struct_size;
  uint32_t flags;            // ETB_CLAIM_*
  const uint32_t* node_ids;  // node_count of them
  uint32_t node_count;
  uint32_t group;  // nodes of one group belong together (a fused pattern); 0: each node by itself
  double cost_ns;  // estimated time of these nodes together, 0: unknown
} etb_claim;

// Nodes that the plugin refuses, and why.
typedef struct etb_reject {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  const uint32_t* node_ids;  // node_count of them
  uint32_t node_count;
  uint32_t reserved;  // must be zero
  const char*
      reason;  // stable id: "op", "dtype", "rank", "layout", "dynamic", "quant", "attribute", or reverse DNS
  const char* text;  // for people: what was found, what would do
} etb_reject;

typedef struct etb_partition_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* claim)(void* ctx, const etb_claim* claim);

  // Takes one item [borrowed-for-call], on the thread of the call that was given the sink, before it returns (ABI-SINK-01).
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* reject)(void* ctx, const etb_reject* reject);
} etb_partition_sink;

typedef struct etb_partition_args {
  uint32_t struct_size;
  uint32_t flags;                // must be zero
  const etb_graph_image* graph;  // the whole method
  const etb_target* target;      // NULL: the plugin's default
  const char* backend_id;        // which of the plugin's delegate ids is asked
  const etb_option* options;     // option_count of them, scope ETB_OBJECT_PLUGIN
  uint64_t option_count;
} etb_partition_args;

// ---- Compilation --------------------------------------------------------------------------------

// The bytes of constants, by the keys in the images.
typedef struct etb_constant_reader {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // out      caller sets struct_size; [host-releases-on-callback], at the latest when the compile call returns.
  // threads  [any]   since 1.0
  etb_status(ETB_CALL* read)(void* ctx, const char* key, etb_payload_view* out, etb_error* error);
} etb_constant_reader;

// Where a payload's bytes go.
typedef struct etb_blob_writer {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Writes at an offset; gaps read as zero.
  // threads  [serial:writer]   since 1.0
  etb_status(ETB_CALL* write)(void* ctx, uint64_t offset_bytes, const void* data, uint64_t nbytes);
} etb_blob_writer;

// Bytes stored beside the payloads under a key, once for all payloads that name it.
typedef struct etb_named_blob {
  uint32_t struct_size;
  uint32_t flags;            // must be zero
  const char* key;           // equal keys must have equal bytes (ABI-AOT-04)
  etb_bytes value;           // borrowed-for-call
  const char* constant_key;  // not NULL: the bytes are this constant's, unchanged, and value is empty
  uint64_t alignment;        // a power of two, 0: the host's choice
} etb_named_blob;

// From a debug id that the delegate's events will carry to the debug handles of the graph's nodes.
typedef struct etb_debug_entry {
  uint32_t struct_size;
  uint32_t flags;           // must be zero
  int64_t debug_id;         // -1: name counts
  const char* name;         // NULL: debug_id counts
  const uint32_t* handles;  // handle_count of them
  uint64_t handle_count;
} etb_debug_entry;

// One compiled region.
typedef struct etb_artifact {
  uint32_t struct_size;
  uint32_t flags;                 // must be zero
  uint32_t graph_index;           // which of etb_compile_args.graphs
  uint32_t format_version;        // of the payload
  const char* const* named_keys;  // named_key_count keys of named blobs that the payload reads
  uint64_t named_key_count;
  uint64_t scratch_bytes;  // bounds for planning, 0: unknown
  uint64_t resident_bytes;
  const etb_compile_spec*
      specs;  // spec_count of them to store with the payload; delegate_create gets them byte for byte
  uint64_t spec_count;
  const etb_debug_entry* debug_map;  // debug_entry_count of them, ABI-SIZE-04
  uint64_t debug_entry_count;
} etb_artifact;

// Takes what a compilation makes. For each graph, in order: begin_payload, write through its writer, then
// end_payload.
typedef struct etb_artifact_sink {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  void* ctx;

  // Starts the payload of one graph. out_writer [borrowed-until-destroy]: valid until its end_payload.
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* begin_payload)(void* ctx, uint32_t graph_index, const etb_blob_writer** out_writer);

  // Adds bytes under a key, at any time between the first begin_payload and the last end_payload.
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* named_blob)(void* ctx, const etb_named_blob* blob);

  // Ends the payload that was begun last.
  // threads  [serial:sink]   since 1.0
  etb_status(ETB_CALL* end_payload)(void* ctx, const etb_artifact* artifact);
} etb_artifact_sink;

typedef struct etb_compile_args {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  const char* backend_id;
  const etb_graph_image* graphs;  // graph_count regions, of all methods of the program, ABI-SIZE-04
  uint64_t graph_count;
  const etb_compile_spec* specs;  // spec_count of them, as the user gave them
  uint64_t spec_count;
  const etb_target* target;  // NULL: the plugin's default
  const etb_constant_reader* constants;
  const etb_artifact_sink* sink;
  const etb_option* options;  // option_count of them, scope ETB_OBJECT_PLUGIN
  uint64_t option_count;
  const etb_progress* progress;    // NULL: nobody watches
  const etb_cancel_token* cancel;  // NULL: not cancellable
} etb_compile_args;

// What a region would cost. The caller sets struct_size and zeroes the rest; 0 means unknown.
typedef struct etb_estimate {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  double latency_ns;
  double confidence;  // 0 to 1
  uint64_t moved_bytes;
  uint64_t peak_bytes;
  double energy_nj;
} etb_estimate;

// ---- The table ----------------------------------------------------------------------------------

#define ETB_AOT_CAP_PRESERVE_OPS 0x1u
#define ETB_AOT_CAP_DRY_CHECK 0x2u
#define ETB_AOT_CAP_ESTIMATE 0x4u
#define ETB_AOT_CAPS_KNOWN 0x7u

typedef struct etb_aot_table {
  uint32_t struct_size;
  uint32_t flags;     // must be zero
  uint32_t caps;      // ETB_AOT_CAP_*
  uint32_t reserved;  // must be zero

  // Every op that the plugin may claim, as data: the same rows at every call.
  //
  // threads  [any]   since 1.0   required
  etb_status(ETB_CALL* op_table)(etb_plugin* plugin, const etb_op_sink* sink, etb_error* error);

  // Ops of the ATen dialect that the exporter must not decompose, by name with overload, "aten.gelu.default".
  //
  // threads  [any]   since 1.0   optional: ETB_AOT_CAP_PRESERVE_OPS
  etb_status(ETB_CALL* preserve_ops)(etb_plugin* plugin, const etb_text_sink* sink, etb_error* error);

  // Claims or rejects every node of a graph: each exactly once (ABI-AOT-01).
  //
  // args     [borrowed-for-call]   sink  [borrowed-for-call]
  // returns  ETB_OK; ETB_INVALID_ARGUMENT (image version not read); the sink's status when it stopped.
  // threads  [any]   since 1.0   required   mirrors ExecuTorch exir/backend/partitioner.py,
  //          Partitioner.partition
  etb_status(ETB_CALL* partition)(etb_plugin* plugin, const etb_partition_args* args,
                                  const etb_partition_sink* sink, etb_error* error);

  // Whether a region would compile, initialise and run. Closes the gap between a claim and a compilation.
  //
  // returns  ETB_OK; the error that compile would give, with the node in its text.
  // threads  [any]   since 1.0   optional: ETB_AOT_CAP_DRY_CHECK; without it the host compiles into nothing
  etb_status(ETB_CALL* dry_check)(etb_plugin* plugin, const etb_partition_args* args, etb_error* error);

  // What a region would cost.
  //
  // threads  [any]   since 1.0   optional: ETB_AOT_CAP_ESTIMATE
  etb_status(ETB_CALL* estimate)(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* estimate,
                                 etb_error* error);

  // Compiles regions into payloads.
  //
  // args     [borrowed-for-call]
  // returns  ETB_OK; ETB_NOT_SUPPORTED (a node that it did not claim, named); ETB_INVALID_ARGUMENT (compile
  //          spec, by key);
  //          ETB_CANCELLED; the sink's status when it stopped. On error nothing that was put counts.
  // threads  [any]   since 1.0   required   may block: yes   mirrors ExecuTorch
  //          exir/backend/backend_details.py, preprocess
  etb_status(ETB_CALL* compile)(etb_plugin* plugin, const etb_compile_args* args, etb_error* error);
} etb_aot_table;

#ifdef __cplusplus
}
#endif

#endif
