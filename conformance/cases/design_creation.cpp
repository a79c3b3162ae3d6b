// SPDX-License-Identifier: Apache-2.0
// Ops that create tensors, or change the bits of elements: arange, full, views with another dtype, neighbours, hashes.
#include <cmath>
#include <cstring>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

graph::ArgumentDesc dtype_arg(etb_dtype dtype) {
  return graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, dtype, "dtype");
}

graph::ArgumentDesc number_arg(double number, const std::string& name) {
  return number == std::floor(number) && std::abs(number) < 0x1p53
             ? graph::int_arg(static_cast<int64_t>(number), name)
             : graph::float_arg(number, name);
}

const std::vector<Numbers>& created_sizes() {
  static const std::vector<Numbers> sizes = {{},           {1},    {7},    {65},           {3, 5},
                                             {2, 3, 4, 5}, {0, 3}, {1031}, {2, 1, 2, 2, 3}};
  return sizes;
}

// Numbers that a dtype holds, rounded or not.
std::vector<double> fill_values(etb_dtype dtype) {
  if (dtype == ETB_DTYPE_BOOL) return {1, 0};
  if (dtype == ETB_DTYPE_UINT8) return {3, 255, 0};
  return is_floating(dtype)
             ? std::vector<double>{0.1, -3, 0, dtype == ETB_DTYPE_FLOAT16 ? 1e4 : 1e30, -HUGE_VAL, 2.5}
             : std::vector<double>{-7, 100, 0};
}

// Each element is the nearest number of the dtype.
void add_full(CaseList& out, etb_dtype dtype) {
  const std::vector<double> numbers = fill_values(dtype);
  size_t at = static_cast<size_t>(dtype);
  for (const Numbers& sizes : created_sizes()) {
    const double number = numbers[at % numbers.size()];
    const Shape result{dtype, sizes, {}};
    OpForm form{"aten.full.default",
                {},
                {graph::ints_arg(sizes, "size"), number_arg(number, "fill_value"), dtype_arg(dtype)},
                {result}};
    add_form(out, dtype, form);
    form.op = "aten.full_like.default";
    form.operands = {{result}};
    form.args = {value_arg(0, "self"), number_arg(numbers[++at % numbers.size()], "fill_value")};
    if (at % 2 == 0) form.args.push_back(dtype_arg(dtype));
    add_form(out, dtype, form);
    form.operands.clear();
    form.args = {graph::ints_arg(sizes, "size"), dtype_arg(dtype)};
    for (const char* op : {"aten.ones.default", "aten.zeros.default"}) {
      form.op = op;
      add_form(out, dtype, form);
    }
  }
  for (const double number : numbers) {
    OpForm form{
        "aten.scalar_tensor.default", {}, {number_arg(number, "s"), dtype_arg(dtype)}, {{dtype, {}, {}}}};
    add_form(out, dtype, form);
  }
}

// full_like of dynamic sizes and dim orders.
void add_dynamic_full(CaseList& out, etb_dtype dtype) {
  const auto maker = [dtype](uint32_t order) {
    return [dtype, order](const Sizes& sizes) {
      const Shape shape{dtype, sizes, order_of(sizes.size(), order)};
      return OpForm{"aten.full_like.default",
                    {{shape}},
                    {value_arg(0, "self"), graph::int_arg(dtype == ETB_DTYPE_BOOL ? 1 : 3, "fill_value")},
                    {shape}};
    };
  };
  add_form(out, dtype, maker(1)({2, 3, 4, 5}));
  add_form(out, dtype, maker(2)({4, 3}));
  add_dynamic_forms(out, dtype, maker(0), {3, 4, 5}, static_cast<size_t>(dtype));
}

struct Range {
  double start, end, step;
};

// Multiples of an eighth are exact in float32, in any order of operations.
void add_ranges(CaseList& out, etb_dtype dtype) {
  const bool is_real = is_floating(dtype), is_unsigned = dtype == ETB_DTYPE_UINT8;
  std::vector<Range> ranges = {{0, 1, 1},  {0, 7, 1}, {0, 100, 1}, {3, 50, 4},
                               {5, 6, 10}, {0, 0, 1}, {9, 0, -2}};
  if (!is_unsigned) ranges.insert(ranges.end(), {{-5, 6, 2}, {3, -40, -3}, {-60, 60, 1}});
  if (is_real) ranges.insert(ranges.end(), {{0.5, 3, 0.5}, {-1.5, 2.25, 0.75}, {0, 4.5, 1}});
  if (is_real && !is_half(dtype))
    ranges.insert(ranges.end(), {{0.125, 2, 0.125}, {-2.5, 3, 0.5}, {1, -1, -0.25}, {0, 1027, 1}});
  for (const Range& range : ranges) {
    const auto count = static_cast<int64_t>(std::ceil((range.end - range.start) / range.step));
    OpForm form{"aten.arange.start_step",
                {},
                {number_arg(range.start, "start"), number_arg(range.end, "end"),
                 number_arg(range.step, "step"), dtype_arg(dtype)},
                {{dtype, {count}, {}}}};
    form.error_model = exact_model(Rule::kExactValue);
    add_form(out, dtype, form);
    if (range.start != 0 || range.step != 1) continue;
    form.op = "aten.arange.default";
    form.args = {number_arg(range.end, "end"), dtype_arg(dtype)};
    add_form(out, dtype, form);
  }
  if (!is_real) return;
  // Each element is a product and a sum of numbers up to 3.
  OpForm form{"aten.arange.start_step",
              {},
              {graph::float_arg(0.3, "start"), graph::float_arg(3, "end"), graph::float_arg(0.1, "step"),
               dtype_arg(dtype)},
              {{dtype, {27}, {}}}};
  form.error_model = rounded_model(1, 4, fixed_magnitude(3));
  add_form(out, dtype, form);
}

// The operand's bytes as elements of another dtype; the last size changes with their width.
OpForm bits_form(etb_dtype from, etb_dtype to, Numbers sizes) {
  const Shape source{from, sizes, {}};
  if (!sizes.empty())
    sizes.back() =
        sizes.back() * static_cast<int64_t>(element_nbytes(from)) / static_cast<int64_t>(element_nbytes(to));
  const Shape result{to, sizes, {}};
  OpForm form{"aten.view_copy.dtype", {{source}}, {value_arg(0, "self"), dtype_arg(to)}, {result}};
  form.operands[0].fill = [from, to](TensorData& data, Random& random) {
    if (is_floating(from)) return;  // ordinary numbers
    // Integers that are ordinary numbers in any dtype: no byte of ones, so no exponent of NaN.
    for (std::byte& byte : data.bytes)
      byte = static_cast<std::byte>(random.between(1, is_floating(to) ? 0x5f : 0xff));
  };
  compute_reference(form, {[result](const std::vector<TensorData>& operands) {
                      return elements_of({result, operands[0].bytes});
                    }});
  return form;
}

void add_bits(CaseList& out) {
  struct Pair {
    etb_dtype from, to;
  };
  constexpr Pair kPairs[] = {{ETB_DTYPE_FLOAT32, ETB_DTYPE_INT32},  {ETB_DTYPE_INT32, ETB_DTYPE_FLOAT32},
                             {ETB_DTYPE_FLOAT16, ETB_DTYPE_INT16},  {ETB_DTYPE_INT16, ETB_DTYPE_BFLOAT16},
                             {ETB_DTYPE_BFLOAT16, ETB_DTYPE_INT16}, {ETB_DTYPE_INT8, ETB_DTYPE_UINT8},
                             {ETB_DTYPE_UINT8, ETB_DTYPE_INT8},     {ETB_DTYPE_FLOAT32, ETB_DTYPE_UINT8},
                             {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT16},  {ETB_DTYPE_INT16, ETB_DTYPE_INT32},
                             {ETB_DTYPE_UINT8, ETB_DTYPE_FLOAT32},  {ETB_DTYPE_INT32, ETB_DTYPE_INT8}};
  for (const Pair& pair : kPairs)
    for (const Numbers& sizes : std::vector<Numbers>{{8}, {3, 4}, {2, 3, 64}, {0, 4}}) {
      add_form(out, pair.from, bits_form(pair.from, pair.to, sizes));
      if (sizes.size() > 1)
        add_dynamic_form(
            out, pair.from, [pair](const Sizes& now) { return bits_form(pair.from, pair.to, now); }, sizes,
            Moving::kFirst, static_cast<Order>(sizes.size()));
    }
  add_form(out, ETB_DTYPE_FLOAT32, bits_form(ETB_DTYPE_FLOAT32, ETB_DTYPE_INT32, {}));
}

// The bits of a number as an integer with the same order. Both zeros are 0.
int64_t rank_of(etb_dtype dtype, double number) {
  std::byte bytes[8] = {};
  store_element(dtype, bytes, 0, std::abs(number));
  int64_t bits = 0;
  std::memcpy(&bits, bytes, element_nbytes(dtype));
  return std::signbit(number) ? -bits : bits;
}

double number_of(etb_dtype dtype, int64_t rank, bool is_negative_zero) {
  const int64_t bits = std::abs(rank);
  std::byte bytes[8];
  std::memcpy(bytes, &bits, sizeof(bytes));
  const double magnitude = load_element(dtype, bytes, 0);
  return rank < 0 || (rank == 0 && is_negative_zero) ? -magnitude : magnitude;
}

double neighbour(etb_dtype dtype, double x, double towards) {
  if (std::isnan(x) || std::isnan(towards)) return std::nan("");
  if (x == towards) return towards;
  return number_of(dtype, rank_of(dtype, x) + (towards > x ? 1 : -1), std::signbit(x));
}

OpForm neighbour_form(etb_dtype dtype, const Numbers& sizes, Values values) {
  const Shape shape{dtype, sizes, {}};
  OpForm form{"aten.nextafter.default",
              {{shape, values}, {shape, values}},
              {value_arg(0, "self"), value_arg(1, "other")},
              {shape}};
  compute_reference(form, {[dtype](const std::vector<TensorData>& operands) {
                      Elements out = elements_of(operands[0]);
                      const Elements towards = elements_of(operands[1]);
                      for (size_t i = 0; i < out.size(); ++i) out[i] = neighbour(dtype, out[i], towards[i]);
                      return out;
                    }});
  return form;
}

void add_neighbours(CaseList& out) {
  for (const etb_dtype dtype : kFloats)
    for (const Numbers& sizes : std::vector<Numbers>{{}, {65}, {3, 5}, {2, 3, 4, 5}, {0}})
      for (const Values values : {Values::kStatistical, Values::kSpread, Values::kFew}) {
        add_form(out, dtype, neighbour_form(dtype, sizes, values));
        if (sizes.size() > 1)
          add_dynamic_forms(
              out, dtype, [=](const Sizes& now) { return neighbour_form(dtype, now, values); }, sizes,
              sizes.size());
      }
  // Each pair of special numbers.
  for (const etb_dtype dtype : kFloats) add_form(out, dtype, neighbour_form(dtype, {625}, Values::kSpecial));
}

struct Hash {
  Numbers sizes, dims;
  bool keeps_dims = false;
};

OpForm hash_form(etb_dtype dtype, const Hash& hash) {
  const size_t rank = hash.sizes.size();
  std::vector<bool> is_hashed(rank, hash.dims.empty());
  for (const int64_t dim : hash.dims) is_hashed[wrapped(dim, rank)] = true;
  Numbers sizes;
  for (size_t d = 0; d < rank; ++d)
    if (!is_hashed[d])
      sizes.push_back(hash.sizes[d]);
    else if (hash.keeps_dims)
      sizes.push_back(1);
  return {"aten.hash_tensor.default",
          {{{dtype, hash.sizes, {}}}},
          {value_arg(0, "self"), graph::ints_arg(hash.dims, "dim"),
           graph::bool_arg(hash.keeps_dims, "keepdim"), graph::int_arg(0, "mode")},
          {{ETB_DTYPE_UINT64, sizes, {}}}};
}

void add_hashes(CaseList& out) {
  const Hash hashes[] = {{{7}, {}}, {{3, 5}, {0}},   {{3, 5}, {-1}, true},      {{2, 3, 4}, {0, 2}},
                         {{}, {}},  {{4, 513}, {1}}, {{2, 3, 4, 5}, {1}, true}, {{3, 5}, {}, true}};
  for (const etb_dtype dtype : kAllDtypes)
    for (const Hash& hash : hashes) {
      add_form(out, dtype, hash_form(dtype, hash));
      const auto maker = [=](const Sizes& now) {
        return hash_form(dtype, {now, hash.dims, hash.keeps_dims});
      };
      if (hash.sizes.size() > 1) add_dynamic_forms(out, dtype, maker, hash.sizes, hash.sizes.size());
    }
}

// Conjugates of reals are the same numbers.
void add_conjugates(CaseList& out, etb_dtype dtype) {
  for (const Numbers& sizes : created_sizes()) {
    const Shape shape{dtype, sizes, {}};
    add_form(out, dtype, {"aten._conj_physical.default", {{shape}}, {value_arg(0, "self")}, {shape}});
    const auto maker = [dtype](const Sizes& now) {
      const Shape moved{dtype, now, {}};
      return OpForm{"aten._conj_physical.default", {{moved}}, {value_arg(0, "self")}, {moved}};
    };
    if (sizes.size() > 1) add_dynamic_forms(out, dtype, maker, sizes, sizes.size());
  }
}

}  // namespace

void add_creation_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    add_full(out, dtype);
    add_dynamic_full(out, dtype);
    add_conjugates(out, dtype);
    if (dtype != ETB_DTYPE_BOOL) add_ranges(out, dtype);
  }
  add_bits(out);
  add_neighbours(out);
  add_hashes(out);
}

}  // namespace etb::conformance
