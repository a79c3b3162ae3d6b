// SPDX-License-Identifier: Apache-2.0
// Shared by elementwise generators: accepted inputs, sizes, names, the rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/error_models.hpp"

namespace etb::conformance {

enum class Gives { kSame, kReal, kBool };

// Inputs that an op accepts.
enum AcceptedTypes : unsigned {
  kTakesFloat = 1,
  kTakesInteger = 2,
  kTakesBool = 4,
  kTakesNumbers = 3,
  kTakesAll = 7
};

inline constexpr double kHalf = 0.5;

// Ops of one tensor, of two, and of a tensor and a number.
struct UnaryRow {
  const char* op;
  Rule rule;
  double
      ulps;  // OpenCL C's full profile (table 66) where it has the function, else twice its largest sibling
  Gives gives;
  unsigned takes;
  Domain domain = {-4, 4};
  bool has_special = true;
};
enum class Second { kAny, kNotZero, kPositive, kShift };
struct BinaryRow {
  const char* op;
  Rule rule;
  double ulps;
  Gives gives;
  unsigned takes;
  double alpha = 0;  // factor of add and sub; 0: the op has none
  Second second = Second::kAny;
  bool has_special = true;
};
struct ScalarRow {
  const char* op;
  Rule rule;
  Gives gives;
  unsigned takes;
  const char* argument;
  double value;
};
std::span<const UnaryRow> unary_rows();
std::span<const BinaryRow> binary_rows();
std::span<const ScalarRow> scalar_rows();

// Removes zeros for division and similar ops, and limits shift counts to the width.
void restrict_second(TensorData& data, Second second, Random& random);

bool takes(unsigned taken, etb_dtype dtype);
etb_dtype result_dtype(Gives gives, etb_dtype dtype);

// Sizes of one operand: vector lengths around powers of two, odd ones, every rank up to 5, channels last.
std::vector<Shape> unary_shapes(etb_dtype dtype);

struct ShapePair {
  std::vector<int64_t> a, b;
  bool a_is_last = false, b_is_last = false;  // channels last
};
// Sizes of two operands: equal ones, broadcasts in each direction, mixed dim orders.
const std::vector<ShapePair>& shape_pairs();

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b);
Shape shaped(etb_dtype dtype, const std::vector<int64_t>& sizes, bool is_last);

// Cases on special values, empty tensors and scalars belong to the group edge.
std::string name_of(const char* op, etb_dtype dtype, const std::string& sizes, Values values, bool is_edge);
bool is_edge_shape(const Shape& shape);

}  // namespace etb::conformance
