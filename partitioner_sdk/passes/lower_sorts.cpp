// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <cstring>

#include "ops/median.hpp"
#include "ops/sort.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// Step between group numbers, so that the sum of a group and an index is one unique number.
constexpr int64_t kGroupStep = int64_t{1} << 31;

class SortLowerer final : public Builder {
 public:
  SortLowerer(ir::Module& module, ir::Graph& graph) : Builder(module, graph), is_used_(graph.values.size()) {}

  Result<bool> run() {
    std::vector<ir::Node> nodes = take_old_nodes();
    mark_uses(nodes);
    bool is_changed = false;
    for (ir::Node& node : nodes) {
      substitute(node);
      set_origin(node);
      const Values results = lower(node);
      if (results.empty()) {
        keep(std::move(node));
        continue;
      }
      is_changed = true;
      for (size_t i = 0; i < node.outputs.size(); ++i) replace(node.outputs[i], results[i]);
    }
    ETB_TRY(finish());
    return is_changed;
  }

 private:
  struct Sorted {
    ValueId values, indices;
  };

  void mark_uses(const std::vector<ir::Node>& nodes) {
    const auto mark = [&](const Argument& argument) {
      ir::for_each_value(argument, [&](ValueId id) { is_used_[id] = true; });
    };
    for (const ir::Node& node : nodes)
      for (const Argument& argument : node.args) mark(argument);
    for (const ir::Output& output : graph().outputs) mark(output.value);
  }

  // Returns an empty list for a node that stays.
  Values lower(const ir::Node& node) {
    const std::string& name = module().op(node).name;
    const bool is_stable = name == "aten.sort.stable";
    if (!is_stable && name != "aten.sort.default" && name != "aten.median.dim" &&
        name != "aten.median.default")
      return {};
    infer::CallState state(module(), graph(), node.op, node.args);
    const Call call(state);
    const ValueId self = call.read_tensor(0);
    const TensorSpec in = spec(self);
    const bool has_elements = std::all_of(in.sizes.begin(), in.sizes.end(),
                                          [&](Dim size) { return symbols().range(size).min >= 1; });
    if (in.rank() == 0 && name == "aten.median.default") return {self};
    if (in.rank() == 0 || !has_elements) return {};
    if (name == "aten.median.default") return {median_of_all(self)};
    if (name == "aten.median.dim") {
      const ops::median_dim<Call> a(call);
      return median(self, a.axis(a.dim().integer(), in.rank()), a.keepdim(), node);
    }
    return is_stable ? lower_sort(ops::sort_stable<Call>(call), node)
                     : lower_sort(ops::sort_default<Call>(call), node);
  }

  template <class A>
  Values lower_sort(const A& a, const ir::Node& node) {
    const size_t axis = a.axis(a.dim().integer(), a.self().spec().rank());
    const Sorted sorted = sort(a.self(), axis, a.descending(), is_used_[node.outputs[1]]);
    return {sorted.values, sorted.indices};
  }

  // `needs_order`: the first of equal elements comes first.
  Sorted sort(ValueId x, size_t dim, bool is_descending, bool needs_order) {
    const bool is_bool = spec(x).dtype == Dtype::BOOL;
    if (is_bool) x = to_dtype(*this, x, Dtype::UINT8);
    const Values top = top_of_all(x, dim, is_descending);
    Sorted out{top[0], top[1]};
    if (needs_order && !spec(x).sizes[dim].is(1)) out.indices = order_of_equals(out, dim, is_descending);
    if (is_bool) out.values = to_dtype(*this, out.values, Dtype::BOOL);
    return out;
  }

  Values top_of_all(ValueId x, size_t dim, bool is_largest_first) {
    const Dim count = spec(x).sizes[dim];
    return call_all("aten.topk.default",
                    {ValueRef{x}, count, Dim(static_cast<int64_t>(dim)), is_largest_first});
  }

  ValueId slice(ValueId x, size_t dim, Dim begin, Dim end) {
    return call("aten.slice_copy.Tensor", {ValueRef{x}, Dim(static_cast<int64_t>(dim)), begin, end});
  }

  ValueId number(int64_t value) {
    std::vector<std::byte> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return add_constant(Dtype::INT64, {}, std::move(bytes));
  }

  ValueId order_of_equals(const Sorted& sorted, size_t dim, bool is_descending) {
    const Dim count = spec(sorted.values).sizes[dim];
    const ValueId before = slice(sorted.values, dim, 0, symbols().sub(count, 1));
    const ValueId after = slice(sorted.values, dim, 1, count);
    ValueId is_new = call("aten.ne.Tensor", {ValueRef{before}, ValueRef{after}});
    if (ops::is_floating(spec(sorted.values).dtype)) {
      // NaNs, the greatest, form one group, though no NaN equals another: where the lesser of two neighbours
      // is a NaN, both are.
      const ValueId is_nan = call("aten.isnan.default", {ValueRef{is_descending ? after : before}});
      is_new = call("aten.logical_and.default",
                    {ValueRef{is_new}, ValueRef{call("aten.logical_not.default", {ValueRef{is_nan}})}});
    }
    Dims pad(2 * (spec(is_new).rank() - dim), Dim(0));
    pad[pad.size() - 2] = 1;  // the first element begins group 0
    const ValueId steps =
        call("aten.constant_pad_nd.default", {ValueRef{to_dtype(*this, is_new, Dtype::INT64)}, pad, Dim(0)});
    const ValueId group = call("aten.cumsum.default", {ValueRef{steps}, Dim(static_cast<int64_t>(dim))});
    const ValueId scaled = call("aten.mul.Tensor", {ValueRef{group}, ValueRef{number(kGroupStep)}});
    const ValueId key = call("aten.add.Tensor", {ValueRef{scaled}, ValueRef{sorted.indices}});
    return call("aten.bitwise_and.Tensor",
                {ValueRef{top_of_all(key, dim, false)[0]}, ValueRef{number(kGroupStep - 1)}});
  }

  // The lower of two middle elements; the first NaN when there is one.
  Values median(ValueId x, size_t dim, bool keeps_dim, const ir::Node& node) {
    const Sorted sorted = sort(x, dim, false, node.outputs.size() > 1 && is_used_[node.outputs[1]]);
    const ValueId place = middle(x, dim);
    Values out;
    for (const ValueId from : {sorted.values, sorted.indices}) {
      ValueId picked =
          call("aten.gather.default", {ValueRef{from}, Dim(static_cast<int64_t>(dim)), ValueRef{place}});
      if (!keeps_dim)
        picked = call("aten.squeeze_copy.dims", {ValueRef{picked}, Dims{Dim(static_cast<int64_t>(dim))}});
      out.push_back(picked);
    }
    return out;
  }

  // The index of the median in the sorted elements, with size 1 in `dim`.
  ValueId middle(ValueId x, size_t dim) {
    const TensorSpec in = spec(x);
    const Dim count = in.sizes[dim];
    const Dim half = symbols().floor_div(symbols().sub(count, 1), 2);
    Dims sizes = in.sizes;
    sizes[dim] = 1;
    const ValueId place = call("aten.full.default", {sizes, half}, {{"dtype", Dtype::INT64}});
    if (!ops::is_floating(in.dtype)) return place;
    const ValueId is_nan = to_dtype(*this, call("aten.isnan.default", {ValueRef{x}}), Dtype::INT64);
    const ValueId nan_count =
        call("aten.sum.dim_IntList", {ValueRef{is_nan}, Dims{Dim(static_cast<int64_t>(dim))}, true});
    const ValueId total = call("aten.full.default", {sizes, count}, {{"dtype", Dtype::INT64}});
    const ValueId first_nan = call("aten.sub.Tensor", {ValueRef{total}, ValueRef{nan_count}});
    const ValueId is_there = to_dtype(*this, nan_count, Dtype::BOOL);
    return call("aten.where.self", {ValueRef{is_there}, ValueRef{first_nan}, ValueRef{place}});
  }

  ValueId median_of_all(ValueId x) {
    Dim count = 1;
    for (const Dim size : spec(x).sizes) count = symbols().mul(count, size);
    const ValueId flat = call("aten.view_copy.default", {ValueRef{x}, Dims{count}});
    const Sorted sorted = sort(flat, 0, false, false);
    const ValueId picked =
        call("aten.gather.default", {ValueRef{sorted.values}, Dim(0), ValueRef{middle(flat, 0)}});
    return call("aten.squeeze_copy.dims", {ValueRef{picked}, Dims{Dim(0)}});
  }

  std::vector<bool> is_used_;  // by value of the old graph
};

}  // namespace

Result<bool> lower_sorts(ir::Module& module) {
  bool is_changed = false;
  for (const char* op : {"aten.sort.default", "aten.sort.stable", "aten.median.dim", "aten.median.default"})
    is_changed |= module.find_op(op).has_value();
  if (!is_changed) return false;
  is_changed = false;
  for (ir::Graph& graph : module.graphs) {
    ETB_ASSIGN(const bool here, SortLowerer(module, graph).run());
    is_changed |= here;
  }
  return is_changed;
}

}  // namespace etb::passes
