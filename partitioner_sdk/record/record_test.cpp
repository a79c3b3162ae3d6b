// SPDX-License-Identifier: Apache-2.0
// Records of the official writer (tests/fixtures/make_etrecords.py) and of this one.
#include "partitioner_sdk/record/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/record/graph_json.hpp"
#include "partitioner_sdk/record/recorded_nodes.hpp"
#include "partitioner_sdk/record/weights.hpp"
#include "partitioner_sdk/testing/zip_writer.hpp"

namespace etb::record {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kOfficial = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/etrecord/";

Record read(const std::string& name) {
  auto record = read_record_file(kOfficial + name);
  EXPECT_TRUE(record) << record.error().message;
  return record ? *std::move(record) : Record{};
}

std::vector<std::string> ops_of(const SavedProgram& program) {
  std::vector<std::string> out;
  const auto nodes = read_nodes(program);
  EXPECT_TRUE(nodes) << nodes.error().message;
  for (const RecordedNode& node : *nodes) out.push_back(node.op);
  return out;
}

TEST(Record, AllPartsOfAnOfficialFileAreRead) {
  const Record record = read("add.etrecord");
  EXPECT_FALSE(record.program);
  ASSERT_TRUE(record.exported_program);
  EXPECT_THAT(ops_of(*record.exported_program), ElementsAre("aten.add.Tensor", "aten.mul.Tensor"));
  ASSERT_THAT(record.edge_programs, SizeIs(1));
  EXPECT_EQ(record.edge_programs[0].name, "forward");
  ASSERT_THAT(record.extra_programs, SizeIs(1));
  EXPECT_EQ(record.extra_programs[0].name, "stage/forward");
  ASSERT_THAT(record.methods, SizeIs(1));
  EXPECT_EQ(record.methods[0].handles, (std::map<uint32_t, Handles>{{0, {1}}, {1, {2}}}));
  EXPECT_NE(record.export_graph_id, 0);
  EXPECT_FALSE(record.representative_inputs.empty());
  EXPECT_FALSE(record.reference_outputs.empty());
}

TEST(Record, NodesHaveTheirSource) {
  const auto nodes = read_nodes(read("net_xnnpack.etrecord").edge_programs.at(0));
  ASSERT_TRUE(nodes);
  ASSERT_GT(nodes->size(), 2u);
  const RecordedNode& convolution = nodes->front();
  EXPECT_EQ(convolution.op, "aten.convolution.default");
  EXPECT_EQ(convolution.debug_handle, 1u);
  EXPECT_THAT(convolution.stack_trace, HasSubstr("torch/nn/modules/conv.py"));
  EXPECT_EQ(convolution.file, "make_etrecords.py");
  EXPECT_EQ(convolution.function, "forward");
  ASSERT_THAT(convolution.modules, SizeIs(3));
  EXPECT_EQ(convolution.modules[0].path, "");
  EXPECT_EQ(convolution.modules[1].path, "first");
  EXPECT_EQ(convolution.modules[2].path, "first.conv");
  EXPECT_EQ(convolution.modules[2].type, "torch.nn.modules.conv.Conv2d");
}

TEST(Record, DelegateCallsAreRead) {
  const Record record = read("net_xnnpack.etrecord");
  const MethodMaps* method = record.find_method("forward");
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(method->handles.at(0), (Handles{1, 2, 2, 3}));
  EXPECT_EQ(method->delegates.at(0).backend_id, "XnnpackBackend");
  EXPECT_TRUE(method->delegates.at(0).handles.empty());  // as officially
  EXPECT_EQ(method->output_counts, (std::map<uint32_t, uint32_t>{{0, 1}, {2, 1}}));
}

TEST(Record, SeveralMethodsAreRead) {
  const Record record = read("two_methods.etrecord");
  EXPECT_THAT(record.methods, SizeIs(2));
  ASSERT_NE(record.find_edge_program("encode"), nullptr);
  EXPECT_THAT(ops_of(*record.find_edge_program("encode")),
              ElementsAre("aten.sigmoid.default", "aten.sub.Tensor"));
  EXPECT_EQ(record.find_method("nobody"), nullptr);
}

// Written by the wheels of the releases themselves: tests/fixtures/make_old_etrecords.py.
TEST(Record, FilesOfEachReleaseAreRead) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kOfficial + "releases")) {
    const std::string name = entry.path().filename();
    const Record record = read("releases/" + name);
    const bool is_first = name == "0.7.0.etrecord";
    const SavedProgram* const edge = record.find_edge_program("forward");
    ASSERT_NE(edge, nullptr) << name;
    EXPECT_THAT(ops_of(*edge), ElementsAre("aten.add.Tensor", "aten.mul.Tensor")) << name;
    EXPECT_EQ(edge->name, is_first || name.starts_with("1.0") || name.starts_with("1.1") ? "" : "forward")
        << name;
    EXPECT_EQ(record.exported_program.has_value(), !is_first) << name;
    EXPECT_EQ(record.export_graph_id != 0, !is_first) << name;
    EXPECT_THAT(record.extra_programs, SizeIs(1)) << name;
    ASSERT_THAT(record.methods, SizeIs(1)) << name;
    EXPECT_EQ(record.methods[0].handles.size(), 2u) << name;
    EXPECT_FALSE(record.reference_outputs.empty()) << name;
    EXPECT_FALSE(record.representative_inputs.empty()) << name;
    ++count;
  }
  EXPECT_GE(count, 6u);
}

TEST(Record, WrittenFilesAreReadWithoutADifference) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kOfficial)) {
    if (entry.path().extension() != ".etrecord") continue;
    Record record = read(std::filesystem::relative(entry.path(), kOfficial));
    record.program = format::ProgramIdentity{"m.pte", std::string(64, 'a')};
    const auto bytes = write_record(record);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto again = read_record(std::as_bytes(std::span(*bytes)));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, record) << entry.path();
  }
}

// As Python writes them: without quotes. A text that looks like one stays a text.
TEST(Record, NumbersThatJsonLacksAreWordsInEachKindOfArgument) {
  auto module = ir::parse(R"(etg 1
module "forward"
graph @forward {
  user %x: float32[1, 1, 2, 2]
  %a: float32[1, 1, 2, 2] = aten.add.Scalar(%x, -inf)
  %b: complex64[1, 1, 2, 2] = aten.mul.Scalar(%a, complex(inf, nan))
  %c: float32[1, 1, 2, 2] = aten.gelu.default(%x, approximate="{\"word\":\"NaN\"}")
  %d: float32[1, 1, 2, 2] = aten.upsample_nearest2d.vec(%c, none, [inf, 1.5])
  return %b, %d
}
)");
  ASSERT_TRUE(module) << module.error().message;
  Record record;
  record.methods.push_back({"forward", {}, {}, {}});
  record.exported_program = SavedProgram{"forward", exported_program_json(*module), {}, {}, {}};
  const std::string& json = record.exported_program->json;
  EXPECT_THAT(json, HasSubstr(R"({"as_float":-Infinity})"));
  EXPECT_THAT(json, HasSubstr(R"({"as_complex":{"real":Infinity,"imag":NaN}})"));
  EXPECT_THAT(json, HasSubstr(R"({"as_floats":[Infinity,1.5]})"));
  EXPECT_THAT(json, HasSubstr(R"({"as_string":"{\"word\":\"NaN\"}"})"));
  ASSERT_TRUE(add_weights(*module, *record.exported_program));
  const auto bytes = write_record(record);
  ASSERT_TRUE(bytes) << bytes.error().message;
  auto again = pt2::import_archive(pt2::MappedFile::borrow(std::as_bytes(std::span(*bytes))));
  ASSERT_TRUE(again) << again.error().message;
  const std::string text = ir::print(*again);
  for (const char* part : {", -inf)", "complex(inf, nan)", "[inf, 1.5]", R"("{\"word\":\"NaN\"}")"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Record, WeightsAreLeftOutOnRequest) {
  const auto record = read_record_file(kOfficial + "add.etrecord", Contents::kWithoutWeights);
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->edge_programs.at(0).state_dict.empty());
  EXPECT_FALSE(record->edge_programs.at(0).json.empty());
}

TEST(Record, NamesThatOfficialReadersRefuseAreRefused) {
  Record record;
  record.methods.push_back({"forward", {}, {}, {}});
  record.extra_programs.push_back({"my_delegate_map/forward", "{}", {}, {}, {}});
  const auto bytes = write_record(record);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message,
              AllOf(HasSubstr("my_delegate_map/forward"), HasSubstr("'delegate_map'")));
  EXPECT_FALSE(write_record({}));
}

std::string refusal_of(std::vector<pt2::ZipRecord> entries, bool has_marker = true) {
  if (has_marker) entries.push_back({"ETRECORD_V0", ""});
  const std::string bytes = pt2::write_zip(entries);
  const auto record = read_record(std::as_bytes(std::span(bytes)));
  return record ? "" : record.error().message;
}

TEST(Record, RefusalsNameTheEntryAndWhatWasFound) {
  EXPECT_THAT(refusal_of({}, false), HasSubstr("zip"));
  EXPECT_THAT(refusal_of({{"a", ""}}, false), HasSubstr("without the entry ETRECORD_V0"));
  EXPECT_THAT(
      refusal_of({{"debug_handle_map", "[1]"}}),
      HasSubstr("entry 'debug_handle_map': found a list, expected an object with a member for each method"));
  EXPECT_THAT(refusal_of({{"debug_handle_map", R"({"forward": {"x": 1}})"}}),
              HasSubstr("method 'forward': found the key 'x', expected the index of an instruction"));
  EXPECT_THAT(refusal_of({{"debug_handle_map", R"({"forward": {"0": [1, "a"]}})"}}),
              HasSubstr("instruction 0: found a text, expected a whole number"));
  EXPECT_THAT(refusal_of({{"debug_handle_map", R"({"forward": {"0": -1}})"}}),
              HasSubstr("found -1, expected 0 to"));
  EXPECT_THAT(refusal_of({{"debug_handle_map", R"({"forward": {"0": 4294967296}})"}}),
              HasSubstr("found 4294967296, expected 0 to"));
  EXPECT_THAT(refusal_of({{"delegate_map", R"({"forward": {"0": {"delegate_map": {}}}})"}}),
              HasSubstr("instruction 0, name: found null, expected the name of a backend"));
  EXPECT_THAT(
      refusal_of({{"delegate_map", R"({"forward": {"0": {"name": "x", "delegate_map": {"e": "y"}}}})"}}),
      HasSubstr("event 'e': found a text, expected a whole number"));
  EXPECT_THAT(refusal_of({{"export_graph_id", "\"x\""}}), HasSubstr("entry 'export_graph_id': found a text"));
  EXPECT_THAT(refusal_of({{"delegate_map", "{"}}), HasSubstr("entry 'delegate_map'"));
  EXPECT_THAT(refusal_of({{"ETRECORD_V0", R"({"program": {"name": "m", "sha256": "12"}})"}}, false),
              HasSubstr("expected a name and the SHA-256 in 64 digits"));
}

TEST(Record, GraphsThatAreNoneAreRefused) {
  const auto refusal = [](const std::string& json) {
    const auto nodes = read_nodes({"forward", json, {}, {}, {}});
    return nodes ? "" : nodes.error().message;
  };
  EXPECT_THAT(refusal("{}"), HasSubstr("graph 'forward': no list graph_module.graph.nodes"));
  EXPECT_THAT(refusal(R"({"graph_module": {"graph": {"nodes": [{}]}}})"), HasSubstr("node 0: has no target"));
  EXPECT_THAT(refusal(R"({"graph_module": {"graph": {"nodes": [
                      {"name": "a", "target": "t", "metadata": {"debug_handle": "1x"}}]}}})"),
              HasSubstr("node 'a': found the debug handle '1x', expected a number"));
}

}  // namespace
}  // namespace etb::record
