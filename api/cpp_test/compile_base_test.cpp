// SPDX-License-Identifier: Apache-2.0
// The ahead-of-time part of the plugin base that the template plugin does not use: patterns of several nodes,
// named blobs, debug maps, compile specs, constants, ops to preserve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/bytes.hpp"
#include "etb/cpp/plugin.hpp"

namespace {

using etb::graph::Builder;
using etb::graph::GraphBuilder;
using etb::graph::ImageBytes;
using etb::graph::tensor;
using etb::graph::value_arg;
using testing::ElementsAre;

struct Pairs;
struct Nothing {
  static etb::Result<Nothing> make(const Pairs&, etb::CreateArgs&) { return Nothing{}; }
  etb::DelegateInfo info() const { return {}; }
  etb::Status execute(const etb::Run&) const { return {}; }
};

// Claims aten.mm.default followed by aten.relu.default as one group.
struct Pairs {
  using Delegate = Nothing;
  static constexpr etb::OpRow kOps[] = {{.op = "aten.mm.default", .min_rank = 2, .max_rank = 2},
                                        {.op = "aten.relu.default"}};
  static constexpr const char* kPreserveOps[] = {"aten.linear.default"};
  static constexpr const char* kCompileSpecs[] = {"fail", "tile"};

  etb::Status partition(const etb::Graph& graph, const etb::PartitionSink& sink) const {
    uint32_t group = 0;
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      const bool is_pair = i + 1 < graph.node_count() && graph.node(i).op_name() == "aten.mm.default" &&
                           graph.node(i + 1).op_name() == "aten.relu.default";
      const uint32_t ids[] = {graph.node(i).id(), graph.node(i).id() + 1};
      if (is_pair) {
        etb::Claim claim = etb::Claim::yes(250);
        claim.flags = ETB_CLAIM_WHOLE_GROUP;
        ETB_TRY(sink.claim(ids, claim, ++group));
        ++i;
      } else {
        ETB_TRY(sink.reject({ids, 1}, etb::Claim::no("com.example.pairs.alone", "no partner")));
      }
    }
    return {};
  }

  etb::Result<etb::Artifact> compile(const etb::Region& region) const {
    if (region.specs().find_text("fail"))
      return etb::make_error(etb::Code::INVALID_ARGUMENT, "compile spec 'fail': found");
    ETB_ASSIGN(const etb::Payload weight, region.read_constant("w"));
    etb::Artifact artifact;
    artifact.payload = etb::ByteWriter().write(static_cast<uint32_t>(region.graph().node_count())).take();
    artifact.format_version = 3;
    artifact.named_blobs.push_back(
        {.key = "packed", .value = {weight.bytes().begin(), weight.bytes().end()}, .alignment = 64});
    artifact.specs.emplace_back("tile", "8x8");
    artifact.debug_map.push_back({.name = "pair", .handles = {7, 8}});
    artifact.scratch_bytes = 128;
    return artifact;
  }
};

}  // namespace

ETB_DEFINE_PLUGIN(Pairs, "com.example.pairs", "Example Inc.", "1.0.0")

namespace {

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }

// Items that the sinks received, one line each.
struct Log {
  std::vector<std::string> lines;
  etb_blob_writer writer{};
};
void note(void* ctx, std::string line) { static_cast<Log*>(ctx)->lines.push_back(std::move(line)); }

class CompileBase : public testing::Test {
 protected:
  void SetUp() override {
    host_.struct_size = ETB_INIT_SIZE(etb_host);
    host_.name = host_.version = host_.plugin_dir = "";
    host_.get_service = no_service;
    table_ = etb_plugin_query(&host_, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_EQ(table_->init(&host_, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    Builder builder("forward");
    const uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {2, 2}});
    GraphBuilder& graph = builder.add_graph("forward");
    const uint32_t x = graph.add_input(tensor("x", spec));
    const auto add = [&](const char* op, const char* name, std::vector<etb::graph::ArgumentDesc> args) {
      return graph.add_node({.op = op, .args = std::move(args), .outputs = {tensor(name, spec)}});
    };
    const uint32_t alone = add("aten.relu.default", "alone", {value_arg(x)});
    const uint32_t product = add("aten.mm.default", "product", {value_arg(alone), value_arg(alone)});
    graph.add_output(add("aten.relu.default", "result", {value_arg(product)}));
    auto image = builder.finish();
    ASSERT_TRUE(image) << image.error().message;
    image_ = std::move(*image);
  }
  void TearDown() override { EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK); }

  etb_status compile(Log& log, std::vector<etb_compile_spec> specs = {}) {
    const etb_graph_image region = image_.to_c();
    const etb_artifact_sink sink = {
        ETB_INIT_SIZE(etb_artifact_sink),
        0,
        &log,
        [](void* ctx, uint32_t index, const etb_blob_writer** out) -> etb_status {
          note(ctx, "begin " + std::to_string(index));
          auto& writer = static_cast<Log*>(ctx)->writer;
          writer = {ETB_INIT_SIZE(etb_blob_writer), 0, ctx,
                    [](void* to, uint64_t, const void*, uint64_t nbytes) -> etb_status {
                      note(to, "write " + std::to_string(nbytes));
                      return ETB_OK;
                    }};
          *out = &writer;
          return ETB_OK;
        },
        [](void* ctx, const etb_named_blob* blob) -> etb_status {
          note(ctx, std::string("blob ") + blob->key + " " + std::to_string(blob->value.nbytes) + " " +
                        std::to_string(blob->alignment) + (blob->constant_key ? " constant" : ""));
          return ETB_OK;
        },
        [](void* ctx, const etb_artifact* artifact) -> etb_status {
          note(ctx, "end version " + std::to_string(artifact->format_version) + " keys " +
                        std::to_string(artifact->named_key_count) + " " + artifact->specs[0].key + " " +
                        artifact->debug_map[0].name + " " +
                        std::to_string(artifact->debug_map[0].handles[1]) + " scratch " +
                        std::to_string(artifact->scratch_bytes));
          return ETB_OK;
        }};
    const etb_constant_reader constants = {
        ETB_INIT_SIZE(etb_constant_reader), 0, nullptr,
        [](void*, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
          if (std::string_view(key) != "w")
            return etb::write_error(etb::Code::NOT_FOUND, "no such constant", error);
          out->data = "12345678";
          out->nbytes = 8;
          return ETB_OK;
        }};
    etb_compile_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_compile_args);
    args.graphs = &region;
    args.graph_count = 1;
    args.specs = specs.data();
    args.spec_count = specs.size();
    args.constants = &constants;
    args.sink = &sink;
    return table_->aot->compile(plugin_, &args, &error_);
  }

  etb_host host_{};
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
  ImageBytes image_;
};

TEST_F(CompileBase, PatternsAreClaimedTogether) {
  const etb_graph_image graph = image_.to_c();
  etb_partition_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_partition_args);
  args.graph = &graph;
  Log log;
  const etb_partition_sink sink = {
      ETB_INIT_SIZE(etb_partition_sink), 0, &log,
      [](void* ctx, const etb_claim* claim) -> etb_status {
        note(ctx, "claim " + std::to_string(claim->node_ids[0]) + "+" + std::to_string(claim->node_count) +
                      " group " + std::to_string(claim->group) + " flags " + std::to_string(claim->flags) +
                      " cost " + std::to_string(static_cast<int>(claim->cost_ns)));
        return ETB_OK;
      },
      [](void* ctx, const etb_reject* reject) -> etb_status {
        note(ctx, "reject " + std::to_string(reject->node_ids[0]) + " " + reject->reason);
        return ETB_OK;
      }};
  ASSERT_EQ(table_->aot->partition(plugin_, &args, &sink, &error_), ETB_OK) << error_.text;
  EXPECT_THAT(log.lines,
              ElementsAre("reject 0 com.example.pairs.alone", "claim 1+2 group 1 flags 1 cost 250"));
}

TEST_F(CompileBase, ArtifactGoesToTheSinkInOrder) {
  Log log;
  ASSERT_EQ(compile(log), ETB_OK) << error_.text;
  EXPECT_THAT(log.lines, ElementsAre("begin 0", "blob packed 8 64", "write 4",
                                     "end version 3 keys 1 tile pair 8 scratch 128"));
}

TEST_F(CompileBase, ErrorsNameTheRegion) {
  Log log;
  EXPECT_EQ(compile(log, {{ETB_INIT_SIZE(etb_compile_spec), 0, "fail", {"", 0}}}), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "region 0: compile spec 'fail': found");
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(CompileBase, UnknownCompileSpecsAreRejected) {
  Log log;
  EXPECT_EQ(compile(log, {{ETB_INIT_SIZE(etb_compile_spec), 0, "tile", {"8x8", 3}}}), ETB_OK) << error_.text;
  log.lines.clear();
  EXPECT_EQ(compile(log, {{ETB_INIT_SIZE(etb_compile_spec), 0, "chip", {"v2", 2}}}), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "compile spec 'chip': unknown, expected fail or tile");
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(CompileBase, PreservedOpsAreNamed) {
  Log log;
  const etb_text_sink sink = {ETB_INIT_SIZE(etb_text_sink), 0, &log,
                              [](void* ctx, const char* text) -> etb_status {
                                note(ctx, text);
                                return ETB_OK;
                              }};
  EXPECT_EQ(table_->aot->caps, ETB_AOT_CAP_PRESERVE_OPS);
  ASSERT_EQ(table_->aot->preserve_ops(plugin_, &sink, &error_), ETB_OK);
  EXPECT_THAT(log.lines, ElementsAre("aten.linear.default"));
}

}  // namespace
