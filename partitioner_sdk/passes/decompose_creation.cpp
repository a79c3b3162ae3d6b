// SPDX-License-Identifier: Apache-2.0
// Tensors out of nothing, and triangles.
#include <cmath>
#include <numbers>

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
Values zeros(Builder& b, const Arguments& a) { return filled(b, a.argument(0), Dim(0), a.dtype(1)); }
Values ones(Builder& b, const Arguments& a) { return filled(b, a.argument(0), Dim(1), a.dtype(1)); }
// self, size, dtype, ...
Values new_zeros(Builder& b, const Arguments& a) {
  return filled(b, a.argument(1), Dim(0), a.dtype(2).value_or(a.tensor(0).dtype));
}
Values new_ones(Builder& b, const Arguments& a) {
  return filled(b, a.argument(1), Dim(1), a.dtype(2).value_or(a.tensor(0).dtype));
}
// self, size, fill_value, dtype, ...
Values new_full(Builder& b, const Arguments& a) {
  return filled(b, a.argument(1), a.argument(2), a.dtype(3).value_or(a.tensor(0).dtype));
}

// self, dtype, ...
Values like(Builder& b, const Arguments& a, Argument value, size_t dtype_index) {
  const auto dtype = a.dtype(dtype_index);
  std::vector<Builder::Named> named = {{"pin_memory", false}, {"memory_format", ir::MemoryFormat::kPreserve}};
  if (dtype) named.push_back({"dtype", *dtype});
  return {b.call("aten.full_like.default", {a.argument(0), std::move(value)}, std::move(named))};
}
Values zeros_like(Builder& b, const Arguments& a) { return like(b, a, Dim(0), 1); }
Values ones_like(Builder& b, const Arguments& a) { return like(b, a, Dim(1), 1); }
Values fill(Builder& b, const Arguments& a) { return like(b, a, a.argument(1), 9); }
Values zero(Builder& b, const Arguments& a) { return like(b, a, Dim(0), 9); }

Values arange_of_floats(Builder& b, const Arguments& a, double start, double end, Dtype dtype) {
  constexpr double kMaxLength = 1 << 24;
  const double length = std::ceil(end - start);
  if (!(length >= 0 && length <= kMaxLength)) {
    a.fail("arange of more than " + std::to_string(static_cast<int64_t>(kMaxLength)) + " floats");
    return {};
  }
  std::vector<double> numbers;
  for (double i = 0; i < length; ++i) numbers.push_back(start + i);
  const ValueId line = add_elements(b, Dtype::FLOAT64, {static_cast<int64_t>(length)}, numbers);
  return {to_dtype(b, line, dtype)};
}

Values arange_from(Builder& b, const Arguments& a, Argument start, Argument end, size_t dtype_index) {
  std::vector<Builder::Named> named = {
      {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}};
  if (const auto dtype = a.dtype(dtype_index)) named.push_back({"dtype", *dtype});
  if (ir::get_if<double>(start) != nullptr || ir::get_if<double>(end) != nullptr) {
    const auto number = [](const Argument& argument) {
      const auto* value = ir::get_if<double>(argument);
      const auto* dim = ir::get_if<Dim>(argument);
      return value != nullptr                     ? *value
             : dim != nullptr && dim->is_static() ? static_cast<double>(dim->value())
                                                  : std::nan("");
    };
    return arange_of_floats(b, a, number(start), number(end), a.dtype(dtype_index).value_or(Dtype::FLOAT32));
  }
  return {b.call("aten.arange.start_step", {std::move(start), std::move(end)}, std::move(named))};
}
Values arange(Builder& b, const Arguments& a) { return arange_from(b, a, Dim(0), a.argument(0), 1); }
Values arange_start(Builder& b, const Arguments& a) {
  return arange_from(b, a, a.argument(0), a.argument(1), 2);
}

// start, end, steps, dtype: from both ends, as PyTorch, so that both are met exactly.
Values linspace(Builder& b, const Arguments& a) {
  const int64_t steps = a.integer(2);
  const double start = a.number(0), end = a.number(1);
  const Dtype dtype = a.dtype(3).value_or(Dtype::FLOAT32);
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

// One period of alpha - (1 - alpha) cos; a window that is not periodic ends where it began.
ValueId cosine_window(Builder& b, const Arguments& a, double alpha, bool is_periodic, size_t dtype_index) {
  const int64_t length = a.integer(0);
  constexpr int64_t kMaxLength = 1 << 24;
  if (length < 0 || length > kMaxLength) {
    a.fail("a window of " + std::to_string(length) + " elements");
    return 0;
  }
  std::vector<float> window(static_cast<size_t>(length), 1.0F);
  const double period = static_cast<double>(is_periodic ? length : length - 1);
  for (size_t i = 0; i < window.size() && length > 1; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
    window[i] = static_cast<float>(alpha - (1 - alpha) * std::cos(turn));
  }
  const ValueId out = add_elements(b, Dtype::FLOAT32, {length}, window);
  return to_dtype(b, out, a.dtype(dtype_index).value_or(Dtype::FLOAT32));
}
Values hann_window(Builder& b, const Arguments& a) { return {cosine_window(b, a, 0.5, true, 1)}; }
Values hann_window_periodic(Builder& b, const Arguments& a) {
  return {cosine_window(b, a, 0.5, a.flag(1), 2)};
}
Values hamming_window(Builder& b, const Arguments& a) { return {cosine_window(b, a, 0.54, true, 1)}; }
Values hamming_window_periodic(Builder& b, const Arguments& a) {
  return {cosine_window(b, a, 0.54, a.flag(1), 2)};
}

// start, end, steps, base, dtype
Values logspace(Builder& b, const Arguments& a) {
  const Dtype dtype = a.dtype(4).value_or(Dtype::FLOAT32);
  if (!ops::is_floating(dtype)) {
    a.fail("whole powers");
    return {};
  }
  const ValueId powers =
      b.call("aten.linspace.default", {a.argument(0), a.argument(1), a.argument(2)}, {{"dtype", dtype}});
  return {b.call("aten.pow.Scalar", {a.argument(3), ValueRef{powers}})};
}

ValueId identity_matrix(Builder& b, Dim rows, Dim columns, Dtype dtype) {
  const ValueId down = b.call("aten.arange.start_step", {Dim(0), rows});
  const ValueId across = b.call("aten.arange.start_step", {Dim(0), columns});
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{down}, Dim(-1)});
  return to_dtype(b, b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{across}}), dtype);
}
Values eye(Builder& b, const Arguments& a) {
  return {identity_matrix(b, a.dim(0), a.dim(0), a.dtype(1).value_or(Dtype::FLOAT32))};
}
Values eye_rectangle(Builder& b, const Arguments& a) {
  return {identity_matrix(b, a.dim(0), a.dim(1), a.dtype(2).value_or(Dtype::FLOAT32))};
}

// column - row, compared with the diagonal; what is outside becomes 0.
Values triangle(Builder& b, const Arguments& a, std::string_view comparison) {
  const TensorSpec in = a.tensor(0);
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
  const ValueId is_kept = b.call(comparison, {ValueRef{distance}, a.argument(1)});
  const ValueId zero_value =
      b.call("aten.scalar_tensor.default", {Dim(0)},
             {{"dtype", in.dtype}, {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}});
  return {b.call("aten.where.self", {ValueRef{is_kept}, a.ref(0), ValueRef{zero_value}})};
}
Values tril(Builder& b, const Arguments& a) { return triangle(b, a, "aten.le.Scalar"); }
Values triu(Builder& b, const Arguments& a) { return triangle(b, a, "aten.ge.Scalar"); }

}  // namespace

std::span<const Decomposition> creation_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.arange.default", arange},
      {"aten.arange.start", arange_start},
      {"aten.eye.default", eye},
      {"aten.eye.m", eye_rectangle},
      {"aten.fill.Scalar", fill},
      {"aten.hamming_window.default", hamming_window},
      {"aten.hamming_window.periodic", hamming_window_periodic},
      {"aten.hann_window.default", hann_window},
      {"aten.hann_window.periodic", hann_window_periodic},
      {"aten.linspace.default", linspace},
      {"aten.logspace.default", logspace},
      {"aten.new_empty.default", new_zeros},
      {"aten.new_full.default", new_full},
      {"aten.new_ones.default", new_ones},
      {"aten.new_zeros.default", new_zeros},
      {"aten.ones.default", ones},
      {"aten.ones_like.default", ones_like},
      {"aten.tril.default", tril},
      {"aten.triu.default", triu},
      {"aten.zero.default", zero},
      {"aten.zeros.default", zeros},
      {"aten.zeros_like.default", zeros_like},
  };
  return kRows;
}

}  // namespace etb::passes
