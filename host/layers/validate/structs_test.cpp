// SPDX-License-Identifier: Apache-2.0
// Structs of host and plugin that break a rule are reported.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "etb/cpp/sink.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A host's error in the arguments of a run: one row, one report.
struct WrongRun {
  const char* what;
  const char* rule;
  const char* text;
  void (*spoil)(LayerFixture&);
};

class ValidateRunArguments : public ::testing::TestWithParam<WrongRun> {};

// proves: ABI-SIZE-01 ABI-SIZE-02 ABI-SIZE-04 ABI-TYPE-02 ABI-TYPE-03 ABI-CALL-04 ABI-TENSOR-02 ABI-EXEC-04
TEST_P(ValidateRunArguments, AreReportedAndRefused) {
  LayerFixture fixture(strict());
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK) << fixture.error.text;
  GetParam().spoil(fixture);
  EXPECT_EQ(fixture.execute(), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.error.text, HasSubstr(GetParam().rule));
  EXPECT_THAT(fixture.found(), Contains(Report(GetParam().rule, Side::HOST, GetParam().text)));
}

int64_t g_negative[1] = {-1};
uint8_t g_dim_order[1] = {3};
const etb_option g_unknown_type{sizeof(etb_option), 0, "x-a", 99, 0, 0, 0, nullptr, {}, nullptr, nullptr};
const etb_option g_nan{
    sizeof(etb_option), 0, "x-a", ETB_OPTION_F64, 0, 0, NAN, nullptr, {}, nullptr, nullptr};
const etb_option g_no_key{
    sizeof(etb_option), 0, nullptr, ETB_OPTION_I64, 0, 0, 0, nullptr, {}, nullptr, nullptr};
etb_tensor g_two[2];

constexpr WrongRun kWrongRuns[] = {
    {"SizeTooSmall", "ABI-SIZE-02", "args.struct_size is 40",
     [](LayerFixture& w) { w.run.args.struct_size = 40; }},
    {"SizeAbsurd", "ABI-SIZE-01", "args.struct_size is 1000000",
     [](LayerFixture& w) { w.run.args.struct_size = 1000000; }},
    {"UnknownFlag", "ABI-TYPE-02", "args.flags", [](LayerFixture& w) { w.run.args.flags = 1; }},
    {"Reserved", "ABI-TYPE-02", "args.reserved", [](LayerFixture& w) { w.run.args.reserved = 1; }},
    {"TensorTooSmall", "ABI-SIZE-02", "inputs[0].struct_size",
     [](LayerFixture& w) { w.run.input.struct_size = 8; }},
    {"TensorFlag", "ABI-TYPE-02", "outputs[0].flags", [](LayerFixture& w) { w.run.output.flags = 1; }},
    {"TensorReserved", "ABI-TYPE-02", "inputs[0].reserved",
     [](LayerFixture& w) { w.run.input.reserved = 9; }},
    {"Stride", "ABI-SIZE-04", "of the first",
     [](LayerFixture& w) {
       g_two[0] = g_two[1] = w.run.input;
       g_two[1].struct_size += 8;
       w.run.args.inputs = g_two;
       w.run.args.input_count = 2;
     }},
    {"NoInputs", "ABI-CALL-04", "inputs is NULL", [](LayerFixture& w) { w.run.args.inputs = nullptr; }},
    {"Dtype", "ABI-TYPE-03", "inputs[0].dtype is 77", [](LayerFixture& w) { w.run.input.dtype = 77; }},
    {"Rank", "ABI-TYPE-03", "inputs[0].rank is 17", [](LayerFixture& w) { w.run.input.rank = 17; }},
    {"Role", "ABI-TYPE-03", "inputs[0].role", [](LayerFixture& w) { w.run.input.role = 0x100; }},
    {"Priority", "ABI-TYPE-03", "priority", [](LayerFixture& w) { w.run.args.priority = 1001; }},
    {"DimOrder", "ABI-TYPE-03", "dim_order", [](LayerFixture& w) { w.run.input.dim_order = g_dim_order; }},
    {"NoSizes", "ABI-CALL-04", "inputs[0].sizes is NULL",
     [](LayerFixture& w) { w.run.input.sizes = nullptr; }},
    {"NoData", "ABI-CALL-04", "outputs[0].data is NULL",
     [](LayerFixture& w) { w.run.output.data = nullptr; }},
    {"NegativeSize", "ABI-TENSOR-02", "inputs[0].sizes[0] is -1",
     [](LayerFixture& w) { w.run.input.sizes = g_negative; }},
    {"AboveUpper", "ABI-TENSOR-02", "its upper bound 3", [](LayerFixture& w) { w.run.out_sizes[0] = 4; }},
    {"CapacityBelowUpper", "ABI-TENSOR-02", "capacity_bytes is 4",
     [](LayerFixture& w) { w.run.output.capacity_bytes = 4; }},
    {"InputCount", "ABI-EXEC-04", "0 inputs and 1 outputs",
     [](LayerFixture& w) { w.run.args.input_count = 0; }},
    {"ScratchNull", "ABI-CALL-04", "scratch is NULL", [](LayerFixture& w) { w.run.args.scratch_nbytes = 8; }},
    {"OptionType", "ABI-TYPE-03", "args.options[0].type is 99",
     [](LayerFixture& w) { w.run.args.options = &g_unknown_type, w.run.args.option_count = 1; }},
    {"OptionNaN", "ABI-TYPE-03", "NaN",
     [](LayerFixture& w) { w.run.args.options = &g_nan, w.run.args.option_count = 1; }},
    {"OptionKey", "ABI-CALL-04", "args.options[0].key",
     [](LayerFixture& w) { w.run.args.options = &g_no_key, w.run.args.option_count = 1; }},
};

INSTANTIATE_TEST_SUITE_P(Wrong, ValidateRunArguments, ::testing::ValuesIn(kWrongRuns),
                         [](const auto& row) { return std::string(row.param.what); });

// proves: ABI-EXEC-04
TEST(ValidateStructs, HoldsTheHostToWhatTheDelegateAskedFor) {
  LayerFixture fixture(strict());
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->input_count = info->output_count = info->max_contexts = 1;
    info->scratch_bytes = 64;
    info->scratch_alignment = 64;
    return ETB_OK;
  };
  fixture.toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    etb_io_req req{};
    req.struct_size = sizeof(req);
    req.role = ETB_ROLE_INPUT;
    req.alignment = 1;
    req.padding_bytes = 16;
    return sink->put(sink->ctx, &req);
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
  auto put = [](const etb_io_req&) -> etb_status { return ETB_OK; };
  const auto sink = sink_to<etb_io_req_sink>(put);
  ASSERT_EQ(fixture.delegates().query_io(fixture.delegate(), &sink, nullptr), ETB_OK);
  EXPECT_EQ(fixture.execute(), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-TENSOR-02", Side::HOST, "16 of padding expected"),
                                           Report("ABI-EXEC-04", Side::HOST, "0 bytes of scratch")));
}

// proves: ABI-CALL-04
TEST(ValidateStructs, ReportsPointersThatAreNull) {
  LayerFixture fixture;
  ASSERT_EQ(fixture.start(), ETB_OK);
  EXPECT_EQ(fixture.delegates().query(fixture.delegate(), nullptr, nullptr), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.delegates().execute(fixture.context(), nullptr, nullptr), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.table().device->enumerate(fixture.plugin, nullptr, nullptr), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.create(nullptr), ETB_INVALID_ARGUMENT);
  for (const Violation& violation : fixture.found())
    EXPECT_THAT(violation, Report("ABI-CALL-04", Side::HOST)) << format_violation(violation);
  EXPECT_GE(fixture.validation().violation_count(), 4u);
}

// proves: ABI-SIZE-02
TEST(ValidateStructs, TakesAStructOfANewerHost) {
  LayerFixture fixture(strict());
  ASSERT_EQ(fixture.start(), ETB_OK);
  struct {
    etb_delegate_info known;
    uint64_t later = 77;
  } info{};
  info.known.struct_size = sizeof(info);
  ASSERT_EQ(fixture.delegates().query(fixture.delegate(), &info.known, fixture.fresh_error()), ETB_OK)
      << fixture.error.text;
  EXPECT_EQ(info.known.input_count, 1u);
  EXPECT_EQ(info.later, 77u);
  EXPECT_THAT(fixture.found(), ::testing::IsEmpty());
}

// proves: ABI-SIZE-03
TEST(ValidateStructs, ReportsAWriteBehindAStruct) {
  for (const auto memory : {kCanaries, kGuardPages}) {
    LayerFixture fixture(with_memory(memory));
    fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
      info->input_count = info->output_count = info->max_contexts = 1;
      std::memset(static_cast<void*>(info + 1), 1, 8);  // writes past the end of the struct
      return ETB_OK;
    };
    ASSERT_EQ(fixture.start(), ETB_OK);
    etb_delegate_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
    EXPECT_THAT(fixture.found(),
                ElementsAre(Report("ABI-SIZE-03", Side::PLUGIN, "info: write 0 bytes after its end")));
  }
}

// proves: ABI-SIZE-03
TEST(ValidateStructs, ReportsAChangedStructSize) {
  LayerFixture fixture;
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->max_contexts = 1;
    info->struct_size = 8;
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
  EXPECT_EQ(info.struct_size, sizeof(info));
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-SIZE-03", Side::PLUGIN, "struct_size was changed")));
}

// proves: ABI-TYPE-03
TEST(ValidateStructs, ReportsAnswersOutsideTheirLists) {
  LayerFixture fixture;
  fixture.toy.delegate.check_payload = [](etb_plugin*, const etb_payload_check*, etb_verdict* verdict,
                                          etb_error*) -> etb_status {
    verdict->kind = 9;
    verdict->reasons = 0x4000;
    std::memset(verdict->text, 'x', sizeof(verdict->text));
    return ETB_OK;
  };
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->scratch_bytes = 1;
    info->scratch_alignment = 3;
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_payload_check check{};
  check.struct_size = sizeof(check);
  check.backend_id = kToyBackend;
  etb_verdict verdict{};
  verdict.struct_size = sizeof(verdict);
  EXPECT_EQ(fixture.delegates().check_payload(fixture.plugin, &check, &verdict, nullptr), ETB_OK);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-TYPE-03", Side::PLUGIN, "verdict.kind is 9"),
                                           Report("ABI-TYPE-03", Side::PLUGIN, "verdict.reasons"),
                                           Report("ABI-ERR-02", Side::PLUGIN, "verdict.text")));
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-TYPE-03", Side::PLUGIN, "max_contexts is 0"),
                                           Report("ABI-TYPE-03", Side::PLUGIN, "scratch_alignment is 3")));
}

// proves: ABI-ERR-01
TEST(ValidateErrors, AreFilledWithTheirCodeAndAText) {
  LayerFixture fixture;
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info*, etb_error*) -> etb_status {
    return ETB_UNAVAILABLE;
  };
  fixture.toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink*, etb_error* error) -> etb_status {
    error->code = ETB_BUSY;
    error->text[0] = 'x';
    return ETB_UNAVAILABLE;
  };
  fixture.toy.delegate.cancel = [](etb_context*, etb_error* error) -> etb_status {
    error->code = ETB_BUSY;
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, fixture.fresh_error()), ETB_UNAVAILABLE);
  EXPECT_EQ(fixture.error.code, ETB_UNAVAILABLE) << "the layer repairs what it reports";
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-ERR-01", Side::PLUGIN, "code is 0"),
                                           Report("ABI-ERR-01", Side::PLUGIN, "no text")));
  auto put = [](const etb_io_req&) -> etb_status { return ETB_OK; };
  const auto sink = sink_to<etb_io_req_sink>(put);
  EXPECT_EQ(fixture.delegates().query_io(fixture.delegate(), &sink, nullptr), ETB_UNAVAILABLE);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-ERR-01", Side::PLUGIN, "code is 67, the status 66")));
  EXPECT_EQ(fixture.delegates().cancel(fixture.context(), nullptr), ETB_OK);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-ERR-01", Side::PLUGIN, "ETB_OK and filled")));
}

// proves: ABI-ERR-02
TEST(ValidateErrors, EndInTheirArrayAndAreUtf8) {
  LayerFixture fixture;
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info*, etb_error* error) -> etb_status {
    error->code = ETB_UNAVAILABLE;
    std::memset(error->text, 'x', sizeof(error->text));
    return ETB_UNAVAILABLE;
  };
  fixture.toy.delegate.cancel = [](etb_context*, etb_error* error) -> etb_status {
    error->code = ETB_UNAVAILABLE;
    std::strcpy(error->text, "half a character: \xe2\x82");
    return ETB_UNAVAILABLE;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, fixture.fresh_error()), ETB_UNAVAILABLE);
  EXPECT_EQ(fixture.error.text[sizeof(fixture.error.text) - 1], '\0');
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-ERR-02", Side::PLUGIN, "does not end")));
  EXPECT_EQ(fixture.delegates().cancel(fixture.context(), nullptr), ETB_UNAVAILABLE);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-ERR-02", Side::PLUGIN, "UTF-8")));
}

// proves: ABI-ERR-01
TEST(ValidateStructs, StrictModeAnswersForThePlugin) {
  LayerFixture fixture(strict());
  fixture.toy.delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->max_contexts = 0;
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(fixture.delegates().query(fixture.delegate(), &info, fixture.fresh_error()), ETB_INTERNAL);
  EXPECT_THAT(fixture.error.text, HasSubstr("rejected by the validate layer: ABI-TYPE-03"));
}

// proves: ABI-EXT-01
TEST(ValidateStructs, ReportsAnAnswerToAnIdThatDoesNotExist) {
  LayerFixture fixture;
  fixture.toy.plugin.get_extension = [](etb_plugin*, uint32_t, void*, const char*) -> const void* {
    return &toy_tables();
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  fixture.table().get_extension(fixture.plugin, ETB_OBJECT_PLUGIN, fixture.plugin, "buffer/1");
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-EXT-01", Side::PLUGIN)));
  fixture.table().get_extension(fixture.plugin, 77, fixture.plugin, "buffer/1");
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-TYPE-03", Side::HOST, "object_kind is 77")));
}

TEST(Validation, CountsWhatItDoesNotKeep) {
  ValidateOptions options;
  options.max_violations = 2;
  LayerFixture fixture(options);
  ASSERT_EQ(fixture.start(), ETB_OK);
  for (int i = 0; i < 5; ++i) fixture.create(nullptr);
  EXPECT_EQ(fixture.found().size(), 2u);
  EXPECT_EQ(fixture.validation().violation_count(), 5u);
}

}  // namespace
}  // namespace etb::host
