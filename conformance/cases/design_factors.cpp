// SPDX-License-Identifier: Apache-2.0
// Ops whose operands are factors of a matrix, and distances and histograms. Factors are drawn so that results are well
// conditioned: no decomposition is needed to make them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

Numbers with_batch(const Numbers& batch, Numbers sizes) {
  sizes.insert(sizes.begin(), batch.begin(), batch.end());
  return sizes;
}

// Adds a dynamic case of a form whose operands and results all begin with the same batch: its first dimension changes.
void add_dynamic_batch(CaseList& out, etb_dtype dtype, const OpForm& form, const Numbers& batch) {
  if (batch.empty()) return;
  const auto maker = [form](const Sizes& sizes) {
    OpForm now = form;
    for (Operand& operand : now.operands) operand.shape.sizes[0] = sizes[0];
    for (Shape& result : now.results) result.sizes[0] = sizes[0];
    return now;
  };
  add_dynamic_form(out, dtype, maker, {batch[0]}, Moving::kFirst,
                   static_cast<Order>(hash_text(form.word) % 3));
}

struct Reflections {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers batch;
  int64_t columns = 3, more_rows = 2, unused_columns = 0, others = 4;
  bool is_left = true, is_transposed = false;

  int64_t rows() const { return columns + more_rows; }
};

// A reflection has the norm 1 + tau |v|^2 at most, with elements of v up to 1/2 and tau up to 1. Numbers on and above the diagonal
// are not part of it.
Operand columns_of(const Reflections& r) {
  return {{r.dtype, with_batch(r.batch, {r.rows(), r.columns}), {}}, Values::kStatistical, {-0.5, 0.5}};
}
Operand taus_of(const Reflections& r) {
  return {{r.dtype, with_batch(r.batch, {r.columns - r.unused_columns}), {}}, Values::kStatistical, {0.3, 1}};
}

ErrorModel reflections_model(const Reflections& r) {
  const double rows = static_cast<double>(r.rows()), columns = static_cast<double>(r.columns);
  // On the average, tau |v|^2 is 0.65 + rows / 20.
  const double growth = std::pow(1.5 + rows / 20, columns);
  return rounded_model(4, 4 * columns * (std::sqrt(rows) + 2), fixed_magnitude(2 * growth));
}

void add_reflections(CaseList& out) {
  DesignOf<Reflections> design;
  design.add(&Reflections::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Reflections::batch, {{}, {2}, {2, 3}, {1}});
  design.add(&Reflections::columns, {3, 1, 2, 5});
  design.add(&Reflections::more_rows, {0, 1, 2, 4});
  design.add(&Reflections::unused_columns, {0, 1});
  design.add(&Reflections::others, {4, 1, 17});
  design.add(&Reflections::is_left, {true, false});
  design.add(&Reflections::is_transposed, {false, true});
  const auto has_one = [](const Reflections& r) { return r.columns > r.unused_columns; };
  for (const Reflections& r : design.rows("reflections", has_one)) {
    OpForm form{"aten.linalg_householder_product.default",
                {columns_of(r), taus_of(r)},
                {value_arg(0, "input"), value_arg(1, "tau")},
                {columns_of(r).shape}};
    form.error_model = reflections_model(r);
    add_form(out, r.dtype, form);
    add_dynamic_batch(out, r.dtype, form, r.batch);
    const Numbers other = r.is_left ? Numbers{r.rows(), r.others} : Numbers{r.others, r.rows()};
    form.op = "aten.ormqr.default";
    form.operands.push_back({{r.dtype, with_batch(r.batch, other), {}}, Values::kStatistical, {-2, 2}});
    form.args = {value_arg(0, "self"), value_arg(1, "input2"), value_arg(2, "input3"),
                 graph::bool_arg(r.is_left, "left"), graph::bool_arg(r.is_transposed, "transpose")};
    form.results = {form.operands[2].shape};
    form.error_model.magnitude = fixed_magnitude(
        4 * std::pow(1.5 + static_cast<double>(r.rows()) / 20, static_cast<double>(r.columns)));
    add_form(out, r.dtype, form);
    add_dynamic_batch(out, r.dtype, form, r.batch);
  }
}

struct Symmetric {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers batch;
  Numbers pivots = {1};  // from 1; two equal negative ones belong to a block of two rows
  int64_t others = 3;
};

// L has elements up to 1/2 and few of them, D numbers of 2 to 4 on its diagonal: solutions are at most some times as large as B.
void fill_factors(TensorData& data, Random& random) {
  const int64_t size = data.shape.sizes.back();
  data = filled(data.shape, [&](int64_t i) {
    const bool is_diagonal = i / size % size == i % size;
    const double drawn = is_diagonal ? 2 + 2 * random.uniform() : random.uniform() / 2;
    return random.between(0, 1) != 0 ? drawn : -drawn;
  });
}

void add_symmetric_solutions(CaseList& out) {
  DesignOf<Symmetric> design;
  design.add(&Symmetric::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Symmetric::batch, {{}, {2}, {2, 3}});
  design.add(&Symmetric::pivots, {{1, 2, 3},
                                  {1},
                                  {2, 2},
                                  {-2, -2},
                                  {3, 3, 3},
                                  {2, 2, -5, -5, 5},
                                  {-4, -4, 4, 4},
                                  {1, -3, -3},
                                  {6, 2, 5, -6, -6, 6}});
  design.add(&Symmetric::others, {3, 1, 17});
  for (const Symmetric& s : design.rows("symmetric factors")) {
    const auto size = static_cast<int64_t>(s.pivots.size());
    OpForm form;
    form.op = "aten.linalg_ldl_solve.default";
    form.operands = {{{s.dtype, with_batch(s.batch, {size, size}), {}}},
                     {{ETB_DTYPE_INT32, with_batch(s.batch, {size}), {}}},
                     {{s.dtype, with_batch(s.batch, {size, s.others}), {}}, Values::kStatistical, {-4, 4}}};
    form.operands[0].fill = fill_factors;
    form.operands[1].fill = [pivots = s.pivots](TensorData& data, Random&) {
      data = filled(data.shape, [&](int64_t i) {
        return static_cast<double>(pivots[static_cast<size_t>(i) % pivots.size()]);
      });
    };
    form.args = {value_arg(0, "LD"), value_arg(1, "pivots"), value_arg(2, "B"),
                 graph::bool_arg(false, "hermitian")};
    form.results = {form.operands[2].shape};
    const double rows = static_cast<double>(size);
    form.error_model = rounded_model(4, 8 * rows, fixed_magnitude(8 * std::pow(1.5, 2 * rows)));
    form.word = "pivots_" + number_text(s.pivots);
    add_form(out, s.dtype, form);
    add_dynamic_batch(out, s.dtype, form, s.batch);
  }
}

struct SymmetricMatrix {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers batch;
  int64_t rows = 3;
  double diagonal = 1;  // its size beside the other elements: where it is small, blocks have two rows
};

void add_symmetric_factors(CaseList& out) {
  DesignOf<SymmetricMatrix> design;
  design.add(&SymmetricMatrix::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&SymmetricMatrix::batch, {{}, {2}, {2, 3}});
  design.add(&SymmetricMatrix::rows, {1, 2, 3, 4, 5, 8, 9, 17});
  design.add(&SymmetricMatrix::diagonal, {0, 1, 0.0625, 4});
  for (const SymmetricMatrix& s : design.rows("symmetric matrices")) {
    const Numbers sizes = with_batch(s.batch, {s.rows, s.rows});
    std::vector<uint8_t> columns_first(sizes.size());
    std::iota(columns_first.begin(), columns_first.end(), uint8_t{0});
    std::swap(columns_first[sizes.size() - 1], columns_first[sizes.size() - 2]);
    OpForm form;
    form.op = "aten.linalg_ldl_factor_ex.default";
    form.operands = {{{s.dtype, sizes, {}}}};
    form.operands[0].fill = [s](TensorData& data, Random& random) {
      std::vector<double> lower(static_cast<size_t>(data.shape.numel()));
      for (double& element : lower) element = (random.between(0, 1) != 0 ? 1 : -1) * (0.5 + random.uniform());
      data = filled(data.shape, [&](int64_t i) {
        const int64_t column = i % s.rows, row = i / s.rows % s.rows, matrix = i - i % (s.rows * s.rows);
        const auto at = static_cast<size_t>(matrix + std::max(row, column) * s.rows + std::min(row, column));
        return lower[at] * (row == column ? s.diagonal : 1);
      });
    };
    form.args = {value_arg(0, "self"), graph::bool_arg(false, "hermitian"),
                 graph::bool_arg(false, "check_errors")};
    form.results = {{s.dtype, sizes, columns_first},
                    {ETB_DTYPE_INT32, with_batch(s.batch, {s.rows}), {}},
                    {ETB_DTYPE_INT32, s.batch, {}}};
    form.error_model =
        rounded_model(4, 8 * static_cast<double>(s.rows), fixed_magnitude(std::pow(1.5, s.rows)));
    form.word = "diagonal_" + real_text(s.diagonal);
    add_form(out, s.dtype, form);
  }
}

// Matrices with columns whose magnitudes add up to `norm` at most: the kernels halve large ones and square the results.
struct Exponent {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers batch;
  int64_t rows = 3;
  double norm = 1;
};

void add_exponentials(CaseList& out) {
  DesignOf<Exponent> design;
  design.add(&Exponent::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Exponent::batch, {{}, {2}, {2, 3}});
  design.add(&Exponent::rows, {2, 1, 3, 5, 9, 17});
  design.add(&Exponent::norm, {0.75, 0.05, 3, 9});
  for (const Exponent& e : design.rows("exponentials")) {
    const Numbers sizes = with_batch(e.batch, {e.rows, e.rows});
    const double largest = e.norm / static_cast<double>(e.rows);
    OpForm form{"aten.linalg_matrix_exp.default",
                {{{e.dtype, sizes, {}}, Values::kStatistical, {-largest, largest}}},
                {value_arg(0, "self")},
                {{e.dtype, sizes, {}}}};
    // Each of a dozen products, and each squaring, adds the roundings of sums of `rows` terms.
    const double products = 12 + 2 * std::max(std::log2(e.norm), 0.0);
    form.error_model = rounded_model(4, products * (std::sqrt(static_cast<double>(e.rows)) + 2),
                                     fixed_magnitude(std::exp(e.norm)));
    form.word = "norm_" + real_text(e.norm);
    add_form(out, e.dtype, form);
    add_dynamic_batch(out, e.dtype, form, e.batch);
  }
}

// Orders of a norm. Numbers are powers that kernels compute without pow, or with it.
const std::vector<double>& orders() {
  static const std::vector<double> list = {2, 0, 1, HUGE_VAL, 3, 0.5};
  return list;
}

// Some differences are 0, which order 0 counts.
ErrorModel distance_model(double order, int64_t length) {
  if (order == 0) return exact_model(Rule::kExactValue);
  const double terms = static_cast<double>(length);
  const double magnitude = std::isinf(order) ? 8 : 8 * std::pow(terms, 1 / order);
  return rounded_model(8, 8 + 4 * std::sqrt(terms), fixed_magnitude(magnitude));
}

std::string order_word(double order) { return std::isinf(order) ? "largest" : "order_" + real_text(order); }

struct Distances {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers a_batch, b_batch;
  int64_t rows = 3, columns = 4, length = 5;
  double order = 2;
  int64_t mode = 0;  // 0: with products where the sizes are large, 1: with products, 2: without
  Values values = Values::kStatistical;
};

void add_distances(CaseList& out) {
  DesignOf<Distances> design;
  design.add(&Distances::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Distances::a_batch, {{}, {2}, {2, 1}, {3}});
  design.add(&Distances::b_batch, {{}, {2, 3}, {1}});
  design.add(&Distances::rows, {3, 1, 17});
  design.add(&Distances::columns, {4, 1, 9});
  design.add(&Distances::length, {5, 3, 33, 64});
  design.add(&Distances::order, orders());
  design.add(&Distances::mode, {0, 2});
  design.add(&Distances::values, {Values::kStatistical, Values::kFew});
  for (const Distances& d : design.rows("distances")) {
    const size_t rank = std::max(d.a_batch.size(), d.b_batch.size());
    Numbers batch(rank, 1);
    bool fits = true;
    for (const Numbers* one : {&d.a_batch, &d.b_batch})
      for (size_t i = 0; i < one->size(); ++i) {
        int64_t& size = batch[rank - one->size() + i];
        fits = fits && (size == 1 || (*one)[i] == 1 || (*one)[i] == size);
        if ((*one)[i] != 1) size = (*one)[i];
      }
    if (!fits) continue;
    OpForm form;
    form.op = "aten._cdist_forward.default";
    form.operands = {{{d.dtype, with_batch(d.a_batch, {d.rows, d.length}), {}}, d.values},
                     {{d.dtype, with_batch(d.b_batch, {d.columns, d.length}), {}}, d.values}};
    form.args = {value_arg(0, "x1"), value_arg(1, "x2"), graph::float_arg(d.order, "p"),
                 d.mode == 0 ? graph::none_arg("compute_mode") : graph::int_arg(d.mode, "compute_mode")};
    form.results = {{d.dtype, with_batch(batch, {d.rows, d.columns}), {}}};
    form.error_model = distance_model(d.order, d.length);
    form.word = order_word(d.order);
    add_form(out, d.dtype, form);
    // The sizes are those of rows, which are not the first dimension of a batch.
    if (rank == 0) {
      const auto maker = [form](const Sizes& sizes) {
        OpForm now = form;
        now.operands[0].shape.sizes[0] = now.results[0].sizes[0] = sizes[0];
        return now;
      };
      add_dynamic_form(out, d.dtype, maker, {d.rows}, Moving::kFirst, static_cast<Order>(d.length % 3));
    }
    if (d.rows < 2) continue;
    form.op = "aten._pdist_forward.default";
    form.operands = {{{d.dtype, {d.rows, d.length}, {}}, d.values}};
    form.args = {value_arg(0, "self"), graph::float_arg(d.order, "p")};
    form.results = {{d.dtype, {d.rows * (d.rows - 1) / 2}, {}}};
    add_form(out, d.dtype, form);
  }
  // No rows on one of the sides.
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{0, 4}, {3, 0}}) {
    OpForm form;
    form.op = "aten._cdist_forward.default";
    form.operands = {{{ETB_DTYPE_FLOAT32, {2, rows, 5}, {}}, Values::kStatistical},
                     {{ETB_DTYPE_FLOAT32, {2, columns, 5}, {}}, Values::kStatistical}};
    form.args = {value_arg(0, "x1"), value_arg(1, "x2"), graph::float_arg(2, "p"),
                 graph::none_arg("compute_mode")};
    form.results = {{ETB_DTYPE_FLOAT32, {2, rows, columns}, {}}};
    form.error_model = distance_model(2, 5);
    add_form(out, ETB_DTYPE_FLOAT32, form);
  }
}

struct Counts {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Numbers sizes;
  int64_t bins = 4;
  bool has_range = true;
  bool has_weight = false, is_density = false;
};

// Numbers in the middle of bins of width 1/2 from -1 on, some outside of them, and both ends: which bin they belong to does not
// depend on rounding. The first two are the ends, so that they are the range where none is given. Numbers on edges only count
// where the edges are given, and numbers are compared with them.
void fill_bins(const Counts& c, bool has_edges, TensorData& data, Random& random) {
  const double high = -1 + 0.5 * static_cast<double>(c.bins);
  data = filled(data.shape, [&](int64_t i) {
    if (i < 2) return i == 0 ? -1.0 : high;
    const int64_t beyond = c.has_range ? 1 : 0;
    const int64_t bin = random.between(-beyond, c.bins - 1 + beyond);
    const bool is_edge = has_edges && random.between(0, 3) == 0;
    return -1 + 0.5 * static_cast<double>(bin) + (is_edge ? 0 : 0.125 + 0.25 * random.uniform());
  });
}

void add_counts(CaseList& out) {
  DesignOf<Counts> design;
  design.add(&Counts::dtype, {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64});
  design.add(&Counts::sizes, {{65}, {7}, {3, 17}, {2, 3, 4, 5}, {1031}, {2}});
  design.add(&Counts::bins, {4, 1, 7, 64});
  design.add(&Counts::has_range, {true, false});
  design.add(&Counts::has_weight, {false, true});
  design.add(&Counts::is_density, {false, true});
  for (const Counts& c : design.rows("counts")) {
    const double high = -1 + 0.5 * static_cast<double>(c.bins);
    OpForm form;
    form.op = "aten.histc.default";
    form.operands = {{{c.dtype, c.sizes, {}}}};
    form.operands[0].fill = [c](TensorData& data, Random& random) { fill_bins(c, false, data, random); };
    form.args = {value_arg(0, "self"), graph::int_arg(c.bins, "bins"),
                 graph::float_arg(c.has_range ? -1 : 0, "min"),
                 graph::float_arg(c.has_range ? high : 0, "max")};
    form.results = {{c.dtype, {c.bins}, {}}};
    form.error_model = exact_model(Rule::kExactValue);
    add_form(out, c.dtype, form);
    form.op = "aten.histogram.bins_tensor";
    form.operands[0].fill = [c](TensorData& data, Random& random) { fill_bins(c, true, data, random); };
    const Shape edges{c.dtype, {c.bins + 1}, {}};
    form.operands.push_back(constant_of(edges, [](int64_t i) { return -1 + 0.5 * static_cast<double>(i); }));
    form.operands[1].is_constant = c.has_range;
    if (c.has_weight) form.operands.push_back({{c.dtype, c.sizes, {}}, Values::kExact});
    form.args = {value_arg(0, "self"), value_arg(1, "bins"),
                 c.has_weight ? value_arg(2, "weight") : graph::none_arg("weight"),
                 graph::bool_arg(c.is_density, "density")};
    form.results = {{c.dtype, {c.bins}, {}}, edges};
    // Sums of integers are exact; a density is two divisions by exact numbers.
    if (c.is_density) form.error_model = rounded_model(2);
    form.word = c.has_weight ? "weights" : "";
    // Weights of both signs may have the sum 0.
    if (c.is_density && c.has_weight)
      form.operands[2].fill = [](TensorData& data, Random& random) {
        data = filled(data.shape, [&](int64_t) { return static_cast<double>(random.between(1, 7)); });
      };
    add_form(out, c.dtype, form);
  }
}

}  // namespace

void add_factor_designs(CaseList& out) {
  add_reflections(out);
  add_symmetric_factors(out);
  add_symmetric_solutions(out);
  add_exponentials(out);
  add_distances(out);
  add_counts(out);
}

}  // namespace etb::conformance
