// SPDX-License-Identifier: Apache-2.0
// A case: a graph image with the inputs of its runs, and the rule that judges its outputs. A case is a pure
// function of its name and of the suite version, so the name alone reproduces it.
//
//   op.add.f32.2x3__3.exact        group, op, dtype, sizes of the operands, value set
//   op.mm.f32.4x4608__4608x8.stat
//
// Names are unique, in lower case, with dots between the levels. A name keeps its meaning. If the data of a
// name changes, kSuiteVersion changes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "conformance/cases/tensor_data.hpp"

namespace etb::conformance {

inline constexpr uint32_t kSuiteVersion = 1;

// Rules to compare results. judge.hpp has the formulas.
enum class Rule : uint8_t {
  kExact,        // bit for bit, the sign of zero included; any NaN equals any NaN
  kExactValue,   // kExact, but -0 equals +0
  kRounded,      // a few roundings of the result and of its operands
  kContraction,  // a sum of `length` products or terms
  kQuantized,    // equal integers; one code off where the real value is close to a tie
};

// Magnitude of the intermediates of an op: the second scale of an error bound, besides the result itself.
using Magnitude = std::function<std::vector<double>(const std::vector<TensorData>& inputs)>;

struct ErrorModel {
  Rule rule = Rule::kExact;
  double ulps = 0.5;         // error limit in the computing type; 0.5 is correctly rounded
  double steps = 0;          // roundings of intermediates as large as the magnitude
  int64_t length = 1;        // length of a contraction
  int64_t addend_count = 0;  // different addends that its results share, such as biases of channels; 0: none
  int64_t zero_point = 0;    // zero point of quantized codes: reals are rounded before it is added
  double codes = 0x1p-10;    // error limit of a real code before it is rounded
  double code_steps = 0;     // error limit as a part of the code: its multiplier is rounded
  bool is_exact_probe = false;       // every partial sum is representable: no error allowed
  bool has_input_magnitude = false;  // magnitude = the same graph on absolute inputs
  Magnitude magnitude;               // formula of the op, used instead
};

struct BuiltCase {
  graph::ImageBytes image;
  graph::ImageBytes
      reference_image;  // for ops that the portable kernels have only in parts: same inputs and outputs
  std::vector<std::vector<TensorData>> runs;             // inputs of each run, on one context in order
  std::vector<std::vector<TensorData>> references = {};  // results of each run, instead of a reference image
  ErrorModel error_model;
  bool widen_integers = false;  // the reference computes in float64 even for integer inputs
};

struct Case {
  std::string name;
  std::string op;  // edge name; "model" for a model
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::function<Result<BuiltCase>(std::string_view name)> build;

  std::string_view group() const { return std::string_view(name).substr(0, name.find('.')); }
};

// Collects the cases of the generators.
class CaseList {
 public:
  void add(Case item) { cases_.push_back(std::move(item)); }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
};

// Returns every case of this version, sorted by name. Built once.
const std::vector<Case>& all_cases();

// "op.mm.f32.8x8__8x8.stat@17" is the case before the @ with other random numbers: those of round 17 of a
// soak run.
std::string_view without_round(std::string_view name);
uint32_t round_of(std::string_view name);  // 0 without a round

// Returns the case with this name, ignoring its round, or null. Build it with the full name.
const Case* find_case(std::string_view name);

// Returns the simplest case of each op and dtype, float32 first: operands of one size, row-major, ordinary
// values. Checks search them for claimed cases.
const std::vector<const Case*>& plain_cases();
// The same for patterns between int8 codes: dequantize, the op, quantize. Checks search them where a plugin claims
// none of plain_cases().
const std::vector<const Case*>& plain_patterns();

// True if a name matches a pattern with * (any characters) and ? (one).
bool matches_pattern(std::string_view name, std::string_view pattern);

// Returns the FNV-1a hash of a text, for seeds and samples.
uint64_t hash_text(std::string_view text);

}  // namespace etb::conformance
