// SPDX-License-Identifier: Apache-2.0
// One op at given sizes: operands, arguments and results. A maker computes it from the sizes of the first
// operand. So one row of a covering design makes a static case, and dynamic ones whose specs follow from the
// maker at the bounds of the symbols.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {

// Value sets beyond those of values.hpp.
enum class Data {
  kStat,     // spread over the domain
  kExact,    // small integers
  kSpecial,  // NaN, infinities, zeros, subnormals, extremes of integers
  kTies,     // few different values: many are equal
  kMean,     // spread of 1 around 1000, or around 90 for integers
  kWide,     // magnitudes from 2^-12 to 2^12, both signs
  kNan,      // as kStat with a NaN in every seventh place; integers have their extremes there
};
const char* to_text(Data data);

struct Operand {
  Shape shape;
  Data data = Data::kStat;
  Domain domain = {};
  bool is_constant = false;
  std::function<void(TensorData&, Random&)> fill = nullptr;  // instead of `data`
};

TensorData make_data(const Operand& operand, uint32_t number, Random& random);

// A node of a graph of several. Values are numbered on: operands, then results, node by node.
struct FormNode {
  std::string op;
  std::vector<graph::ArgumentDesc> args;
  Shape result;
};

struct OpForm {
  std::string op;
  std::vector<Operand> operands;
  std::vector<graph::ArgumentDesc> args;  // value arguments name operands by their position
  std::vector<Shape> results;
  std::vector<int32_t> result_lengths = {};
  std::vector<uint32_t> outputs = {};  // results that are compared; empty: all
  ErrorModel error_model = {};
  bool widen_integers = false;  // as BuiltCase::widen_integers
  // Instead of the op: nodes, the last of which is the output. `op` then only names the case.
  std::vector<FormNode> nodes = {};
  std::vector<FormNode> reference = {};  // the same in ops that the reference has; empty: the form itself
  std::string word = {};                 // in names, after the sizes
};

using Sizes = std::vector<int64_t>;
using Maker = std::function<OpForm(const Sizes& sizes)>;

// "op.add_tensor.f32.2x3__3.alpha_m2.nan.pair" of an op, its operands, its arguments and the data of its
// operands; "edge." for special data and for tensors without elements.
std::string form_name(const OpForm& form, etb_dtype dtype);

// True if the result is compared.
bool is_output(const OpForm& form, uint32_t result);

// Adds the case of one form. The name's words are those of form_name(). `more` is the last word, if any.
void add_form(CaseList& out, etb_dtype dtype, OpForm form, const std::string& more = "");

// Dimensions of the first operand that change from run to run.
enum class Moving { kFirst, kMiddle, kLast, kOuter, kAll };
// Sizes of the runs on one context.
enum class Order { kGrowing, kShrinking, kMixed, kWithZero, kManyRuns };

// Adds a dynamic case, unless the maker's arguments or the rank of an operand depend on the sizes that change.
// Returns true if it added one.
bool add_dynamic_form(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes, Moving moving,
                      Order order);

// Adds dynamic cases for some dimensions and orders, chosen by `index`, so that a table of rows covers all.
void add_dynamic_forms(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes, size_t index);

// Returns an order of dimensions by number: 0 row-major, 1 channels last where the rank has one, 2 reversed.
std::vector<uint8_t> order_of(size_t rank, uint32_t number);

// Draws rows of a design for one op and dtype: all for float32, half for float16, a sixth for each other one,
// so that all of them together have every row.
bool is_drawn(const std::string& op, etb_dtype dtype, size_t row);

ErrorModel exact_model(Rule rule = Rule::kExact);
ErrorModel rounded_model(double ulps, double steps = 0, const Magnitude& magnitude = nullptr);
ErrorModel contraction_model(int64_t length, bool is_exact_probe);

// Returns the largest absolute value of all inputs, twice: a magnitude for intermediates of sums of two.
std::vector<double> twice_the_largest(const std::vector<TensorData>& inputs);

}  // namespace etb::conformance
