// SPDX-License-Identifier: Apache-2.0
// Ops that create tensors, and triangular parts.
#include <cmath>
#include <numbers>

#include "ops/arange.hpp"
#include "ops/eye.hpp"
#include "ops/fill.hpp"
#include "ops/hamming_window.hpp"
#include "ops/hann_window.hpp"
#include "ops/linspace.hpp"
#include "ops/logspace.hpp"
#include "ops/new_empty.hpp"
#include "ops/new_full.hpp"
#include "ops/new_ones.hpp"
#include "ops/new_zeros.hpp"
#include "ops/ones.hpp"
#include "ops/ones_like.hpp"
#include "ops/tril.hpp"
#include "ops/triu.hpp"
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
Values zeros_like(Builder& b, const ops::zeros_like_default<Call>& a) {
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

// Computed from both ends, as in PyTorch, so that both end values are exact.
Values linspace(Builder& b, const ops::linspace_default<Call>& a) {
  const int64_t steps = a.steps().integer();
  const double start = a.start().number(), end = a.end().number();
  const Dtype dtype = a.dtype().value_or(Dtype::FLOAT32);
  if (steps <= 1 || !ops::is_floating(dtype)) {
    return {b.call("aten.full.default", {Dims{Dim(steps)}, start}, {{"dtype", dtype}})};
  }
  const double step = (end - start) / static_cast<double>(steps - 1);
  const ValueId count = b.call("aten.arange.start_step", {Dim(0), Dim(steps)});
  const ValueId number = to_dtype(b, count, dtype);
  const ValueId rest = b.call("aten.sub.Tensor", {Dim(steps - 1), ValueRef{number}});
  const auto times = [&](ValueId x, double factor) {
    return b.call("aten.mul.Tensor", {ValueRef{x}, factor});
  };
  const ValueId rising = b.call("aten.add.Tensor", {ValueRef{times(number, step)}, start});
  const ValueId falling = b.call("aten.sub.Tensor", {end, ValueRef{times(rest, step)}});
  const ValueId is_first_half = b.call("aten.lt.Scalar", {ValueRef{count}, Dim(steps / 2)});
  return {b.call("aten.where.self", {ValueRef{is_first_half}, ValueRef{rising}, ValueRef{falling}})};
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
  if (!ops::is_floating(dtype)) {
    a.fail("the dtype of the result is " + std::string(ops::to_text(dtype)) + ", expected a float");
    return {};
  }
  const ValueId powers = b.call("aten.linspace.default", {a.start(), a.end(), a.steps()}, {{"dtype", dtype}});
  return {b.call("aten.pow.Scalar", {a.base(), ValueRef{powers}})};
}

ValueId identity_matrix(Builder& b, Dim rows, Dim columns, Dtype dtype) {
  const ValueId down = b.call("aten.arange.start_step", {Dim(0), rows});
  const ValueId across = b.call("aten.arange.start_step", {Dim(0), columns});
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{down}, Dim(-1)});
  return to_dtype(b, b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{across}}), dtype);
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

std::span<const Decomposition> creation_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::arange_default, arange>(),
      row<ops::arange_start, arange_start>(),
      row<ops::eye_default, eye>(),
      row<ops::eye_m, eye_rectangle>(),
      row<ops::fill_Scalar, fill>(),
      row<ops::hamming_window_default, hamming_window>(),
      row<ops::hamming_window_periodic, hamming_window_periodic>(),
      row<ops::hann_window_default, hann_window>(),
      row<ops::hann_window_periodic, hann_window_periodic>(),
      row<ops::linspace_default, linspace>(),
      row<ops::logspace_default, logspace>(),
      row<ops::new_empty_default, new_zeros>(),
      row<ops::new_full_default, new_full>(),
      row<ops::new_ones_default, new_ones>(),
      row<ops::new_zeros_default, new_zeros>(),
      row<ops::ones_default, ones>(),
      row<ops::ones_like_default, ones_like>(),
      row<ops::tril_default, tril>(),
      row<ops::triu_default, triu>(),
      row<ops::zero_default, zero>(),
      row<ops::zeros_default, zeros>(),
      row<ops::zeros_like_default, zeros_like>(),
  };
  return kRows;
}

}  // namespace etb::passes
