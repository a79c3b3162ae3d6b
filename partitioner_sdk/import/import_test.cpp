// SPDX-License-Identifier: Apache-2.0
// Tests the import of archives: goldens, older layouts, invalid and hostile files.
#include "partitioner_sdk/import/import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/testing/golden.hpp"
#include "partitioner_sdk/testing/zip_writer.hpp"

namespace etb::pt2 {
namespace {

using ::testing::HasSubstr;

class ImportedArchive : public ::testing::TestWithParam<const char*> {};

TEST_P(ImportedArchive, IsTheGoldenGraph) {
  auto module = import_archive(testing::archive_path(GetParam()));
  ASSERT_TRUE(module) << module.error().message;
  const Status verified = ir::verify(*module);
  EXPECT_TRUE(verified) << verified.error().message;
  const std::string text = ir::print(*module, {.has_sources = true});
  testing::expect_golden("import/" + std::string(GetParam()) + ".txt", text);
  auto again = ir::parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ir::print(*again), ir::print(*module));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ImportedArchive,
                         ::testing::Values("add", "mlp", "lenet", "counter", "counter_functional", "dynamic",
                                           "tied", "channels_last", "branch", "no_grad", "items", "autocast",
                                           "derived"));

TEST(Import, ReadsEachOfManyModels) {
  const auto file = MappedFile::open(testing::archive_path("decompositions"));
  ASSERT_TRUE(file);
  const auto unnamed = import_archive(*file);
  ASSERT_FALSE(unnamed);
  const std::string& message = unnamed.error().message;
  const std::string_view question = "the archive contains several models, choose one of: ";
  ASSERT_THAT(message, HasSubstr(question));
  std::istringstream names(message.substr(message.find(question) + question.size()));
  int count = 0;
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    ++count;
    auto module = import_archive(*file, {name});
    ASSERT_TRUE(module) << name << ": " << module.error().message;
    EXPECT_FALSE(module->main().nodes.empty());
  }
  EXPECT_EQ(count, 64);
}

TEST(Import, WeightsAreViewsOfTheFile) {
  const auto file = MappedFile::open(testing::archive_path("tied"));
  ASSERT_TRUE(file);
  const auto module = import_archive(*file);
  ASSERT_TRUE(module) << module.error().message;
  const auto all = (*file)->bytes();
  for (const ir::Constant& constant : module->constants) {
    EXPECT_GE(constant.storage.data(), all.data()) << constant.name;
    EXPECT_LE(constant.storage.data() + constant.storage.size(), all.data() + all.size()) << constant.name;
  }
}

// Before torch 2.9 weights were pickled by torch.save; the graph is the same.
TEST(Import, ReadsTheLayoutsOfOlderReleases) {
  auto now = import_archive(testing::archive_path("tied"));
  ASSERT_TRUE(now) << now.error().message;
  for (const char* name : {"tied_torch27", "tied_torch28"}) {
    auto old = import_archive(testing::archive_path(name));
    ASSERT_TRUE(old) << old.error().message;
    EXPECT_EQ(ir::print(*old), ir::print(*now)) << name;
    ASSERT_EQ(old->constants.size(), now->constants.size());
    for (size_t i = 0; i < now->constants.size(); ++i)
      EXPECT_EQ(old->constants[i].dense_bytes(), now->constants[i].dense_bytes());
  }
}

TEST(Import, TiedWeightsAreOneConstant) {
  const auto module = import_archive(testing::archive_path("tied"));
  ASSERT_TRUE(module) << module.error().message;
  std::map<std::string, uint32_t> constants;
  for (const ir::Input& input : module->main().inputs) constants[input.target] = input.constant;
  EXPECT_EQ(constants.at("emb.weight"), constants.at("head.weight"));
}

TEST(Import, WrongFilesAreNamed) {
  EXPECT_EQ(import_archive("no/such/file.pt2").error().code, Code::NOT_FOUND);
  const auto several = import_archive(testing::archive_path("decompositions"));
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().message, HasSubstr("several models, choose one of: adaptive1, "));
}

// Builds an archive around a model's JSON, with one weight of 4 floats.
Result<ir::Module> import_json(const std::string& json, const std::string& config = "{\"config\": {}}") {
  static std::string bytes;
  bytes = write_zip({{"m/archive_format", "pt2"},
                     {"m/archive_version", "0"},
                     {"m/byteorder", "little"},
                     {"m/models/model.json", json},
                     {"m/data/weights/model_weights_config.json", config},
                     {"m/data/weights/weight_0", std::string(16, 'w')}});
  return import_archive(MappedFile::borrow(std::as_bytes(std::span(bytes))));
}

std::string model_json(const std::string& nodes, const std::string& input_specs = "",
                       const std::string& inputs = R"({"as_tensor": {"name": "x"}})") {
  const std::string meta =
      R"({"dtype": 7, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";
  return R"({"schema_version": {"major": 8, "minor": 20}, "range_constraints": {}, "graph_module": {"graph": {"inputs": [)" +
         inputs + R"(], "outputs": [{"as_tensor": {"name": "x"}}], "nodes": [)" + nodes +
         R"(], "tensor_values": {"x": )" + meta + R"(, "y": )" + meta + R"(, "z": )" + meta +
         R"(}}, "signature": {"input_specs": [)" + input_specs +
         R"(], "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "x"}}}}]}}})";
}

std::string node_json(const std::string& target, const std::string& inputs, const std::string& output,
                      int line = 3) {
  return R"({"name": ")" + output + R"(", "target": ")" + target + R"(", "inputs": [)" + inputs +
         R"(], "outputs": [{"as_tensor": {"name": ")" + output +
         R"("}}], "metadata": {"stack_trace": "  File \"model.py\", line )" + std::to_string(line) +
         R"(, in forward\n    code"}})";
}

constexpr const char* kSelf = R"({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1})";

TEST(Import, AcceptsTheSmallestModel) {
  const auto module = import_json(model_json(node_json("torch.ops.aten.neg.default", kSelf, "y")));
  ASSERT_TRUE(module) << module.error().message;
}

// A token keeps the order of ops with effects. It is no input of the program, and the op is read as if it were not wrapped.
TEST(Import, OpsWithEffectsAreUnwrapped) {
  const std::string call =
      R"({"name": "effect", "target": "torch.ops.higher_order.with_effects", "inputs": [)"
      R"({"name": "", "arg": {"as_tensor": {"name": "z"}}, "kind": 1}, )"
      R"({"name": "", "arg": {"as_operator": "torch.ops.aten._linalg_check_errors.default"}, "kind": 1}, )"
      R"({"name": "", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, )"
      R"({"name": "", "arg": {"as_string": "linalg.inv"}, "kind": 1}, )"
      R"({"name": "is_matrix", "arg": {"as_bool": true}, "kind": 2}], )"
      R"("outputs": [{"as_tensor": {"name": "next"}}, {"as_none": true}]})";
  const std::string inputs = R"({"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "z"}})";
  auto module = import_json(model_json(call, R"({"token": {"arg": {"name": "z"}}})", inputs));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->main().inputs.size(), 1u);
  EXPECT_THAT(ir::print(*module),
              HasSubstr("aten._linalg_check_errors.default(%x, \"linalg.inv\", is_matrix=true)"));
}

TEST(Import, SaysWhatToDoAboutPickledWeights) {
  const auto module =
      import_json(model_json(node_json("torch.ops.export.access_subclass_inner_tensor.default", kSelf, "y")));
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message, HasSubstr("unwrap_tensor_subclass"));
}

TEST(Import, OneErrorListsEveryOffenderWithItsLine) {
  const auto module =
      import_json(model_json(node_json("torch.ops.mine.first.default", kSelf, "y", 11) + ", " +
                             node_json("torch.ops.mine.second.default", kSelf, "z", 12)));
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message, HasSubstr("y = torch.ops.mine.first.default (model.py:11 in forward): "
                                                "unknown op; declare it if it is a custom op"));
  EXPECT_THAT(module.error().message,
              HasSubstr("z = torch.ops.mine.second.default (model.py:12 in forward): unknown op"));
}

// A joint graph: z = -w is the loss of x, and the gradient of the parameter w.
std::string joint_json(const std::string& gradients) {
  const std::string arg = R"("arg": {"name": ")";
  std::string json = model_json(node_json("torch.ops.aten.neg.default", kSelf, "y"),
                                R"({"parameter": {"arg": {"name": "w"}, "parameter_name": "layer.weight"}},
                    {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                                R"({"as_tensor": {"name": "w"}}, {"as_tensor": {"name": "x"}})");
  const std::string meta =
      R"({"dtype": 7, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";
  json.insert(json.find("\"x\": {\"dtype\""), R"("w": )" + meta + ", ");
  const std::string outputs = R"({"user_output": {"arg": {"as_tensor": {"name": "x"}}}})";
  return json.replace(json.rfind(outputs), outputs.size(),
                      R"({"loss_output": {"arg": {"name": "y"}}})" + gradients);
}
std::string gradient_json(const std::string& parameter) {
  return R"(, {"gradient_to_parameter": {"arg": {"name": "y"}, "parameter_name": ")" + parameter + R"("}})";
}
Result<ir::Module> import_joint(const std::string& gradients) {
  return import_json(
      joint_json(gradients),
      R"({"config": {"layer.weight": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 4}], "requires_grad": true, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}}})");
}

// As ExecuTorch lays them out: loss, gradients, then the parameters, which are state.
TEST(Import, AJointGraphReturnsGradientsAndParameters) {
  const auto module =
      import_joint(gradient_json("layer.weight") +
                   R"(, {"gradient_to_user_input": {"arg": {"name": "y"}, "user_input_name": "x"}})");
  ASSERT_TRUE(module) << module.error().message;
  const ir::Graph& graph = module->main();
  ASSERT_EQ(graph.outputs.size(), 5u);
  EXPECT_EQ(graph.outputs[3].value, ir::Argument(ir::ValueRef{graph.inputs[0].value}));
  EXPECT_EQ(graph.outputs[4].kind, ir::OutputKind::kBufferMutation);
  EXPECT_EQ(graph.outputs[4].target, "layer.weight");
  EXPECT_EQ(graph.inputs[0].kind, ir::InputKind::kBuffer);
  ASSERT_TRUE(module->training);
  EXPECT_EQ(module->training->first_gradient, 1u);
  EXPECT_EQ(module->training->first_parameter, 3u);
  EXPECT_EQ(module->training->parameters, std::vector<std::string>{"layer.weight"});
}

TEST(Import, AGradientBelongsToOneParameter) {
  const auto unknown = import_joint(gradient_json("layer.bias"));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("the gradient of 'layer.bias' is not that of a parameter"));
  const auto twice = import_joint(gradient_json("layer.weight") + gradient_json("layer.weight"));
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("the gradient of 'layer.weight' is returned twice"));
  const auto missing =
      import_joint(R"(, {"gradient_to_parameter": {"arg": {"name": "q"}, "parameter_name": "w"}})");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("the graph does not compute the gradient of 'w'"));
}

// An autocast block around y = op(x), and a use of y after it.
std::string autocast_json(const std::string& device, const std::string& dtype, const std::string& op) {
  const std::string meta =
      R"({"dtype": 7, "sizes": [{"as_int": 4}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";
  const auto tensor = [](const std::string& name) { return R"({"as_tensor": {"name": ")" + name + R"("}})"; };
  const std::string body = R"({"as_graph": {"name": "body", "graph": {"inputs": [)" + tensor("x") +
                           R"(], "outputs": [)" + tensor("y") + R"(], "nodes": [)" +
                           node_json(op, kSelf, "y") + R"(], "tensor_values": {"x": )" + meta + R"(, "y": )" +
                           meta + "}}}}";
  std::string inputs;
  for (const std::string& arg :
       {R"({"as_string": ")" + device + R"("})", R"({"as_scalar_type": )" + dtype + "}",
        std::string(R"({"as_bool": true})"), std::string(R"({"as_bool": false})"), body, tensor("x")})
    inputs += (inputs.empty() ? "" : ", ") + (R"({"name": "", "arg": )" + arg + R"(, "kind": 1})");
  return model_json(node_json("torch.ops.higher_order.wrap_with_autocast", inputs, "y") + ", " +
                    node_json("torch.ops.aten.neg.default",
                              R"({"name": "self", "arg": {"as_tensor": {"name": "y"}}, "kind": 1})", "z"));
}

TEST(Import, AutocastThatIsNotKnownIsOneFault) {
  ASSERT_TRUE(import_json(autocast_json("cpu", "13", "torch.ops.aten.neg.default")));
  const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
      {"cuda", "6", "torch.ops.aten.neg.default", "autocast for 'cuda'"},
      {"cpu", "7", "torch.ops.aten.neg.default", "expected bfloat16 or float16"},
  };
  for (const auto& [device, dtype, op, message] : cases) {
    const auto module = import_json(autocast_json(device, dtype, op));
    ASSERT_FALSE(module) << message;
    EXPECT_THAT(module.error().message, HasSubstr(message));
    EXPECT_THAT(module.error().message, ::testing::Not(HasSubstr("which is not defined before")));
  }
}

TEST(Import, FaultsOfTheModelAreNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {model_json(node_json("torch.ops.aten.neg.default", "", "y")), "argument 'self' is missing"},
      {model_json(node_json("torch.ops.aten.neg.default",
                            R"({"name": "self", "arg": {"as_tensor": {"name": "nobody"}}})", "y")),
       "uses 'nobody'"},
      {model_json(node_json("torch.ops.aten.neg.default", R"({"name": "what", "arg": {"as_int": 1}})", "y")),
       "has no argument 'what'"},
      {model_json(
           node_json("torch.ops.aten.neg.default", R"({"name": "self", "arg": {"as_string": "s"}})", "y")),
       "'self' is string"},
      {model_json(node_json("torch.ops.aten.neg.default", kSelf, "unknown_tensor")), "does not describe it"},
      {model_json(node_json("torch.ops.aten.neg.default", kSelf, "x")), "defined twice"},
      {model_json(node_json("torch.ops.aten.max_pool2d.default",
                            kSelf + std::string(R"(, {"name": "kernel_size", "arg": {"as_ints": [1, "2"]}})"),
                            "y")),
       "an item of 'as_ints' has the wrong kind"},
      {model_json(node_json(
           "torch.ops.aten.convolution_backward.default",
           kSelf + std::string(R"(, {"name": "output_mask", "arg": {"as_bools": [true, 1]}})"), "y")),
       "an item of 'as_bools' has the wrong kind"},
      {model_json(node_json("torch.ops.aten.einsum.default",
                            R"({"name": "equation", "arg": {"as_strings": ["a", 1]}})", "y")),
       "an item of 'as_strings' has the wrong kind"},
      {model_json(node_json("torch.ops.aten.einsum.default",
                            R"({"name": "equation", "arg": {"as_string": 1}})", "y")),
       "the content of an argument of kind 'as_string' is malformed"},
      {model_json(node_json("torch.ops.aten.to.dtype",
                            kSelf + std::string(R"(, {"name": "dtype", "arg": {"as_scalar_type": 99}})"),
                            "y")),
       "unknown dtype number 99"},
      {R"({"schema_version": {"major": 9}})", "schema version 9"},
      {"{", "json"},
      {model_json("", R"({"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}})"), "no data for 'w'"},
      {model_json("", R"({"custom_obj": {"arg": {"name": "x"}}})"), "inputs of kind 'custom_obj'"},
      {model_json(R"({"target": "torch.ops.higher_order.with_effects", "inputs": [], "outputs": []})", ""),
       "wraps '', expected a known op"},
  };
  for (const auto& [json, message] : cases) {
    const auto module = import_json(json);
    ASSERT_FALSE(module) << message;
    EXPECT_THAT(module.error().message, HasSubstr(message));
  }
}

// One row of the configuration of weights: a view of weight_0.
std::string weight_row(const std::string& name, const std::string& sizes, const std::string& strides,
                       int64_t offset, int dtype = 7) {
  return "\"" + name +
         R"(": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": )" +
         std::to_string(dtype) + R"(, "sizes": [)" + sizes + R"(], "strides": [)" + strides +
         R"(], "storage_offset": {"as_int": )" + std::to_string(offset) + R"(}, "layout": 7}})";
}

TEST(Import, WeightsMustLieInTheirRecord) {
  const auto import_weight = [](const std::string& sizes, const std::string& strides, int64_t offset,
                                int dtype = 7) {
    return import_json(model_json("", R"({"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}})"),
                       R"({"config": {)" + weight_row("w", sizes, strides, offset, dtype) + "}}");
  };
  const std::string four = R"({"as_int": 4})", one = R"({"as_int": 1})",
                    huge = R"({"as_int": 4611686018427387904})";
  const auto good = import_weight(four, one, 0);
  EXPECT_TRUE(good) << good.error().message;
  EXPECT_THAT(import_weight(four, one, 1).error().message, HasSubstr("has 16 bytes, the tensor needs 20"));
  EXPECT_THAT(import_weight(four, one, -1).error().message, HasSubstr("negative storage offset"));
  EXPECT_THAT(import_weight(four, four, 0).error().message, HasSubstr("needs 52"));
  EXPECT_THAT(import_weight(huge, huge, 0).error().message, HasSubstr("more than any file has"));
  EXPECT_THAT(import_weight(huge, R"({"as_int": 0})", 0).error().message,
              HasSubstr("its strides repeat elements"));
  EXPECT_THAT(import_weight(four, R"({"as_int": -1})", 3).error().message, HasSubstr("negative stride"));
  EXPECT_THAT(import_weight(R"({"as_int": -4})", one, 0).error().message, HasSubstr("negative size"));
  EXPECT_THAT(import_weight(four, one, 0, 99).error().message, HasSubstr("dtype number 99"));
  EXPECT_THAT(import_weight(four, one, 0, 1).error().message, HasSubstr("differs from its constant"));
}

// A view without elements must also begin in its storage, and its strides must be computable.
TEST(Import, WeightsWithoutElementsLieInTheirRecord) {
  const auto import_weight = [](const std::string& sizes, const std::string& strides, int64_t offset) {
    return import_json(model_json("", R"({"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}})"),
                       R"({"config": {)" + weight_row("w", sizes, strides, offset) + "}}");
  };
  const std::string none = R"({"as_int": 0})", one = R"({"as_int": 1})",
                    huge = R"({"as_int": 4611686018427387904})";
  EXPECT_THAT(import_weight(none, one, 4).error().message, HasSubstr("differs from its constant"));
  EXPECT_THAT(import_weight(none, one, 5).error().message, HasSubstr("has 16 bytes, the tensor needs 20"));
  EXPECT_THAT(import_weight(none, one, INT64_MAX).error().message, HasSubstr("more than any file has"));
  EXPECT_THAT(import_weight(none + "," + huge + "," + huge, one + "," + huge + "," + one, 0).error().message,
              HasSubstr("its strides repeat elements"));
}

// A record of 16 bytes repeated by strides of 0 into 900 MB is accepted; three such views would fill a disk.
TEST(Import, WeightsTogetherAreNotMuchLargerThanTheirArchive) {
  const std::string many = R"({"as_int": 225000000})", none = R"({"as_int": 0})";
  std::string rows, specs, inputs;
  for (const char* name : {"x", "y", "z"}) {
    const int64_t offset = name[0] - 'x';  // each a different view
    rows += std::string(rows.empty() ? "" : ", ") + weight_row(name, many, none, offset);
    specs += std::string(specs.empty() ? "" : ", ") + R"({"parameter": {"arg": {"name": ")" + name +
             R"("}, "parameter_name": ")" + name + R"("}})";
    inputs += std::string(inputs.empty() ? "" : ", ") + R"({"as_tensor": {"name": ")" + name + R"("}})";
  }
  const auto module = import_json(model_json("", specs, inputs), R"({"config": {)" + rows + "}}");
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message,
              HasSubstr("constants of 1800000000 bytes up to 'y', in an archive of "));
}

// Reading must be linear in the size of the file, not quadratic: each of these took minutes before.
TEST(Import, HostileArchivesAreRefusedInTimeThatGrowsWithTheirSize) {
  constexpr size_t kCount = 200'000;
  const auto start = std::chrono::steady_clock::now();
  const auto repeated = [](const std::string& item, size_t count) {
    std::string out = item;
    out.reserve((item.size() + 2) * count);
    for (size_t i = 1; i < count; ++i) out += ", " + item;
    return out;
  };
  // A long name that prefixes each of many messages.
  const std::string node = R"({"name": ")" + std::string(2'000'000, 'n') +
                           R"(", "target": "torch.ops.aten.neg.default", "metadata": {}, "inputs": [)" +
                           kSelf + R"(], "outputs": [)" +
                           repeated(R"({"as_tensor": {"name": "w"}})", kCount) + "]}";
  const auto named = import_json(model_json(node));
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().message, HasSubstr("and at least 900 more"));
  // One long description that many results name.
  const std::string meta =
      R"({"dtype": 7, "sizes": [)" + repeated(R"({"as_int": 1})", kCount) + R"(], "strides": []})";
  std::string json =
      model_json(R"({"name": "y", "target": "torch.ops.aten.neg.default", "metadata": {}, "inputs": [)" +
                 std::string(kSelf) + R"(], "outputs": [)" +
                 repeated(R"({"as_tensor": {"name": "long"}})", kCount) + "]}");
  const std::string key = R"("tensor_values": {)";
  json.insert(json.find(key) + key.size(), R"("long": )" + meta + ", ");
  EXPECT_FALSE(import_json(json));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace etb::pt2
