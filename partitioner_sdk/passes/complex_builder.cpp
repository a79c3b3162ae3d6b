// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/complex_builder.hpp"

#include <cmath>

namespace etb::passes {

namespace {

std::string aten(std::string_view op) { return "aten." + std::string(op); }

Argument argument_of(Real x) { return x.is_number() ? Argument(x.number) : Argument(ValueRef{x.id}); }

ComplexBuilder& builder_of(Real x, Real y) { return *(x.b != nullptr ? x.b : y.b); }

}  // namespace

Real compute(std::string_view op, Real x) { return {x.b, x.b->call(aten(op), {argument_of(x)})}; }

Real compute(std::string_view op, Real x, Real y) {
  ComplexBuilder& b = builder_of(x, y);
  return {&b, b.call(aten(op), {argument_of(x), argument_of(y)})};
}

Real choose(Real condition, Real yes, Real no) {
  const std::string_view op = yes.is_number()  ? "where.ScalarSelf"
                              : no.is_number() ? "where.ScalarOther"
                                               : "where.self";
  ComplexBuilder& b = *condition.b;
  return {&b, b.call(aten(op), {argument_of(condition), argument_of(yes), argument_of(no)})};
}

Real operator+(Real x, Real y) {
  if (x.is_number() && y.is_number()) return {x.b, ir::kNoValue, x.number + y.number};
  if (x.is(0)) return y;
  if (y.is(0)) return x;
  if (x.is_number()) return compute("add.Scalar", y, x);
  return compute(y.is_number() ? "add.Scalar" : "add.Tensor", x, y);
}

Real operator-(Real x) {
  if (x.is_number()) return {x.b, ir::kNoValue, -x.number};
  return compute("neg.default", x);
}

Real operator-(Real x, Real y) {
  if (x.is_number() || y.is_number()) return x + -y;
  return compute("sub.Tensor", x, y);
}

Real operator*(Real x, Real y) {
  if (x.is_number() && y.is_number()) return {x.b, ir::kNoValue, x.number * y.number};
  if (x.is_number()) std::swap(x, y);
  if (y.is(0) || y.is(1)) return y.is(0) ? y : x;
  if (y.is(-1)) return -x;
  return compute(y.is_number() ? "mul.Scalar" : "mul.Tensor", x, y);
}

Real operator/(Real x, Real y) {
  if (x.is_number() && y.is_number()) return {x.b, ir::kNoValue, x.number / y.number};
  if (x.is(0) || y.is(1)) return x;
  if (x.is_number()) return compute("reciprocal.default", y) * x;
  return compute(y.is_number() ? "div.Scalar" : "div.Tensor", x, y);
}

ValueId ComplexBuilder::filled(ValueId like, double value) {
  return call("aten.full_like.default", {ValueRef{like}, value},
              {{"pin_memory", false}, {"memory_format", ir::MemoryFormat::kPreserve}});
}

ValueId ComplexBuilder::pair(ValueId value) {
  Forms forms = forms_[value];
  if (forms.pair == ir::kNoValue && forms.re != ir::kNoValue) {
    const ir::ValueList both{{forms.re, forms.im}};
    forms.pair = call("aten.stack.default", {both, Dim(-1)});
  } else if (forms.pair == ir::kNoValue) {
    forms.pair = call_unchanged("aten.view_as_real.default", {ValueRef{forms.whole}});
  }
  forms_[value].pair = forms.pair;
  return forms.pair;
}

ValueId ComplexBuilder::part(ValueId value, int64_t index) {
  if (forms_[value].re == ir::kNoValue) {
    const ValueId both = pair(value);
    const ValueId re = call("aten.select.int", {ValueRef{both}, Dim(-1), Dim(0)});
    const ValueId im = call("aten.select.int", {ValueRef{both}, Dim(-1), Dim(1)});
    forms_[value].re = re;
    forms_[value].im = im;
  }
  return index == 0 ? forms_[value].re : forms_[value].im;
}

ValueId ComplexBuilder::real(ValueId value) { return is_complex(value) ? part(value, 0) : value; }

ValueId ComplexBuilder::imaginary(ValueId value) {
  return is_complex(value) ? part(value, 1) : filled(value, 0);
}

ValueId ComplexBuilder::whole(ValueId value) {
  if (!is_complex(value)) return value;
  if (forms_[value].whole == ir::kNoValue) {
    const ValueId re = part(value, 0), im = part(value, 1);
    forms_[value].whole = call_unchanged("aten.complex.default", {ValueRef{re}, ValueRef{im}});
  }
  return forms_[value].whole;
}

Parts ComplexBuilder::parts(const Argument& argument) {
  if (const auto* ref = ir::get_if<ValueRef>(argument)) {
    if (is_complex(ref->id)) return {real_value(real(ref->id)), real_value(imaginary(ref->id))};
    return {real_value(ref->id), number(0)};
  }
  if (const auto* value = ir::get_if<ir::Complex>(argument))
    return {number(value->real), number(value->imaginary)};
  if (const auto* value = ir::get_if<double>(argument)) return {number(*value), number(0)};
  if (const auto* value = ir::get_if<bool>(argument)) return {number(*value ? 1 : 0), number(0)};
  const auto* dim = ir::get_if<Dim>(argument);
  if (dim == nullptr || !dim->is_static())
    fail(Code::NOT_SUPPORTED, "an operand of complex arithmetic is neither a tensor nor a known number");
  return {number(dim == nullptr ? 0 : static_cast<double>(dim->value())), number(0)};
}

ValueId ComplexBuilder::add_name(TensorSpec spec) {
  return graph().add_value({{}, ir::ValueKind::kTensor, std::move(spec), {}});
}

ValueId ComplexBuilder::with_sizes(ValueId value, const Dims& sizes, Dtype dtype) {
  value = to_dtype(*this, value, dtype);
  if (spec(value).sizes == sizes) return value;
  return call("aten.expand.default", {ValueRef{value}, Argument(sizes)});
}

ValueId ComplexBuilder::make(Parts parts, Dtype dtype) {
  const Dtype part_dtype = ops::real_part(dtype);
  if (parts.re.is_number() && parts.im.is_number())
    fail(Code::INTERNAL, "a complex number where a tensor is expected");
  if (has_failed()) return add_name({dtype, {}, {}});
  const ValueId known = parts.re.is_number() ? parts.im.id : parts.re.id;
  const auto tensor = [&](Real x) {
    return x.is_number() ? filled(to_dtype(*this, known, part_dtype), x.number) : x.id;
  };
  ValueId re = tensor(parts.re), im = tensor(parts.im);
  infer::CallState state(module(), graph(), module().op("aten.add.Tensor"), {});
  const Dims sizes = infer::broadcast(Call(state), spec(re).sizes, spec(im).sizes);
  if (!state.error.empty()) fail(Code::INVALID_DATA, state.error);
  re = with_sizes(re, sizes, part_dtype);
  im = with_sizes(im, sizes, part_dtype);
  TensorSpec named = spec(re);
  named.dtype = ops::complex_of(part_dtype);
  const ValueId name = add_name(std::move(named));
  forms_[name].re = re;
  forms_[name].im = im;
  return name;
}

ValueId ComplexBuilder::make_from_pair(ValueId pair) {
  TensorSpec named = spec(pair);
  named.dtype = ops::complex_of(named.dtype);
  if (named.rank() == 0 || !ops::is_complex(named.dtype)) {
    fail(Code::INVALID_DATA, "pairs of " + std::string(ops::to_text(named.dtype)) + " of rank " +
                                 std::to_string(named.rank()) + ", expected floats of rank 1 at least");
    return add_name({Dtype::COMPLEX64, {}, {}});
  }
  named.sizes.pop_back();
  named.strides = ir::contiguous_strides(symbols(), named.sizes);
  const ValueId name = add_name(std::move(named));
  forms_[name].pair = pair;
  return name;
}

ValueId ComplexBuilder::make_from_whole(ValueId whole) {
  bind_whole(whole);
  return whole;
}

}  // namespace etb::passes
