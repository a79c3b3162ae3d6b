// SPDX-License-Identifier: Apache-2.0
// Tests facts from a hostile process: damaged facts are rejected, and impossible ones fail the case.
#include "conformance/subject/case_facts.hpp"

#include <gtest/gtest.h>

#include "conformance/subject/assess.hpp"

namespace etb::conformance {
namespace {

// A case with one negation, and the facts of a correct plugin.
struct Example {
  BuiltCase built;
  CaseFacts facts;

  Example() {
    const Case* const item = find_case("op.neg.f32.7.stat");
    built = *item->build(item->name);
    facts.first.claims = {{0, 0}};
    facts.second = facts.first;
    facts.dry_status = ETB_NOT_IMPLEMENTED;
    facts.has_compiled = true;
    RunFacts run;
    TensorData& output = run.outputs.emplace_back(built.runs[0][0]);
    output.shape.dim_order.clear();
    for (int64_t i = 0; i < output.shape.numel(); ++i)
      store_element(ETB_DTYPE_FLOAT32, output.bytes.data(), i,
                    -load_element(ETB_DTYPE_FLOAT32, output.bytes.data(), i));
    facts.runs = {{run, run}};
  }

  Outcome judged() const {
    Outcome out;
    out.name = "op.neg.f32.7.stat";
    assess(built, facts, PrecisionContract{}, out);
    return out;
  }
  std::string first_finding() const {
    const Outcome out = judged();
    return out.findings.empty() ? "" : out.findings[0].check;
  }
};

TEST(CaseFacts, AreTheSameAfterTheWire) {
  const Example example;
  EXPECT_EQ(example.judged().state, State::kPass);
  const std::vector<std::byte> bytes = encode_facts(example.facts);
  const std::optional<CaseFacts> read = decode_facts(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode_facts(*read), bytes);
  const Result<BuiltCase> built = decode_case(encode_case(example.built));
  ASSERT_TRUE(built);
  EXPECT_EQ(encode_case(*built), encode_case(example.built));
}

TEST(CaseFacts, DamagedBytesAreRefusedOrRead) {
  const std::vector<std::byte> bytes = encode_facts(Example().facts);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_facts({bytes.data(), length})) << length;
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] = ~damaged[at];
    refused += decode_facts(damaged) ? 0 : 1;
  }
  EXPECT_GT(refused, 20u);  // every length and count
}

TEST(CaseFacts, FactsThatNoPluginCouldAnswerFail) {
  Example none;
  none.facts.runs.clear();
  EXPECT_EQ(none.first_finding(), kTampering);
  Example fewer;
  fewer.facts.runs[0][1].outputs.clear();
  EXPECT_EQ(fewer.first_finding(), kTampering);
  Example shorter;
  shorter.facts.runs[0][0].outputs[0].bytes.resize(3);
  EXPECT_EQ(shorter.first_finding(), kTampering);
  Example other;
  other.facts.runs[0][0].outputs[0].shape.dtype = ETB_DTYPE_FLOAT64;
  EXPECT_EQ(other.first_finding(), kTampering);
  Example silent;
  silent.facts.has_compiled = false;
  EXPECT_EQ(silent.first_finding(), kTampering);
  Example larger;
  larger.facts.runs[0][0].outputs[0].shape.sizes = {1000000000};
  EXPECT_EQ(larger.first_finding(), "op.final-sizes");
}

TEST(CaseFacts, TheSecondRunIsJudgedToo) {
  Example wrong;
  wrong.facts.runs[0][1].outputs[0].bytes[5] ^= std::byte{1};
  EXPECT_EQ(wrong.first_finding(), "det.same-input-same-output");
  Example shorter;
  shorter.facts.runs[0][1].outputs[0].bytes.resize(4);
  EXPECT_EQ(shorter.first_finding(), "det.same-input-same-output");
}

}  // namespace
}  // namespace etb::conformance
