// SPDX-License-Identifier: Apache-2.0
//
// Implementation of etb/graph.h; include that header, not this one. Every load checks that it stays inside
// the image, so the functions are total (ABI-GRAPH-03); on a verified image the checks always pass. Names
// that end in _ are private.
//
// FlatBuffers in short:
//
//   root     the u32 at byte 0 is the position of the root table
//   table    begins with an i32, the distance back to its vtable
//   vtable   u16 nbytes of the vtable, u16 nbytes of the table, then one u16 per field: its offset in the
//            table, 0: absent
//   offset   strings, vectors and tables are reached by a u32 that counts from its own position
//   vector   begins with its u32 count
#ifndef ETB_GRAPH_INLINE_H_
#define ETB_GRAPH_INLINE_H_

#include <string.h>

#include "etb/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t etb_graph_u32_(const uint8_t* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t etb_graph_u64_(const uint8_t* p) {
  return (uint64_t)etb_graph_u32_(p) | (uint64_t)etb_graph_u32_(p + 4) << 32;
}

static inline uint8_t etb_graph_u8_at(etb_graph_list list, uint32_t index) {
  return index < list.count ? list.data[index] : (uint8_t)0;
}

static inline uint32_t etb_graph_u32_at(etb_graph_list list, uint32_t index) {
  return index < list.count ? etb_graph_u32_(list.data + (size_t)index * 4) : 0;
}

static inline int32_t etb_graph_i32_at(etb_graph_list list, uint32_t index) {
  return (int32_t)etb_graph_u32_at(list, index);
}

static inline int64_t etb_graph_i64_at(etb_graph_list list, uint32_t index) {
  return index < list.count ? (int64_t)etb_graph_u64_(list.data + (size_t)index * 8) : 0;
}

static inline double etb_graph_f64_at(etb_graph_list list, uint32_t index) {
  const int64_t bits = etb_graph_i64_at(list, index);
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Positions are bytes from the start of the image; 0 means "not there", since byte 0 is in no table.
static inline uint32_t etb_graph_load_u32_(const etb_graph_view* view, uint64_t position) {
  return view->nbytes >= 4 && position <= view->nbytes - 4 ? etb_graph_u32_(view->data + position) : 0;
}

static inline uint32_t etb_graph_load_u16_(const etb_graph_view* view, uint64_t position) {
  if (view->nbytes < 2 || position > view->nbytes - 2) return 0;
  return (uint32_t)view->data[position] | (uint32_t)view->data[position + 1] << 8;
}

// Where a field of `field_nbytes` bytes lies, or 0.
static inline uint64_t etb_graph_field_(const etb_graph_view* view, uint64_t table, uint32_t slot,
                                        uint32_t field_nbytes) {
  const int64_t vtable = (int64_t)table - (int32_t)etb_graph_load_u32_(view, table);
  const uint32_t entry = 4 + 2 * slot;
  uint32_t offset;
  if (table == 0 || vtable < 0 || entry + 2 > etb_graph_load_u16_(view, (uint64_t)vtable)) return 0;
  offset = etb_graph_load_u16_(view, (uint64_t)vtable + entry);
  if (offset == 0 || table + offset + field_nbytes > view->nbytes) return 0;
  return table + offset;
}

static inline uint32_t etb_graph_field_u8_(const etb_graph_view* view, uint64_t table, uint32_t slot,
                                           uint32_t absent) {
  const uint64_t position = etb_graph_field_(view, table, slot, 1);
  return position != 0 ? view->data[position] : absent;
}

static inline uint32_t etb_graph_field_u32_(const etb_graph_view* view, uint64_t table, uint32_t slot,
                                            uint32_t absent) {
  const uint64_t position = etb_graph_field_(view, table, slot, 4);
  return position != 0 ? etb_graph_u32_(view->data + position) : absent;
}

static inline int64_t etb_graph_field_i64_(const etb_graph_view* view, uint64_t table, uint32_t slot,
                                           int64_t absent) {
  const uint64_t position = etb_graph_field_(view, table, slot, 8);
  return position != 0 ? (int64_t)etb_graph_u64_(view->data + position) : absent;
}

static inline double etb_graph_field_f64_(const etb_graph_view* view, uint64_t table, uint32_t slot) {
  const int64_t bits = etb_graph_field_i64_(view, table, slot, 0);
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline etb_graph_list etb_graph_list_at_(const etb_graph_view* view, uint64_t table, uint32_t slot,
                                                uint32_t element_nbytes) {
  const uint64_t field = etb_graph_field_(view, table, slot, 4);
  etb_graph_list list = {NULL, 0};
  if (field != 0) {
    const uint64_t position = field + etb_graph_u32_(view->data + field);
    const uint32_t count = etb_graph_load_u32_(view, position);
    if (count != 0 && count <= (view->nbytes - position - 4) / element_nbytes) {
      list.data = view->data + position + 4;
      list.count = count;
    }
  }
  return list;
}

// Where element `index` of a vector of tables or strings lies, or 0.
static inline uint64_t etb_graph_element_(const etb_graph_view* view, etb_graph_list list, uint32_t index) {
  if (index >= list.count) return 0;
  return (uint64_t)(list.data - view->data) + (uint64_t)index * 4 + etb_graph_u32_at(list, index);
}

static inline const char* etb_graph_string(const etb_graph_view* view, uint32_t index) {
  const uint64_t position = etb_graph_element_(view, view->strings, index);
  const uint64_t count = etb_graph_load_u32_(view, position);
  if (position == 0 || position + 4 + count >= view->nbytes || view->data[position + 4 + count] != 0)
    return "";
  return (const char*)view->data + position + 4;
}

static inline const char* etb_graph_field_string_(const etb_graph_view* view, uint64_t table, uint32_t slot) {
  return etb_graph_string(view, etb_graph_field_u32_(view, table, slot, 0));
}

static inline etb_status etb_graph_open(const etb_graph_image* image, etb_graph_view* out_view) {
  uint64_t root;
  if (out_view == NULL) return ETB_INVALID_ARGUMENT;
  memset(out_view, 0, sizeof(*out_view));
  out_view->name = out_view->producer = "";
  if (image == NULL || !ETB_HAS_FIELD(etb_graph_image, image, image)) return ETB_INVALID_ARGUMENT;
  if (image->image.data == NULL || image->image.nbytes < 8 || image->image.nbytes > INT32_MAX)
    return ETB_INVALID_DATA;
  if (memcmp((const uint8_t*)image->image.data + 4, "ETG1", 4) != 0) return ETB_INVALID_DATA;
  out_view->data = (const uint8_t*)image->image.data;
  out_view->nbytes = image->image.nbytes;
  root = etb_graph_load_u32_(out_view, 0);
  if (etb_graph_field_u32_(out_view, root, 0, 0) != ETB_GRAPH_VERSION ||
      etb_graph_list_at_(out_view, root, 3, 4).count != 0) {
    memset(out_view, 0, sizeof(*out_view));
    out_view->name = out_view->producer = "";
    return ETB_INCOMPATIBLE;
  }
  out_view->strings = etb_graph_list_at_(out_view, root, 4, 4);
  out_view->symbols = etb_graph_list_at_(out_view, root, 5, 4);
  out_view->exprs = etb_graph_list_at_(out_view, root, 6, 4);
  out_view->specs = etb_graph_list_at_(out_view, root, 7, 4);
  out_view->quants = etb_graph_list_at_(out_view, root, 8, 4);
  out_view->constants = etb_graph_list_at_(out_view, root, 9, 4);
  out_view->ops = etb_graph_list_at_(out_view, root, 10, 4);
  out_view->sources = etb_graph_list_at_(out_view, root, 11, 4);
  out_view->graphs = etb_graph_list_at_(out_view, root, 12, 4);
  out_view->name = etb_graph_field_string_(out_view, root, 1);
  out_view->producer = etb_graph_field_string_(out_view, root, 2);
  return ETB_OK;
}

static inline const char* etb_graph_op_name(const etb_graph_view* view, uint32_t op) {
  return etb_graph_field_string_(view, etb_graph_element_(view, view->ops, op), 0);
}

static inline etb_graph_symbol etb_graph_get_symbol(const etb_graph_view* view, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, view->symbols, index);
  etb_graph_symbol symbol;
  symbol.name = etb_graph_field_string_(view, table, 0);
  symbol.min = etb_graph_field_i64_(view, table, 1, 0);
  symbol.max = etb_graph_field_i64_(view, table, 2, ETB_GRAPH_UNBOUNDED);
  symbol.hint = etb_graph_field_i64_(view, table, 3, 0);
  symbol.has_hint = etb_graph_field_(view, table, 3, 8) != 0;
  return symbol;
}

static inline etb_graph_expr etb_graph_get_expr(const etb_graph_view* view, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, view->exprs, index);
  etb_graph_expr expr;
  expr.kind = etb_graph_field_u8_(view, table, 0, 0);
  expr.value = etb_graph_field_i64_(view, table, 1, 0);
  expr.left = etb_graph_field_u32_(view, table, 2, 0);
  expr.right = etb_graph_field_u32_(view, table, 3, 0);
  return expr;
}

static inline etb_graph_spec etb_graph_get_spec(const etb_graph_view* view, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, view->specs, index);
  const etb_graph_list sizes = etb_graph_list_at_(view, table, 1, 8);
  const etb_graph_list dim_order = etb_graph_list_at_(view, table, 2, 1);
  const etb_graph_list dynamic_dims = etb_graph_list_at_(view, table, 3, 4);
  etb_graph_spec spec;
  uint32_t i;
  memset(&spec, 0, sizeof(spec));
  spec.dtype = etb_graph_field_u8_(view, table, 0, 0);
  spec.rank = sizes.count < ETB_MAX_RANK ? sizes.count : ETB_MAX_RANK;
  for (i = 0; i < spec.rank; ++i) {
    spec.sizes[i] = spec.min_sizes[i] = etb_graph_i64_at(sizes, i);
    spec.exprs[i] = ETB_GRAPH_NONE;
    spec.dim_order[i] = dim_order.count != 0 ? etb_graph_u8_at(dim_order, i) : (uint8_t)i;
  }
  for (i = 0; i < dynamic_dims.count && i < spec.rank; ++i) {
    const uint64_t dynamic_dim = etb_graph_element_(view, dynamic_dims, i);
    const uint32_t dim = etb_graph_field_u32_(view, dynamic_dim, 0, 0);
    if (dim >= spec.rank) continue;
    spec.min_sizes[dim] = etb_graph_field_i64_(view, dynamic_dim, 1, 0);
    spec.exprs[dim] = etb_graph_field_u32_(view, dynamic_dim, 2, ETB_GRAPH_NONE);
    spec.dynamic_dims |= 1u << dim;
  }
  return spec;
}

static inline etb_graph_quant etb_graph_get_quant(const etb_graph_view* view, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, view->quants, index);
  etb_graph_quant quant;
  quant.scheme = etb_graph_field_u8_(view, table, 0, 0);
  quant.expressed_dtype = etb_graph_field_u8_(view, table, 1, 6);
  quant.quant_min = etb_graph_field_i64_(view, table, 2, 0);
  quant.quant_max = etb_graph_field_i64_(view, table, 3, 0);
  quant.scale = etb_graph_field_f64_(view, table, 4);
  quant.zero_point = etb_graph_field_i64_(view, table, 5, 0);
  quant.axis = etb_graph_field_u32_(view, table, 6, 0);
  quant.block_sizes = etb_graph_list_at_(view, table, 7, 8);
  quant.scales = etb_graph_field_u32_(view, table, 8, ETB_GRAPH_NONE);
  quant.zero_points = etb_graph_field_u32_(view, table, 9, ETB_GRAPH_NONE);
  quant.codec = etb_graph_field_string_(view, table, 10);
  quant.codec_data = etb_graph_list_at_(view, table, 11, 1);
  return quant;
}

static inline etb_graph_constant etb_graph_get_constant(const etb_graph_view* view, uint32_t index) {
  static const uint8_t kNoDigest[ETB_GRAPH_DIGEST_NBYTES] = {0};
  const uint64_t table = etb_graph_element_(view, view->constants, index);
  const etb_graph_list digest = etb_graph_list_at_(view, table, 3, 1);
  const etb_graph_list data = etb_graph_list_at_(view, table, 4, 1);
  etb_graph_constant constant;
  constant.key = etb_graph_field_string_(view, table, 0);
  constant.spec = etb_graph_field_u32_(view, table, 1, 0);
  constant.nbytes = (uint64_t)etb_graph_field_i64_(view, table, 2, 0);
  constant.digest = digest.count == ETB_GRAPH_DIGEST_NBYTES ? digest.data : kNoDigest;
  constant.data = data.count == constant.nbytes ? data.data : NULL;
  // A vector of no elements is present when its field is: data of zero bytes is inside, not outside.
  if (constant.nbytes == 0 && etb_graph_field_(view, table, 4, 4) != 0) constant.data = view->data;
  return constant;
}

static inline etb_graph_source etb_graph_get_source(const etb_graph_view* view, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, view->sources, index);
  etb_graph_source source;
  source.file = etb_graph_field_string_(view, table, 0);
  source.line = etb_graph_field_u32_(view, table, 1, 0);
  source.function = etb_graph_field_string_(view, table, 2);
  source.module = etb_graph_field_string_(view, table, 3);
  return source;
}

static inline etb_graph_body etb_graph_get_body(const etb_graph_view* view, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, view->graphs, index);
  etb_graph_body body;
  body.name = etb_graph_field_string_(view, table, 0);
  body.first_node_id = etb_graph_field_u32_(view, table, 1, 0);
  body.inputs = etb_graph_list_at_(view, table, 2, 4);
  body.outputs = etb_graph_list_at_(view, table, 3, 4);
  body.values = etb_graph_list_at_(view, table, 4, 4);
  body.nodes = etb_graph_list_at_(view, table, 5, 4);
  return body;
}

static inline etb_graph_input etb_graph_get_input(const etb_graph_view* view, const etb_graph_body* body,
                                                  uint32_t index) {
  const uint64_t table = etb_graph_element_(view, body->inputs, index);
  etb_graph_input input;
  input.kind = etb_graph_field_u8_(view, table, 0, 0);
  input.target = etb_graph_field_string_(view, table, 1);
  input.constant = etb_graph_field_u32_(view, table, 2, ETB_GRAPH_NONE);
  input.updated_by = etb_graph_field_u32_(view, table, 3, ETB_GRAPH_NONE);
  return input;
}

static inline etb_graph_output etb_graph_get_output(const etb_graph_view* view, const etb_graph_body* body,
                                                    uint32_t index) {
  const uint64_t table = etb_graph_element_(view, body->outputs, index);
  etb_graph_output output;
  output.value = etb_graph_field_u32_(view, table, 0, 0);
  output.updates = etb_graph_field_u32_(view, table, 1, ETB_GRAPH_NONE);
  return output;
}

static inline etb_graph_value etb_graph_get_value(const etb_graph_view* view, const etb_graph_body* body,
                                                  uint32_t index) {
  const uint64_t table = etb_graph_element_(view, body->values, index);
  etb_graph_value value;
  value.name = etb_graph_field_string_(view, table, 0);
  value.kind = etb_graph_field_u8_(view, table, 1, ETB_GRAPH_VALUE_TENSOR);
  value.spec =
      value.kind == ETB_GRAPH_VALUE_TENSOR ? etb_graph_field_u32_(view, table, 2, 0) : ETB_GRAPH_NONE;
  value.quant = etb_graph_field_u32_(view, table, 3, ETB_GRAPH_NONE);
  value.expr = etb_graph_field_u32_(view, table, 4, ETB_GRAPH_NONE);
  value.min = etb_graph_field_i64_(view, table, 5, INT64_MIN);
  value.max = etb_graph_field_i64_(view, table, 6, ETB_GRAPH_UNBOUNDED);
  value.alias = etb_graph_field_u8_(view, table, 8, ETB_GRAPH_ALIAS_NONE);
  value.alias_of =
      value.alias != ETB_GRAPH_ALIAS_NONE ? etb_graph_field_u32_(view, table, 7, 0) : ETB_GRAPH_NONE;
  return value;
}

static inline etb_graph_node etb_graph_get_node(const etb_graph_view* view, const etb_graph_body* body,
                                                uint32_t index) {
  const uint64_t table = etb_graph_element_(view, body->nodes, index);
  etb_graph_node node;
  node.op = etb_graph_field_u32_(view, table, 0, 0);
  node.args = etb_graph_list_at_(view, table, 1, 4);
  node.first_output = etb_graph_field_u32_(view, table, 2, 0);
  node.output_count = etb_graph_field_u32_(view, table, 3, 1);
  node.result_lengths = etb_graph_list_at_(view, table, 4, 4);
  node.debug_handle = etb_graph_field_u32_(view, table, 5, 0);
  node.source = etb_graph_field_u32_(view, table, 6, ETB_GRAPH_NONE);
  return node;
}

static inline etb_graph_argument etb_graph_get_argument(const etb_graph_view* view,
                                                        const etb_graph_node* node, uint32_t index) {
  const uint64_t table = etb_graph_element_(view, node->args, index);
  etb_graph_argument argument;
  argument.kind = etb_graph_field_u8_(view, table, 0, 0);
  argument.name = etb_graph_field_string_(view, table, 1);
  argument.as_int = etb_graph_field_i64_(view, table, 2, 0);
  argument.as_float = etb_graph_field_f64_(view, table, 3);
  argument.as_string = "";
  if (argument.kind == ETB_GRAPH_ARGUMENT_STRING || argument.kind == ETB_GRAPH_ARGUMENT_DEVICE) {
    argument.as_string = etb_graph_string(view, (uint32_t)argument.as_int);
  }
  argument.value = etb_graph_field_u32_(view, table, 4, 0);
  argument.values = etb_graph_list_at_(view, table, 5, 4);
  argument.ints = etb_graph_list_at_(view, table, 6, 8);
  argument.floats = etb_graph_list_at_(view, table, 7, 8);
  return argument;
}

static inline uint32_t etb_graph_find_argument(const etb_graph_view* view, const etb_graph_node* node,
                                               const char* name) {
  uint32_t i;
  for (i = 0; i < node->args.count; ++i) {
    if (strcmp(etb_graph_field_string_(view, etb_graph_element_(view, node->args, i), 1), name) == 0)
      return i;
  }
  return ETB_GRAPH_NONE;
}

static inline uint32_t etb_graph_find_node(const etb_graph_view* view, uint32_t node_id,
                                           etb_graph_body* out_body, uint32_t* out_index) {
  uint32_t i;
  for (i = 0; i < view->graphs.count; ++i) {
    *out_body = etb_graph_get_body(view, i);
    *out_index = node_id - out_body->first_node_id;
    if (*out_index < out_body->nodes.count) return 1;
  }
  return 0;
}

static inline int64_t etb_graph_spec_nbytes(const etb_graph_spec* spec) {
  int64_t nbytes = 0;
  uint32_t i;
  switch (spec->dtype) {
#define ETB_DTYPE(name, value, bits, text) \
  case value:                              \
    nbytes = (bits) / 8;                   \
    break;
#include "etb/dtype.def"
#undef ETB_DTYPE
    default:
      return -1;
  }
  // An empty tensor must not hide a product that overflows: its strides would.
  int64_t bound = nbytes;
  for (i = 0; i < spec->rank; ++i) {
    const int64_t size = spec->sizes[i];
    if (size < 0 || (size > 0 && bound > INT64_MAX / size)) return -1;
    bound = size > 0 ? bound * size : bound;
    nbytes = size > 0 && nbytes > 0 ? nbytes * size : 0;
  }
  return nbytes;
}

#ifdef __cplusplus
}
#endif

#endif
