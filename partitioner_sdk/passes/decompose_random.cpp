// SPDX-License-Identifier: Apache-2.0
// Random ops as arithmetic on uniform and normal numbers. The distributions are PyTorch's, the numbers are not.
#include <cmath>
#include <numbers>

#include "ops/alpha_dropout.hpp"
#include "ops/bernoulli.hpp"
#include "ops/cauchy.hpp"
#include "ops/dropout.hpp"
#include "ops/exponential.hpp"
#include "ops/feature_alpha_dropout.hpp"
#include "ops/feature_dropout.hpp"
#include "ops/geometric.hpp"
#include "ops/log_normal.hpp"
#include "ops/multinomial.hpp"
#include "ops/normal.hpp"
#include "ops/normal_functional.hpp"
#include "ops/rand.hpp"
#include "ops/rand_like.hpp"
#include "ops/randint.hpp"
#include "ops/randint_like.hpp"
#include "ops/randn.hpp"
#include "ops/randn_like.hpp"
#include "ops/random.hpp"
#include "ops/rrelu.hpp"
#include "ops/rrelu_with_noise_functional.hpp"
#include "ops/uniform.hpp"
#include "partitioner_sdk/passes/random_numbers.hpp"

namespace etb::passes {

ValueId uniform_numbers(Builder& b, Dims sizes, Dtype dtype) {
  return b.call("aten.rand.default", {std::move(sizes)}, {{"dtype", dtype}});
}

namespace {

ValueId normal_numbers(Builder& b, Dims sizes, Dtype dtype) {
  return b.call("aten.randn.default", {std::move(sizes)}, {{"dtype", dtype}});
}

// True for the elements that stay, each with probability 1 - p.
ValueId kept_elements(Builder& b, Dims sizes, double p) {
  return b.call("aten.ge.Scalar", {ValueRef{uniform_numbers(b, std::move(sizes), Dtype::FLOAT32)}, p});
}

ValueId scaled_mask(Builder& b, ValueId x, Dims sizes, double p) {
  const ValueId kept = to_dtype(b, kept_elements(b, std::move(sizes), p), b.spec(x).dtype);
  return Arithmetic(b).mul(x, Arithmetic(b).times(kept, 1 / (1 - p)));
}

// Fails for a probability outside of [0, 1].
bool is_probability(const Call& a, double p) {
  if (p >= 0 && p <= 1) return true;
  a.fail("a probability of " + std::to_string(p) + ", expected 0 to 1");
  return false;
}

// Sizes of a mask with one element per channel.
Dims channel_sizes(const Dims& sizes) {
  Dims out = sizes;
  for (size_t i = 2; i < out.size(); ++i) out[i] = Dim(1);
  return out;
}

// ---- Dropout. A probability of 0 or 1 leaves nothing to chance.

// Outside of training, or for a probability of 0 or 1, the result; else nothing.
template <class A>
std::optional<Values> certain(Builder& b, const A& a) {
  const double p = a.p().number();
  if (!a.train() || p == 0) return Values{b.call("aten.clone.default", {a.input()})};
  if (p == 1) return Values{b.call("aten.mul.Tensor", {a.input(), Dim(0)})};
  if (!is_probability(a, p)) return Values{};
  return std::nullopt;
}

Values dropout(Builder& b, const ops::dropout_default<Call>& a) {
  if (auto out = certain(b, a)) return *out;
  return {dropped_out(b, a.input(), a.p().number())};
}
Values feature_dropout(Builder& b, const ops::feature_dropout_default<Call>& a) {
  if (auto out = certain(b, a)) return *out;
  return {scaled_mask(b, a.input(), channel_sizes(a.input().spec().sizes), a.p().number())};
}

// Sets elements to the negative limit of SELU and restores mean and variance, as PyTorch does.
template <bool kIsPerChannel, class A>
Values alpha_dropout(Builder& b, const A& a) {
  if (auto out = certain(b, a)) return *out;
  constexpr double kLimit = -1.7580993408473766;
  const double p = a.p().number();
  const double factor = 1 / std::sqrt((1 - p) * (1 + p * kLimit * kLimit));
  Arithmetic m(b);
  const TensorSpec in = a.input().spec();
  const ValueId kept = kept_elements(b, kIsPerChannel ? channel_sizes(in.sizes) : in.sizes, p);
  const ValueId limit = b.call("aten.scalar_tensor.default", {kLimit}, {{"dtype", in.dtype}});
  const ValueId chosen = b.call("aten.where.self", {ValueRef{kept}, a.input(), ValueRef{limit}});
  return {m.plus(m.times(chosen, factor), -factor * p * kLimit)};
}

// ---- Distributions.

template <class A>
Values bernoulli(Builder& b, const A& a, Argument p) {
  const TensorSpec in = a.self().spec();
  const bool is_number = ir::get_if<ValueRef>(p) == nullptr;
  // A probability of float64 needs as many digits to compare with.
  const ValueId u = uniform_numbers(b, in.sizes, is_number ? Dtype::FLOAT32 : Dtype::FLOAT64);
  const ValueId is_one = b.call(is_number ? "aten.lt.Scalar" : "aten.lt.Tensor", {ValueRef{u}, std::move(p)});
  return {to_dtype(b, is_one, in.dtype)};
}
Values bernoulli_of_self(Builder& b, const ops::bernoulli_default<Call>& a) {
  return bernoulli(b, a, a.self());
}
Values bernoulli_of_tensor(Builder& b, const ops::bernoulli_Tensor<Call>& a) {
  return bernoulli(b, a, a.p());
}
Values bernoulli_of_number(Builder& b, const ops::bernoulli_p<Call>& a) {
  if (!is_probability(a, a.p().number())) return {};
  return bernoulli(b, a, a.p().number());
}

template <class A>
Values rand_like(Builder& b, const A& a) {
  return {uniform_numbers(b, a.self().spec().sizes, a.dtype().value_or(a.self().spec().dtype))};
}
template <class A>
Values randn_like(Builder& b, const A& a) {
  return {normal_numbers(b, a.self().spec().sizes, a.dtype().value_or(a.self().spec().dtype))};
}
template <class A>
Values rand(Builder& b, const A& a) {
  return {uniform_numbers(b, a.size().dims(), a.dtype().value_or(Dtype::FLOAT32))};
}
template <class A>
Values randn(Builder& b, const A& a) {
  return {normal_numbers(b, a.size().dims(), a.dtype().value_or(Dtype::FLOAT32))};
}

// Integers of [low, high).
Values integers(Builder& b, const Call& a, Dims sizes, int64_t low, int64_t high, Dtype dtype) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (low < -kMost || high > kMost || low >= high) {
    a.fail("integers from " + std::to_string(low) + " to below " + std::to_string(high) +
           ", expected a range within 2^53");
    return {};
  }
  Arithmetic m(b);
  const ValueId u = uniform_numbers(b, std::move(sizes), Dtype::FLOAT64);
  const ValueId step = m.call("aten.floor.default", m.times(u, static_cast<double>(high - low)));
  return {to_dtype(b, m.plus(step, static_cast<double>(low)), dtype)};
}
template <class A>
Values randint(Builder& b, const A& a) {
  return integers(b, a, a.size().dims(), 0, a.high().integer(), a.dtype().value_or(Dtype::INT64));
}
template <class A>
Values randint_from(Builder& b, const A& a) {
  return integers(b, a, a.size().dims(), a.low().integer(), a.high().integer(),
                  a.dtype().value_or(Dtype::INT64));
}
template <class A>
Values randint_like(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  return integers(b, a, in.sizes, 0, a.high().integer(), a.dtype().value_or(in.dtype));
}
template <class A>
Values randint_like_from(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  return integers(b, a, in.sizes, a.low().integer(), a.high().integer(), a.dtype().value_or(in.dtype));
}
Values random_to(Builder& b, const ops::random_to<Call>& a) {
  return integers(b, a, a.self().spec().sizes, 0, a.to().integer(), a.self().spec().dtype);
}

// mean + std * normal numbers. Numbers and tensors broadcast.
ValueId normal(Builder& b, const Dims& sizes, Dtype dtype, const Argument& mean, const Argument& deviation) {
  const ValueId numbers = normal_numbers(b, sizes, dtype);
  const ValueId scaled = b.call("aten.mul.Tensor", {ValueRef{numbers}, deviation});
  return b.call("aten.add.Tensor", {ValueRef{scaled}, mean});
}
Values normal_functional(Builder& b, const ops::normal_functional_default<Call>& a) {
  return {normal(b, a.self().spec().sizes, a.self().spec().dtype, a.mean().number(), a.std().number())};
}
Values normal_of_numbers(Builder& b, const ops::normal_float_float<Call>& a) {
  return {
      normal(b, a.size().dims(), a.dtype().value_or(Dtype::FLOAT32), a.mean().number(), a.std().number())};
}
Values normal_of_mean(Builder& b, const ops::normal_Tensor_float<Call>& a) {
  return {normal(b, a.mean().spec().sizes, a.mean().spec().dtype, a.mean(), a.std().number())};
}
Values normal_of_deviation(Builder& b, const ops::normal_float_Tensor<Call>& a) {
  return {normal(b, a.std().spec().sizes, a.std().spec().dtype, a.mean().number(), a.std())};
}
Values normal_of_tensors(Builder& b, const ops::normal_Tensor_Tensor<Call>& a) {
  const ValueId shape = b.call("aten.add.Tensor", {a.mean(), a.std()});
  return {normal(b, sizes_of(b, shape), b.spec(shape).dtype, a.mean(), a.std())};
}
Values log_normal(Builder& b, const ops::log_normal_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const ValueId exponent = normal(b, in.sizes, in.dtype, a.mean().number(), a.std().number());
  return {b.call("aten.exp.default", {ValueRef{exponent}})};
}

Values uniform(Builder& b, const ops::uniform_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const double from = a.from().number(), to = a.to().number();
  Arithmetic m(b);
  return {m.plus(m.times(uniform_numbers(b, in.sizes, in.dtype), to - from), from)};
}
// -log(1 - u) has the exponential distribution.
ValueId exponential_numbers(Builder& b, const Dims& sizes, Dtype dtype) {
  Arithmetic m(b);
  const ValueId u = m.times(uniform_numbers(b, sizes, dtype), -1);
  return m.times(m.call("aten.log1p.default", u), -1);
}
Values exponential(Builder& b, const ops::exponential_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  return {Arithmetic(b).times(exponential_numbers(b, in.sizes, in.dtype), 1 / a.lambd().number())};
}
Values cauchy(Builder& b, const ops::cauchy_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  Arithmetic m(b);
  const ValueId angle = m.times(m.plus(uniform_numbers(b, in.sizes, in.dtype), -0.5), std::numbers::pi);
  return {m.plus(m.times(m.call("aten.tan.default", angle), a.sigma().number()), a.median().number())};
}
Values geometric(Builder& b, const ops::geometric_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const double p = a.p().number();
  if (!(p > 0 && p < 1)) {
    a.fail("a probability of " + std::to_string(p) + ", expected more than 0 and less than 1");
    return {};
  }
  Arithmetic m(b);
  const ValueId wait = m.times(exponential_numbers(b, in.sizes, Dtype::FLOAT64), -1 / std::log1p(-p));
  const ValueId count = b.call("aten.clamp.default", {ValueRef{m.call("aten.ceil.default", wait)}, 1.0});
  return {to_dtype(b, count, in.dtype)};
}

// With replacement: the place of a uniform number among the sums of the weights. Without: the first of a race, in which
// each waits for an exponential time divided by its weight.
Values multinomial(Builder& b, const ops::multinomial_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const int64_t samples = a.num_samples().integer();
  constexpr int64_t kMostSamples = 1 << 24;
  if (in.rank() < 1 || in.rank() > 2 || samples < 1 || samples > kMostSamples) {
    a.fail(std::to_string(samples) + " samples of weights of rank " + std::to_string(in.rank()) +
           ", expected at least one, and rank 1 or 2");
    return {};
  }
  Arithmetic m(b);
  const ValueId weights = to_dtype(b, a.self(), Dtype::FLOAT64);
  if (!a.replacement()) {
    const ValueId times = exponential_numbers(b, in.sizes, Dtype::FLOAT64);
    return {b.call_all("aten.topk.default", {ValueRef{m.div(weights, times)}, Dim(samples)}).at(1)};
  }
  Dims sizes = in.sizes;
  sizes.back() = Dim(samples);
  const ValueId sums = b.call("aten.cumsum.default", {ValueRef{weights}, Dim(-1)});
  const ValueId total = b.call("aten.slice.Tensor", {ValueRef{sums}, Dim(-1), Dim(-1)});
  const ValueId at = m.mul(uniform_numbers(b, std::move(sizes), Dtype::FLOAT64), total);
  return {b.call("aten.searchsorted.Tensor", {ValueRef{sums}, ValueRef{at}}, {{"right", true}})};
}

// Returns the result, and the slope of each element.
Values leaky(Builder& b, ValueId x, double lower, double upper) {
  Arithmetic m(b);
  const TensorSpec in = b.spec(x);
  const ValueId slopes = m.plus(m.times(uniform_numbers(b, in.sizes, in.dtype), upper - lower), lower);
  const ValueId is_negative = b.call("aten.le.Scalar", {ValueRef{x}, Dim(0)});
  const ValueId noise = b.call("aten.where.ScalarOther", {ValueRef{is_negative}, ValueRef{slopes}, 1.0});
  return {m.mul(x, noise), noise};
}
template <class A>
Values rrelu(Builder& b, const A& a) {
  const double lower = a.lower().number(), upper = a.upper().number();
  if (a.training()) return {leaky(b, a.self(), lower, upper).at(0)};
  return {b.call("aten.leaky_relu.default", {a.self(), (lower + upper) / 2})};
}
Values rrelu_with_noise(Builder& b, const ops::rrelu_with_noise_functional_default<Call>& a) {
  if (a.training()) return leaky(b, a.self(), a.lower().number(), a.upper().number());
  return {rrelu(b, a).at(0), a.noise()};
}

}  // namespace

ValueId dropped_out(Builder& b, ValueId x, double p) {
  if (p == 0) return x;
  return p == 1 ? Arithmetic(b).times(x, 0) : scaled_mask(b, x, sizes_of(b, x), p);
}

std::span<const Decomposition> random_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::alpha_dropout_default, alpha_dropout<false>>(),
      row<ops::bernoulli_Tensor, bernoulli_of_tensor>(),
      row<ops::bernoulli_default, bernoulli_of_self>(),
      row<ops::bernoulli_p, bernoulli_of_number>(),
      row<ops::cauchy_default, cauchy>(),
      row<ops::dropout_default, dropout>(),
      row<ops::exponential_default, exponential>(),
      row<ops::feature_alpha_dropout_default, alpha_dropout<true>>(),
      row<ops::feature_dropout_default, feature_dropout>(),
      row<ops::geometric_default, geometric>(),
      row<ops::log_normal_default, log_normal>(),
      row<ops::multinomial_default, multinomial>(),
      row<ops::normal_Tensor_Tensor, normal_of_tensors>(),
      row<ops::normal_Tensor_float, normal_of_mean>(),
      row<ops::normal_float_Tensor, normal_of_deviation>(),
      row<ops::normal_float_float, normal_of_numbers>(),
      row<ops::normal_functional_default, normal_functional>(),
      row<ops::rand_generator, rand>(),
      row<ops::rand_like_default, rand_like>(),
      row<ops::rand_like_generator, rand_like>(),
      row<ops::randint_default, randint>(),
      row<ops::randint_generator, randint>(),
      row<ops::randint_low, randint_from>(),
      row<ops::randint_low_generator, randint_from>(),
      row<ops::randint_like_default, randint_like>(),
      row<ops::randint_like_generator, randint_like>(),
      row<ops::randint_like_low_dtype, randint_like_from>(),
      row<ops::randint_like_low_generator_dtype, randint_like_from>(),
      row<ops::randn_generator, randn>(),
      row<ops::randn_like_default, randn_like>(),
      row<ops::randn_like_generator, randn_like>(),
      row<ops::random_to, random_to>(),
      row<ops::rrelu_default, rrelu>(),
      row<ops::rrelu_with_noise_functional_default, rrelu_with_noise>(),
      row<ops::uniform_default, uniform>(),
  };
  return kRows;
}

}  // namespace etb::passes
