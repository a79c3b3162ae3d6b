// SPDX-License-Identifier: Apache-2.0
// Complex values as pairs of real ones. While lower_complex runs, a complex value of the graph is only a name: this
// builder holds the real values that it consists of, and a call that reads or makes complex values becomes calls
// on those.
#pragma once

#include <unordered_map>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

class ComplexBuilder;

// A real value or a number, for formulas: `x * 2.0 + y`. Numbers are computed here.
struct Real {
  ComplexBuilder* b = nullptr;
  ValueId id = ir::kNoValue;
  double number = 0;

  bool is_number() const { return id == ir::kNoValue; }
  bool is(double other) const { return is_number() && number == other; }
};
Real operator+(Real x, Real y);
Real operator-(Real x, Real y);
Real operator*(Real x, Real y);
Real operator/(Real x, Real y);
Real operator-(Real x);
inline Real operator+(Real x, double y) { return x + Real{x.b, ir::kNoValue, y}; }
inline Real operator*(Real x, double y) { return x * Real{x.b, ir::kNoValue, y}; }
inline Real operator-(double x, Real y) { return Real{y.b, ir::kNoValue, x} - y; }

// An elementwise op of aten: compute("exp.default", x).
Real compute(std::string_view op, Real x);
Real compute(std::string_view op, Real x, Real y);
Real choose(Real condition, Real yes, Real no);

// The parts of a complex number.
struct Parts {
  Real re, im;
};

class ComplexBuilder : public Builder {
 public:
  using Builder::Builder;

  bool is_complex(ValueId value) const {
    return graph().values[value].kind == ir::ValueKind::kTensor &&
           ops::is_complex(graph().values[value].spec.dtype);
  }

  // ---- From a complex value to real ones. A real tensor has an imaginary part of 0.

  // Returns the parts of a tensor or of a number.
  Parts parts(const Argument& argument);
  Parts parts(ValueId value) { return parts(Argument(ValueRef{value})); }
  // The parts as tensors, also where one is a number; in the dtype of the parts of complex values.
  ValueId real(ValueId value);
  ValueId imaginary(ValueId value);
  // Both parts in one more dimension of size 2.
  ValueId pair(ValueId value);
  // A tensor of complex numbers, as kernels of complex tensors and users get it.
  ValueId whole(ValueId value);

  // ---- From real values to a complex one.

  // Broadcasts both parts to common sizes and gives them the dtype of parts of `dtype`.
  ValueId make(Parts parts, Dtype dtype);
  ValueId make_from_pair(ValueId pair);
  ValueId make_from_whole(ValueId whole);
  // Names `old`, a complex value that was there before, as pairs.
  void bind_pair(ValueId old, ValueId pair) { forms_[old].pair = pair; }
  void bind_whole(ValueId value) { forms_[value].whole = value; }

  Real real_value(ValueId id) { return {this, id, 0}; }
  Real number(double value) { return {this, ir::kNoValue, value}; }
  // A tensor with the sizes and dtype of `like`.
  ValueId filled(ValueId like, double value);
  using Builder::add_declared;
  // Returns the specs that the exporter declares for the node that is lowered; empty inside of a decomposition.
  std::span<const TensorSpec> declared() const { return declared_; }
  // Adds a call as it is, although it reads or returns complex tensors.
  ValueId call_unchanged(std::string_view op, std::vector<Argument> args) {
    return call_all_unchanged(op, std::move(args)).at(0);
  }
  std::vector<ValueId> call_all_unchanged(std::string_view op, std::vector<Argument> args) {
    is_unchanged_ = true;
    std::vector<ValueId> made = call_all(op, std::move(args));
    is_unchanged_ = false;
    return made;
  }

 protected:
  ~ComplexBuilder() = default;
  bool is_unchanged_ = false;
  std::span<const TensorSpec> declared_;

 private:
  // The forms in which a value was needed so far. Each value has one at least.
  struct Forms {
    ValueId re = ir::kNoValue, im = ir::kNoValue, pair = ir::kNoValue, whole = ir::kNoValue;
  };
  ValueId part(ValueId value, int64_t index);
  ValueId with_sizes(ValueId value, const Dims& sizes, Dtype dtype);
  // Adds a name for a complex value with the sizes of `part`.
  ValueId add_name(TensorSpec spec);

  std::unordered_map<ValueId, Forms> forms_;
};

// How calls with complex operands are computed.
struct ComplexRule {
  std::string_view op;  // "aten.mul": all overloads
  // Returns the results; an empty list if another rule or a decomposition applies.
  Values (*expand)(ComplexBuilder& b, const Call& call);
};

// The rows of the file of that name, sorted by op.
std::span<const ComplexRule> complex_arithmetic_rules();
std::span<const ComplexRule> complex_function_rules();
std::span<const ComplexRule> complex_linalg_rules();
std::span<const ComplexRule> complex_log_sum_rules();
std::span<const ComplexRule> complex_product_rules();
std::span<const ComplexRule> complex_random_rules();
std::span<const ComplexRule> complex_structure_rules();

// True for an op that acts on each part alone, such as views and sums.
bool acts_on_parts(std::string_view base_name);
// Applies an op of that kind to both parts. `declared` are the results' specs that the exporter wrote; without
// them the specs are inferred.
Values apply_to_parts(ComplexBuilder& b, const Call& call, std::span<const TensorSpec> declared);

// The quotient of complex numbers, which overflows only where the result does.
Parts divide(Parts x, Parts y);
Parts multiply(Parts x, Parts y);
Real absolute(Parts x);

}  // namespace etb::passes
