// SPDX-License-Identifier: Apache-2.0
// One op, or a small graph, at given sizes: operands, arguments and results. A maker computes it from the sizes of
// the first operand. So one row of a covering design makes a static case, and dynamic ones whose specs follow from
// the maker at the bounds of the symbols.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/error_models.hpp"

namespace etb::conformance {

using Sizes = std::vector<int64_t>;

struct Operand {
  Shape shape;
  Values values = Values::kStatistical;
  Domain domain = {};
  bool is_constant = false;
  std::function<void(TensorData&, Random&)> fill = nullptr;  // instead of `values`
};

TensorData make_data(const Operand& operand, uint32_t number, Random& random);

// A constant operand with these elements. Its name has no value set.
Operand constant_of(const Shape& shape, const std::function<double(int64_t)>& element);

// A node of a graph of several. Values have numbers: operands, constants of the reference, results node by node.
struct FormNode {
  FormNode(std::string op_name, std::vector<graph::ArgumentDesc> arguments, Shape result)
      : op(std::move(op_name)), args(std::move(arguments)), results{std::move(result)} {}
  FormNode(std::string op_name, std::vector<graph::ArgumentDesc> arguments, std::vector<Shape> all)
      : op(std::move(op_name)), args(std::move(arguments)), results(std::move(all)) {}
  std::string op;
  std::vector<graph::ArgumentDesc> args;
  std::vector<Shape> results;
};

// Computes a constant that only the reference has from the case's operands.
using Derive = std::function<TensorData(const std::vector<TensorData>& operands)>;

// Nodes that the reference computes instead of the form itself, in ops that the portable kernels have.
struct ReferenceForm {
  std::vector<FormNode> nodes = {};    // none: the form itself
  std::vector<Derive> constants = {};  // numbered after the operands
  std::vector<uint32_t> outputs = {};  // numbers of results, from 0; empty: the first of the last node
};

struct OpForm {
  std::string op;
  std::vector<Operand> operands;
  std::vector<graph::ArgumentDesc> args;  // value arguments name operands by their position
  std::vector<Shape> results;
  std::vector<int32_t> result_lengths = {};
  std::vector<uint32_t> outputs = {};  // results that are compared; empty: all, of several nodes the last
  ErrorModel error_model = {};
  bool widen_integers = false;  // BuiltCase::widen_integers
  // Nodes instead of the op. `op` then only names the case.
  std::vector<FormNode> nodes = {};
  ReferenceForm reference = {};
  std::string word = {};  // part of the name, after the sizes
  std::string group =
      {};  // first part of the name; empty: op, or edge for special values and tensors without elements
};

// Numbers the values of several nodes while they are added.
class FormNodes {
 public:
  FormNodes(std::vector<FormNode>& nodes, size_t first_value)
      : nodes_(nodes), count_(static_cast<uint32_t>(first_value)) {}
  // Returns the number of the first result.
  uint32_t add(const std::string& op, std::vector<graph::ArgumentDesc> args, std::vector<Shape> results);
  uint32_t add(const std::string& op, std::vector<graph::ArgumentDesc> args, const Shape& result) {
    return add(op, std::move(args), std::vector<Shape>{result});
  }

 private:
  std::vector<FormNode>& nodes_;
  uint32_t count_;
};

using Maker = std::function<OpForm(const Sizes& sizes)>;

// Elements of a tensor in memory order.
using Elements = std::vector<double>;
Elements elements_of(const TensorData& data);

// Computes a result from the operands: a second implementation, where the portable kernels compute in float32 only.
using Formula = std::function<Elements(const std::vector<TensorData>& operands)>;

// Makes formulas the reference of a form, one for each result. With `has_real_codes` the results of integers are reals,
// for Rule::kQuantized.
void compute_reference(OpForm& form, const std::vector<Formula>& formulas, bool has_real_codes = false);

// "op.add_tensor.f32.2x3__3.alpha_m2.nan.pair" of an op, its operands, its arguments and the values of its
// operands; "edge." for special values and for tensors without elements.
std::string form_name(const OpForm& form, etb_dtype dtype);

// True if the result is compared.
bool is_output(const OpForm& form, uint32_t result);

// Adds the case of one form. The name's words are those of form_name(). `more` is the last word, if any.
void add_form(CaseList& out, etb_dtype dtype, OpForm form, const std::string& more = "pair");

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

// Adds every choice of moving dimensions, with the orders in turn; for dtypes other than float32 and float16 two of
// them. Ops with windows, and norms, need an element.
void add_all_dynamic_forms(CaseList& out, etb_dtype dtype, const Maker& maker, const Sizes& sizes,
                           bool may_be_empty);

// Returns an order of dimensions by number: 0 row-major, 1 channels last where the rank has one, 2 reversed.
std::vector<uint8_t> order_of(size_t rank, uint32_t number);

// Draws rows of a design for one op and dtype: all for float32, half for float16, a sixth for each other one,
// so that all of them together have every row.
bool is_drawn(const std::string& op, etb_dtype dtype, size_t row);

// Returns the position of a dimension that may be negative.
size_t wrapped(int64_t dim, size_t rank);
// Returns a position as an argument: counted from the end, if it is to be negative.
int64_t signed_dim(size_t dim, size_t rank, bool is_negative);

enum class Place { kFirst, kLast, kMiddle };
inline constexpr Place kAllPlaces[] = {Place::kFirst, Place::kLast, Place::kMiddle};
size_t dim_at(size_t rank, Place place);

}  // namespace etb::conformance
