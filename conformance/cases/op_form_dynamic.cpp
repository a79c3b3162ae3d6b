// SPDX-License-Identifier: Apache-2.0
// Dynamic cases from makers: the sizes at the bounds of the symbols, and one below, show which dimensions depend
// on which symbol.
#include <algorithm>
#include <memory>
#include <optional>

#include "conformance/cases/empty_forms.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::SpecDesc;

constexpr int64_t kBounds[] = {12, 9, 7};

// Runs as sizes of each symbol. Symbol k takes the list rotated by k, so that one grows where another shrinks.
std::vector<std::vector<int64_t>> runs_of(Order order, size_t symbols) {
  const auto at = [&](std::initializer_list<int64_t> twelfths) {
    std::vector<std::vector<int64_t>> runs;
    const std::vector<int64_t> list = twelfths;
    for (size_t run = 0; run < list.size(); ++run) {
      std::vector<int64_t>& sizes = runs.emplace_back();
      for (size_t k = 0; k < symbols; ++k) {
        const int64_t part = list[order == Order::kMixed ? (run + k) % list.size() : run];
        sizes.push_back(part == 0 ? 0 : std::max<int64_t>(1, part * kBounds[k] / 12));
      }
    }
    return runs;
  };
  switch (order) {
    case Order::kGrowing:
      return at({1, 2, 5, 11, 12});
    case Order::kShrinking:
      return at({12, 11, 7, 3, 1});
    case Order::kMixed:
      return at({7, 12, 1, 11, 3, 8});
    case Order::kWithZero:
      return at({12, 0, 5, 0, 1, 12});
    case Order::kManyRuns:
      break;
  }
  std::vector<std::vector<int64_t>> runs;
  for (int64_t run = 0; run < 131; ++run) {
    std::vector<int64_t>& sizes = runs.emplace_back();
    for (size_t k = 0; k < symbols; ++k)
      sizes.push_back(1 + (run * (5 + static_cast<int64_t>(k) * 2)) % kBounds[k]);
  }
  return runs;
}

std::vector<size_t> moving_dims(Moving moving, size_t rank) {
  switch (moving) {
    case Moving::kFirst:
      return {0};
    case Moving::kMiddle:
      return {rank / 2};
    case Moving::kLast:
      return {rank - 1};
    case Moving::kOuter:
      return rank > 1 ? std::vector<size_t>{0, rank - 1} : std::vector<size_t>{0};
    case Moving::kAll:
      break;
  }
  std::vector<size_t> dims;
  for (size_t d = 0; d < std::min<size_t>(rank, 3); ++d) dims.push_back(d);
  return dims;
}

bool is_equal(const graph::ArgumentDesc& a, const graph::ArgumentDesc& b) {
  return a.kind == b.kind && a.value == b.value && a.as_int == b.as_int && a.as_float == b.as_float &&
         a.text == b.text && a.values == b.values && a.ints == b.ints && a.floats == b.floats;
}

// The maker with the dimensions that change.
struct DynamicForm {
  Maker maker;
  Sizes base;
  std::vector<size_t> dims;
  int64_t min = 1;

  OpForm at(const std::vector<int64_t>& symbols) const {
    Sizes sizes = base;
    for (size_t k = 0; k < dims.size(); ++k) sizes[dims[k]] = symbols[k];
    return maker(sizes);
  }
  std::vector<int64_t> bounds() const { return {kBounds, kBounds + dims.size()}; }
};

const std::vector<FormNode>& nodes_of(const OpForm& form, bool is_reference) {
  return is_reference ? form.reference.nodes : form.nodes;
}

// True if only sizes differ between two forms, and no constant's.
bool differ_in_sizes(const OpForm& a, const OpForm& b) {
  if (a.operands.size() != b.operands.size() || a.args.size() != b.args.size() ||
      a.results.size() != b.results.size() || a.result_lengths != b.result_lengths)
    return false;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!is_equal(a.args[i], b.args[i])) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const Shape &x = a.operands[i].shape, &y = b.operands[i].shape;
    if (x.sizes.size() != y.sizes.size() || (a.operands[i].is_constant && x.sizes != y.sizes)) return false;
  }
  for (const bool is_reference : {false, true}) {
    const std::vector<FormNode>&x = nodes_of(a, is_reference), &y = nodes_of(b, is_reference);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t k = 0; k < x[i].args.size(); ++k)
        if (!is_equal(x[i].args[k], y[i].args[k])) return false;
  }
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.results[i].sizes.size() != b.results[i].sizes.size()) return false;
  return true;
}

// Writes specs whose dynamic dimensions have formulas.
class SpecWriter {
 public:
  SpecWriter(CaseBuilder& builder, const DynamicForm& form)
      : builder_(builder), bounds_(form.bounds()), least_size_(form.min) {
    graph::Builder& image = builder.image_builder();
    for (size_t k = 0; k < bounds_.size(); ++k) {
      symbols_.push_back(
          image.add_symbol_expr(image.add_symbol({"s" + std::to_string(k), form.min, bounds_[k], {}})));
      std::vector<int64_t> less = bounds_;
      --less[k];
      below_.push_back(form.at(less));
      less[k] -= 2;
      far_below_.push_back(form.at(less));
    }
    least_ = form.at(std::vector<int64_t>(bounds_.size(), form.min));
  }

  // `shape_in` returns the same tensor of another form.
  uint32_t write(const Shape& top, const std::function<const Shape&(const OpForm&)>& shape_in) {
    SpecDesc desc;
    desc.dtype = static_cast<int32_t>(top.dtype);
    desc.sizes = top.sizes;
    desc.dim_order = top.dim_order;
    for (uint32_t d = 0; d < top.sizes.size(); ++d) add_dim(desc, d, shape_in);
    return builder_.image_builder().add_spec(desc);
  }

 private:
  void add_dim(SpecDesc& desc, uint32_t d, const std::function<const Shape&(const OpForm&)>& shape_in) {
    const int64_t top = desc.sizes[d];
    std::optional<uint32_t> sum;
    int64_t rest = top, steps_at_least = 0;
    const int64_t least = shape_in(least_).sizes[d];
    bool is_linear = true, is_dynamic = least != top;
    graph::Builder& image = builder_.image_builder();
    for (size_t k = 0; k < bounds_.size(); ++k) {
      const int64_t step = top - shape_in(below_[k]).sizes[d];
      const int64_t far = top - shape_in(far_below_[k]).sizes[d];
      is_dynamic = is_dynamic || step != 0 || far != 0;
      is_linear = is_linear && far == 3 * step;
      if (step == 0) continue;
      rest -= step * bounds_[k];
      steps_at_least += step * least_size_;
      const uint32_t term =
          step == 1 ? symbols_[k] : image.add_expr(ETB_GRAPH_EXPR_MUL, symbols_[k], image.add_int_expr(step));
      sum = sum ? image.add_expr(ETB_GRAPH_EXPR_ADD, *sum, term) : term;
    }
    if (!is_dynamic) return;
    is_linear = is_linear && rest + steps_at_least == least;
    if (rest != 0 && sum) sum = image.add_expr(ETB_GRAPH_EXPR_ADD, *sum, image.add_int_expr(rest));
    if (!is_linear) sum.reset();  // products of symbols, windows with strides: no formula
    desc.dynamic_dims.push_back({d, std::min(top, least), sum});
  }

  CaseBuilder& builder_;
  std::vector<int64_t> bounds_;
  std::vector<uint32_t> symbols_;
  std::vector<OpForm> below_, far_below_;
  OpForm least_;
  int64_t least_size_;
};

// Writes operands, nodes and outputs with dynamic specs.
class GraphWriter {
 public:
  GraphWriter(CaseBuilder& builder, const DynamicForm& form, const OpForm& top)
      : builder_(builder), top_(top), specs_(builder, form) {}

  // Returns the data of constants; inputs have none.
  std::vector<TensorData> write(bool is_reference) {
    std::vector<TensorData> operands = add_operands();
    write_nodes(is_reference);
    return operands;
  }

 private:
  void write_nodes(bool is_reference) {
    const std::vector<FormNode>& nodes = nodes_of(top_, is_reference);
    if (nodes.empty()) return add_op();
    std::vector<uint32_t> values;
    uint32_t last = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::vector<uint32_t> specs;
      for (size_t k = 0; k < nodes[i].results.size(); ++k)
        specs.push_back(specs_.write(nodes[i].results[k], [=](const OpForm& other) -> const Shape& {
          return nodes_of(other, is_reference)[i].results[k];
        }));
      last = add_node(nodes[i].op, nodes[i].args, {}, specs);
      for (uint32_t k = 0; k < specs.size(); ++k) values.push_back(last + k);
    }
    const std::vector<uint32_t>& outputs = is_reference ? top_.reference.outputs : top_.outputs;
    for (const uint32_t output : outputs) builder_.output(values[output]);
    if (outputs.empty()) builder_.output(last);
  }

  std::vector<TensorData> add_operands() {
    std::vector<TensorData> made(top_.operands.size());
    for (size_t i = 0; i < top_.operands.size(); ++i) {
      const Operand& operand = top_.operands[i];
      if (operand.is_constant) {
        made[i] = make_data(operand, static_cast<uint32_t>(i), builder_.random());
        builder_.constant(made[i]);
        continue;
      }
      const uint32_t spec = specs_.write(
          operand.shape, [i](const OpForm& other) -> const Shape& { return other.operands[i].shape; });
      builder_.graph().add_input(graph::tensor("x" + std::to_string(i), spec));
    }
    return made;
  }

  void add_op() {
    std::vector<uint32_t> specs;
    for (size_t i = 0; i < top_.results.size(); ++i)
      specs.push_back(specs_.write(top_.results[i],
                                   [i](const OpForm& other) -> const Shape& { return other.results[i]; }));
    const uint32_t first = add_node(top_.op, top_.args, top_.result_lengths, specs);
    for (uint32_t i = 0; i < top_.results.size(); ++i)
      if (is_output(top_, i)) builder_.output(first + i);
  }

  uint32_t add_node(const std::string& op, const std::vector<graph::ArgumentDesc>& args,
                    const std::vector<int32_t>& result_lengths, const std::vector<uint32_t>& specs) {
    graph::NodeDesc node;
    node.op = op;
    node.args = args;
    node.result_lengths = result_lengths;
    node.debug_handle = ++node_count_;
    for (const uint32_t spec : specs)
      node.outputs.push_back(graph::tensor("y" + std::to_string(result_count_++), spec));
    return builder_.graph().add_node(node);
  }

  CaseBuilder& builder_;
  const OpForm& top_;
  SpecWriter specs_;
  uint32_t node_count_ = 0, result_count_ = 0;
};

// True if the results of a form are computed by formulas (compute_reference).
bool has_formulas(const OpForm& form) { return !form.reference.constants.empty(); }

// The results of one run by the formulas of its form.
std::vector<TensorData> compute_results(const OpForm& now, std::vector<TensorData> constants,
                                        const std::vector<TensorData>& inputs) {
  size_t input = 0;
  for (size_t i = 0; i < constants.size(); ++i)
    if (!now.operands[i].is_constant) constants[i] = inputs[input++];
  std::vector<TensorData> out;
  for (const uint32_t at : now.reference.outputs) out.push_back(now.reference.constants[at](constants));
  return out;
}

Result<BuiltCase> build_dynamic(const DynamicForm& form, Order order, std::string_view name) {
  const OpForm top = form.at(form.bounds());
  CaseBuilder builder(name);
  const std::vector<TensorData> constants = GraphWriter(builder, form, top).write(false);
  ETB_ASSIGN(BuiltCase built, builder.finish(top.error_model));
  built.widen_integers = top.widen_integers;
  built.runs.clear();
  for (const std::vector<int64_t>& symbols : runs_of(order, form.dims.size())) {
    const OpForm now = form.at(symbols);
    std::vector<TensorData>& inputs = built.runs.emplace_back();
    for (size_t i = 0; i < now.operands.size(); ++i)
      if (!now.operands[i].is_constant)
        inputs.push_back(make_data(now.operands[i], static_cast<uint32_t>(i), builder.random()));
    if (has_formulas(now)) built.references.push_back(compute_results(now, constants, inputs));
  }
  if (top.reference.nodes.empty() || has_formulas(top)) return built;
  CaseBuilder parts(name);  // the same random numbers, so the same constants
  GraphWriter(parts, form, top).write(true);
  ETB_ASSIGN(BuiltCase reference, parts.finish({}));
  built.reference_image = std::move(reference.image);
  return built;
}

const char* order_text(Order order) {
  constexpr const char* kTexts[] = {"growing", "shrinking", "mixed", "with_zero", "many_runs"};
  return kTexts[static_cast<size_t>(order)];
}

// Returns form_name() of the bounds in the group dyn, with "n" for each dimension of the first operand that
// changes.
std::string dynamic_name(const DynamicForm& form, const OpForm& top, etb_dtype dtype, Order order) {
  std::string name = form_name(top, dtype);
  name = "dyn" + name.substr(name.find('.'));
  name += ".dims";
  for (const size_t dim : form.dims) name += "_" + std::to_string(dim);
  return name + "." + order_text(order);
}

}  // namespace

bool add_dynamic_form(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes, Moving moving,
                      Order order) {
  if (sizes.empty()) return false;
  auto form = std::make_shared<DynamicForm>(
      DynamicForm{maker, sizes, moving_dims(moving, sizes.size()), order == Order::kWithZero ? 0 : 1});
  const OpForm top = form->at(form->bounds());
  // Constants of the reference that are no results of formulas depend on sizes in ways that nothing here knows.
  if (has_formulas(top) && top.reference.outputs.size() != top.reference.constants.size()) return false;
  for (const int64_t least : {form->min, int64_t{1}, int64_t{2}})
    if (!differ_in_sizes(top, form->at(std::vector<int64_t>(form->dims.size(), least)))) return false;
  out.add({dynamic_name(*form, top, dtype, order), top.op, dtype,
           [form, order](std::string_view name) { return build_dynamic(*form, order, name); }});
  if (order == Order::kWithZero)
    mark_empty_form(top.op);
  else if (may_have_empty_first(top))
    offer_empty_form(top.op, dtype == ETB_DTYPE_FLOAT32, [dtype, maker, sizes](CaseList& list) {
      add_dynamic_form(list, dtype, maker, sizes, Moving::kFirst, Order::kWithZero);
    });
  return true;
}

void add_dynamic_forms(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes, size_t index) {
  constexpr Moving kMoving[] = {Moving::kFirst, Moving::kLast, Moving::kOuter, Moving::kMiddle, Moving::kAll};
  constexpr Order kOrders[] = {Order::kGrowing, Order::kShrinking, Order::kMixed, Order::kWithZero};
  const size_t rank = sizes.size();
  // Low ranks have fewer different choices.
  const size_t choices = rank == 1 ? 1 : rank == 2 ? 3 : 5;
  for (const size_t at : {index, index + 2}) {
    const Moving moving = kMoving[at % choices];
    add_dynamic_form(out, dtype, maker, sizes, moving, kOrders[(at + at / 4) % 4]);
    if (choices == 1) break;
  }
}

void add_all_dynamic_forms(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes,
                           bool may_be_empty) {
  constexpr Order kOrders[] = {Order::kGrowing, Order::kShrinking, Order::kMixed, Order::kWithZero};
  const uint64_t hash = hash_text(form_name(maker(sizes), dtype));
  const bool has_all = dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT16 || !is_floating(dtype);
  size_t at = hash % 4;
  for (const Moving moving : {Moving::kFirst, Moving::kMiddle, Moving::kLast, Moving::kOuter, Moving::kAll})
    if (const Order order = kOrders[at++ % (may_be_empty ? 4 : 3)];
        has_all || (hash + static_cast<uint64_t>(moving)) % 3 == 0)
      add_dynamic_form(out, dtype, maker, sizes, moving, order);
}

}  // namespace etb::conformance
