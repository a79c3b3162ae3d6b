// A case: one graph image with the inputs of its runs, and how to judge what comes out. Everything is a pure function of its name and
// of the suite version, so the name alone repeats it.
//
//   op.add.f32.2x3__3.exact        group, op, dtype, sizes of the operands, value set
//   op.mm.f32.4x4608__4608x8.stat
//
// Lower case, dots for the tree, unique. A name keeps its meaning; kSuiteVersion changes when the data of a name changes.
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

// How results are compared; judge.hpp has the formulas.
enum class Rule : uint8_t {
  kExact,        // bit for bit, the sign of zero included; any NaN is a NaN
  kExactValue,   // the same, but -0 equals +0
  kRounded,      // a few roundings of the result and of what went into it
  kContraction,  // a sum of `length` products or terms
  kQuantized,    // integers: equal, but one code off where the real value is close to a tie
};

// What one more rounding of an intermediate can be as large as: the second scale of a bound, besides the result itself.
using Magnitude = std::function<std::vector<double>(const std::vector<TensorData>& inputs)>;

struct Judgement {
  Rule rule = Rule::kExact;
  double ulps = 0.5;            // of the result, in the contract's computing type; 0.5 is correctly rounded
  double steps = 0;             // roundings of intermediates as large as the magnitude
  int64_t length = 1;           // of a contraction
  int64_t zero_point = 0;       // of quantized codes: reals are rounded before it is added
  bool is_exact_probe = false;  // every partial sum fits: no error at all
  bool has_input_magnitude = false;  // magnitude = the same graph on absolute inputs
  Magnitude magnitude;               // or a formula of the op's own
};

struct BuiltCase {
  graph::ImageBytes image;
  graph::ImageBytes
      reference_image;  // of the same inputs and outputs, where the portable kernels have the op in parts only
  std::vector<std::vector<TensorData>> runs;  // inputs of each run, on one context in order
  Judgement judgement;
  bool widen_integers = false;  // the reference computes on float64 also where inputs are integers
};

struct Case {
  std::string name;
  std::string op;  // edge name; of a model "model"
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::function<Result<BuiltCase>(std::string_view name)> build;

  std::string_view group() const { return std::string_view(name).substr(0, name.find('.')); }
};

// Where generators put their cases.
class CaseList {
 public:
  void add(Case item) { cases_.push_back(std::move(item)); }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
};

// Every case of this version, sorted by name. Built once.
const std::vector<Case>& all_cases();

// "op.mm.f32.8x8__8x8.stat@17" is the case of the name before the @ with other random numbers: those of round 17 of a soak run.
std::string_view without_round(std::string_view name);
uint32_t round_of(std::string_view name);  // 0 without one

// The case with this name, whatever its round, or null. Build it by the full name.
const Case* find_case(std::string_view name);

// The plainest case of each op and dtype, float32 first: operands of one size, row-major, nothing special. What checks that need some claimed
// case look through.
const std::vector<const Case*>& plain_cases();

// Whether a name fits a pattern with * (any characters) and ? (one).
bool matches_pattern(std::string_view name, std::string_view pattern);

// FNV-1a of a text, for seeds and samples.
uint64_t hash_text(std::string_view text);

}  // namespace etb::conformance
