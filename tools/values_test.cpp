// SPDX-License-Identifier: Apache-2.0
// Tests values that no command may accept in silence: unknown names, numbers out of range, options without an
// effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "host/testing/scratch_dir.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/option_values.hpp"
#include "tools/quantity.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Args = std::vector<std::string>;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";
const std::string kProgram = kFixtures + "programs/add.pte";
const std::string kArchive = kFixtures + "zoo/activations.pt2";

Args with(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// A command line that has a value which it cannot use, and texts of the message.
struct Row {
  Args args;
  ExitCode exit;
  Args texts;
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const CliRun run = cli(row.args);
    const std::string line = testing::PrintToString(row.args);
    EXPECT_EQ(run.exit, static_cast<int>(row.exit)) << line << run.err;
    for (const std::string& text : row.texts) EXPECT_THAT(run.err, HasSubstr(text)) << line;
  }
}

TEST(Values, NumbersOutOfRange) {
  const ExitCode usage = ExitCode::USAGE;
  const Args run{"run", kProgram}, compile{"compile", kArchive, "-b", "my_npu"}, verify{"verify", "portable"};
  expect_rows({
      {with(run, {"--threads", "-5"}), usage, {"found '-5', expected 0 to ", "0: all processors"}},
      {with(run, {"--threads", "-1"}), usage, {"found '-1'", "0: all processors"}},
      {with(run, {"--cpu_threads", "-2"}), usage, {"found '-2'", "0 or -1: all processors"}},
      {with(run, {"--cpu_threads", "1", "--threads", "1"}), usage, {"--cpu_threads"}},
      {with(run, {"--repeat", "0"}), usage, {"--repeat: found '0', expected 1 to"}},
      {with(run, {"--warmup", "-1"}), usage, {"--warmup: found '-1'"}},
      {with(run, {"--timeout-ms", "-1"}), usage, {"--timeout-ms: found '-1'"}},
      {with(run, {"--priority", "1001"}), usage, {"--priority: found '1001', expected 0 to 1000"}},
      {with(run, {"--run-id", "0"}), usage, {"--run-id: found '0'"}},
      {with(run, {"--max-memory", "0"}), usage, {"--max-memory: found '0'"}},
      {with(run, {"--max-instructions", "0"}), usage, {"--max-instructions: found '0'"}},
      {with(run, {"--random", "-1"}), usage, {"--random: found '-1'"}},
      {with(compile, {"--min-region", "-4"}), usage, {"--min-region: found '-4'"}},
      {with(compile, {"--min-region", "0"}), usage, {"--min-region: found '0'"}},
      {with(compile, {"--plugin-timeout-ms", "0"}), usage, {"--plugin-timeout-ms: found '0'"}},
      {with(verify, {"--workers", "-1"}), usage, {"--workers: found '-1'"}},
      {with(verify, {"--case-timeout-ms", "0"}), usage, {"--case-timeout-ms: found '0'"}},
      {with(verify, {"--check-timeout-ms", "-1"}), usage, {"--check-timeout-ms: found '-1'"}},
      {with(verify, {"--seed", "-1"}), usage, {"--seed: found '-1'"}},
      {{"bench", kProgram, "--threads", "-1"}, usage, {"--threads: found '-1'", "0: all processors"}},
      {{"bench", kProgram, "--samples", "0"}, usage, {"--samples: found '0'"}},
      {{"bench", kProgram, "--seed", "-1"}, usage, {"--seed: found '-1'"}},
      {{"bench", kProgram, "-o", "-"}, usage, {"-o -: the report is on standard output already"}},
      {{"list", "--deadline-ms", "0"}, usage, {"--deadline-ms: found '0'"}},
      {{"explain", "x", "--deadline-ms", "-3"}, usage, {"--deadline-ms: found '-3'"}},
      {{"graph", kArchive, "--max-data", "-1"}, usage, {"--max-data: found '-1'"}},
  });
  EXPECT_EQ(cli({"run", kProgram, "--cpu_threads", "-1"}).exit, 0);
  EXPECT_EQ(cli({"run", kProgram, "--threads", "0"}).exit, 0);
}

TEST(Values, UnknownNamesHaveTheNearest) {
  const host::ScratchDir dir;
  const Args compile{"compile", kArchive, "-o", dir.path("out.pte")};
  const Args npu = with(compile, {"--plugin-path", ETB_PLUGIN_DIR, "-b", "my_npu"});
  const ExitCode usage = ExitCode::USAGE;
  expect_rows({
      {with(compile, {"--dump-after", "decompos"}),
       usage,
       {"--dump-after: found 'decompos'", "nearest: decompose"}},
      {with(compile, {"--decompose", "bogus=a"}), usage, {"--decompose", "found 'bogus'"}},
      {with(compile, {"--method", "forward=" + kArchive}), usage, {"'forward' is a method already"}},
      {with(npu, {"--only-op", "aten.ab.default"}), usage, {"--only-op", "nearest: aten.abs.default"}},
      {with(npu, {"--skip-op", "bogus"}), usage, {"--skip-op", "found 'bogus'", "aten.abs.default"}},
      {with(npu, {"--only-module", "bogus"}), usage, {"--only-module", "found 'bogus'"}},
      {with(npu, {"--skip-module", "bogus"}), usage, {"--skip-module", "found 'bogus'"}},
      {with(npu, {"--only-node", "bogus"}), usage, {"--only-node", "found 'bogus'"}},
      {with(npu, {"--skip-node", "bogus"}), usage, {"--skip-node", "found 'bogus'"}},
      {with(compile, {"--only-op", "aten.abs.default"}), usage, {"--only-op", "--backend"}},
      {{"graph", kArchive, "--after", "functionaliz"}, usage, {"nearest: functionalize"}},
      {{"run", kProgram, "--print-output", "bogus"}, usage, {"expected one of none, summary, all"}},
      {{"run", kProgram, "--load-mode", "mmab"}, usage, {"nearest: mmap"}},
      {{"new", "abc", "--lang", "c++"}, usage, {"found 'c++'"}},
      {{"explain", "portable", "--pin", "bogus"}, ExitCode::NOT_FOUND, {"--pin", "'bogus'"}},
      {{"verify", "portable", "--backend", "bogus"},
       ExitCode::NOT_FOUND,
       {"--backend", "'bogus'", "expected"}},
  });
  EXPECT_FALSE(std::filesystem::exists(dir.path("out.pte")));
}

TEST(Values, FoldersOfPluginsExist) {
  expect_rows({
      {{"--plugin-path", "/nonexistent/plugins", "list"},
       ExitCode::NOT_FOUND,
       {"--plugin-path", "no such folder"}},
      {{"list", "--plugin-path", kProgram}, ExitCode::INVALID_INPUT, {"found a file, expected a folder"}},
  });
}

TEST(Values, ChoicesForDelegatesThatTheProgramDoesNotHave) {
  expect_rows({
      {{"run", kProgram, "--device", "cpu"}, ExitCode::USAGE, {"--device", "no delegate"}},
      {{"run", kProgram, "--backend-pin", "A=b"}, ExitCode::USAGE, {"'A'", "no delegate"}},
      {{"run", kProgram, "--backend-option", "A:b=c"}, ExitCode::USAGE, {"'A'", "no delegate"}},
      {{"run", kFixtures + "programs/xnnpack.pte", "--backend-pin", "Xnnpack=b"},
       ExitCode::USAGE,
       {"found 'Xnnpack'", "nearest: XnnpackBackend"}},
      {{"run", kFixtures + "programs/xnnpack.pte", "--plugin-path", ETB_PLUGIN_DIR, "--backend-pin",
        "XnnpackBackend=my_np"},
       ExitCode::NOT_FOUND,
       {"found 'my_np'", "nearest: my_npu", "hint: `etbackend list`"}},
      {{"run", kFixtures + "programs/xnnpack.pte", "--plugin-path", ETB_PLUGIN_DIR, "--backend-pin",
        "XnnpackBackend=my_npu"},
       ExitCode::USAGE,
       {"does not provide 'XnnpackBackend'"}},
  });
}

// The list of passes is that of the pipeline: --times prints each pass that ran.
TEST(Values, PassesThatRunHaveNames) {
  const host::ScratchDir dir;
  const CliRun run = cli({"compile", kArchive, "-o", dir.path("out.pte"), "--times"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto names = passes::pass_names();
  const std::regex row(" ms  ([a-z_]+)\n");
  size_t passes = 0;
  for (std::sregex_iterator it(run.out.begin(), run.out.end(), row), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (name == "plugins" || name == "import" || name == "lower" || name == "emit" || name == "write")
      continue;
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    ++passes;
  }
  EXPECT_GT(passes, 15u);
}

TEST(Values, APluginThatGetsNothingIsAWarningWithReasons) {
  const host::ScratchDir dir;
  const Args args{"compile",       kArchive,       "-o", dir.path("out.pte"),
                  "--plugin-path", ETB_PLUGIN_DIR, "-b", "my_npu"};
  const CliRun lenient = cli(args);
  EXPECT_EQ(lenient.exit, 0);
  EXPECT_THAT(lenient.err, AllOf(HasSubstr("warning: plugin 'my_npu' gets none of the "),
                                 HasSubstr("not in the op table"), HasSubstr("hint: --report")));
  const CliRun strict = cli(with(args, {"--strict"}));
  EXPECT_EQ(strict.exit, static_cast<int>(ExitCode::NEGATIVE));
  EXPECT_TRUE(std::filesystem::exists(dir.path("out.pte")));
  const CliRun useful = cli({"compile", kFixtures + "archives/add.pt2", "-o", dir.path("add.pte"),
                             "--plugin-path", ETB_PLUGIN_DIR, "-b", "my_npu", "--strict"});
  EXPECT_EQ(useful.exit, 0) << useful.err;
  EXPECT_THAT(useful.err, Not(HasSubstr("warning")));
}

TEST(Quantity, HasFriendlyNumbers) {
  EXPECT_EQ(nbytes_text(0), "0 bytes");
  EXPECT_EQ(nbytes_text(1), "1 byte");
  EXPECT_EQ(nbytes_text(1023), "1023 bytes");
  EXPECT_EQ(nbytes_text(1024), "1 KiB");
  EXPECT_EQ(nbytes_text(1536), "1.5 KiB");
  EXPECT_EQ(nbytes_text(110592), "108 KiB");
  EXPECT_EQ(nbytes_text((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(nbytes_text(UINT64_MAX), "16 EiB");
  EXPECT_EQ(count_of(1, "method"), "1 method");
  EXPECT_EQ(count_of(2, "method"), "2 methods");
  EXPECT_EQ(count_of(0, "entry"), "0 entries");
  EXPECT_EQ(count_of(3, "pass"), "3 passes");
  EXPECT_EQ(count_of(2, "delay"), "2 delays");
}

TEST(InfoCommand, CountsWeightsOfDelegatesAndKeepsDigestsApart) {
  const std::string program = kFixtures + "programs/xnnpack.pte";
  const CliRun run = cli({"info", program});
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("with 1 method"), HasSubstr("weights: 64 bytes: 2 entries of delegates"),
                    HasSubstr("working memory"), Not(HasSubstr("named data"))));
  const std::string with_digests = cli({"info", program, "--digests"}).out;
  EXPECT_LT(with_digests.find("method forward"), with_digests.find("named data"));
  const auto report = nlohmann::json::parse(cli({"info", program, "--json"}).out);
  EXPECT_EQ(report["weights"]["nbytes"], 64);
  EXPECT_EQ(report["named_data"].size(), 2u);
}

}  // namespace
}  // namespace etb::tools
