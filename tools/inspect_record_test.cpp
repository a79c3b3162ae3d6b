// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend inspect` with records of compilations, of this compiler and of the official one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "host/testing/scratch_dir.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/saved_values.hpp"
#include "tools/run/npy.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::ScratchDir;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";
const std::string kOfficial = kFixtures + "etrecord/";

// A program, the record of its compilation, and a profile of some runs.
class Recorded {
 public:
  Recorded(const std::string& archive, const std::string& backend) {
    std::vector<std::string> compile = {"compile", kFixtures + archive, "-o",
                                        program(), "--etrecord",        record()};
    if (!backend.empty()) compile.insert(compile.begin() + 2, {"-b", backend});
    const CliRun made = plugin_cli(compile);
    EXPECT_EQ(made.exit, 0) << made.err;
    const CliRun run =
        plugin_cli({"run", program(), "--repeat", "5", "--profile", profile(), "--print-output", "none"});
    EXPECT_EQ(run.exit, 0) << run.err;
  }
  std::string program() const { return dir_.path("m.pte"); }
  std::string record() const { return dir_.path("m.etrecord"); }
  std::string profile() const { return dir_.path("run.etdp"); }

  Json inspect(const std::string& by) const {
    const CliRun run = cli({"inspect", profile(), "--etrecord", record(), "--by", by, "--json"});
    EXPECT_EQ(run.exit, 0) << run.err;
    return run.exit == 0 ? Json::parse(run.out) : Json();
  }

 private:
  static CliRun plugin_cli(std::vector<std::string> words) {
    words.insert(words.begin(), {"--plugin-path", ETB_PLUGIN_DIR});
    return cli(words);
  }
  ScratchDir dir_;
};

bool has_xnnpack() { return std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/xnnpack.json"); }

// Every event inside of a delegate is joined to a node with its source.
void expect_joined(const Json& report, const std::string& backend) {
  size_t count = 0;
  for (const Json& row : report["rows"]) {
    if (!row["inside_delegate"].get<bool>()) continue;
    ++count;
    EXPECT_EQ(row["backend"], backend) << row["name"];
    ASSERT_TRUE(row.contains("nodes")) << row["name"];
    EXPECT_NE(row["nodes"][0]["line"], 0) << row["name"];
  }
  EXPECT_GT(count, 0u);
}

// Memory of plugins that `run --profile-memory` recorded, in bytes by allocator.
std::map<std::string, uint64_t> memory_of(const std::string& archive, const std::string& backend) {
  const Recorded made(archive, backend);
  const CliRun run = cli({"--plugin-path", ETB_PLUGIN_DIR, "run", made.program(), "--profile", made.profile(),
                          "--profile-memory", "--print-output", "none"});
  EXPECT_EQ(run.exit, 0) << run.err;
  std::map<std::string, uint64_t> out;
  const Json report = Json::parse(cli({"inspect", made.profile(), "--json"}).out);
  for (const Json& row : report["allocators"]) out[row["name"]] = row["nbytes"];
  return out;
}

TEST(InspectRecord, MemoryOfPluginsIsRecordedByAllocator) {
  if (!has_xnnpack()) GTEST_SKIP() << "built without XNNPACK";
  const auto memory = memory_of("archives/lenet.pt2", "xnnpack");
  ASSERT_EQ(memory.count("XnnpackBackend resident"), 1u);
  // The filters and matrices of the network. Packing pads them for the processor's vectors.
  constexpr uint64_t kWeightNbytes = 600 + 4800 + 768 + 960;
  EXPECT_GE(memory.at("XnnpackBackend resident"), kWeightNbytes);
  ASSERT_EQ(memory.count("XnnpackBackend context"), 1u);
  EXPECT_GT(memory.at("XnnpackBackend context"), 0u);
  EXPECT_EQ(memory_of("archives/lenet.pt2", "").count("XnnpackBackend resident"), 0u);
}

TEST(InspectRecord, EventsOfTheTemplatePluginHaveTheirSource) {
  expect_joined(Recorded("archives/add.pt2", "my_npu").inspect("instruction"), "MyNpuBackend");
}

TEST(InspectRecord, EventsOfTheTemplateInCHaveTheirSource) {
  if (!std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/my_npu_c.json"))
    GTEST_SKIP() << "built without the template in C";
  expect_joined(Recorded("archives/add.pt2", "my_npu_c").inspect("instruction"), "MyNpuCBackend");
}

TEST(InspectRecord, EventsOfXnnpackHaveTheirSource) {
  if (!has_xnnpack()) GTEST_SKIP() << "built without the xnnpack plugin";
  const Recorded recorded("archives/lenet.pt2", "xnnpack");
  expect_joined(recorded.inspect("instruction"), "XnnpackBackend");
  const CliRun text = cli({"inspect", recorded.profile(), "--etrecord", recorded.record()});
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("SOURCE"), HasSubstr("DELEGATE_CALL XnnpackBackend"), HasSubstr(".py:")));
}

// A folded batch norm leaves the convolution, whose time it is.
TEST(InspectRecord, AFoldedConvolutionIsJoinedWithItsOwnNode) {
  const Json report = Recorded("zoo/mobilenet_v2.pt2", "").inspect("instruction");
  size_t count = 0;
  for (const Json& row : report["rows"]) {
    if (row["name"] != "convolution.out") continue;
    ++count;
    EXPECT_EQ(row["nodes"][0]["op"], "aten.convolution.default");
  }
  EXPECT_GT(count, 10u);
}

TEST(InspectRecord, LinesAddUpToTheRun) {
  const Recorded recorded("archives/lenet.pt2", "");
  for (const char* by : {"line", "node", "delegate"}) {
    const Json report = recorded.inspect(by);
    double sum = 0;
    for (const Json& row : report["rows"]) sum += row["avg_us"].get<double>();
    EXPECT_NEAR(sum, report["run_avg_us"].get<double>(), 0.01) << by;
  }
  const Json modules = recorded.inspect("module");
  std::set<std::string> names;
  for (const Json& row : modules["rows"]) names.insert(row["name"]);
  EXPECT_THAT(names, Contains("(model)"));
  EXPECT_GT(names.size(), 2u);
}

TEST(InspectRecord, TheRecordAndTheProfileNameTheirProgram) {
  const Recorded recorded("archives/mlp.pt2", "");
  const Json report = recorded.inspect("op");
  EXPECT_EQ(report["program"]["name"], "m.pte");
  const Recorded other("archives/lenet.pt2", "");
  const CliRun wrong = cli({"inspect", recorded.profile(), "--etrecord", other.record()});
  EXPECT_EQ(wrong.exit, 4);
  EXPECT_THAT(wrong.err,
              AllOf(HasSubstr("is a profile of 'm.pte' (SHA-256 "),
                    HasSubstr("is the record of 'm.pte' (SHA-256 "), HasSubstr("hint: pass the record")));
}

TEST(InspectRecord, OfficialFilesAreJoined) {
  const CliRun run = cli({"inspect", kOfficial + "two_methods.etdp", "--etrecord",
                          kOfficial + "two_methods.etrecord", "--by", "event", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json blocks = Json::parse(run.out)["event_blocks"];
  std::vector<std::string> methods;
  for (const Json& block : blocks)
    if (block["name"] == "Execute") methods.push_back(block["method"]);
  EXPECT_THAT(methods, testing::ElementsAre("forward", "encode"));
  const CliRun lines = cli({"inspect", kOfficial + "net_xnnpack.etdp", "--etrecord",
                            kOfficial + "net_xnnpack.etrecord", "--by", "line"});
  EXPECT_THAT(lines.out, HasSubstr("make_etrecords.py:"));
}

TEST(InspectRecord, WritesTheOfficialTable) {
  const ScratchDir dir;
  const CliRun run =
      cli({"inspect", "--etdump_path", kOfficial + "add.etdp", "--etrecord_path", kOfficial + "add.etrecord",
           "--tsv_path", dir.path("t.tsv"), "--source_time_scale", "ns", "--target_time_scale", "us"});
  ASSERT_EQ(run.exit, 0) << run.err;
  std::ifstream in(dir.path("t.tsv"));
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(
      text,
      HasSubstr("\tevent_block_name\tevent_name\tp10 (us)\tp50 (us)\tp90 (us)\tavg (us)\tmin (us)\tmax (us)\t"
                "op_types\tis_delegated_op\tdelegate_backend_name\tstart_time\n"));
  EXPECT_THAT(text, HasSubstr("\tnative_call_add.out\t"));
  EXPECT_THAT(text, HasSubstr("\t['aten.add.Tensor']\tFalse\t\t["));
  EXPECT_THAT(text, Not(HasSubstr("OPERATOR_CALL")));
}

TEST(InspectRecord, ComparesTwoProfiles) {
  const Recorded recorded("archives/mlp.pt2", "");
  const CliRun same = cli({"inspect", recorded.profile(), "--against", recorded.profile(), "--json"});
  ASSERT_EQ(same.exit, 0) << same.err;
  const Json report = Json::parse(same.out);
  ASSERT_FALSE(report["rows"].empty());
  for (const Json& row : report["rows"]) {
    EXPECT_EQ(row["change"], "no difference") << row["name"];
    EXPECT_EQ(row["ratio"], 1) << row["name"];
  }
  EXPECT_THAT(cli({"inspect", recorded.profile(), "--against", kOfficial + "add.etdp"}).out,
              AllOf(HasSubstr("only now"), HasSubstr("only before")));
}

TEST(InspectRecord, PrintsTheTotalOfAModule) {
  const Recorded recorded("archives/lenet.pt2", "");
  const CliRun run =
      cli({"inspect", recorded.profile(), "--etrecord", recorded.record(), "--total-for", "conv", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_GT(Json::parse(run.out)["total"], 0);
}

// Adds outputs to a record, as update_reference_outputs() of ExecuTorch does. `change` is added to each number.
void add_reference_outputs(const std::string& path, const std::string& npy, float change) {
  auto record = record::read_record_file(path);
  ASSERT_TRUE(record) << record.error().message;
  auto array = read_npy(npy);
  ASSERT_TRUE(array) << array.error().message;
  const std::span<float> numbers(reinterpret_cast<float*>(array->bytes.data()),
                                 array->bytes.size() / sizeof(float));
  for (float& number : numbers) number += change;
  using List = record::SavedValue::List;
  const record::SavedValue output{
      record::SavedTensor{static_cast<ir::Dtype>(array->dtype), array->sizes, array->bytes}};
  const record::SavedValue one_case{List{output}};
  const auto outputs = record::write_saved_value({record::SavedValue::Dict{{"forward", {List{one_case}}}}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  record->reference_outputs = *outputs;
  ASSERT_TRUE(record::write_record_file(*record, path));
}

// PyTorch computed the arrays of the fixtures. The flags are those of ExecuTorch's inspector_cli.
TEST(InspectRecord, ComparesOutputsWithTheReferenceOutputsOfTheRecord) {
  const Recorded recorded("archives/lenet.pt2", "");
  ScratchDir dir;
  const std::string profile = dir.path("run.etdp"), buffer = dir.path("run.bin");
  const CliRun run = cli({"run", recorded.program(), "--input", kFixtures + "archives/lenet.in.0.npy",
                          "--profile", profile, "--debug-buffer", buffer, "--print-output", "none"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto inspect = [&](const std::string& form) {
    return cli({"inspect", "--etdump_path", profile, "--etrecord_path", recorded.record(),
                "--debug_buffer_path", buffer, "--compare_results", form});
  };
  EXPECT_EQ(inspect("--json").exit, 3);  // no reference outputs yet
  const std::string reference = kFixtures + "archives/lenet.out.0.npy";
  add_reference_outputs(recorded.record(), reference, 0);
  const CliRun equal = inspect("--json");
  ASSERT_EQ(equal.exit, 0) << equal.err;
  const Json rows = Json::parse(equal.out)["outputs"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_LT(rows[0]["mse"], 1e-10);
  EXPECT_GT(rows[0]["cosine_similarity"], 0.999999);
  EXPECT_TRUE(rows[0]["snr_db"].is_null() || rows[0]["snr_db"] > 80);
  add_reference_outputs(recorded.record(), reference, 0.5f);
  const Json changed = Json::parse(inspect("--json").out)["outputs"][0];
  EXPECT_NEAR(changed["mse"].get<double>(), 0.25, 1e-4);
  EXPECT_NEAR(changed["max_abs"].get<double>(), 0.5, 1e-3);
  EXPECT_EQ(changed["method"], "forward");
  EXPECT_THAT(cli({"inspect", profile, "--etrecord", recorded.record(), "--debug_buffer_path", buffer,
                   "--compare_results"})
                  .out,
              HasSubstr("forward, test case 0, output 0: SNR "));
}

TEST(InspectRecord, NamesWhatIsMissing) {
  const std::string profile = kOfficial + "add.etdp";
  EXPECT_THAT(cli({"inspect", profile, "--by", "line"}).err, HasSubstr("--by line needs the record"));
  EXPECT_THAT(cli({"inspect", profile, "--total-for", "x"}).err,
              HasSubstr("--total-for needs --etrecord FILE"));
  EXPECT_THAT(cli({"inspect", profile, "--source_time_scale", "cycles"}).err,
              HasSubstr("cycles have no length"));
  const CliRun swapped = cli({"inspect", profile, "--etrecord", profile});
  EXPECT_EQ(swapped.exit, 4);
  EXPECT_THAT(swapped.err, HasSubstr("expected a record of a compilation (.etrecord)"));
  EXPECT_THAT(cli({"inspect", kOfficial + "net_xnnpack.etdp", "--etrecord", kOfficial + "add.etrecord"}).err,
              HasSubstr("the profile is of another program than the record"));
}

}  // namespace
}  // namespace etb::tools
