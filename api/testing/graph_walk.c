// SPDX-License-Identifier: Apache-2.0
#include "api/testing/graph_walk.h"

typedef struct walk {
  etb_graph_walk_result result;
  uint64_t steps_left;
} walk;

// FNV-1a
static void mix(walk* w, uint64_t number) {
  uint32_t i;
  for (i = 0; i < 8; ++i) w->result.hash = (w->result.hash ^ ((number >> (8 * i)) & 0xff)) * 0x100000001b3u;
}

static uint32_t step(walk* w) {
  if (w->steps_left == 0) return 0;
  --w->steps_left;
  return 1;
}

static void mix_text(walk* w, const char* text) {
  for (; *text != '\0' && step(w); ++text) mix(w, (uint8_t)*text);
  mix(w, 0);
}

static void walk_bytes(walk* w, const uint8_t* data, uint64_t nbytes) {
  uint64_t i;
  for (i = 0; i < nbytes && step(w); ++i) mix(w, data[i]);
}

static void walk_i64s(walk* w, etb_graph_list list) {
  uint32_t i;
  for (i = 0; i < list.count && step(w); ++i) mix(w, (uint64_t)etb_graph_i64_at(list, i));
}

static void walk_spec(walk* w, const etb_graph_view* view, uint32_t index) {
  const etb_graph_spec spec = etb_graph_get_spec(view, index);
  uint32_t i;
  mix(w, spec.dtype);
  mix(w, spec.dynamic_dims);
  mix(w, (uint64_t)etb_graph_spec_nbytes(&spec));
  for (i = 0; i < spec.rank; ++i) {
    mix(w, (uint64_t)spec.sizes[i]);
    mix(w, (uint64_t)spec.min_sizes[i]);
    mix(w, spec.exprs[i]);
    mix(w, spec.dim_order[i]);
  }
}

static void walk_quant(walk* w, const etb_graph_view* view, uint32_t index) {
  const etb_graph_quant quant = etb_graph_get_quant(view, index);
  mix(w, quant.scheme);
  mix(w, quant.expressed_dtype);
  mix(w, (uint64_t)quant.quant_min);
  mix(w, (uint64_t)quant.quant_max);
  mix(w, quant.scale > 0 ? 1 : 0);
  mix(w, (uint64_t)quant.zero_point);
  mix(w, quant.axis);
  mix(w, quant.scales);
  mix(w, quant.zero_points);
  mix_text(w, quant.codec);
  walk_i64s(w, quant.block_sizes);
  walk_bytes(w, quant.codec_data.data, quant.codec_data.count);
}

static void walk_tables(walk* w, const etb_graph_view* view) {
  uint32_t i;
  for (i = 0; i < view->strings.count && step(w); ++i) mix_text(w, etb_graph_string(view, i));
  for (i = 0; i < view->symbols.count && step(w); ++i) {
    const etb_graph_symbol symbol = etb_graph_get_symbol(view, i);
    mix_text(w, symbol.name);
    mix(w, (uint64_t)symbol.min);
    mix(w, (uint64_t)symbol.max);
    mix(w, (uint64_t)symbol.hint + symbol.has_hint);
  }
  for (i = 0; i < view->exprs.count && step(w); ++i) {
    const etb_graph_expr expr = etb_graph_get_expr(view, i);
    mix(w, expr.kind);
    mix(w, (uint64_t)expr.value);
    mix(w, expr.left);
    mix(w, expr.right);
  }
  for (i = 0; i < view->specs.count && step(w); ++i) walk_spec(w, view, i);
  for (i = 0; i < view->quants.count && step(w); ++i) walk_quant(w, view, i);
  for (i = 0; i < view->constants.count && step(w); ++i) {
    const etb_graph_constant constant = etb_graph_get_constant(view, i);
    mix_text(w, constant.key);
    mix(w, constant.spec);
    mix(w, constant.nbytes);
    walk_bytes(w, constant.digest, ETB_GRAPH_DIGEST_NBYTES);
    if (constant.data != NULL) walk_bytes(w, (const uint8_t*)constant.data, constant.nbytes);
  }
  for (i = 0; i < view->ops.count && step(w); ++i) mix_text(w, etb_graph_op_name(view, i));
  for (i = 0; i < view->sources.count && step(w); ++i) {
    const etb_graph_source source = etb_graph_get_source(view, i);
    mix_text(w, source.file);
    mix(w, source.line);
    mix_text(w, source.function);
    mix_text(w, source.module);
  }
}

static void walk_node(walk* w, const etb_graph_view* view, const etb_graph_body* body, uint32_t index) {
  const etb_graph_node node = etb_graph_get_node(view, body, index);
  uint32_t i;
  uint32_t k;
  ++w->result.node_count;
  mix(w, node.op);
  mix(w, node.first_output);
  mix(w, node.output_count);
  mix(w, node.debug_handle);
  mix(w, node.source);
  for (i = 0; i < node.result_lengths.count && step(w); ++i)
    mix(w, (uint32_t)etb_graph_i32_at(node.result_lengths, i));
  for (i = 0; i < node.args.count && step(w); ++i) {
    const etb_graph_argument arg = etb_graph_get_argument(view, &node, i);
    ++w->result.argument_count;
    mix(w, arg.kind);
    mix_text(w, arg.name);
    mix(w, arg.value);
    mix(w, (uint64_t)arg.as_int);
    mix(w, arg.as_float > 0 ? 1 : 0);
    mix_text(w, arg.as_string);
    for (k = 0; k < arg.values.count && step(w); ++k) mix(w, etb_graph_u32_at(arg.values, k));
    walk_i64s(w, arg.ints);
    for (k = 0; k < arg.floats.count && step(w); ++k) mix(w, etb_graph_f64_at(arg.floats, k) > 0 ? 1 : 0);
  }
}

static void walk_body(walk* w, const etb_graph_view* view, uint32_t index) {
  const etb_graph_body body = etb_graph_get_body(view, index);
  uint32_t i;
  mix_text(w, body.name);
  mix(w, body.first_node_id);
  for (i = 0; i < body.inputs.count && step(w); ++i) {
    const etb_graph_input input = etb_graph_get_input(view, &body, i);
    mix(w, input.kind);
    mix_text(w, input.target);
    mix(w, input.constant);
    mix(w, input.updated_by);
  }
  for (i = 0; i < body.values.count && step(w); ++i) {
    const etb_graph_value value = etb_graph_get_value(view, &body, i);
    ++w->result.value_count;
    mix_text(w, value.name);
    mix(w, value.kind);
    mix(w, value.spec);
    mix(w, value.quant);
    mix(w, value.expr);
    mix(w, (uint64_t)value.min);
    mix(w, (uint64_t)value.max);
    mix(w, value.alias);
    mix(w, value.alias_of);
  }
  for (i = 0; i < body.nodes.count && step(w); ++i) walk_node(w, view, &body, i);
  for (i = 0; i < body.outputs.count && step(w); ++i) {
    const etb_graph_output output = etb_graph_get_output(view, &body, i);
    mix(w, output.value);
    mix(w, output.updates);
  }
}

etb_status etb_graph_walk(const etb_graph_image* image, uint64_t max_steps,
                          etb_graph_walk_result* out_result) {
  etb_graph_view view;
  walk w = {{0, 0, 0, 0xcbf29ce484222325u}, 0};
  uint32_t i;
  const etb_status status = etb_graph_open(image, &view);
  w.steps_left = max_steps;
  if (status == ETB_OK) {
    mix_text(&w, view.name);
    mix_text(&w, view.producer);
    walk_tables(&w, &view);
    for (i = 0; i < view.graphs.count && step(&w); ++i) walk_body(&w, &view, i);
  }
  *out_result = w.result;
  return status;
}
