// SPDX-License-Identifier: Apache-2.0
// Compares two sides on some nodes. Both get the same inputs, those of the run node by node, so that errors of earlier
// nodes are not theirs. Each side is judged by the float64 reference, with the error that rounding can explain.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/judge/expected.hpp"
#include "tools/diff/model.hpp"
#include "tools/diff/side.hpp"

namespace etb::diff {

enum class Verdict : uint8_t {
  kRight,     // within the error model
  kWrong,     // outside
  kUnjudged,  // no reference for these nodes
};
const char* to_text(Verdict verdict);

struct SideResult {
  TensorData value;
  Verdict verdict = Verdict::kUnjudged;
  double margin = 0;  // largest error / bound; 1 is the limit
  std::string text;   // if wrong: element, found, expected
};

// One tensor that the nodes compute.
struct ResultComparison {
  ir::ValueId value = ir::kNoValue;
  uint32_t node = 0;  // that computes it
  SideResult a, b;
  std::optional<Metrics> metrics;  // none for tensors of different sizes
  std::vector<double> distances;   // of the user's comparators

  bool is_equal() const { return metrics && metrics->max_abs == 0; }
  // Equal sides do not diverge, even if float32 overflows in both and the float64 reference does not.
  bool is_wrong() const {
    return !is_equal() && (a.verdict == Verdict::kWrong || b.verdict == Verdict::kWrong);
  }
};

struct NodesComparison {
  std::vector<uint32_t> nodes;  // ascending
  std::vector<ResultComparison> results;
  size_t delegated_a = 0, delegated_b = 0;  // nodes that plugins ran
  std::string obstacle;                     // not empty: why the nodes were not compared, or not judged
  std::optional<Error> failure;             // of a comparator of the user
  bool has_death = false;                   // a plugin's process ended, so a side has no results

  const ResultComparison* find_wrong() const;
};

struct CompareOptions {
  std::vector<Comparator> comparators;
  uint64_t seed = 0;  // of the reference's small changes
};

class Comparison {
 public:
  Comparison(const Model& model, const Side& a, const Side& b, CompareOptions options)
      : model_(model), a_(a), b_(b), options_(std::move(options)) {}

  const Model& model() const { return model_; }
  const Side& a() const { return a_; }
  const Side& b() const { return b_; }

  // Never fails: what cannot be compared is an obstacle. Ascending nodes.
  NodesComparison compare(const std::vector<uint32_t>& nodes) const;
  // True if only the outputs of the whole method can be compared.
  bool has_recorded_side() const { return a_.is_recorded() || b_.is_recorded(); }
  bool has_archive_side() const { return has(SideKind::kArchive); }
  // True if one side has real numbers where the model has codes.
  bool has_real_side() const { return has(SideKind::kReal) || has(SideKind::kArchive); }
  bool has_outputs_only() const { return a_.kind() == SideKind::kOutputs || b_.kind() == SideKind::kOutputs; }

 private:
  bool has(SideKind kind) const { return a_.kind() == kind || b_.kind() == kind; }
  Result<Side::Run> run_side(const Side& side, const NodesComparison& of,
                             const std::vector<const TensorData*>& inputs) const;
  Result<Side::Run> take_outputs(const Side& side, const NodesComparison& of) const;
  Status run_sides(NodesComparison& out, const std::vector<const TensorData*>& inputs) const;
  // `has_roundings`: with the rounding of activations to codes.
  Result<std::vector<conformance::ExpectedTensor>> expect(bool has_roundings,
                                                          const std::vector<uint32_t>& nodes,
                                                          const std::vector<const TensorData*>& inputs,
                                                          const Side& side) const;
  // `order`: values of the reference's results.
  void judge(NodesComparison& out, const std::vector<const TensorData*>& inputs,
             const std::vector<ir::ValueId>& order) const;

  const Model& model_;
  const Side& a_;
  const Side& b_;
  CompareOptions options_;
};

// Returns the image of nodes for the sizes of the run, with their constants inside and one output: for a file that
// repeats a failure.
[[nodiscard]] Result<graph::ImageBytes> make_image(const Model& model, const std::vector<uint32_t>& nodes,
                                                   ir::ValueId output);

}  // namespace etb::diff
