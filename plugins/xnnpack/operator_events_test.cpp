// SPDX-License-Identifier: Apache-2.0
// Tests the match from XNNPACK's operators to payload nodes where names are ambiguous: all unary operators
// have one name.
#include "plugins/xnnpack/payload/writer.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

class XnnpackOperatorEvents : public XnnpackCompile {
 protected:
  void SetUp() override {
    XnnpackCompile::SetUp();
    payload_.constants.emplace_back();
    value({kSizes, kSizes});
    payload_.values[0].external_id = 0;
    payload_.values[0].is_input = true;
    payload_.input_ids = {0};
  }

  static constexpr uint32_t kSizes = 2;

  uint32_t value(std::vector<uint32_t> sizes) {
    XnnValue made;
    made.id = static_cast<uint32_t>(payload_.values.size());
    made.datatype = XnnDatatype::kFloat32;
    made.sizes = std::move(sizes);
    payload_.values.push_back(made);
    return made.id;
  }
  uint32_t constant(std::vector<uint32_t> sizes, size_t numel) {
    const uint32_t id = value(std::move(sizes));
    const std::string key = "c" + std::to_string(id);
    payload_.constants.push_back({key, {}});
    payload_.values[id].constant_index = static_cast<uint32_t>(payload_.constants.size() - 1);
    blobs_[key].resize(numel * sizeof(float));
    return id;
  }
  // Adds a node on [2, 2] values.
  uint32_t node(XnnOperator op, std::vector<uint32_t> inputs, bool is_clamped = false) {
    XnnNode made;
    made.op = op;
    for (const uint32_t id : inputs) made.inputs[made.input_count++] = id;
    made.outputs[made.output_count++] = value({kSizes, kSizes});
    made.is_clamped = is_clamped || op == XnnOperator::kClamp;
    made.clamp_min = -1;
    made.clamp_max = 1;
    payload_.nodes.push_back(made);
    return made.outputs[0];
  }
  // Returns the operators that ran when these values are the outputs.
  std::vector<std::string> events(const std::vector<uint32_t>& outputs) {
    std::vector<TestTensor> results(outputs.size(), TestTensor{{kSizes, kSizes}, std::vector<float>(4)});
    std::vector<etb_tensor> raw;
    for (size_t i = 0; i < outputs.size(); ++i) {
      payload_.values[outputs[i]].external_id = static_cast<uint32_t>(1 + i);
      payload_.values[outputs[i]].is_output = true;
      raw.push_back(to_c(results[i]));
      raw.back().role = ETB_ROLE_OUTPUT;
    }
    payload_.output_ids = outputs;
    std::vector<std::string> names;
    const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &names,
                                 [](void* ctx, const etb_event* event) -> etb_status {
                                   static_cast<std::vector<std::string>*>(ctx)->push_back(event->name);
                                   return ETB_OK;
                                 }};
    events_ = &sink;
    TestTensor input{{kSizes, kSizes}, {1, 2, 3, 4}};
    const etb_tensor raw_input = to_c(input);
    run(write_xnnpack_payload(payload_), blobs_, {&raw_input, 1}, raw);
    events_ = nullptr;
    return names;
  }

  XnnPayload payload_;
  Blobs blobs_;
};

TEST_F(XnnpackOperatorEvents, NodesThatNoOutputNeedsAreNotTakenForOthers) {
  node(XnnOperator::kAbs, {0});
  EXPECT_THAT(events({node(XnnOperator::kNegate, {0})}), ElementsAre("Negate #1"));
}

TEST_F(XnnpackOperatorEvents, AClampThatItsProducerDoesIsNotTakenForTheNextUnary) {
  const uint32_t product =
      node(XnnOperator::kFullyConnected, {0, constant({kSizes, kSizes}, 4), kXnnNoValue});
  const uint32_t clamped = node(XnnOperator::kClamp, {product});
  EXPECT_THAT(events({node(XnnOperator::kAbs, {clamped})}), ElementsAre("FullyConnected #0", "Abs #2"));
}

TEST_F(XnnpackOperatorEvents, AClampThatRunsAloneHasItsEvent) {
  const uint32_t product =
      node(XnnOperator::kFullyConnected, {0, constant({kSizes, kSizes}, 4), kXnnNoValue});
  const uint32_t clamped = node(XnnOperator::kClamp, {product});
  const uint32_t absolute = node(XnnOperator::kAbs, {clamped});
  EXPECT_THAT(events({node(XnnOperator::kAdd, {absolute, product})}),
              ElementsAre("FullyConnected #0", "Clamp #1", "Abs #2", "Add #3"));
}

TEST_F(XnnpackOperatorEvents, TheClampOfASumBelongsToIt) {
  const uint32_t sum = node(XnnOperator::kAdd, {0, 0}, true);
  EXPECT_THAT(events({node(XnnOperator::kAbs, {sum})}), ElementsAre("Add #0", "Add #0", "Abs #1"));
}

}  // namespace
}  // namespace etb::xnnpack
