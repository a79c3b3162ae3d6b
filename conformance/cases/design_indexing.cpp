// SPDX-License-Identifier: Apache-2.0
// Joins of 1 to 9 tensors, and ops with indices: gather, scatter, index, index_put, embedding.
#include <algorithm>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::int_arg;
using graph::value_arg;

// ---- cat and stack

enum class Mix { kPlain, kWithEmpty, kTwice, kWithConstant };

Maker cat_maker(etb_dtype dtype, size_t count, size_t dim, int64_t named, Mix mix, uint32_t order) {
  return [=](const Sizes& sizes) {
    OpForm form;
    form.op = "aten.cat.default";
    std::vector<uint32_t> values;
    Sizes result = sizes;
    result[dim] = 0;
    for (size_t i = 0; i < count; ++i) {
      Sizes now = sizes;
      if (i > 0) now[dim] = static_cast<int64_t>(i) % 3 + 1;
      if (mix == Mix::kWithEmpty && i == count / 2) now[dim] = 0;
      const bool is_again = mix == Mix::kTwice && i > 0 && i + 1 == count;
      if (is_again) now = sizes;
      values.push_back(is_again ? 0 : static_cast<uint32_t>(form.operands.size()));
      result[dim] += now[dim];
      if (!is_again)
        form.operands.push_back({{dtype, now, order_of(now.size(), order)},
                                 Values::kNan,
                                 {},
                                 mix == Mix::kWithConstant && i == 1});
    }
    form.args = {graph::values_arg(values, "tensors"), int_arg(named, "dim")};
    form.results = {{dtype, result, order_of(result.size(), order)}};
    return form;
  };
}

Maker stack_maker(etb_dtype dtype, size_t count, size_t dim, bool is_negative) {
  return [=](const Sizes& sizes) {
    OpForm form;
    form.op = "aten.stack.default";
    std::vector<uint32_t> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<uint32_t>(i));
      form.operands.push_back({{dtype, sizes, {}}, Values::kNan});
    }
    Sizes result = sizes;
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(dim), static_cast<int64_t>(count));
    const int64_t named = signed_dim(dim, result.size(), is_negative);
    form.args = {graph::values_arg(values, "tensors"), int_arg(named, "dim")};
    form.results = {{dtype, result, {}}};
    return form;
  };
}

const Sizes kSizes[] = {{}, {5}, {3, 4}, {2, 3, 4}, {2, 3, 2, 4}, {2, 1, 3, 2, 2}, {2, 1, 2, 2, 1, 3}};

// Parts of several dtypes; the result has that of them which holds all.
struct MixedParts {
  std::vector<etb_dtype> dtypes;
  etb_dtype result;
};
const MixedParts kMixedParts[] = {
    {{ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}, ETB_DTYPE_FLOAT32},
    {{ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32}, ETB_DTYPE_FLOAT32},
    {{ETB_DTYPE_INT32, ETB_DTYPE_FLOAT32}, ETB_DTYPE_FLOAT32},
    {{ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64}, ETB_DTYPE_FLOAT64},
    {{ETB_DTYPE_INT32, ETB_DTYPE_INT64, ETB_DTYPE_BOOL}, ETB_DTYPE_INT64}};

void add_mixed_joins(CaseList& out) {
  for (size_t rank = 1; rank <= 4; ++rank)
    for (size_t dim = 0; dim < rank; ++dim)
      for (const MixedParts& parts : kMixedParts)
        for (const bool is_stack : {false, true}) {
          OpForm form;
          form.op = is_stack ? "aten.stack.default" : "aten.cat.default";
          Sizes result = kSizes[rank];
          if (is_stack) result.insert(result.begin() + static_cast<std::ptrdiff_t>(dim), 0);
          if (!is_stack) result[dim] = 0;
          std::vector<uint32_t> values;
          for (const etb_dtype dtype : parts.dtypes) {
            Sizes now = kSizes[rank];
            if (!is_stack) now[dim] += static_cast<int64_t>(values.size());
            result[dim] += is_stack ? 1 : now[dim];
            values.push_back(static_cast<uint32_t>(values.size()));
            form.operands.push_back({{dtype, now, {}}, Values::kExact});
          }
          form.args = {graph::values_arg(values, "tensors"), int_arg(static_cast<int64_t>(dim), "dim")};
          form.results = {{parts.result, result, {}}};
          for (const etb_dtype dtype : parts.dtypes)
            form.word += std::string(form.word.empty() ? "" : "_") + short_name(dtype);
          add_form(out, parts.dtypes[0], std::move(form));
        }
}

void add_joins(CaseList& out, etb_dtype dtype) {
  Design design;
  const auto rank_of = design.add<size_t>({1, 2, 3, 4, 5, 6}),
             count = design.add<size_t>({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto place = design.add_all(kAllPlaces);
  const auto is_negative = design.add<bool>({false, true});
  const auto mix = design.add<Mix>({Mix::kPlain, Mix::kWithEmpty, Mix::kTwice, Mix::kWithConstant});
  const auto order = design.add<uint32_t>({0, 1, 2});
  size_t at = 0;
  for (const Levels& l : design.rows("joins")) {
    ++at;
    const size_t rank = rank_of(l), dim = dim_at(rank, place(l));
    const int64_t named = signed_dim(dim, rank, is_negative(l));
    const Maker cat = cat_maker(dtype, count(l), dim, named, mix(l), order(l));
    if (is_drawn("cat", dtype, at)) {
      add_form(out, dtype, cat(kSizes[rank]));
      if (at % 2 == 0) add_dynamic_forms(out, dtype, cat, kSizes[rank], at / 2);
    }
    if (rank == 6 || !is_drawn("stack", dtype, at)) continue;
    const Maker stack =
        stack_maker(dtype, (count(l) - 1) % 4 + 1, std::min(dim + mix.level(l) % 2, rank), is_negative(l));
    add_form(out, dtype, stack(kSizes[rank]));
    if (at % 3 == 0) add_dynamic_forms(out, dtype, stack, kSizes[rank], at / 3);
  }
}

// ---- indices

// Numbers below `count`; the first and the last one are among them. Each row along the last dimension has
// different ones if `is_unique`, for scatters whose result would depend on the order.
std::function<void(TensorData&, Random&)> index_fill(int64_t count, bool may_be_negative = false) {
  return [=](TensorData& data, Random& random) {
    const int64_t numel = data.shape.numel();
    for (int64_t i = 0; i < numel; ++i) {
      int64_t index = random.between(0, std::max<int64_t>(count - 1, 0));
      if (i == 0) index = std::max<int64_t>(count - 1, 0);
      if (i == numel - 1) index = 0;
      if (may_be_negative && i % 2 == 1) index -= count;
      store_element(data.shape.dtype, data.bytes.data(), i, static_cast<double>(index));
    }
  };
}

// Each position along `dim` has another index, the same in all rows: one writer for each element.
std::function<void(TensorData&, Random&)> scatter_fill(size_t dim, int64_t count) {
  return [=](TensorData& data, Random&) {
    const Sizes& sizes = data.shape.sizes;
    int64_t inner = 1;
    for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
    for (int64_t i = 0; i < data.shape.numel(); ++i) {
      const int64_t at = sizes.empty() ? 0 : i / inner % sizes[dim];
      store_element(data.shape.dtype, data.bytes.data(), i, static_cast<double>(count - 1 - at));
    }
  };
}

struct Setting {
  size_t dim = 0;
  int64_t named = 0;
  uint32_t kind = 0;
  etb_dtype index_dtype = ETB_DTYPE_INT64;
  uint32_t order = 0;
};

Operand indices(const Setting& s, Sizes sizes, std::function<void(TensorData&, Random&)> fill) {
  return {{s.index_dtype, std::move(sizes), {}}, Values::kStatistical, {}, false, std::move(fill)};
}

Maker gather_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes taken = sizes;
    taken[s.dim] = s.kind == 0 ? sizes[s.dim] * 2 : std::min<int64_t>(sizes[s.dim], 2);
    for (size_t d = 0; d < taken.size(); ++d)
      if (d != s.dim && s.kind == 2 && taken[d] > 1) --taken[d];
    OpForm form{"aten.gather.default",
                {{{dtype, sizes, order_of(sizes.size(), s.order)}, Values::kNan},
                 indices(s, taken, index_fill(sizes[s.dim]))},
                {value_arg(0, "self"), int_arg(s.named, "dim"), value_arg(1, "index")},
                {{dtype, taken, {}}}};
    return form;
  };
}

Maker select_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes result = sizes;
    const int64_t count = s.kind == 0 ? 7 : s.kind == 1 ? 1 : 3;
    result[s.dim] = count;
    OpForm form{"aten.index_select.default",
                {{{dtype, sizes, order_of(sizes.size(), s.order)}, Values::kNan},
                 indices(s, {count}, index_fill(sizes[s.dim]))},
                {value_arg(0, "self"), int_arg(s.named, "dim"), value_arg(1, "index")},
                {{dtype, result, {}}}};
    return form;
  };
}

Maker scatter_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes put = sizes;
    if (put[s.dim] > 1) --put[s.dim];
    OpForm form;
    const char* ops[] = {"aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default"};
    form.op = ops[s.kind];
    form.operands = {
        {{dtype, sizes, order_of(sizes.size(), s.order)}, Values::kExact},
        {{ETB_DTYPE_INT64, put, {}}, Values::kStatistical, {}, false, scatter_fill(s.dim, sizes[s.dim])}};
    form.args = {value_arg(0, "self"), int_arg(s.named, "dim"), value_arg(1, "index")};
    if (s.kind == 1) {
      form.args.push_back(int_arg(1, "value"));
    } else {
      form.operands.push_back({{dtype, put, {}}, Values::kExact});
      form.args.push_back(value_arg(2, "src"));
    }
    form.results = {{dtype, sizes, order_of(sizes.size(), s.order)}};
    form.error_model = exact_model(Rule::kExactValue);
    return form;
  };
}

Maker part_scatter_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes source = sizes;
    OpForm form;
    form.operands = {{{dtype, sizes, {}}, Values::kNan}};
    form.args = {value_arg(0, "self"), value_arg(1, "src"), int_arg(s.named, "dim")};
    if (s.kind == 0) {
      form.op = "aten.select_scatter.default";
      source.erase(source.begin() + static_cast<std::ptrdiff_t>(s.dim));
      form.args.push_back(int_arg(-1, "index"));
    } else {
      form.op = "aten.slice_scatter.default";
      const int64_t start = s.kind == 1 ? 0 : std::min<int64_t>(1, sizes[s.dim]), step = s.kind;
      source[s.dim] = std::max<int64_t>(0, (sizes[s.dim] - start + step - 1) / step);
      form.args.insert(form.args.end(),
                       {int_arg(s.kind == 1 ? 0 : 1, "start"), int_arg(1000, "end"), int_arg(step, "step")});
    }
    form.operands.push_back({{dtype, source, {}}, Values::kStatistical});
    form.results = {{dtype, sizes, {}}};
    return form;
  };
}

Maker index_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    OpForm form;
    form.op = "aten.index.Tensor";
    form.operands = {{{dtype, sizes, {}}, Values::kNan}};
    std::vector<uint32_t> values(s.dim, ETB_GRAPH_NONE);
    const Sizes block = s.kind == 0 ? Sizes{3} : s.kind == 1 ? Sizes{2, 2} : Sizes{};
    form.operands.push_back(indices(s, block, index_fill(sizes[s.dim], true)));
    values.push_back(1);
    size_t end = s.dim + 1;
    if (end < sizes.size() && s.order != 0) {  // two lists, the second of which broadcasts
      form.operands.push_back(indices(s, {1}, index_fill(sizes[end])));
      values.push_back(2);
      ++end;
    }
    Sizes result(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(s.dim));
    const Sizes shape = block.empty() && values.size() > s.dim + 1 ? Sizes{1} : block;
    result.insert(result.end(), shape.begin(), shape.end());
    result.insert(result.end(), sizes.begin() + static_cast<std::ptrdiff_t>(end), sizes.end());
    form.args = {value_arg(0, "self"), graph::values_arg(values, "indices")};
    form.results = {{dtype, result, {}}};
    return form;
  };
}

Maker put_maker(etb_dtype dtype, const Setting& s) {
  return [=](const Sizes& sizes) {
    Sizes values = sizes;
    values[0] = std::min<int64_t>(sizes[0], 2);
    OpForm form{
        "aten.index_put.default",
        {{{dtype, sizes, {}}, Values::kExact},
         {{s.index_dtype, {values[0]}, {}}, Values::kStatistical, {}, false, scatter_fill(0, sizes[0])},
         {{dtype, s.kind == 1 ? Sizes{1} : values, {}}, Values::kExact}},
        {value_arg(0, "self"), graph::values_arg({1}, "indices"), value_arg(2, "values"),
         bool_arg(s.kind == 2, "accumulate")},
        {{dtype, sizes, {}}}};
    form.error_model = exact_model(Rule::kExactValue);
    return form;
  };
}

void add_indexed(CaseList& out, etb_dtype dtype) {
  struct Row : Setting {
    size_t rank = 1;
    Place place = Place::kFirst;
    bool is_negative = false;
  };
  DesignOf<Row> design;
  design.add(&Row::rank, {1, 2, 3, 4, 5, 6});
  design.add_all(&Row::place, kAllPlaces);
  design.add(&Row::is_negative, {false, true});
  design.add(&Row::kind, {0, 1, 2});
  design.add(&Row::index_dtype, {ETB_DTYPE_INT64, ETB_DTYPE_INT32});
  design.add(&Row::order, {0, 1, 2});
  size_t at = 0;
  for (const Row& row : design.rows("indices")) {
    ++at;
    const size_t rank = row.rank;
    Setting s = row;
    s.dim = dim_at(rank, row.place);
    s.named = signed_dim(s.dim, rank, row.is_negative);
    s.index_dtype = ETB_DTYPE_INT64;
    const auto add = [&](const char* word, Maker (*make)(etb_dtype, const Setting&), bool may_be_dynamic) {
      if (!is_drawn(word, dtype, at)) return;
      add_form(out, dtype, make(dtype, s)(kSizes[rank]));
      if (may_be_dynamic && at % 2 == 0)
        add_dynamic_form(out, dtype, make(dtype, s), kSizes[rank], static_cast<Moving>(at / 2 % 5),
                         static_cast<Order>(at / 3 % 3));
    };
    add("gather", gather_maker, true);
    if (dtype != ETB_DTYPE_BOOL || s.kind != 2) add("scatter", scatter_maker, true);
    add("part_scatter", part_scatter_maker, true);
    s.index_dtype = row.index_dtype;
    add("index_select", select_maker, true);
    add("index", index_maker, true);
    if (dtype != ETB_DTYPE_BOOL || s.kind != 2) add("index_put", put_maker, true);
  }
}

void add_embeddings(CaseList& out, etb_dtype dtype) {
  const Sizes shapes[] = {{}, {5}, {3, 4}, {2, 1, 3}, {0}, {2, 2, 1, 2}};
  size_t at = 0;
  for (const Sizes& shape : shapes)
    for (const bool is_constant : {false, true})
      for (const etb_dtype index_dtype : {ETB_DTYPE_INT64, ETB_DTYPE_INT32}) {
        if (!is_drawn("embedding", dtype, ++at)) continue;
        const Maker maker = [=](const Sizes& sizes) {
          Sizes result = sizes;
          result.push_back(9);
          return OpForm{"aten.embedding.default",
                        {{{index_dtype, sizes, {}}, Values::kStatistical, {}, false, index_fill(13)},
                         {{dtype, {13, 9}, {}}, Values::kNan, {}, is_constant}},
                        {value_arg(1, "weight"), value_arg(0, "indices")},
                        {{dtype, result, {}}}};
        };
        add_form(out, dtype, maker(shape));
        if (at % 3 == 0) add_dynamic_forms(out, dtype, maker, shape, at);
      }
}

}  // namespace

void add_join_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) add_joins(out, dtype);
  add_mixed_joins(out);
}

void add_index_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    add_indexed(out, dtype);
    add_embeddings(out, dtype);
  }
}

}  // namespace etb::conformance
