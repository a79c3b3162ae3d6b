// SPDX-License-Identifier: Apache-2.0
// Compares attention with sums of float64 on the host, and with its nodes without fusion where numbers are not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "plugins/gpu/testing/attention_graph.hpp"
#include "plugins/gpu/testing/float_run.hpp"

namespace etb::gpu {
namespace {

constexpr uint32_t kSeed = 20261127;

using Sizes = std::vector<int64_t>;

size_t numel(const Sizes& sizes) {
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

// The inputs of a run. Sizes are those of the case, or smaller.
struct Inputs {
  AttentionCase with;
  Sizes mask_sizes;
  std::vector<float> q, k, v, mask;

  Inputs(const AttentionCase& sizes, const AttentionCase& bounds, std::mt19937& random) : with(sizes) {
    const auto fill = [&](std::vector<float>& numbers, size_t count, float most) {
      numbers.resize(count);
      for (float& each : numbers) each = most * (static_cast<float>(random() >> 8) / 8388608.0f - 1);
    };
    const size_t matrices = size_t{with.batch} * with.heads, own = matrices / with.group;
    fill(q, matrices * with.rows * with.depth, 2);
    fill(k, own * with.keys * with.depth, 2);
    fill(v, own * with.keys * with.columns, 1);
    const std::array<uint32_t, 4> whole = {with.batch, with.heads, with.rows, with.keys};
    for (size_t d = 0; d < bounds.mask.size(); ++d)
      mask_sizes.push_back(bounds.mask[d] == 1 ? 1 : whole[4 - bounds.mask.size() + d]);
    if (!mask_sizes.empty()) fill(mask, numel(mask_sizes), 3);
    if (with.masked_by != MaskedBy::kSum)
      for (float& each : mask) each = each > 1 ? 1.0f : 0.0f;  // bools
  }

  void pass_to(FloatRun& run) const {
    const int64_t own = with.heads / with.group;
    run.set_input(0, {with.batch, with.heads, with.rows, with.depth}, q);
    run.set_input(1, {with.batch, own, with.keys, with.depth}, k);
    run.set_input(2, {with.batch, own, with.keys, with.columns}, v);
    if (!mask_sizes.empty()) run.set_input(3, mask_sizes, mask);
  }
  double mask_at(uint32_t batch, uint32_t head, uint32_t row, uint32_t key) const {
    if (mask_sizes.empty()) return 0;
    const std::array<uint32_t, 4> index = {batch, head, row, key};
    size_t at = 0;
    for (size_t d = 0; d < mask_sizes.size(); ++d)
      at = at * static_cast<size_t>(mask_sizes[d]) +
           (mask_sizes[d] == 1 ? 0 : index[4 - mask_sizes.size() + d]);
    return mask[at];
  }
  bool is_hidden(uint32_t batch, uint32_t head, uint32_t row, uint32_t key) const {
    if (mask_sizes.empty() || with.masked_by == MaskedBy::kSum) return false;
    return (mask_at(batch, head, row, key) != 0) == (with.masked_by == MaskedBy::kSetNumber);
  }
};

// A row of y and how far off float32 may be.
struct Row {
  std::vector<double> numbers, tolerances;
};

Row reference(const Inputs& in, uint32_t batch, uint32_t head, uint32_t row) {
  constexpr double kUnit = 0x1p-23;  // an ulp at 1, twice what a rounding may be off
  const AttentionCase& with = in.with;
  const double scale =
      with.scaled == ScaledWhere::kOperands ? double{with.scale} * double{with.scale} : double{with.scale};
  const size_t matrix = size_t{batch} * with.heads + head, own = matrix / with.group;
  std::vector<double> scores(with.keys);
  double largest = -INFINITY, most_off = 0;
  for (uint32_t j = 0; j < with.keys; ++j) {
    double sum = 0, magnitude = 0;
    for (uint32_t d = 0; d < with.depth; ++d) {
      const double product = double{in.q[(matrix * with.rows + row) * with.depth + d]} *
                             double{in.k[(own * with.keys + j) * with.depth + d]} * scale;
      sum += product;
      magnitude += std::abs(product);
    }
    const bool is_hidden = in.is_hidden(batch, head, row, j);
    const double masked = with.masked_by == MaskedBy::kSum ? in.mask_at(batch, head, row, j) : 0;
    scores[j] = is_hidden ? double{with.fill} : sum + masked;
    largest = std::max(largest, scores[j]);
    if (std::isfinite(masked) && !is_hidden)
      most_off = std::max(most_off, kUnit * (magnitude * (with.depth + 4) + std::abs(masked)));
  }
  Row made{std::vector<double>(with.columns, with.has_guard ? 0 : NAN), std::vector<double>(with.columns, 0)};
  if (largest == -INFINITY) return made;
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  for (uint32_t c = 0; c < with.columns; ++c) {
    double sum = 0, magnitude = 0;
    for (uint32_t j = 0; j < with.keys; ++j) {
      const double product = scores[j] / total * double{in.v[(own * with.keys + j) * with.columns + c]};
      sum += product;
      magnitude += std::abs(product);
    }
    made.numbers[c] = sum;
    // Weights are off by those of two scores; then there are the roundings of exp, of both sums and of the quotient.
    made.tolerances[c] = magnitude * (2 * most_off + kUnit * (with.keys + 40));
  }
  return made;
}

void expect_right(const Inputs& in, const std::vector<float>& found) {
  const AttentionCase& with = in.with;
  ASSERT_GE(found.size(), size_t{with.batch} * with.heads * with.rows * with.columns);
  size_t at = 0;
  for (uint32_t batch = 0; batch < with.batch; ++batch) {
    for (uint32_t head = 0; head < with.heads; ++head) {
      for (uint32_t row = 0; row < with.rows; ++row) {
        const Row expected = reference(in, batch, head, row);
        for (uint32_t c = 0; c < with.columns; ++c, ++at) {
          if (std::isnan(expected.numbers[c])) {
            ASSERT_TRUE(std::isnan(found[at])) << "row " << row << " column " << c << ": " << found[at];
          } else {
            ASSERT_NEAR(found[at], expected.numbers[c], expected.tolerances[c])
                << "batch " << batch << " head " << head << " row " << row << " column " << c;
          }
        }
      }
    }
  }
}

Shape output_of(const AttentionCase& with) {
  return shape_of({with.batch, with.heads, with.rows, with.columns});
}

// Options of a delegate.
struct Way {
  const char *kernels, *fusion;
};
class AttentionOfGpus : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, AttentionOfGpus, testing::Values(Way{"auto", "on"}, Way{"groups", "all"}),
                         [](const auto& way) { return std::string(way.param.kernels); });

const AttentionCase kCases[] = {
    {},
    {.batch = 2, .rows = 16, .keys = 32, .depth = 16, .columns = 32, .mask = {16, 32}},
    {.batch = 3, .rows = 9, .keys = 33, .depth = 12, .columns = 20, .mask = {3, 1, 1, 33}},
    {.heads = 3, .rows = 17, .keys = 70, .depth = 64, .columns = 64, .mask = {3, 17, 70}, .has_guard = false},
    {.rows = 1, .keys = 150, .depth = 64, .columns = 64, .mask = {1, 1, 1, 150}},
    {.rows = 40, .keys = 5, .depth = 6, .columns = 10, .scaled = ScaledWhere::kScores, .is_mask_first = true},
    {.rows = 21, .keys = 64, .depth = 5, .columns = 7, .mask = {21, 1}, .scaled = ScaledWhere::kDivided},
    {.heads = 1,
     .rows = 11,
     .keys = 40,
     .depth = 128,
     .columns = 128,
     .mask = {11, 40},
     .is_mask_first = true},
    {.rows = 3, .keys = 100, .depth = 8, .columns = 68, .has_guard = false},
    {.batch = 2, .rows = 2, .keys = 1, .depth = 1, .columns = 1, .mask = {2, 2, 2, 1}},
    {.rows = 9, .keys = 40, .mask = {9, 40}, .has_guard = false, .masked_by = MaskedBy::kSetNumber},
    {.batch = 2,
     .rows = 6,
     .keys = 35,
     .columns = 12,
     .mask = {2, 2, 6, 35},
     .masked_by = MaskedBy::kUnsetNumber,
     .fill = -7},
    {.batch = 3,
     .rows = 2,
     .keys = 70,
     .depth = 6,
     .mask = {3, 1, 1, 70},
     .scaled = ScaledWhere::kDivided,
     .masked_by = MaskedBy::kUnsetNumber},
    {.rows = 17, .keys = 20, .mask = {17, 1}, .masked_by = MaskedBy::kSetNumber, .fill = 5},
    {.batch = 2, .heads = 6, .rows = 9, .keys = 40, .columns = 12, .group = 3},
    {.batch = 3,
     .heads = 4,
     .rows = 1,
     .keys = 70,
     .depth = 64,
     .columns = 64,
     .mask = {3, 4, 1, 70},
     .masked_by = MaskedBy::kSetNumber,
     .group = 2},
    {.heads = 4, .rows = 19, .keys = 33, .depth = 5, .columns = 7, .mask = {4, 19, 33}, .group = 4},
    {.heads = 8, .rows = 8, .mask = {8, 7}, .scaled = ScaledWhere::kScores, .group = 2},
};

TEST_P(AttentionOfGpus, IsThatOfTheHost) {
  std::mt19937 random(kSeed);
  for (const AttentionCase& bounds : kCases) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", case " + std::to_string(&bounds - kCases));
    FloatRun run(attention_graph(bounds), output_of(bounds), GetParam().kernels, GetParam().fusion);
    if (!run.is_ready()) GTEST_SKIP() << run.error();
    for (uint32_t round = 0; round < 4; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      AttentionCase sizes = bounds;
      for (uint32_t* const size :
           {&sizes.batch, &sizes.heads, &sizes.rows, &sizes.keys, &sizes.depth, &sizes.columns})
        if (round > 0) *size = 1 + static_cast<uint32_t>(random() % *size);
      sizes.heads = (sizes.heads + sizes.group - 1) / sizes.group * sizes.group;
      const Inputs in(sizes, bounds, random);
      in.pass_to(run);
      ASSERT_TRUE(run.run()) << run.error();
      expect_right(in, run.output());
      if (HasFatalFailure()) return;
    }
  }
}

// A whole row, the keys of the first blocks, and those of the last ones.
TEST_P(AttentionOfGpus, MaskedRowsAreZeroOrNan) {
  std::mt19937 random(kSeed);
  for (const bool has_guard : {true, false}) {
    SCOPED_TRACE(has_guard);
    const AttentionCase with = {
        .rows = 10, .keys = 110, .depth = 16, .columns = 16, .mask = {10, 110}, .has_guard = has_guard};
    FloatRun run(attention_graph(with), output_of(with), GetParam().kernels, GetParam().fusion);
    if (!run.is_ready()) GTEST_SKIP() << run.error();
    Inputs in(with, with, random);
    const auto hide = [&](uint32_t row, uint32_t from, uint32_t to) {
      std::fill(in.mask.begin() + row * 110 + from, in.mask.begin() + row * 110 + to, -INFINITY);
    };
    hide(0, 0, 110);
    hide(3, 0, 64);
    hide(4, 0, 109);
    hide(5, 1, 110);
    hide(8, 32, 70);
    hide(9, 0, 110);
    in.pass_to(run);
    ASSERT_TRUE(run.run()) << run.error();
    expect_right(in, run.output());
  }
}

TEST_P(AttentionOfGpus, RowsThatAConditionHidesAreZeroOrNanOrMeans) {
  std::mt19937 random(kSeed);
  for (const bool has_guard : {true, false}) {
    for (const float fill : {-INFINITY, -1e9f}) {
      SCOPED_TRACE(std::to_string(has_guard) + " " + std::to_string(fill));
      const AttentionCase with = {.heads = 4,
                                  .rows = 10,
                                  .keys = 110,
                                  .depth = 16,
                                  .columns = 16,
                                  .mask = {10, 110},
                                  .has_guard = has_guard,
                                  .masked_by = MaskedBy::kUnsetNumber,
                                  .fill = fill,
                                  .group = 2};
      FloatRun run(attention_graph(with), output_of(with), GetParam().kernels, GetParam().fusion);
      if (!run.is_ready()) GTEST_SKIP() << run.error();
      Inputs in(with, with, random);
      for (const uint32_t row : {0u, 4u, 9u})
        std::fill(in.mask.begin() + row * 110, in.mask.begin() + (row + 1) * 110, 0.0f);
      in.pass_to(run);
      ASSERT_TRUE(run.run()) << run.error();
      expect_right(in, run.output());
    }
  }
}

// NaN and infinities in one of the operands, few enough that other rows have numbers.
TEST_P(AttentionOfGpus, NumbersThatAreNotFiniteGoWhereTheirNodesTakeThem) {
  std::mt19937 random(kSeed);
  size_t finite = 0, others = 0;
  struct Kind {
    bool has_guard;
    MaskedBy masked_by;
    uint32_t group;
  };
  for (const Kind& kind : {Kind{true, MaskedBy::kSum, 1}, Kind{false, MaskedBy::kSum, 1},
                           Kind{false, MaskedBy::kSetNumber, 1}, Kind{true, MaskedBy::kUnsetNumber, 3}}) {
    const AttentionCase with = {.heads = 6,
                                .rows = 9,
                                .keys = 45,
                                .depth = 8,
                                .columns = 12,
                                .mask = {6, 9, 45},
                                .has_guard = kind.has_guard,
                                .masked_by = kind.masked_by,
                                .group = kind.group};
    const GpuGraph graph = attention_graph(with);
    FloatRun fused(graph, output_of(with), GetParam().kernels, GetParam().fusion),
        nodes(graph, output_of(with), "auto", "off");
    if (!fused.is_ready()) GTEST_SKIP() << fused.error();
    for (uint32_t round = 0; round < 12; ++round) {
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
      Inputs in(with, with, random);
      std::vector<float>* const operands[] = {&in.q, &in.k, &in.v, &in.mask};
      // A condition has no such numbers.
      std::vector<float>& changed = *operands[round % (kind.masked_by == MaskedBy::kSum ? 4 : 3)];
      static constexpr float kNumbers[] = {NAN, INFINITY, -INFINITY};
      for (uint32_t i = 0; i < 3; ++i) changed[random() % changed.size()] = kNumbers[random() % 3];
      in.pass_to(fused);
      in.pass_to(nodes);
      ASSERT_TRUE(fused.run()) << fused.error();
      ASSERT_TRUE(nodes.run()) << nodes.error();
      for (size_t i = 0; i < nodes.output().size(); ++i) {
        const float expected = nodes.output()[i], found = fused.output()[i];
        std::isfinite(expected) ? ++finite : ++others;
        if (std::isfinite(expected)) {
          ASSERT_NEAR(found, expected, 1e-5f) << i;
        } else {
          ASSERT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected)
              << i << ": " << found << ", without fusion " << expected;
        }
      }
    }
  }
  EXPECT_GT(finite, 1000u);
  EXPECT_GT(others, 500u);
}

}  // namespace
}  // namespace etb::gpu
