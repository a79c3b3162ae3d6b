// SPDX-License-Identifier: Apache-2.0
// Pools over one to three dimensions by designs over all attributes.
#include <algorithm>
#include <cmath>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"
#include "conformance/cases/window.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::ints_arg;
using graph::value_arg;

enum class Kind { kMean, kMaximum, kMaximumOnly };

constexpr int64_t kArea = -1;  // a divisor as large as the window

// An empty stride is the kernel.
struct Pool : Window {
  Kind kind = Kind::kMean;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers leading;  // batch and channels, or channels
  bool is_ceil = false, counts_padding = true;
  int64_t divisor = 0;  // 0: none
  bool is_last = false, has_indices = false;
  bool is_large = false;
  bool is_short = false;  // one number for equal ones, trailing defaults left out
  Values values = Values::kStatistical;

  size_t rank() const { return size.size(); }
  std::string op() const {
    const std::string text = std::to_string(rank());
    if (kind == Kind::kMean) return "aten.avg_pool" + text + "d.default";
    return "aten.max_pool" + text + (kind == Kind::kMaximum ? "d_with_indices.default" : "d.default");
  }
  int64_t step(size_t i) const { return stride.empty() ? kernel[i] : stride[i]; }
  // Windows that would begin after the image and its leading padding are left out.
  Numbers result_size() const {
    Numbers out;
    for (size_t i = 0; i < rank(); ++i) {
      const int64_t span = size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
      int64_t count = span < 0 ? 0 : (span + (is_ceil ? step(i) - 1 : 0)) / step(i) + 1;
      if (is_ceil && count > 0 && (count - 1) * step(i) >= size[i] + padding[i]) --count;
      out.push_back(count);
    }
    return out;
  }
  Shape shape(const Numbers& spatial) const {
    Shape out{dtype, leading, {}};
    out.sizes.insert(out.sizes.end(), spatial.begin(), spatial.end());
    if (is_last && leading.size() == 2) out.dim_order = channels_last(out.sizes.size());
    return out;
  }
};

bool are_equal(const Numbers& numbers) {
  for (const int64_t number : numbers)
    if (number != numbers[0]) return false;
  return true;
}

std::vector<graph::ArgumentDesc> pool_args(const Pool& p, uint32_t x) {
  const auto list = [&](const Numbers& numbers, const char* name) {
    return ints_arg(p.is_short && !numbers.empty() && are_equal(numbers) ? Numbers{numbers[0]} : numbers,
                    name);
  };
  std::vector<graph::ArgumentDesc> args = {value_arg(x, "self"), list(p.kernel, "kernel_size"),
                                           list(p.stride, "stride"), list(p.padding, "padding")};
  std::vector<bool> is_default = {false, false, p.stride.empty(), p.padding == Numbers(p.rank(), 0)};
  const auto add = [&](graph::ArgumentDesc arg, bool is_plain) {
    args.push_back(std::move(arg));
    is_default.push_back(is_plain);
  };
  if (p.kind != Kind::kMean) add(list(p.dilation, "dilation"), p.dilation == Numbers(p.rank(), 1));
  add(bool_arg(p.is_ceil, "ceil_mode"), !p.is_ceil);
  if (p.kind == Kind::kMean) {
    add(bool_arg(p.counts_padding, "count_include_pad"), p.counts_padding);
    if (p.rank() > 1)
      add(p.divisor == 0 ? graph::none_arg("divisor_override")
                         : graph::int_arg(p.divisor, "divisor_override"),
          p.divisor == 0);
  }
  while (p.is_short && is_default.back()) {
    args.pop_back();
    is_default.pop_back();
  }
  return args;
}

ErrorModel pool_model(const Pool& p) {
  if (p.kind != Kind::kMean) return {};
  double area = 1;
  for (const int64_t k : p.kernel) area *= static_cast<double>(k);
  return mean_model(area);
}

std::vector<Shape> pool_results(const Pool& p) {
  const Shape result = p.shape(p.result_size());
  if (p.kind != Kind::kMaximum) return {result};
  return {result, {ETB_DTYPE_INT64, result.sizes, result.dim_order}};
}

// The same pool over one direction more, of size 1.
Pool widened(Pool p) {
  const auto widen = [](Numbers& numbers, int64_t number) {
    if (!numbers.empty()) numbers.insert(numbers.begin(), number);
  };
  widen(p.size, 1);
  widen(p.kernel, 1);
  widen(p.stride, 1);
  widen(p.padding, 0);
  widen(p.dilation, 1);
  return p;
}

// The reference of an op without a kernel is another: a pool with indices that nothing reads, or over two
// dimensions of which one has size 1.
void add_reference(const Pool& p, ReferenceForm& out) {
  Pool used = p;
  used.is_short = false;
  if (used.kind == Kind::kMaximumOnly) used.kind = Kind::kMaximum;
  FormNodes nodes(out.nodes, 1);
  if (p.rank() != 1) {
    nodes.add(used.op(), pool_args(used, 0), pool_results(used));
    return;
  }
  used = widened(used);
  const uint32_t x = nodes.add("aten.unsqueeze_copy.default",
                               {value_arg(0, "self"), graph::int_arg(-2, "dim")}, used.shape(used.size));
  const uint32_t y = nodes.add(used.op(), pool_args(used, x), pool_results(used));
  nodes.add("aten.squeeze_copy.dims", {value_arg(y, "self"), ints_arg({-2}, "dim")},
            p.shape(p.result_size()));
}

OpForm pool_form(const Pool& p) {
  OpForm form;
  form.op = p.op();
  form.operands = {{p.shape(p.size), p.values, is_floating(p.dtype) ? Domain{} : Domain{-100, 100}}};
  form.args = pool_args(p, 0);
  form.results = pool_results(p);
  if (!p.has_indices) form.outputs = {0};
  form.error_model = pool_model(p);
  form.word = p.is_large ? "large" : p.has_indices ? "indices" : "";
  if (p.kind == Kind::kMaximumOnly || p.rank() == 1) add_reference(p, form.reference);
  return form;
}

// A maker of the same pool of other images.
Maker maker_of(const Pool& base) {
  return [base](const Sizes& sizes) {
    Pool p = base;
    p.leading.assign(sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(base.rank()));
    p.size.assign(sizes.end() - static_cast<std::ptrdiff_t>(base.rank()), sizes.end());
    return pool_form(p);
  };
}

// Adds the case, and for some rows a dynamic one: the image moves where the window fits into one of size 1.
void add_row(CaseList& out, const Pool& p, size_t at) {
  add_form(out, p.dtype, pool_form(p));
  if (at % 3 != 0) return;
  Pool least = p;
  least.size.assign(p.rank(), 1);
  const Numbers result = least.result_size();
  const bool may_be_one = *std::min_element(result.begin(), result.end()) > 0;
  add_dynamic_form(out, p.dtype, maker_of(p), p.shape(p.size).sizes,
                   may_be_one && at % 2 == 0 ? Moving::kLast : Moving::kFirst,
                   static_cast<Order>(at / 3 % 3));
}

const WindowLevels kDirections[] = {
    {{{9}, {16}, {7}}, {{3}, {2}, {5}}, {{}, {1}, {2}, {3}}, {{0}, {1}, {2}}, {{1}, {2}}},
    {{{7, 9}, {10, 6}, {8, 8}, {13, 5}, {6, 17}},
     {{3, 3}, {2, 2}, {3, 2}, {1, 4}, {5, 3}, {2, 5}, {4, 1}, {1, 1}},
     {{}, {1, 1}, {2, 2}, {2, 1}, {1, 3}, {3, 2}},
     {{0, 0}, {1, 1}, {1, 0}, {0, 1}, {2, 1}, {0, 2}},
     {{1, 1}, {1, 1}, {2, 1}, {1, 2}, {2, 2}}},
    {{{5, 6, 7}, {4, 7, 5}},
     {{2, 3, 1}, {3, 3, 3}, {1, 2, 2}},
     {{}, {1, 1, 1}, {2, 1, 3}, {1, 2, 1}},
     {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 1}},
     {{1, 1, 1}, {2, 1, 1}, {1, 1, 2}}}};

// Makes a row possible instead of rejecting it, which would take most of the time of a design: padding is at most
// half the kernel, and an image that the kernel does not fit into becomes larger.
void fit(Pool& p) {
  for (size_t i = 0; i < p.rank(); ++i) {
    p.padding[i] = std::min(p.padding[i], p.kernel[i] / 2);
    p.size[i] = std::max(p.size[i], p.dilation[i] * (p.kernel[i] - 1) + 1 - 2 * p.padding[i]);
  }
}

// Attributes that few plugins have. A row with at most one of them is what a plugin without some of them claims.
enum class Rare { kNone, kNoBatch, kDilation, kGaps, kCeil, kDivisor, kIndices };

// A row: a pool, and whether it has rare attributes.
struct PoolRow : Pool {
  Rare rare = Rare::kNone;
};

DesignOf<PoolRow> pool_design(Kind kind, const WindowLevels& levels, const std::vector<etb_dtype>& dtypes) {
  PoolRow base;
  base.kind = kind;
  DesignOf<PoolRow> design(base);
  add_window(design, levels);
  design.add(&PoolRow::leading, {{1, 3}, {2, 1}, {3, 8}, {1, 17}, {2, 5}});
  design.add(&PoolRow::dtype, dtypes);
  design.add(&PoolRow::rare, {Rare::kNone, Rare::kNoBatch, Rare::kDilation, Rare::kGaps, Rare::kCeil,
                              Rare::kDivisor, Rare::kIndices});
  design.add(&PoolRow::divisor, {0, 0, 3, kArea});
  design.add(&PoolRow::is_ceil, {false, true});
  design.add(&PoolRow::is_last, {false, true});
  design.add(&PoolRow::is_short, {false, true});
  design.add(&PoolRow::has_indices, {false, true});
  design.add(&PoolRow::counts_padding, {true, false});
  design.add(&PoolRow::values, {Values::kStatistical,
                                kind == Kind::kMean ? Values::kPositive : Values::kExact, Values::kSpread});
  return design;
}

// Returns the pool of a row, without the attributes that its kind lacks. `is_common`: with at most one rare attribute.
Pool pool_of(const PoolRow& row, const WindowLevels& levels, bool is_common) {
  Pool p = row;
  const bool is_mean = p.kind == Kind::kMean;
  const auto may = [&](Rare one) { return !is_common || row.rare == one; };
  if (row.rare == Rare::kNoBatch) p.leading = {4};
  if (is_mean || !may(Rare::kDilation)) p.dilation = levels.dilations[0];
  if (row.rare == Rare::kDilation && !is_mean) p.dilation = levels.dilations.back();
  for (size_t i = 0; i < p.stride.size(); ++i) {
    if (!may(Rare::kGaps)) p.stride[i] = std::min(p.stride[i], p.kernel[i]);
    if (row.rare == Rare::kGaps) p.stride[i] = p.kernel[i] + 1;
  }
  p.is_ceil = row.rare == Rare::kCeil || (!is_common && row.is_ceil);
  if (!is_mean || p.rank() == 1 || !may(Rare::kDivisor)) p.divisor = 0;
  if (p.divisor == kArea) {
    p.divisor = 1;
    for (const int64_t k : p.kernel) p.divisor *= k;
  }
  p.has_indices = p.kind == Kind::kMaximum && may(Rare::kIndices) && row.has_indices;
  p.counts_padding = !is_mean || row.counts_padding;
  if (!is_floating(p.dtype)) p.values = Values::kStatistical;
  fit(p);
  return p;
}

void add_design(CaseList& out, Kind kind, const WindowLevels& levels, const std::vector<etb_dtype>& dtypes,
                bool is_common, const std::string& seed) {
  size_t at = 0;
  for (const PoolRow& row : pool_design(kind, levels, dtypes).rows(seed))
    add_row(out, pool_of(row, levels, is_common), at++);
}

// Returns a pool of images with one kernel, stride and padding for both directions.
Pool even_pool(Kind kind, etb_dtype dtype, int64_t kernel, int64_t stride, int64_t padding) {
  Pool p;
  p.kind = kind;
  p.dtype = dtype;
  p.size = {1, 1};
  p.kernel = {kernel, kernel};
  p.stride = {stride, stride};
  p.padding = {padding, padding};
  p.dilation = {1, 1};
  return p;
}

// Every dimension moves.
void add_dynamic(CaseList& out, etb_dtype dtype) {
  for (const bool is_last : {false, true})
    for (const Kind kind : {Kind::kMaximum, Kind::kMean})
      for (const int64_t stride : {int64_t{1}, int64_t{2}}) {
        Pool p = even_pool(kind, dtype, 3, stride, 1);
        p.is_last = is_last;
        p.counts_padding = stride == 1;
        add_all_dynamic_forms(out, dtype, maker_of(p), {2, 3, stride == 1 ? 5 : 7, 6}, false);
      }
}

// Maxima must keep NaN, and means and maxima infinities, in these windows and in no other.
void add_non_finite(CaseList& out, Kind kind, etb_dtype dtype) {
  for (const bool is_last : {false, true}) {
    Pool p = even_pool(kind, dtype, 3, 2, 0);
    p.leading = {2, 5};
    p.size = {9, 10};
    p.kernel = {3, 2};
    p.padding = {1, 0};
    p.is_last = is_last;
    p.values = Values::kNonFinite;
    add_form(out, dtype, pool_form(p));
  }
}

// Images of which all elements, or nearly all, are the lowest number: -infinity, which a finite start of the search hides.
void add_lowest(CaseList& out, const Pool& base) {
  Pool p = base;
  for (const bool has_padding : {false, true})
    for (const bool has_indices : {false, p.kind == Kind::kMaximum}) {
      p.padding.assign(p.rank(), has_padding ? 1 : 0);
      p.has_indices = has_indices;
      OpForm form = pool_form(p);
      form.operands[0].fill = [dtype = p.dtype](TensorData& data, Random&) {
        const bool is_signed = dtype == ETB_DTYPE_INT8;
        const double lowest = is_floating(dtype) ? -HUGE_VAL
                              : is_signed        ? -128
                                                 : 0,
                     next = is_floating(dtype) ? -float_format(dtype).largest : lowest + 1;
        const int64_t half = data.shape.numel() / 2;
        data = filled(data.shape, [&](int64_t i) { return i > half && i % 17 == 3 ? next : lowest; });
      };
      form.word = has_indices ? "lowest_indices" : "lowest";
      form.group = "edge";
      add_form(out, p.dtype, std::move(form));
    }
}

void add_lowest_images(CaseList& out, Kind kind) {
  for (const etb_dtype dtype :
       {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_INT8, ETB_DTYPE_UINT8})
    for (const Numbers& size : {Numbers{11}, {9, 10}, {4, 5, 7}})
      for (const bool is_last : {false, true}) {
        if ((size.size() == 1 && kind == Kind::kMaximum) || (is_last && size.size() != 2)) continue;
        Pool p;
        p.kind = kind;
        p.dtype = dtype;
        p.leading = {2, 3};
        p.size = size;
        p.kernel.assign(size.size(), 3);
        p.stride.assign(size.size(), 2);
        p.dilation.assign(size.size(), 1);
        p.is_last = is_last;
        add_lowest(out, p);
      }
}

// Windows, channels and batches beyond thresholds.
void add_large(CaseList& out) {
  struct Row {
    Numbers leading, size, kernel, stride, padding;
  };
  const Row rows[] = {
      {{1, 3}, {20, 21}, {9, 9}, {2, 3}, {4, 4}},    {{2, 5}, {30, 17}, {13, 13}, {5, 1}, {0, 6}},
      {{1, 4}, {33, 9}, {16, 1}, {4, 1}, {0, 0}},    {{1, 515}, {5, 6}, {2, 3}, {1, 2}, {1, 0}},
      {{17, 3}, {6, 5}, {3, 2}, {2, 2}, {1, 1}},     {{1, 3}, {64, 65}, {64, 65}, {1, 1}, {0, 0}},
      {{1, 9}, {185, 181}, {3, 3}, {1, 1}, {1, 1}},  {{33, 17}, {4, 7}, {3, 3}, {1, 1}, {0, 1}},
      {{1, 3}, {5, 1100}, {3, 3}, {2, 2}, {1, 1}},   {{2, 3}, {1100, 5}, {3, 2}, {1, 2}, {1, 0}},
      {{1, 1}, {2100, 2100}, {2, 2}, {1, 1}, {0, 0}}};
  for (const Row& row : rows)
    for (const Kind kind : {Kind::kMean, Kind::kMaximum, Kind::kMaximumOnly})
      for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) {
        Pool p = even_pool(kind, dtype, 1, 1, 0);
        p.leading = row.leading;
        p.size = row.size;
        p.kernel = row.kernel;
        p.stride = row.stride;
        p.padding = row.padding;
        p.is_last = dtype == ETB_DTYPE_FLOAT16;
        p.is_large = true;
        if (dtype == ETB_DTYPE_FLOAT32 || kind != Kind::kMaximum) add_form(out, dtype, pool_form(p));
      }
}

}  // namespace

void add_pool_designs(CaseList& out) {
  const std::vector<etb_dtype> floats = {ETB_DTYPE_FLOAT32},
                               halves = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64},
                               others = {ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64,
                                         ETB_DTYPE_INT64,   ETB_DTYPE_INT8,     ETB_DTYPE_UINT8};
  for (const Kind kind : {Kind::kMean, Kind::kMaximum, Kind::kMaximumOnly}) {
    const std::string word = kind == Kind::kMean      ? "mean"
                             : kind == Kind::kMaximum ? "maximum"
                                                      : "maximum only";
    const std::vector<etb_dtype>& more = kind == Kind::kMean ? halves : others;
    for (const WindowLevels& directions : kDirections) {
      const std::string seed = word + " of " + std::to_string(directions.sizes[0].size());
      // No op of one direction returns indices.
      if (kind == Kind::kMaximum && directions.sizes[0].size() == 1) continue;
      add_design(out, kind, directions, floats, true, seed + ", common");
      add_design(out, kind, directions, floats, false, seed);
      if (directions.sizes[0].size() == 2)
        add_design(out, kind, directions, more, true, seed + ", other types");
    }
    for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}) add_non_finite(out, kind, dtype);
    if (kind != Kind::kMean) add_lowest_images(out, kind);
  }
  for (const etb_dtype dtype : kFloats) add_dynamic(out, dtype);
  add_large(out);
}

}  // namespace etb::conformance
