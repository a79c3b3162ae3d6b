// SPDX-License-Identifier: Apache-2.0
// Plugins and hosts that break the rules of partition and compilation are reported.
#include <gtest/gtest.h>

#include <cmath>

#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ValidateAot : public ::testing::Test {
 protected:
  using Partition = etb_status (*)(etb_plugin*, const etb_partition_args*, const etb_partition_sink*,
                                   etb_error*);
  using Compile = etb_status (*)(etb_plugin*, const etb_compile_args*, etb_error*);

  ValidateAot() {
    image_ = fixture_.image().to_c();
    args_.struct_size = sizeof(args_);
    args_.graph = &image_;
    args_.backend_id = kToyBackend;
  }

  // The image has two nodes: 0 and 1.
  etb_status partition(Partition wrong) {
    fixture_.toy.aot.partition = wrong;
    if (fixture_.plugin == nullptr && fixture_.start() != ETB_OK) ADD_FAILURE() << fixture_.error.text;
    const etb_partition_sink sink{sizeof(sink), 0, nullptr,
                                  [](void*, const etb_claim*) -> etb_status { return ETB_OK; },
                                  [](void*, const etb_reject*) -> etb_status { return ETB_OK; }};
    return fixture_.table().aot->partition(fixture_.plugin, &args_, &sink, fixture_.fresh_error());
  }

  static etb_status claim(const etb_partition_sink* sink, uint32_t node, double cost_ns = 0) {
    const etb_claim item{sizeof(item), 0, &node, 1, 0, cost_ns};
    return sink->claim(sink->ctx, &item);
  }

  static etb_status reject(const etb_partition_sink* sink, uint32_t node, const char* reason) {
    const etb_reject item{sizeof(item), 0, &node, 1, 0, reason, "because"};
    return sink->reject(sink->ctx, &item);
  }

  etb_status compile(Compile wrong) {
    fixture_.toy.aot.compile = wrong;
    if (fixture_.plugin == nullptr && fixture_.start() != ETB_OK) ADD_FAILURE() << fixture_.error.text;
    static const etb_blob_writer kWriter{
        sizeof(etb_blob_writer), 0, nullptr,
        [](void*, uint64_t, const void*, uint64_t) -> etb_status { return ETB_OK; }};
    const etb_artifact_sink sink{sizeof(sink),
                                 0,
                                 nullptr,
                                 [](void*, uint32_t, const etb_blob_writer** out) -> etb_status {
                                   *out = &kWriter;
                                   return ETB_OK;
                                 },
                                 [](void*, const etb_named_blob*) -> etb_status { return ETB_OK; },
                                 [](void*, const etb_artifact*) -> etb_status { return ETB_OK; }};
    const etb_constant_reader constants{
        sizeof(constants), 0, nullptr,
        [](void*, const char*, etb_payload_view*, etb_error*) -> etb_status { return ETB_OK; }};
    const etb_progress progress{sizeof(progress), 0, nullptr, [](void*, double, const char*) {}};
    etb_compile_args args{};
    args.struct_size = sizeof(args);
    args.backend_id = kToyBackend;
    args.graphs = &image_;
    args.graph_count = 1;
    args.sink = &sink;
    args.constants = &constants;
    args.progress = &progress;
    return fixture_.table().aot->compile(fixture_.plugin, &args, fixture_.fresh_error());
  }

  static etb_artifact artifact() {
    etb_artifact result{};
    result.struct_size = sizeof(result);
    return result;
  }

  LayerFixture fixture_;
  etb_graph_image image_{};
  etb_partition_args args_{};
};

// proves: ABI-AOT-01
TEST_F(ValidateAot, ReportsANodeWithoutAnAnswer) {
  partition([](etb_plugin*, const etb_partition_args*, const etb_partition_sink* sink, etb_error*) {
    return claim(sink, 0);
  });
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-AOT-01", Side::PLUGIN, "node 1 of 2 was neither")));
}

// proves: ABI-AOT-01
TEST_F(ValidateAot, ReportsANodeWithTwoAnswers) {
  partition([](etb_plugin*, const etb_partition_args*, const etb_partition_sink* sink, etb_error*) {
    claim(sink, 0);
    claim(sink, 1);
    return reject(sink, 1, "op");
  });
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-AOT-01", Side::PLUGIN, "node 1 was rejected and had an answer")));
}

// proves: ABI-AOT-01
TEST_F(ValidateAot, ReportsANodeThatDoesNotExist) {
  partition([](etb_plugin*, const etb_partition_args*, const etb_partition_sink* sink, etb_error*) {
    return claim(sink, 2);
  });
  EXPECT_THAT(fixture_.found(),
              Contains(Report("ABI-AOT-01", Side::PLUGIN, "node 2 was claimed, the image has 2")));
}

// proves: ABI-AOT-01 ABI-TYPE-03
TEST_F(ValidateAot, ReportsARejectionWithoutAReasonAndACostThatIsNone) {
  partition([](etb_plugin*, const etb_partition_args*, const etb_partition_sink* sink, etb_error*) {
    reject(sink, 0, "");
    return claim(sink, 1, NAN);
  });
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-AOT-01", Side::PLUGIN, "without reason"),
                                            Report("ABI-TYPE-03", Side::PLUGIN, "cost_ns is nan")));
}

// proves: ABI-GRAPH-01 ABI-GRAPH-02
TEST_F(ValidateAot, ReportsImagesThatTheHostDidNotVerify) {
  alignas(16) static const uint8_t kNone[32] = {8, 0, 0, 0, 'E', 'T', 'G', '1'};
  image_.image = {kNone, sizeof(kNone)};
  partition([](etb_plugin*, const etb_partition_args*, const etb_partition_sink*, etb_error*) -> etb_status {
    return ETB_OK;
  });
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-GRAPH-01", Side::HOST)));
  std::vector<uint8_t> moved(fixture_.image().span().begin(), fixture_.image().span().end());
  moved.insert(moved.begin(), 0);
  image_.image = {moved.data() + 1, moved.size() - 1};
  partition([](etb_plugin*, const etb_partition_args*, const etb_partition_sink*, etb_error*) -> etb_status {
    return ETB_OK;
  });
  EXPECT_THAT(fixture_.found(), Contains(Report("ABI-GRAPH-02", Side::HOST)));
}

// proves: ABI-TYPE-03
TEST_F(ValidateAot, ReportsEstimatesThatAreNoNumbers) {
  fixture_.toy.aot.estimate = [](etb_plugin*, const etb_partition_args*, etb_estimate* estimate,
                                 etb_error*) -> etb_status {
    estimate->latency_ns = NAN;
    estimate->confidence = 2;
    return ETB_OK;
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  etb_estimate estimate{};
  estimate.struct_size = sizeof(estimate);
  fixture_.table().aot->estimate(fixture_.plugin, &args_, &estimate, nullptr);
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-TYPE-03", Side::PLUGIN, "latency_ns is nan"),
                          Report("ABI-TYPE-03", Side::PLUGIN, "confidence is 2, expected 0 to 1")));
}

// proves: ABI-AOT-05
TEST_F(ValidateAot, ReportsAPayloadThatIsMissing) {
  compile([](etb_plugin*, const etb_compile_args*, etb_error*) -> etb_status { return ETB_OK; });
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-AOT-05", Side::PLUGIN, "0 payloads were ended, expected one")));
}

// proves: ABI-AOT-05
TEST_F(ValidateAot, ReportsPayloadsOutOfOrder) {
  compile([](etb_plugin*, const etb_compile_args* args, etb_error*) -> etb_status {
    const etb_artifact item = artifact();
    return args->sink->end_payload(args->sink->ctx, &item);
  });
  EXPECT_THAT(fixture_.found(),
              Contains(Report("ABI-AOT-05", Side::PLUGIN, "end_payload of graph 0, expected begin_payload")));
}

// proves: ABI-AOT-05
TEST_F(ValidateAot, ReportsWritesOutsideAPayload) {
  compile([](etb_plugin*, const etb_compile_args* args, etb_error*) -> etb_status {
    const etb_blob_writer* writer = nullptr;
    const etb_artifact item = artifact();
    args->sink->begin_payload(args->sink->ctx, 0, &writer);
    writer->write(writer->ctx, 0, "x", 1);
    args->sink->end_payload(args->sink->ctx, &item);
    return writer->write(writer->ctx, 0, "x", 1);
  });
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-AOT-05", Side::PLUGIN, "write outside")));
}

// proves: ABI-AOT-04
TEST_F(ValidateAot, ReportsOneKeyWithTwoContents) {
  compile([](etb_plugin*, const etb_compile_args* args, etb_error*) -> etb_status {
    etb_named_blob blob{};
    blob.struct_size = sizeof(blob);
    blob.key = "weights";
    blob.value = {"abc", 3};
    args->sink->named_blob(args->sink->ctx, &blob);
    args->sink->named_blob(args->sink->ctx, &blob);  // the same contents again are allowed
    blob.value = {"abd", 3};
    return args->sink->named_blob(args->sink->ctx, &blob);
  });
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-AOT-04", Side::PLUGIN, "'weights'")));
}

// proves: ABI-AOT-05
TEST_F(ValidateAot, ReportsNamedKeysThatWereNotPut) {
  compile([](etb_plugin*, const etb_compile_args* args, etb_error*) -> etb_status {
    const etb_blob_writer* writer = nullptr;
    static const char* const kKeys[1] = {"missing"};
    etb_artifact item = artifact();
    item.named_keys = kKeys;
    item.named_key_count = 1;
    args->sink->begin_payload(args->sink->ctx, 0, &writer);
    return args->sink->end_payload(args->sink->ctx, &item);
  });
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-AOT-05", Side::PLUGIN, "names a blob that was not added")));
}

// proves: ABI-OWN-01 ABI-SINK-01
TEST_F(ValidateAot, ReportsWhatIsUsedAfterTheCompilation) {
  static etb_compile_args kept;
  compile([](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
    kept = *args;
    args->progress->report(args->progress->ctx, 0.5, "half");
    args->progress->report(args->progress->ctx, 0.25, "back");
    return toy_tables().aot.compile(plugin, args, error);
  });
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-TYPE-03", Side::PLUGIN, "progress is 0.25, expected 0.5 to 1")));
  kept.progress->report(kept.progress->ctx, 1, "late");
  etb_payload_view view{};
  view.struct_size = sizeof(view);
  EXPECT_NE(kept.constants->read(kept.constants->ctx, "weight", &view, nullptr), ETB_OK);
  const etb_blob_writer* writer = nullptr;
  EXPECT_NE(kept.sink->begin_payload(kept.sink->ctx, 0, &writer), ETB_OK);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-OWN-01", Side::PLUGIN, "progress was reported after"),
                                            Report("ABI-OWN-01", Side::PLUGIN, "constant reader"),
                                            Report("ABI-SINK-01", Side::PLUGIN, "args.sink")));
}

}  // namespace
}  // namespace etb::host
