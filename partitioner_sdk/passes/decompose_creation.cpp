// SPDX-License-Identifier: Apache-2.0
// Ops that create tensors, and triangular parts.
#include <cmath>
#include <numbers>

#include "ops/arange.hpp"
#include "ops/empty_like.hpp"
#include "ops/empty_permuted.hpp"
#include "ops/eye.hpp"
#include "ops/fill.hpp"
#include "ops/hamming_window.hpp"
#include "ops/hann_window.hpp"
#include "ops/linspace.hpp"
#include "ops/logspace.hpp"
#include "ops/new_empty.hpp"
#include "ops/new_empty_strided.hpp"
#include "ops/new_full.hpp"
#include "ops/new_ones.hpp"
#include "ops/new_zeros.hpp"
#include "ops/ones.hpp"
#include "ops/ones_like.hpp"
#include "ops/tril.hpp"
#include "ops/tril_indices.hpp"
#include "ops/triu.hpp"
#include "ops/triu_indices.hpp"
#include "ops/zero.hpp"
#include "ops/zeros.hpp"
#include "ops/zeros_like.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Values filled(Builder& b, Argument sizes, Argument value, std::optional<Dtype> dtype) {
  return {b.call("aten.full.default", {std::move(sizes), std::move(value)},
                 {{"dtype", dtype.value_or(Dtype::FLOAT32)},
                  {"layout", ir::Layout::kStrided},
                  {"device", ir::Device{"cpu"}},
                  {"pin_memory", false}})};
}
Values zeros(Builder& b, const ops::zeros_default<Call>& a) {
  return filled(b, a.size(), Dim(0), a.dtype().value());
}
Values ones(Builder& b, const ops::ones_default<Call>& a) {
  return filled(b, a.size(), Dim(1), a.dtype().value());
}
template <class A>
Values new_zeros(Builder& b, const A& a) {
  return filled(b, a.size(), Dim(0), a.dtype().value_or(a.self().spec().dtype));
}
// Contents are unspecified, and strides are chosen after decompositions.
Values empty_permuted(Builder& b, const ops::empty_permuted_default<Call>& a) {
  return filled(b, a.size(), Dim(0), a.dtype().value());
}
Values new_ones(Builder& b, const ops::new_ones_default<Call>& a) {
  return filled(b, a.size(), Dim(1), a.dtype().value_or(a.self().spec().dtype));
}
Values new_full(Builder& b, const ops::new_full_default<Call>& a) {
  return filled(b, a.size(), a.fill_value(), a.dtype().value_or(a.self().spec().dtype));
}

// A tensor with the sizes of `self`, and its dtype where `dtype` is none.
Values like(Builder& b, const infer::TensorArgument& self, Argument value, std::optional<Dtype> dtype) {
  std::vector<Builder::Named> named = {{"pin_memory", false}, {"memory_format", ir::MemoryFormat::kPreserve}};
  if (dtype) named.push_back({"dtype", *dtype});
  return {b.call("aten.full_like.default", {self, std::move(value)}, std::move(named))};
}
// Also for empty_like, whose elements are anything until the program writes them.
template <class A>
Values zeros_like(Builder& b, const A& a) {
  return like(b, a.self(), Dim(0), a.dtype().value());
}
Values ones_like(Builder& b, const ops::ones_like_default<Call>& a) {
  return like(b, a.self(), Dim(1), a.dtype().value());
}
Values fill(Builder& b, const ops::fill_Scalar<Call>& a) {
  return like(b, a.self(), a.value(), std::nullopt);
}
Values zero(Builder& b, const ops::zero_default<Call>& a) { return like(b, a.self(), Dim(0), std::nullopt); }

Values arange_of_floats(Builder& b, const Call& a, double start, double end, Dtype dtype) {
  constexpr double kMaxLength = 1 << 24;
  const double length = std::ceil(end - start);
  if (!(length >= 0 && length <= kMaxLength)) {
    a.fail("the range has a negative length, or more than " +
           std::to_string(static_cast<int64_t>(kMaxLength)) + " elements");
    return {};
  }
  std::vector<double> numbers;
  for (double i = 0; i < length; ++i) numbers.push_back(start + i);
  const ValueId line = add_elements(b, Dtype::FLOAT64, {static_cast<int64_t>(length)}, numbers);
  return {to_dtype(b, line, dtype)};
}

Values arange_from(Builder& b, const Call& a, Argument start, Argument end, std::optional<Dtype> dtype) {
  std::vector<Builder::Named> named = {
      {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}};
  if (dtype) named.push_back({"dtype", *dtype});
  if (ir::get_if<double>(start) != nullptr || ir::get_if<double>(end) != nullptr) {
    const auto number = [](const Argument& argument) {
      const auto* value = ir::get_if<double>(argument);
      const auto* dim = ir::get_if<Dim>(argument);
      return value != nullptr                     ? *value
             : dim != nullptr && dim->is_static() ? static_cast<double>(dim->value())
                                                  : std::nan("");
    };
    return arange_of_floats(b, a, number(start), number(end), dtype.value_or(Dtype::FLOAT32));
  }
  return {b.call("aten.arange.start_step", {std::move(start), std::move(end)}, std::move(named))};
}
Values arange(Builder& b, const ops::arange_default<Call>& a) {
  return arange_from(b, a, Dim(0), a.end(), a.dtype().value());
}
Values arange_start(Builder& b, const ops::arange_start<Call>& a) {
  return arange_from(b, a, a.start(), a.end(), a.dtype().value());
}

// Fails for a count that no vector has; its elements become constants.
template <class A>
int64_t step_count(const A& a) {
  constexpr int64_t kMaxSteps = 1 << 24;
  const int64_t steps = a.steps().integer();
  if (steps >= 0 && steps <= kMaxSteps) return steps;
  a.fail("steps is " + std::to_string(steps) + ", expected 0 to " + std::to_string(kMaxSteps));
  return 0;
}

// The elements of linspace as PyTorch computes them: from both ends, so that both are exact. Integers are computed in
// float64 and truncated.
template <class A>
std::vector<double> linear_steps(const A& a, Dtype dtype) {
  const int64_t steps = step_count(a);
  const bool is_integer = !ops::is_floating(dtype);
  const double start = is_integer ? std::trunc(a.start().number()) : a.start().number();
  const double end = is_integer ? std::trunc(a.end().number()) : a.end().number();
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  std::vector<double> out(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i)
    out[static_cast<size_t>(i)] = i < steps / 2 || steps == 1
                                      ? start + step * static_cast<double>(i)
                                      : end - step * static_cast<double>(steps - 1 - i);
  return out;
}

// A vector constant of `dtype`; integers are truncated.
ValueId add_numbers(Builder& b, Dtype dtype, const std::vector<double>& numbers) {
  const std::vector<int64_t> sizes = {static_cast<int64_t>(numbers.size())};
  if (dtype == Dtype::FLOAT64) return add_elements(b, dtype, sizes, numbers);
  if (ops::is_floating(dtype))
    return to_dtype(
        b, add_elements(b, Dtype::FLOAT32, sizes, std::vector<float>(numbers.begin(), numbers.end())), dtype);
  constexpr double kLimit = 9223372036854775807.0;
  std::vector<int64_t> integers;
  for (const double number : numbers)
    integers.push_back(std::abs(number) < kLimit ? static_cast<int64_t>(number) : 0);
  return to_dtype(b, add_elements(b, Dtype::INT64, sizes, integers), dtype);
}

Values linspace(Builder& b, const ops::linspace_default<Call>& a) {
  const Dtype dtype = a.dtype().value_or(Dtype::FLOAT32);
  return {add_numbers(b, dtype, linear_steps(a, dtype))};
}

// The same with ends that are known at run time: tensors of one element.
template <class A>
ValueId linear_steps_between(Builder& b, const A& a, Dtype dtype) {
  const Dtype computing =
      dtype == Dtype::FLOAT64 || !ops::is_floating(dtype) ? Dtype::FLOAT64 : Dtype::FLOAT32;
  const int64_t steps = step_count(a);
  const auto as_tensor = [&](const infer::AnyArgument& end) {
    ValueId value = end.find_tensor() != nullptr
                        ? ir::get_if<ValueRef>(end.get())->id
                        : b.call("aten.scalar_tensor.default", {end}, {{"dtype", computing}});
    if (!ops::is_floating(dtype)) value = to_dtype(b, value, Dtype::INT64);
    return to_dtype(b, value, computing);
  };
  const ValueId start = as_tensor(a.start()), end = as_tensor(a.end());
  if (steps <= 1) return b.call("aten.expand.default", {ValueRef{start}, Dims{Dim(steps)}});
  std::vector<double> up, down, is_first;
  for (int64_t i = 0; i < steps; ++i) {
    up.push_back(i < steps / 2 ? static_cast<double>(i) : 0);
    down.push_back(i < steps / 2 ? 0 : static_cast<double>(steps - 1 - i));
    is_first.push_back(i < steps / 2 ? 1 : 0);
  }
  const ValueId distance = b.call("aten.sub.Tensor", {ValueRef{end}, ValueRef{start}});
  const ValueId step = b.call("aten.div.Tensor", {ValueRef{distance}, static_cast<double>(steps - 1)});
  const auto times = [&](const std::vector<double>& counts) {
    return ValueRef{b.call("aten.mul.Tensor", {ValueRef{add_numbers(b, computing, counts)}, ValueRef{step}})};
  };
  const ValueId rising = b.call("aten.add.Tensor", {ValueRef{start}, times(up)});
  const ValueId falling = b.call("aten.sub.Tensor", {ValueRef{end}, times(down)});
  const ValueId first = to_dtype(b, add_numbers(b, Dtype::FLOAT32, is_first), Dtype::BOOL);
  return b.call("aten.where.self", {ValueRef{first}, ValueRef{rising}, ValueRef{falling}});
}
template <class A>
Values linspace_between(Builder& b, const A& a) {
  const Dtype dtype = a.dtype().value_or(Dtype::FLOAT32);
  return {to_dtype(b, linear_steps_between(b, a, dtype), dtype)};
}

// One period of alpha - (1 - alpha) cos; a window that is not periodic ends with its first value.
template <class A>
Values cosine_window(Builder& b, const A& a, double alpha, bool is_periodic) {
  const int64_t length = a.window_length().integer();
  constexpr int64_t kMaxLength = 1 << 24;
  if (length < 0 || length > kMaxLength) {
    a.fail("window_length is " + std::to_string(length) + ", expected 0 to " + std::to_string(kMaxLength));
    return {};
  }
  std::vector<float> window(static_cast<size_t>(length), 1.0F);
  const double period = static_cast<double>(is_periodic ? length : length - 1);
  for (size_t i = 0; i < window.size() && length > 1; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
    window[i] = static_cast<float>(alpha - (1 - alpha) * std::cos(turn));
  }
  const ValueId out = add_elements(b, Dtype::FLOAT32, {length}, window);
  return {to_dtype(b, out, a.dtype().value_or(Dtype::FLOAT32))};
}
Values hann_window(Builder& b, const ops::hann_window_default<Call>& a) {
  return cosine_window(b, a, 0.5, true);
}
Values hann_window_periodic(Builder& b, const ops::hann_window_periodic<Call>& a) {
  return cosine_window(b, a, 0.5, a.periodic());
}
Values hamming_window(Builder& b, const ops::hamming_window_default<Call>& a) {
  return cosine_window(b, a, 0.54, true);
}
Values hamming_window_periodic(Builder& b, const ops::hamming_window_periodic<Call>& a) {
  return cosine_window(b, a, 0.54, a.periodic());
}

Values logspace(Builder& b, const ops::logspace_default<Call>& a) {
  const Dtype dtype = a.dtype().value_or(Dtype::FLOAT32);
  std::vector<double> numbers = linear_steps(a, dtype);
  for (double& number : numbers) number = std::pow(a.base().number(), number);
  return {add_numbers(b, dtype, numbers)};
}
template <class A>
Values logspace_between(Builder& b, const A& a) {
  const Dtype dtype = a.dtype().value_or(Dtype::FLOAT32);
  const ValueId powers = linear_steps_between(b, a, dtype);
  const ValueId out = b.call("aten.pow.Scalar", {a.base(), ValueRef{powers}});
  return {to_dtype(b, out, dtype)};
}

// The row and column indices of a triangle of a matrix, row by row: [2, n].
template <bool is_lower, class A>
Values triangle_indices(Builder& b, const A& a) {
  const int64_t rows = a.row().integer(), columns = a.col().integer(), offset = a.offset().integer();
  constexpr int64_t kMaxElements = 1 << 24;
  if (rows < 0 || columns < 0 || rows > kMaxElements || columns > kMaxElements ||
      rows * columns > kMaxElements) {
    a.fail("a matrix of " + std::to_string(rows) + " by " + std::to_string(columns) +
           ", expected at most 2^24 elements");
    return {};
  }
  std::vector<int64_t> down, across;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (is_lower ? j - i <= offset : j - i >= offset) {
        down.push_back(i);
        across.push_back(j);
      }
  const auto count = static_cast<int64_t>(down.size());
  down.insert(down.end(), across.begin(), across.end());
  return {to_dtype(b, add_elements(b, Dtype::INT64, {2, count}, down), a.dtype().value_or(Dtype::INT64))};
}

Values eye(Builder& b, const ops::eye_default<Call>& a) {
  return {identity_matrix(b, a.n().dim(), a.n().dim(), a.dtype().value_or(Dtype::FLOAT32))};
}
Values eye_rectangle(Builder& b, const ops::eye_m<Call>& a) {
  return {identity_matrix(b, a.n().dim(), a.m().dim(), a.dtype().value_or(Dtype::FLOAT32))};
}

// Compares column - row with the diagonal; elements outside become 0.
template <class A>
Values triangle(Builder& b, const A& a, std::string_view comparison) {
  const TensorSpec in = a.self().spec();
  if (in.rank() < 2) return {};
  const auto line = [&](Dim size, int64_t axis) {
    const ValueId numbers =
        b.call("aten.arange.start_step", {Dim(0), size},
               {{"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}});
    return b.call("aten.unsqueeze.default", {ValueRef{numbers}, Dim(axis)});
  };
  const ValueId columns = line(in.sizes[in.rank() - 1], -2);
  const ValueId rows = line(in.sizes[in.rank() - 2], -1);
  const ValueId distance = b.call("aten.sub.Tensor", {ValueRef{columns}, ValueRef{rows}});
  const ValueId is_kept = b.call(comparison, {ValueRef{distance}, a.diagonal()});
  const ValueId zero_value =
      b.call("aten.scalar_tensor.default", {Dim(0)},
             {{"dtype", in.dtype}, {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}});
  return {b.call("aten.where.self", {ValueRef{is_kept}, a.self(), ValueRef{zero_value}})};
}
Values tril(Builder& b, const ops::tril_default<Call>& a) { return triangle(b, a, "aten.le.Scalar"); }
Values triu(Builder& b, const ops::triu_default<Call>& a) { return triangle(b, a, "aten.ge.Scalar"); }

}  // namespace

ValueId identity_matrix(Builder& b, Dim rows, Dim columns, Dtype dtype) {
  const ValueId down = b.call("aten.arange.start_step", {Dim(0), rows});
  const ValueId across = b.call("aten.arange.start_step", {Dim(0), columns});
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{down}, Dim(-1)});
  return to_dtype(b, b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{across}}), dtype);
}

std::span<const Decomposition> creation_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::arange_default, arange>(),
      row<ops::arange_start, arange_start>(),
      row<ops::empty_like_default, zeros_like>(),
      row<ops::empty_permuted_default, empty_permuted>(),
      row<ops::eye_default, eye>(),
      row<ops::eye_m, eye_rectangle>(),
      row<ops::fill_Scalar, fill>(),
      row<ops::hamming_window_default, hamming_window>(),
      row<ops::hamming_window_periodic, hamming_window_periodic>(),
      row<ops::hann_window_default, hann_window>(),
      row<ops::hann_window_periodic, hann_window_periodic>(),
      row<ops::linspace_Scalar_Tensor, linspace_between>(),
      row<ops::linspace_Tensor_Scalar, linspace_between>(),
      row<ops::linspace_Tensor_Tensor, linspace_between>(),
      row<ops::linspace_default, linspace>(),
      row<ops::logspace_Scalar_Tensor, logspace_between>(),
      row<ops::logspace_Tensor_Scalar, logspace_between>(),
      row<ops::logspace_Tensor_Tensor, logspace_between>(),
      row<ops::logspace_default, logspace>(),
      row<ops::new_empty_default, new_zeros>(),
      row<ops::new_empty_strided_default, new_zeros>(),
      row<ops::new_full_default, new_full>(),
      row<ops::new_ones_default, new_ones>(),
      row<ops::new_zeros_default, new_zeros>(),
      row<ops::ones_default, ones>(),
      row<ops::ones_like_default, ones_like>(),
      row<ops::tril_default, tril>(),
      row<ops::tril_indices_default, triangle_indices<true, ops::tril_indices_default<Call>>>(),
      row<ops::triu_default, triu>(),
      row<ops::triu_indices_default, triangle_indices<false, ops::triu_indices_default<Call>>>(),
      row<ops::zero_default, zero>(),
      row<ops::zeros_default, zeros>(),
      row<ops::zeros_like_default, zeros_like>(),
  };
  return kRows;
}

}  // namespace etb::passes
