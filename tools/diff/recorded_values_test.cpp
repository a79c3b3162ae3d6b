// SPDX-License-Identifier: Apache-2.0
// A profile with values is one side: made here from the values of a run node by node, right and with one changed.
#include "tools/diff/recorded_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "api/format/etdump.hpp"
#include "api/format/output_file.hpp"
#include "host/testing/scratch_dir.hpp"
#include "partitioner_sdk/inspector/record_index.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "tools/run/method_inputs.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::diff {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using tools::cli;

const std::string kDigits = std::string(ETB_SOURCE_DIR) + "/docs/examples/digits/digits.pt2";

// Files of one run of the digits model.
class Recording {
 public:
  Recording() {
    EXPECT_EQ(cli({"compile", kDigits, "-o", path("digits.pte"), "--etrecord", path("digits.etrecord")}).exit,
              0);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  // Writes the tensors that the instructions compute. `change` may alter the one of the op.
  void write(const std::string& op, const std::function<void(std::span<float>)>& change) {
    auto model = Model::open(kDigits, {});
    ASSERT_TRUE(model) << model.error().message;
    std::unique_ptr<tools::MethodInputs> inputs;
    const Status ran = model->run([&](const host::MethodMeta& meta) -> Result<std::vector<host::EValue>> {
      inputs = std::make_unique<tools::MethodInputs>(meta);
      if (Status filled = inputs->fill_random(7); !filled) return tl::make_unexpected(filled.error());
      return std::vector<host::EValue>(inputs->values().begin(), inputs->values().end());
    });
    ASSERT_TRUE(ran) << ran.error().message;
    const auto record = record::read_record_file(path("digits.etrecord"));
    ASSERT_TRUE(record) << record.error().message;
    format::EtdumpBlock block;
    block.name = "Execute";
    std::string buffer;
    for (const auto& [instruction, handles] : record->find_method("forward")->handles)
      for (uint32_t node = 0; node < model->node_count(); ++node) {
        const ir::Node& one = model->module().main().nodes[node];
        if (handles != record::Handles{one.debug_handle}) continue;
        TensorData value = *model->find_value(one.outputs[0]);
        if (model->op_of(node) == op)
          change({reinterpret_cast<float*>(value.bytes.data()), value.bytes.size() / sizeof(float)});
        add_event(block, instruction, inspector::base_of_op(model->op_of(node)));
        add(block, instruction, value, buffer);
        break;
      }
    ASSERT_GT(block.values.size(), 3u);
    const auto file = format::write_etdump({&block, 1});
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(format::write_file(path("run.etdp"), std::span<const std::byte>(*file)));
    ASSERT_TRUE(format::write_file(path("run.bin"), buffer));
  }

  tools::CliRun diff(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args{"diff",
                                  "eager",
                                  path("run.etdp"),
                                  "--model",
                                  kDigits,
                                  "--random",
                                  "7",
                                  "--debug-buffer",
                                  path("run.bin"),
                                  "--etrecord",
                                  path("digits.etrecord")};
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  }

 private:
  static void add_event(format::EtdumpBlock& block, uint32_t instruction, const std::string& op) {
    format::EtdumpEvent event;
    event.name = "native_call_" + op + ".out";
    event.chain_index = 0;
    event.instruction_index = static_cast<int32_t>(instruction);
    event.position = static_cast<uint32_t>(block.events.size() + block.values.size());
    block.events.push_back(std::move(event));
  }

  static void add(format::EtdumpBlock& block, uint32_t instruction, const TensorData& value,
                  std::string& buffer) {
    format::EtdumpTensor tensor;
    tensor.dtype = static_cast<uint8_t>(value.shape.dtype);
    tensor.sizes = value.shape.sizes;
    tensor.strides.assign(tensor.sizes.size(), 1);
    for (size_t i = tensor.sizes.size(); i-- > 1;)
      tensor.strides[i - 1] = tensor.strides[i] * tensor.sizes[i];
    buffer.resize((buffer.size() + 63) / 64 * 64);
    tensor.offset = static_cast<int64_t>(buffer.size());
    buffer.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
    format::EtdumpDebugEvent event;
    event.chain_index = 0;
    event.instruction_index = static_cast<int32_t>(instruction);
    event.value.kind = format::EtdumpValueKind::kTensor;
    event.value.tensors = {tensor};
    event.position = static_cast<uint32_t>(block.events.size() + block.values.size());
    block.values.push_back(std::move(event));
  }

  host::ScratchDir folder_;
};

TEST(RecordedValues, OfARightRunDoNotDiverge) {
  Recording recording;
  recording.write("", [](std::span<float>) {});
  const tools::CliRun run = recording.diff();
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("run.etdp (B)"));
}

TEST(RecordedValues, LocateTheNodesOfAWrongTensor) {
  Recording recording;
  recording.write("aten.relu.default", [](std::span<float> values) { values.front() += 1; });
  const tools::CliRun run = recording.diff({"--json"});
  ASSERT_EQ(run.exit, 1) << run.out << run.err;
  const json found = json::parse(run.out)["divergences"][0];
  EXPECT_EQ(found["nodes"].back()["op"], "aten.relu.default") << found;
  EXPECT_EQ(found["result"]["a"]["verdict"], "right");
  EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
}

TEST(RecordedValues, ADamagedFileIsRejectedWithItsName) {
  Recording recording;
  recording.write("", [](std::span<float>) {});
  ASSERT_TRUE(format::write_file(recording.path("run.bin"), std::string_view("short")));
  const tools::CliRun buffer = recording.diff();
  EXPECT_EQ(buffer.exit, 4) << buffer.err;
  EXPECT_THAT(buffer.err, HasSubstr("run.bin"));
  ASSERT_TRUE(format::write_file(recording.path("digits.etrecord"), std::string_view("no record")));
  const tools::CliRun record = recording.diff();
  EXPECT_NE(record.exit, 0);
  EXPECT_THAT(record.err, HasSubstr("digits.etrecord"));
  const tools::CliRun none = cli({"diff", "eager", recording.path("run.etdp"), "--model", kDigits});
  EXPECT_EQ(none.exit, 2) << none.err;
  EXPECT_THAT(none.err, HasSubstr("--debug-buffer"));
}

// The files that `run` writes, not files made here.
class CommandRun {
 public:
  explicit CommandRun(const std::string& model, const std::vector<std::string>& more = {}) : model_(model) {
    std::vector<std::string> compile{"compile", model, "-o", path("m.pte"), "--etrecord", path("m.etrecord")};
    compile.insert(compile.end(), more.begin(), more.end());
    EXPECT_EQ(cli(compile).exit, 0);
    const tools::CliRun run = cli({"run", path("m.pte"), "--random", "7", "--profile", path("run.etdp"),
                                   "--debug-buffer", path("run.bin"), "--print-output", "none"});
    EXPECT_EQ(run.exit, 0) << run.err;
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  tools::CliRun diff(const std::string& seed, const std::vector<std::string>& more) const {
    std::vector<std::string> args{"diff",     "eager", path("run.etdp"), "--model",       model_,
                                  "--random", seed,    "--debug-buffer", path("run.bin"), "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  }

 private:
  std::string model_;
  host::ScratchDir folder_;
};

// Results that both sides have right.
size_t count_right(const json& report) {
  size_t out = 0;
  for (const json& block : report["blocks"])
    for (const json& result : block["results"])
      out += result["a"]["verdict"] == "right" && result["b"]["verdict"] == "right" ? 1 : 0;
  return out;
}

TEST(RecordedValues, OfTheRunCommandAreThoseOfTheModel) {
  const std::pair<std::string, size_t> networks[] = {{"docs/examples/digits/digits.pt2", 9},
                                                     {"tests/fixtures/zoo/lstm.pt2", 403},
                                                     {"tests/fixtures/quantised_pairs/net_q8.pt2", 22}};
  for (const auto& [name, count] : networks) {
    SCOPED_TRACE(name);
    const CommandRun run(std::string(ETB_SOURCE_DIR) + "/" + name);
    const tools::CliRun with = run.diff("7", {"--etrecord", run.path("m.etrecord")});
    ASSERT_EQ(with.exit, 0) << with.out.substr(0, 2000) << with.err;
    EXPECT_EQ(count_right(json::parse(with.out)), count);
    const tools::CliRun without = run.diff("7", {});
    ASSERT_EQ(without.exit, 0) << without.out.substr(0, 2000) << without.err;
    EXPECT_EQ(count_right(json::parse(without.out)), count);
  }
}

TEST(RecordedValues, OfOtherInputsDivergeAtTheFirstNode) {
  const CommandRun run(kDigits);
  const tools::CliRun found = run.diff("8", {"--etrecord", run.path("m.etrecord")});
  ASSERT_EQ(found.exit, 1) << found.err;
  EXPECT_EQ(json::parse(found.out)["divergences"][0]["nodes"][0]["index"], 0);
}

// The program was compiled from a network whose third weight is another one.
TEST(RecordedValues, OfTheRunCommandLocateAWrongNode) {
  const std::string pairs = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/quantised_pairs/";
  const CommandRun run(pairs + "net_q8_weight.pt2");
  const tools::CliRun found =
      cli({"diff", "eager", run.path("run.etdp"), "--model", pairs + "net_q8.pt2", "--random", "7",
           "--debug-buffer", run.path("run.bin"), "--etrecord", run.path("m.etrecord"), "--json"});
  ASSERT_EQ(found.exit, 1) << found.err;
  const json divergence = json::parse(found.out)["divergences"][0];
  EXPECT_EQ(divergence["result"]["node"]["name"], "conv2d_2") << divergence;
  EXPECT_THAT(divergence["instruction"].get<std::string>(), HasSubstr("native_call_convolution"));
}

}  // namespace
}  // namespace etb::diff
