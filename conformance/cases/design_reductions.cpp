// SPDX-License-Identifier: Apache-2.0
// Reductions and running sums: dims of every kind (negative, several, not adjacent, none = all), keepdim, a
// dtype argument, corrections of the variance, ranks up to 6, dim orders, ties, NaN, large means.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

enum DimsKind : uint32_t { kFirst, kLast, kLastTwo, kFirstTwo, kEnds, kEvery, kEmptyList, kNoList, kMiddle };

std::vector<int64_t> dims_of(size_t rank, DimsKind kind, bool is_negative) {
  const auto r = static_cast<int64_t>(rank);
  std::vector<int64_t> out;
  if (kind == kFirst) out = {0};
  if (kind == kLast) out = {r - 1};
  if (kind == kLastTwo) out = {r - 2, r - 1};
  if (kind == kFirstTwo) out = {1, 0};
  if (kind == kEnds) out = {0, r - 1};
  if (kind == kMiddle) out = {r / 2};
  if (kind == kEvery)
    for (int64_t d = 0; d < r; ++d) out.push_back(d);
  if (is_negative)
    for (int64_t& d : out) d -= r;
  return out;
}

bool is_reduced(const std::vector<int64_t>& dims, size_t rank, size_t dim) {
  return dims.empty() || std::any_of(dims.begin(), dims.end(), [&](int64_t d) {
           return (d < 0 ? d + static_cast<int64_t>(rank) : d) == static_cast<int64_t>(dim);
         });
}

Sizes reduced_sizes(const Sizes& sizes, const std::vector<int64_t>& dims, bool keeps) {
  Sizes out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!is_reduced(dims, sizes.size(), d))
      out.push_back(sizes[d]);
    else if (keeps)
      out.push_back(1);
  }
  return out;
}

int64_t reduced_count(const Sizes& sizes, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (is_reduced(dims, sizes.size(), d)) count *= sizes[d];
  return count;
}

enum class Kind { kSum, kMean, kExtreme, kWhere, kTruth, kVariance, kProduct };

struct ReduceOp {
  const char* op;
  Kind kind;
  bool has_list;       // dim is a list
  bool needs_dim;      // the list may be neither empty nor absent
  bool needs_element;  // an empty tensor has no result
};
const ReduceOp kOps[] = {{"aten.sum.dim_IntList", Kind::kSum, true, false, false},
                         {"aten.mean.dim", Kind::kMean, true, false, false},
                         {"aten.amax.default", Kind::kExtreme, true, false, true},
                         {"aten.amin.default", Kind::kExtreme, true, false, true},
                         {"aten.argmax.default", Kind::kWhere, false, false, true},
                         {"aten.argmin.default", Kind::kWhere, false, false, true},
                         {"aten.any.dims", Kind::kTruth, true, false, false},
                         {"aten.any.dim", Kind::kTruth, false, true, false},
                         {"aten.var.correction", Kind::kVariance, true, false, true},
                         {"aten.var.dim", Kind::kVariance, true, false, true},
                         {"aten.prod.dim_int", Kind::kProduct, false, true, false}};

struct Setting {
  std::vector<int64_t> dims;
  bool has_no_list = false, keeps = false;
  uint32_t order = 0;
  Values data = Values::kStatistical;
  double correction = 1;
  bool has_dtype = false;
};

bool takes_dtype(const ReduceOp& op, etb_dtype dtype) {
  switch (op.kind) {
    case Kind::kMean:
    case Kind::kVariance:
      return is_floating(dtype);
    case Kind::kWhere:
      return dtype != ETB_DTYPE_BOOL;
    default:
      return true;
  }
}

etb_dtype dtype_of_result(const ReduceOp& op, etb_dtype dtype, bool has_dtype) {
  if (op.kind == Kind::kWhere) return ETB_DTYPE_INT64;
  if (op.kind == Kind::kTruth) return ETB_DTYPE_BOOL;
  if (has_dtype) return ETB_DTYPE_FLOAT32;
  const bool is_sum = op.kind == Kind::kSum || op.kind == Kind::kProduct;
  return is_sum && !is_floating(dtype) ? ETB_DTYPE_INT64 : dtype;
}

// Returns the squared largest distance from the mean, plus its product with the largest value.
std::vector<double> spread(const std::vector<TensorData>& inputs) {
  double sum = 0, largest = 0;
  const TensorData& x = inputs[0];
  const int64_t count = x.shape.numel();
  for (int64_t i = 0; i < count; ++i) sum += load_element(x.shape.dtype, x.bytes.data(), i);
  const double mean = sum / static_cast<double>(std::max<int64_t>(count, 1));
  double far = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = load_element(x.shape.dtype, x.bytes.data(), i);
    far = std::max(far, std::abs(value - mean));
    largest = std::max(largest, std::abs(value));
  }
  return {4 * far * (far + largest)};
}

ErrorModel model_of(const ReduceOp& op, int64_t count, Values data) {
  const double root = std::sqrt(static_cast<double>(std::max<int64_t>(count, 1)));
  switch (op.kind) {
    case Kind::kSum:
      return sum_model(data, count + 1);
    case Kind::kMean:
      return sum_model(Values::kStatistical, count + 1);
    case Kind::kExtreme:
      return exact_model(Rule::kExactValue);
    case Kind::kVariance:
      return rounded_model(4, 4 * root + 8, spread);
    case Kind::kProduct:
      return rounded_model(static_cast<double>(count) + 1);
    default:
      return exact_model();
  }
}

std::vector<graph::ArgumentDesc> arguments(const ReduceOp& op, const Setting& s) {
  std::vector<graph::ArgumentDesc> args = {value_arg(0, "self")};
  if (!op.has_list)
    args.push_back(s.dims.empty() ? graph::none_arg("dim") : graph::int_arg(s.dims[0], "dim"));
  else
    args.push_back(s.has_no_list ? graph::none_arg("dim") : graph::ints_arg(s.dims, "dim"));
  const std::string_view name = op.op;
  if (name == "aten.var.correction")
    args.push_back(graph::int_arg(static_cast<int64_t>(s.correction), "correction"));
  if (name == "aten.var.dim") args.push_back(graph::bool_arg(s.correction != 0, "unbiased"));
  args.push_back(graph::bool_arg(s.keeps, "keepdim"));
  if (s.has_dtype) args.push_back(graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_FLOAT32, "dtype"));
  return args;
}

Maker reduce_maker(const ReduceOp& op, etb_dtype dtype, const Setting& s) {
  return [&op, dtype, s](const Sizes& sizes) {
    OpForm form;
    form.op = op.op;
    const Domain domain =
        op.kind == Kind::kProduct ? (is_floating(dtype) ? Domain{0.5, 2} : Domain{1, 2}) : Domain{};
    form.operands = {{{dtype, sizes, order_of(sizes.size(), s.order)}, s.data, domain}};
    form.args = arguments(op, s);
    form.results = {{dtype_of_result(op, dtype, s.has_dtype), reduced_sizes(sizes, s.dims, s.keeps), {}}};
    form.error_model = model_of(op, reduced_count(sizes, s.dims), s.data);
    return form;
  };
}

// A row of the design: a setting before the op is known.
struct ReduceRow : Setting {
  uint32_t rank = 0;
  DimsKind kind = kFirst;
  bool is_negative = false, is_other_size = false;
};

const std::vector<ReduceRow>& reduce_rows() {
  static const std::vector<ReduceRow> rows = [] {
    DesignOf<ReduceRow> design;
    design.add(&ReduceRow::rank, {0, 1, 2, 3, 4, 5, 6});
    design.add(&ReduceRow::kind,
               {kFirst, kLast, kLastTwo, kFirstTwo, kEnds, kEvery, kEmptyList, kNoList, kMiddle});
    design.add(&ReduceRow::is_negative, {false, true});
    design.add(&ReduceRow::keeps, {false, true});
    design.add(&ReduceRow::order, {0, 1, 2});
    design.add(&ReduceRow::data, {Values::kStatistical, Values::kExact, Values::kFew, Values::kNan,
                                  Values::kOffset, Values::kSpread});
    design.add(&ReduceRow::correction, {0, 1, 2});
    design.add(&ReduceRow::has_dtype, {false, true});
    design.add(&ReduceRow::is_other_size, {false, true});
    return design.rows("reduce", [](const ReduceRow& row) {
      const bool is_all = row.kind == kEmptyList || row.kind == kNoList;
      return row.rank > 1 || is_all || (row.rank == 1 && (row.kind == kFirst || row.kind == kLast));
    });
  }();
  return rows;
}

Values values_for(const ReduceOp& op, etb_dtype dtype, Values data) {
  if (dtype == ETB_DTYPE_BOOL || op.kind == Kind::kProduct) return Values::kStatistical;
  const bool sums = op.kind == Kind::kSum || op.kind == Kind::kMean || op.kind == Kind::kVariance;
  // Sums of large values overflow 16 bits, and few are exact in them.
  if (is_half(dtype) && sums) return Values::kStatistical;
  // Equal rows have equal errors, which look like a bias.
  if (sums && data == Values::kFew) return Values::kSpread;
  if (op.kind == Kind::kVariance && data == Values::kNan) return Values::kOffset;
  if (!is_floating(dtype) && sums && data == Values::kNan) return Values::kStatistical;  // sums that wrap
  return data;
}

void add_reduction(CaseList& out, const ReduceOp& op, etb_dtype dtype) {
  const Sizes sizes[2][7] = {
      {{}, {65}, {33, 7}, {4, 9, 17}, {2, 3, 7, 5}, {2, 3, 2, 4, 5}, {2, 3, 2, 2, 3, 4}},
      {{}, {1023}, {3, 128}, {5, 2, 64}, {3, 4, 1, 31}, {2, 1, 3, 3, 8}, {1, 2, 3, 2, 4, 2}}};
  size_t at = 0;
  for (const ReduceRow& row : reduce_rows()) {
    ++at;
    const uint32_t rank = row.rank;
    Setting s = row;
    s.dims = dims_of(rank, row.kind, row.is_negative);
    s.has_no_list = row.kind == kNoList;
    s.data = values_for(op, dtype, row.data);
    if (std::string_view(op.op) == "aten.var.dim" && s.correction == 2) s.correction = 0;
    s.has_dtype =
        row.has_dtype && op.kind == Kind::kSum && (dtype == ETB_DTYPE_FLOAT32 || !is_floating(dtype));
    if (!op.has_list && s.dims.size() > 1) s.dims.resize(1);
    if (op.needs_dim && s.dims.empty()) {
      if (rank == 0) continue;
      s.dims = {-1};
    }
    // The empty list is no dim for this op, all for the others.
    if (std::string_view(op.op) == "aten.any.dims" && s.dims.empty()) s.has_no_list = true;
    if (op.kind == Kind::kVariance && rank == 0) continue;  // 0 / 0
    if (std::string_view(op.op) == "aten.amax.default" || std::string_view(op.op) == "aten.amin.default")
      s.has_no_list = false;
    if (!is_drawn(op.op, dtype, at)) continue;
    const Maker maker = reduce_maker(op, dtype, s);
    const Sizes& chosen = sizes[row.is_other_size ? 1 : 0][rank];
    add_form(out, dtype, maker(chosen));
    // The variance of one element is 0 / 0.
    const bool may_be_dynamic = op.kind != Kind::kVariance;
    if (rank > 0 && (dtype == ETB_DTYPE_FLOAT32 || at % 4 == 0) && may_be_dynamic) {
      if (op.needs_element)
        add_dynamic_form(out, dtype, maker, chosen, static_cast<Moving>(at % 5),
                         static_cast<Order>(at / 5 % 3));
      else
        add_dynamic_forms(out, dtype, maker, chosen, at);
    }
  }
  // The first dimension is 1, and remains. A plugin that removes it has the right elements and the wrong rank.
  size_t number = 0;
  for (const Sizes& chosen : {Sizes{1, 7}, {1, 5, 3}, {1, 3, 2, 5}, {1, 1, 6}}) {
    Setting s;
    s.dims = {-1};
    if (is_drawn(op.op, dtype, number++)) add_form(out, dtype, reduce_maker(op, dtype, s)(chosen));
    if (op.has_list && chosen.size() > 2) s.dims = {-2, -1};
    if (is_drawn(op.op, dtype, number++)) add_form(out, dtype, reduce_maker(op, dtype, s)(chosen));
  }
  Setting last;
  last.dims = {-1};
  if (dtype == ETB_DTYPE_FLOAT32)
    for (const Sizes& large : {Sizes{2, 4096}, {1, 65537}, {4099, 3}, {3, 4097}})
      add_form(out, dtype, reduce_maker(op, dtype, last)(large));
  if (op.needs_element) return;
  for (const Sizes& empty : {Sizes{0, 3}, {3, 0}, {2, 0, 3}, {0}})
    if (is_drawn(op.op, dtype, at++)) add_form(out, dtype, reduce_maker(op, dtype, last)(empty));
}

// ---- of all elements

void add_whole(CaseList& out, const char* op, Kind kind, etb_dtype dtype) {
  const ReduceOp row{op, kind, true, false, true};
  if (!takes_dtype(row, dtype)) return;
  const auto maker = [=](Values data) -> Maker {
    return [=](const Sizes& sizes) {
      const Domain domain =
          kind == Kind::kProduct ? (is_floating(dtype) ? Domain{0.75, 1.5} : Domain{1, 2}) : Domain{};
      OpForm form{op,
                  {{{dtype, sizes, {}}, data, domain}},
                  {value_arg(0, "self")},
                  {{dtype_of_result(row, dtype, false), {}, {}}}};
      form.error_model = model_of(row, form.operands[0].shape.numel(), data);
      return form;
    };
  };
  size_t at = 0;
  for (const Sizes& sizes :
       {Sizes{}, {17}, {5, 9}, {2, 3, 4}, {2, 3, 2, 5}, {2, 2, 3, 2, 2}, {2, 1, 2, 3, 2, 2}}) {
    const Values data = values_for(row, dtype, at % 2 == 0 ? Values::kStatistical : Values::kNan);
    if (is_drawn(op, dtype, at++)) add_form(out, dtype, maker(data)(sizes));
    if (at % 3 == 2)
      add_dynamic_form(out, dtype, maker(Values::kStatistical), sizes, static_cast<Moving>(at % 3),
                       static_cast<Order>(at / 3 % 3));
  }
}

// ---- running sums and products

Maker running_maker(const char* op, etb_dtype dtype, int64_t dim, uint32_t order, Values data) {
  return [=](const Sizes& sizes) {
    const bool is_product = std::string_view(op) == "aten.cumprod.default";
    const bool is_list =
        std::string_view(op) == "aten.cummax.default" || std::string_view(op) == "aten.cummin.default";
    const Shape shape{dtype, sizes, order_of(sizes.size(), order)};
    Shape result = shape;
    if (!is_list && !is_floating(dtype)) result.dtype = ETB_DTYPE_INT64;
    OpForm form{
        op,
        {{shape, data, is_product ? (is_floating(dtype) ? Domain{0.75, 1.5} : Domain{1, 2}) : Domain{}}},
        {value_arg(0, "self"), graph::int_arg(dim, "dim")},
        {result}};
    if (is_list) {
      form.results.push_back({ETB_DTYPE_INT64, sizes, shape.dim_order});
      return form;
    }
    const int64_t length =
        sizes.empty() ? 1
                      : sizes[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim)];
    form.error_model =
        is_product ? rounded_model(static_cast<double>(length) + 1)
        : std::string_view(op) == "aten.logcumsumexp.default"
            ? rounded_model(8, 8 * std::sqrt(static_cast<double>(length)) + 8, twice_the_largest)
            : sum_model(data, length + 1);
    return form;
  };
}

void add_running(CaseList& out, etb_dtype dtype) {
  Design design;
  const auto sizes =
      design.add<Sizes>({{33}, {7, 65}, {3, 4, 9}, {2, 3, 4, 5}, {2, 1, 3, 2, 4}, {2, 3, 1, 2, 3, 2}});
  const auto place = design.add_all(kAllPlaces);  // the third: the first, as a negative number
  const auto order = design.add<uint32_t>({0, 1, 2});
  const auto is_few = design.add<bool>({false, true});
  const std::vector<Levels> rows = design.rows("running");
  size_t at = 0;
  for (const char* op : {"aten.cumsum.default", "aten.cumprod.default", "aten.cummax.default",
                         "aten.cummin.default", "aten.logcumsumexp.default"}) {
    if (std::string_view(op) == "aten.logcumsumexp.default" && !is_floating(dtype)) continue;
    if (dtype == ETB_DTYPE_BOOL) continue;
    for (const Levels& l : rows) {
      if (!is_drawn(op, dtype, at++)) continue;
      const Sizes& chosen = sizes(l);
      const int64_t dim = place(l) == Place::kFirst  ? 0
                          : place(l) == Place::kLast ? -1
                                                     : -static_cast<int64_t>(chosen.size());
      const bool has_ties =
          std::string_view(op) == "aten.cummax.default" || std::string_view(op) == "aten.cummin.default";
      const Maker maker = running_maker(op, dtype, dim, order(l),
                                        is_few(l) && has_ties ? Values::kFew : Values::kStatistical);
      add_form(out, dtype, maker(chosen));
      if (at % 3 == 0) add_dynamic_forms(out, dtype, maker, chosen, at);
    }
  }
}

}  // namespace

void add_reduction_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    for (const ReduceOp& op : kOps)
      if (takes_dtype(op, dtype)) add_reduction(out, op, dtype);
    add_whole(out, "aten.mean.default", Kind::kMean, dtype);
    add_whole(out, "aten.any.default", Kind::kTruth, dtype);
    add_whole(out, "aten.max.default", Kind::kExtreme, dtype);
    add_whole(out, "aten.min.default", Kind::kExtreme, dtype);
    add_whole(out, "aten.prod.default", Kind::kProduct, dtype);
    add_running(out, dtype);
  }
}

}  // namespace etb::conformance
