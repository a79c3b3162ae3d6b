// SPDX-License-Identifier: Apache-2.0
//
// The graph image: the form in which a plugin sees a graph ahead of time.
//
// One contiguous, pointer-free FlatBuffer (file id "ETG1", suffix .etg, schema api/schema/graph.fbs) holds
// one method: nodes with edge-dialect op names, attributes, tensor specs with ranges of dynamic dimensions,
// quantisation, constants by key, size and digest, aliases and mutations, subgraphs of control flow, debug
// handles and source locations. The same bytes are the partition query, the compile input, a case of the
// conformance suite, a cache key and a repro file.
//
// This header reads an image with nothing to link: every function is `static inline` (graph_inline.h), needs
// no FlatBuffers library, takes no lock and no memory, and may be called from C11 and C++20. C++ plugins may
// prefer etb/cpp/graph_view.hpp.
//
// Example list_nodes.c: prints the op of each node of the method. The test header_examples compiles and runs
// it.
//
//   #include <stdio.h>
//
//   #include "etb/graph.h"
//
//   etb_status list_nodes(const etb_graph_image* image) {
//     etb_graph_view view;
//     etb_graph_body body;
//     uint32_t i;
//     const etb_status status = etb_graph_open(image, &view);
//     if (status != ETB_OK) return status;
//     body = etb_graph_get_body(&view, 0); /* graph 0 is the method */
//     for (i = 0; i < body.nodes.count; ++i) {
//       const etb_graph_node node = etb_graph_get_node(&view, &body, i);
//       printf("node %u: %s\n", (unsigned)(body.first_node_id + i), etb_graph_op_name(&view, node.op));
//     }
//     return ETB_OK;
//   }
//
// Meaning of an image
//
//   Ops            Edge-dialect names of three parts, "namespace.name.overload": aten.add.Tensor,
//                  aten.relu.default, quantized_decomposed.quantize_per_tensor.default,
//                  executorch_prim.add.Scalar, dim_order_ops._to_dim_order_copy.default,
//                  higher_order.cond.default. They are the functional forms (no .out). Each name occurs once
//                  in the image, so look names up once: index a table by node.op instead of calling strcmp
//                  for each node.
//
//   Values         In SSA form, numbered per graph in order of definition: input i is value i; the outputs of
//                  each node follow. A node uses only earlier values of its own graph. A subgraph receives
//                  the values it needs as inputs.
//
//   Arguments      In schema order. Values (tensors, symbolic numbers) and attributes share one list; `kind`
//                  distinguishes them. An argument that equals the schema's default may be missing, so find
//                  arguments by name rather than by position. An int where the schema says Scalar stays an
//                  int: the kind decides type promotion.
//
//   Sizes          Of a dynamic dimension the upper bound, so that a plugin without support for dynamic sizes
//                  plans for the worst case. min_sizes has the lower bound, exprs the formula over symbols,
//                  e.g. 4*s0+1.
//
//   Constants      Named by key. The data is inside the image (`data`) or outside; compile passes a reader
//                  for both (aot.h). Two inputs with one constant share one weight.
//
//   Mutation       Explicit. An output with `updates` is the new contents of that input (a buffer, or the
//                  caller's tensor); the input is then state. A value with `alias` shows or overwrites the
//                  storage of an earlier value. A region is without both: a buffer that the model writes
//                  is a plain input of it, the new contents are a plain output, and the host stores them.
//
//   Node ids       Number the nodes of all graphs of the image: first_node_id + index. The method is graph 0,
//                  so its ids are plain positions. Claims, rejections and reports use them.
//
//   Debug handles  Name a node across transformations; 0 is none. Sources point at the user's Python.
//
// Trust
//
//   ABI-GRAPH-01   The host passes only images that its verifier accepted (`etbackend graph FILE.etg` runs
//                  it): every rule of api/schema/graph.fbs holds, so a plugin need not check again.
//   ABI-GRAPH-02   image.data is aligned to ETB_GRAPH_ALIGNMENT bytes; inline data of constants is then
//                  aligned to it too.
//   ABI-GRAPH-03   The functions below are total. On bytes that no verifier checked, and for an index out of
//                  range, they return zeros, "" and empty lists; they never read outside the image. Such
//                  results have no meaning.
//
// All functions: threads [any], state none, may block: no, may allocate: no, since 1.0. Every pointer and
// list that they return points into the image and is valid as long as its bytes; the view itself may be
// copied.
//
// mirrors  ExecuTorch exir.ExportedProgram as a delegate's preprocess() sees it
#ifndef ETB_GRAPH_H_
#define ETB_GRAPH_H_

#include "etb/base.h"
#include "etb/status.h"
#include "etb/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETB_GRAPH_ALIGNMENT 16u        // alignment of the first byte of an image
#define ETB_GRAPH_VERSION 1u           // version of the image format that these functions read
#define ETB_GRAPH_MAX_DEPTH 32u        // how deep subgraphs may nest; the method has depth 1
#define ETB_GRAPH_MAX_EXPR_TERMS 256u  // how many leaves and operators one formula may have
#define ETB_GRAPH_DIGEST_NBYTES 32u    // sha-256
#define ETB_GRAPH_NONE UINT32_MAX      // an optional index that is absent
#define ETB_GRAPH_UNBOUNDED INT64_MAX  // upper bound of a symbol or SYM_INT that has none

// One image as it crosses the boundary.
//
// image    [borrowed-for-call] the bytes of a file *.etg (rules ABI-GRAPH-01 and 02). Constants outside the
//          image are read with the etb_constant_reader of the call (etb/aot.h), by key.
typedef struct etb_graph_image {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  etb_bytes image;
} etb_graph_image;

// The closed lists, as ETB_GRAPH_<LIST>_<NAME>. The comments of api/schema/graph.fbs define each value.
enum {
#define ETB_GRAPH_EXPR_KIND(name, value, text) ETB_GRAPH_EXPR_##name = value,
#define ETB_GRAPH_QUANT_SCHEME(name, value, text) ETB_GRAPH_QUANT_##name = value,
#define ETB_GRAPH_INPUT_KIND(name, value, text) ETB_GRAPH_INPUT_##name = value,
#define ETB_GRAPH_VALUE_KIND(name, value, text) ETB_GRAPH_VALUE_##name = value,
#define ETB_GRAPH_ALIAS_KIND(name, value, text) ETB_GRAPH_ALIAS_##name = value,
#define ETB_GRAPH_ARGUMENT_KIND(name, value, text) ETB_GRAPH_ARGUMENT_##name = value,
#define ETB_GRAPH_LAYOUT(name, value, text) ETB_GRAPH_LAYOUT_##name = value,
#define ETB_GRAPH_MEMORY_FORMAT(name, value, text) ETB_GRAPH_MEMORY_FORMAT_##name = value,
#include "etb/graph_kinds.def"
};

// The structs below are decoded copies, made by inline code of the reading side. They do not cross the ABI
// and carry no size.

// A list of elements inside the image, little-endian. Read them with etb_graph_u8_at, _i32_at, _u32_at,
// _i64_at or _f64_at; the comment at each field names the element type.
typedef struct etb_graph_list {
  const uint8_t* data;
  uint32_t count;
} etb_graph_list;

// An opened image. The counts of the lists are the numbers of strings, symbols, and so on.
typedef struct etb_graph_view {
  const uint8_t* data;
  uint64_t nbytes;
  const char* name;      // the method
  const char* producer;  // the program that wrote the image
  etb_graph_list strings;
  etb_graph_list symbols;
  etb_graph_list exprs;
  etb_graph_list specs;
  etb_graph_list quants;
  etb_graph_list constants;
  etb_graph_list ops;
  etb_graph_list sources;
  etb_graph_list graphs;
} etb_graph_view;

// A number that is known only at run time.
typedef struct etb_graph_symbol {
  const char* name;
  int64_t min;
  int64_t max;        // ETB_GRAPH_UNBOUNDED: no upper bound
  int64_t hint;       // the value in the exporter's example
  uint32_t has_hint;  // 0 or 1
} etb_graph_symbol;

// One term of a formula; left and right are numbers of earlier terms.
typedef struct etb_graph_expr {
  uint32_t kind;  // ETB_GRAPH_EXPR_*
  int64_t value;  // INT: the number; SYMBOL: the number of the symbol
  uint32_t left;
  uint32_t right;
} etb_graph_expr;

// dtype, sizes and dim order of a tensor.
typedef struct etb_graph_spec {
  uint32_t dtype;  // etb/dtype.def
  uint32_t rank;
  uint32_t dynamic_dims;            // bit i: dimension i is dynamic; 0: the tensor is static
  int64_t sizes[ETB_MAX_RANK];      // upper bound; -1 where there is none
  int64_t min_sizes[ETB_MAX_RANK];  // equals sizes where the dimension is static
  uint32_t exprs[ETB_MAX_RANK];     // formula of the size, or ETB_GRAPH_NONE
  uint8_t dim_order[ETB_MAX_RANK];  // outermost first; [N, C, H, W] in channels last is 0 2 3 1
} etb_graph_spec;

// Quantisation of a tensor: real number = (integer - zero_point) * scale.
typedef struct etb_graph_quant {
  uint32_t scheme;           // ETB_GRAPH_QUANT_*
  uint32_t expressed_dtype;  // dtype of the real number
  int64_t quant_min;         // range of the integers, both ends included
  int64_t quant_max;
  double scale;                // PER_TENSOR
  int64_t zero_point;          // PER_TENSOR
  uint32_t axis;               // PER_CHANNEL
  etb_graph_list block_sizes;  // PER_GROUP: i64, one a dimension
  uint32_t scales;             // PER_CHANNEL, PER_GROUP: constant
  uint32_t zero_points;        // the same, or ETB_GRAPH_NONE: all zero
  const char* codec;           // OPAQUE: reverse.domain.name/rev
  etb_graph_list codec_data;   // OPAQUE: u8
} etb_graph_quant;

// Data that is the same in every call.
typedef struct etb_graph_constant {
  const char* key;
  uint32_t spec;
  uint64_t nbytes;
  const uint8_t* digest;  // sha-256 of the data, ETB_GRAPH_DIGEST_NBYTES bytes; all zero: unknown
  const void* data;       // NULL: outside the image
} etb_graph_constant;

// Location in the user's Python that a node comes from. Unknown parts are "" and 0.
typedef struct etb_graph_source {
  const char* file;
  uint32_t line;
  const char* function;
  const char* module;  // path of the module instance, "layer1.0.conv1"
} etb_graph_source;

// One graph: the method or a branch or loop body.
typedef struct etb_graph_body {
  const char* name;
  uint32_t first_node_id;
  etb_graph_list inputs;
  etb_graph_list outputs;
  etb_graph_list values;
  etb_graph_list nodes;
} etb_graph_body;

// Input i defines value i.
typedef struct etb_graph_input {
  uint32_t kind;        // ETB_GRAPH_INPUT_*
  const char* target;   // the module's name of a parameter, buffer or constant
  uint32_t constant;    // or ETB_GRAPH_NONE
  uint32_t updated_by;  // the output with its new contents, or ETB_GRAPH_NONE
} etb_graph_input;

// One output of a graph.
typedef struct etb_graph_output {
  uint32_t value;
  uint32_t updates;  // the input it updates, or ETB_GRAPH_NONE: a result for the caller
} etb_graph_output;

// One value of a graph: an input, or an output of a node.
typedef struct etb_graph_value {
  const char* name;
  uint32_t kind;      // ETB_GRAPH_VALUE_*
  uint32_t spec;      // TENSOR; else ETB_GRAPH_NONE
  uint32_t quant;     // TENSOR; or ETB_GRAPH_NONE. The compiler writes nodes that quantise, and leaves this none
  uint32_t expr;      // SYM_INT: its formula, or ETB_GRAPH_NONE
  int64_t min;        // SYM_INT
  int64_t max;        // SYM_INT; ETB_GRAPH_UNBOUNDED: no upper bound
  uint32_t alias;     // ETB_GRAPH_ALIAS_*
  uint32_t alias_of;  // the earlier value, or ETB_GRAPH_NONE
} etb_graph_value;

// A node defines the values first_output, first_output + 1, ... of its graph.
typedef struct etb_graph_node {
  uint32_t op;
  uint32_t first_output;
  uint32_t output_count;
  uint32_t debug_handle;  // 0: none
  uint32_t source;        // or ETB_GRAPH_NONE
  etb_graph_list args;    // etb_graph_get_argument

  // i32. Empty: each result is one value. Else one entry per result: -1: one value, n: a list of n values.
  etb_graph_list result_lengths;
} etb_graph_node;

// One argument. `kind` decides which fields are used; the others are zero and empty.
typedef struct etb_graph_argument {
  uint32_t kind;          // ETB_GRAPH_ARGUMENT_*
  const char* name;       // the schema's, or ""
  uint32_t value;         // VALUE
  int64_t as_int;         // INT; BOOL: 0 or 1; DTYPE, LAYOUT, MEMORY_FORMAT: code; GRAPH: number of the graph
  double as_float;        // FLOAT
  const char* as_string;  // STRING, DEVICE

  // VALUES, SYM_INTS: u32. ETB_GRAPH_NONE means an absent tensor (VALUES) or a plain number in `ints`
  // (SYM_INTS).
  etb_graph_list values;

  etb_graph_list ints;    // INTS, SYM_INTS: i64; BOOLS: i64 0 or 1; STRINGS: i64, for etb_graph_string
  etb_graph_list floats;  // FLOATS: f64; COMPLEX: real, imaginary
} etb_graph_argument;

// Opens an image for reading.
//
// image     [borrowed-for-call] the view points into image->image, not to this struct.
// out_view  filled by the callee; zeroed on error.
// returns   ETB_OK; ETB_INVALID_ARGUMENT (NULL, or struct_size smaller than version 1.0); ETB_INVALID_DATA
//           (not an image); ETB_INCOMPATIBLE (a version, or a required feature, that this header does not
//           read).
static inline etb_status etb_graph_open(const etb_graph_image* image, etb_graph_view* out_view);

// Returns element `index` of a list, 0 when the index is out of range. The name has the element type.
static inline uint8_t etb_graph_u8_at(etb_graph_list list, uint32_t index);
static inline int32_t etb_graph_i32_at(etb_graph_list list, uint32_t index);
static inline uint32_t etb_graph_u32_at(etb_graph_list list, uint32_t index);
static inline int64_t etb_graph_i64_at(etb_graph_list list, uint32_t index);
static inline double etb_graph_f64_at(etb_graph_list list, uint32_t index);

// Returns string `index` of the image, NUL-terminated.
static inline const char* etb_graph_string(const etb_graph_view* view, uint32_t index);

// Returns the name of an op (etb_graph_node.op), "aten.add.Tensor".
static inline const char* etb_graph_op_name(const etb_graph_view* view, uint32_t op);

// Returns symbol `index` (etb_graph_expr.value of a SYMBOL).
static inline etb_graph_symbol etb_graph_get_symbol(const etb_graph_view* view, uint32_t index);

// Returns term `index` of a formula (etb_graph_spec.exprs, etb_graph_value.expr).
static inline etb_graph_expr etb_graph_get_expr(const etb_graph_view* view, uint32_t index);

// Returns tensor spec `index` (etb_graph_value.spec, etb_graph_constant.spec).
static inline etb_graph_spec etb_graph_get_spec(const etb_graph_view* view, uint32_t index);

// Returns quantisation `index` (etb_graph_value.quant).
static inline etb_graph_quant etb_graph_get_quant(const etb_graph_view* view, uint32_t index);

// Returns constant `index` (etb_graph_input.constant, etb_graph_quant.scales).
static inline etb_graph_constant etb_graph_get_constant(const etb_graph_view* view, uint32_t index);

// Returns source location `index` (etb_graph_node.source).
static inline etb_graph_source etb_graph_get_source(const etb_graph_view* view, uint32_t index);

// Returns graph `index`: 0 is the method, the others are bodies of control flow.
static inline etb_graph_body etb_graph_get_body(const etb_graph_view* view, uint32_t index);

// Returns input `index` of a graph, which defines value `index`.
static inline etb_graph_input etb_graph_get_input(const etb_graph_view* view, const etb_graph_body* body,
                                                  uint32_t index);

// Returns output `index` of a graph.
static inline etb_graph_output etb_graph_get_output(const etb_graph_view* view, const etb_graph_body* body,
                                                    uint32_t index);

// Returns value `index` of a graph.
static inline etb_graph_value etb_graph_get_value(const etb_graph_view* view, const etb_graph_body* body,
                                                  uint32_t index);

// Returns node `index` of a graph; its id is body->first_node_id + index.
static inline etb_graph_node etb_graph_get_node(const etb_graph_view* view, const etb_graph_body* body,
                                                uint32_t index);

// Returns argument `index` of a node.
static inline etb_graph_argument etb_graph_get_argument(const etb_graph_view* view,
                                                        const etb_graph_node* node, uint32_t index);

// Returns the index of the argument with this schema name, or ETB_GRAPH_NONE.
static inline uint32_t etb_graph_find_argument(const etb_graph_view* view, const etb_graph_node* node,
                                               const char* name);

// Finds the node with an id.
//
// out_body   the graph of the node.
// out_index  the index of the node in that graph.
// returns    1, or 0 when no node has the id.
static inline uint32_t etb_graph_find_node(const etb_graph_view* view, uint32_t node_id,
                                           etb_graph_body* out_body, uint32_t* out_index);

// Returns the bytes of a tensor whose dimensions all have their upper bound; -1 when a dimension has no
// bound, the dtype is unknown or the product overflows.
static inline int64_t etb_graph_spec_nbytes(const etb_graph_spec* spec);

#ifdef __cplusplus
}
#endif

#include "etb/graph_inline.h"

#endif
