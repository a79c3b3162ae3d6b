// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>
#include <iterator>

#include "ops/llama/custom_sdpa.hpp"
#include "ops/llama/sdpa_with_kv_cache.hpp"
#include "ops/llama/update_cache.hpp"
#include "ops/llama/update_cache_with_indices.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

using ops::llama::sdpa_with_kv_cache_default;
using ops::llama::update_cache_default;
using ops::llama::update_cache_with_indices_default;

// Adds cache[indices...] = value, in place.
void put(Builder& b, const ir::Node& origin, ValueId cache, ir::ValueList indices, ValueId value) {
  ir::Node node;
  node.op = b.module().op("aten.index_put_.default");
  node.args = {ValueRef{cache}, std::move(indices), ValueRef{value}, false};
  node.source = origin.source;
  node.debug_handle = origin.debug_handle;
  ir::Value result;
  result.spec = b.spec(cache);
  node.outputs = {b.graph().add_value(std::move(result))};
  b.keep(std::move(node));
}

ValueId positions(Builder& b, Dim begin, Dim count) {
  return b.call("aten.arange.start_step", {begin, b.symbols().add(begin, count)}, {{"dtype", Dtype::INT64}});
}

// True for values [batch, n, heads, size] that fit into rows of the cache.
bool check_value(const Call& call, const TensorSpec& value, const TensorSpec& cache) {
  if (value.rank() == 4 && cache.rank() == 4 && value.dtype == cache.dtype) return true;
  call.fail("a value of rank " + std::to_string(value.rank()) + " for a cache of rank " +
            std::to_string(cache.rank()) + ", expected 4 and equal dtypes");
  return false;
}

void put_rows(Builder& b, const ir::Node& node, const Call& call, ValueId value, ValueId cache, Dim start) {
  if (!check_value(call, b.spec(value), b.spec(cache))) return;
  if (start.is_static() && start.value() < 0)
    return call.fail("start_pos is " + std::to_string(start.value()) + ", expected at least 0");
  put(b, node, cache, {{ir::kNoValue, positions(b, start, b.spec(value).sizes[1])}}, value);
}

// The op's own result is memory that nothing has written: programs use the cache.
ValueId unspecified(Builder& b, ValueId value) {
  return b.call("aten.full.default", {Dims{Dim(1)}, Dim(0)}, {{"dtype", b.spec(value).dtype}});
}

Values update_cache(Builder& b, const ir::Node& node, const Call& call) {
  const update_cache_default<Call> a(call);
  put_rows(b, node, call, a.value(), a.cache(), a.start_pos().dim());
  return {unspecified(b, a.value())};
}

Values update_cache_with_indices(Builder& b, const ir::Node& node, const Call& call) {
  const update_cache_with_indices_default<Call> a(call);
  const ValueId cache = a.cache(), indices = a.indices();
  if (!check_value(call, a.value().spec(), a.cache().spec())) return {};
  if (b.spec(indices).rank() != 2) {
    call.fail("indices of rank " + std::to_string(b.spec(indices).rank()) + ", expected 2");
    return {};
  }
  const Dim batch = b.spec(cache).sizes[0];
  if (batch.is(1)) {
    const ValueId row = b.call("aten.select.int", {ValueRef{indices}, Dim(0), Dim(0)});
    put(b, node, cache, {{ir::kNoValue, row}}, a.value());
  } else {
    const ValueId batches = b.call("aten.unsqueeze.default", {ValueRef{positions(b, Dim(0), batch)}, Dim(1)});
    put(b, node, cache, {{batches, indices}}, a.value());
  }
  return {unspecified(b, a.value())};
}

Values sdpa_with_kv_cache(Builder& b, const ir::Node& node, const Call& call) {
  const sdpa_with_kv_cache_default<Call> a(call);
  const Dim start = a.start_pos().dim();
  put_rows(b, node, call, a.key(), a.key_cache(), start);
  put_rows(b, node, call, a.value(), a.value_cache(), start);
  return {b.call(ops::llama::custom_sdpa_default<Call>::kName,
                 {a.query(), a.key_cache(), a.value_cache(), start, a.attn_mask(), a.drpout_p(),
                  a.is_causal(), a.scale()})};
}

struct Row {
  std::string_view op;
  Values (*expand)(Builder& b, const ir::Node& node, const Call& call);
};
constexpr Row kRows[] = {
    {sdpa_with_kv_cache_default<Call>::kName, sdpa_with_kv_cache},
    {update_cache_default<Call>::kName, update_cache},
    {update_cache_with_indices_default<Call>::kName, update_cache_with_indices},
};

Result<bool> run(ir::Module& module, ir::Graph& graph) {
  PlainBuilder b(module, graph);
  bool is_changed = false;
  for (ir::Node& node : b.take_old_nodes()) {
    b.set_origin(node);
    b.substitute(node);
    const std::string& name = module.op(node).name;
    const Row* row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == name; });
    if (row == std::end(kRows)) {
      b.keep(std::move(node));
      continue;
    }
    infer::CallState state(module, graph, node.op, node.args);
    const Values results = row->expand(b, node, Call(state));
    if (!state.error.empty()) b.fail(Code::NOT_SUPPORTED, std::string(row->op) + ": " + state.error);
    for (size_t i = 0; i < results.size() && i < node.outputs.size(); ++i)
      b.replace(node.outputs[i], results[i]);
    is_changed = true;
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> expand_cache_updates(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return run(module, graph); });
}

}  // namespace etb::passes
