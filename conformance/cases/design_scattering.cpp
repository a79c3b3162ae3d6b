// SPDX-License-Identifier: Apache-2.0
// Ops that write elements by index and meet some more than once: scatter_reduce, index_put that adds, masked_scatter,
// and sums of rows of a table.
#include <algorithm>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::int_arg;
using graph::value_arg;

const std::vector<Sizes> kSizes = {{9}, {5, 6}, {3, 4, 5}, {2, 3, 4, 3}, {2, 1, 3, 2, 4}};

// Numbers below `count`, in a mixed order. Each occurs several times where there are more elements.
Operand indices(const Sizes& sizes, int64_t count) {
  Operand out{{ETB_DTYPE_INT64, sizes, {}}};
  out.fill = [count](TensorData& data, Random& random) {
    const int64_t start = random.between(0, 100);
    data = filled(data.shape, [&](int64_t i) {
      return static_cast<double>((i * 5 + start) % std::max<int64_t>(count, 1));
    });
  };
  return out;
}

void add_scatter_reduce(CaseList& out) {
  Design design;
  const auto sizes = design.add(kSizes);
  const auto place = design.add_all(kAllPlaces);
  const auto reduce = design.add<const char*>({"sum", "prod", "mean", "amax", "amin"});
  const auto has_self = design.add<bool>({true, false}), is_negative = design.add<bool>({false, true});
  const auto dtype =
      design.add<etb_dtype>({ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16,
                             ETB_DTYPE_FLOAT64, ETB_DTYPE_INT32, ETB_DTYPE_INT64, ETB_DTYPE_INT8});
  size_t at = 0;
  for (const Levels& row : design.rows("scatter_reduce")) {
    const size_t rank = sizes(row).size(), dim = dim_at(rank, place(row));
    const std::string_view kind = reduce(row);
    // Means of integers are rounded down, and products of eight-bit integers wrap.
    if (!is_floating(dtype(row)) && (kind == "mean" || kind == "prod")) continue;
    const auto maker = [=, type = dtype(row), has = has_self(row),
                        named = signed_dim(dim, rank, is_negative(row)),
                        word = reduce(row)](const Sizes& now) {
      Sizes put = now;
      put[dim] = std::max<int64_t>(now[dim] - 1, 1) + 2;  // more sources than targets
      const bool is_product = std::string_view(word) == "prod";
      const Domain domain = is_product ? Domain{0.5, 2} : Domain{};
      const Values values = is_product ? Values::kStatistical : Values::kExact;
      OpForm form{
          "aten.scatter_reduce.two",
          {{{type, now, {}}, values, domain}, indices(put, now[dim]), {{type, put, {}}, values, domain}},
          {value_arg(0, "self"), int_arg(named, "dim"), value_arg(1, "index"), value_arg(2, "src"),
           graph::string_arg(word, "reduce"), bool_arg(has, "include_self")},
          {{type, now, {}}}};
      // A product or a mean has as many roundings as there are sources, in 16 bits those of the type.
      form.error_model = std::string_view(word) == "prod" || std::string_view(word) == "mean"
                             ? rounded_model(32)
                             : exact_model(Rule::kExactValue);
      return form;
    };
    if (is_half(dtype(row)) && (kind == "prod" || kind == "mean")) continue;
    add_form(out, dtype(row), maker(sizes(row)));
    if (++at % 3 == 0)
      add_dynamic_form(out, dtype(row), maker, sizes(row), static_cast<Moving>(at / 3 % 5),
                       static_cast<Order>(at % 3));
  }
}

// Two lists of indices, one of which broadcasts, and values that are added where they meet.
void add_index_put(CaseList& out) {
  Design design;
  const auto sizes = design.add<Sizes>({{5, 6}, {3, 4, 5}, {2, 3, 4, 3}});
  const auto adds = design.add<bool>({false, true}), has_two = design.add<bool>({false, true}),
             is_second = design.add<bool>({false, true}), has_one_value = design.add<bool>({false, true});
  const auto dtype = design.add<etb_dtype>({ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16,
                                            ETB_DTYPE_FLOAT64, ETB_DTYPE_INT64, ETB_DTYPE_INT32});
  for (const Levels& row : design.rows("index_put")) {
    const Sizes& now = sizes(row);
    const size_t first = is_second(row) && !has_two(row) ? 1 : 0;
    // Values that replace others must not meet.
    const int64_t count = adds(row) ? 7 : std::min<int64_t>(now[first], 3);
    Sizes values(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(first));
    values.push_back(count);
    values.insert(values.end(), now.begin() + static_cast<std::ptrdiff_t>(first) + (has_two(row) ? 2 : 1),
                  now.end());
    OpForm form;
    form.op = "aten.index_put.default";
    form.operands = {{{dtype(row), now, {}}, Values::kExact},
                     indices({count}, now[first]),
                     {{dtype(row), has_one_value(row) ? Sizes{1} : values, {}}, Values::kExact}};
    std::vector<uint32_t> list = {1};
    if (first == 1) list = {ETB_GRAPH_NONE, 1};
    if (has_two(row)) {
      form.operands.push_back(indices({1}, now[1]));
      list = {1, 3};
    }
    form.args = {value_arg(0, "self"), graph::values_arg(list, "indices"), value_arg(2, "values"),
                 bool_arg(adds(row), "accumulate")};
    form.results = {{dtype(row), now, {}}};
    form.error_model = exact_model(Rule::kExactValue);
    add_form(out, dtype(row), std::move(form));
  }
}

void add_masked_scatter(CaseList& out) {
  size_t at = 0;
  for (const Sizes& sizes : kSizes)
    for (const etb_dtype dtype : kAllDtypes) {
      if (dtype != ETB_DTYPE_FLOAT32 && ++at % 4 != 0) continue;
      const auto maker = [dtype](const Sizes& now) {
        return OpForm{"aten.masked_scatter.default",
                      {{{dtype, now, {}}}, {{ETB_DTYPE_BOOL, now, {}}}, {{dtype, now, {}}, Values::kNan}},
                      {value_arg(0, "self"), value_arg(1, "mask"), value_arg(2, "source")},
                      {{dtype, now, {}}}};
      };
      add_form(out, dtype, maker(sizes));
      add_dynamic_form(out, dtype, maker, sizes, static_cast<Moving>(at % 5), static_cast<Order>(at % 3));
    }
}

// ---- sums of rows of a table

enum Mode : int64_t { kSum, kMean, kMax };

void add_embedding_bags(CaseList& out) {
  Design design;
  const auto bags = design.add<int64_t>({1, 4, 7});
  const auto per_bag = design.add<int64_t>({1, 3, 8});
  const auto width = design.add<int64_t>({1, 9, 16, 33});
  const auto mode = design.add<int64_t>({kSum, kMean, kMax});
  const auto has_weights = design.add<bool>({false, true}), has_end = design.add<bool>({false, true}),
             has_empty = design.add<bool>({false, true}), has_padding = design.add<bool>({false, true}),
             is_constant = design.add<bool>({true, true, false});
  const auto dtype = design.add<etb_dtype>(
      {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16});
  for (const Levels& row : design.rows("embedding_bag")) {
    constexpr int64_t kTable = 11;
    const int64_t count = bags(row) * per_bag(row);
    const bool has_scales = has_weights(row) && mode(row) == kSum;
    OpForm form;
    form.op = "aten._embedding_bag.default";
    form.operands = {{{dtype(row), {kTable, width(row)}, {}}, Values::kExact, {}, is_constant(row)},
                     indices({count}, kTable)};
    // The first bag of two has no element.
    form.operands.push_back(
        constant_of({ETB_DTYPE_INT64, {bags(row) + (has_end(row) ? 1 : 0)}, {}},
                    [step = per_bag(row), is_moved = has_empty(row) && bags(row) > 1](int64_t i) {
                      return static_cast<double>(is_moved && i == 1 ? 0 : i * step);
                    }));
    if (has_scales) form.operands.push_back({{dtype(row), {count}, {}}, Values::kExact});
    form.args = {value_arg(0, "weight"),
                 value_arg(1, "indices"),
                 value_arg(2, "offsets"),
                 bool_arg(false, "scale_grad_by_freq"),
                 int_arg(mode(row), "mode"),
                 bool_arg(false, "sparse"),
                 has_scales ? value_arg(3, "per_sample_weights") : graph::none_arg("per_sample_weights"),
                 bool_arg(has_end(row), "include_last_offset"),
                 int_arg(has_padding(row) ? 3 : -1, "padding_idx")};
    const Shape index{ETB_DTYPE_INT64, {count}, {}}, size{ETB_DTYPE_INT64, {bags(row)}, {}};
    const Shape largest = mode(row) == kMax ? Shape{ETB_DTYPE_INT64, {bags(row), width(row)}, {}} : size;
    form.results = {{dtype(row), {bags(row), width(row)}, {}}, index, size, largest};
    // Few programs use more than the first result.
    if (!has_padding(row)) form.outputs = {0};
    form.word = has_empty(row) ? "empty_bag" : "";
    form.error_model = mode(row) == kMean ? rounded_model(2) : exact_model(Rule::kExactValue);
    add_form(out, dtype(row), std::move(form));
  }
}

// Positions, each as often as its count.
void add_repeats(CaseList& out) {
  for (const Numbers& counts : {Numbers{3}, {1, 2, 3}, {0, 4, 0, 1}, {2, 2, 2, 2, 2, 2, 2}, {0, 0, 17}})
    for (const etb_dtype dtype : {ETB_DTYPE_INT64, ETB_DTYPE_INT32}) {
      int64_t sum = 0;
      for (const int64_t count : counts) sum += count;
      Operand repeats{{dtype, {static_cast<int64_t>(counts.size())}, {}}};
      repeats.fill = [counts](TensorData& data, Random&) {
        data = filled(data.shape,
                      [&](int64_t i) { return static_cast<double>(counts[static_cast<size_t>(i)]); });
      };
      OpForm form{"aten.repeat_interleave.Tensor",
                  {repeats},
                  {value_arg(0, "repeats"), int_arg(sum, "output_size")},
                  {{dtype, {sum}, {}}}};
      form.word = "counts_" + number_text(counts);
      add_form(out, dtype, std::move(form));
    }
}

}  // namespace

void add_scatter_designs(CaseList& out) {
  add_scatter_reduce(out);
  add_index_put(out);
  add_masked_scatter(out);
  add_embedding_bags(out);
  add_repeats(out);
}

}  // namespace etb::conformance
