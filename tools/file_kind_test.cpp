// SPDX-License-Identifier: Apache-2.0
// Tests the kinds of files by their bytes, and each command's message about a file of another kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "host/testing/scratch_dir.hpp"
#include "partitioner_sdk/testing/zip_writer.hpp"
#include "tools/file_kind.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

std::string text_of(std::string_view bytes) { return std::string(bytes); }

// A file of each kind, named as its kind usually is.
struct Sample {
  const char* name;
  FileKind kind;
  std::string bytes;
};

std::vector<Sample> samples() {
  std::string safetensors("\x10\0\0\0\0\0\0\0{\"a\":{\"b\":\"c\"}}", 24);
  return {
      {"empty.pte", FileKind::kEmpty, ""},
      {"record.etrecord", FileKind::kRecord, pt2::write_zip({{"ETRECORD_V0", ""}})},
      {"weights.ptd", FileKind::kExternalData, text_of({"\x08\0\0\0FT01", 8})},
      {"run.etdp", FileKind::kEtdump, text_of({"\x0c\0\0\0\x08\0\0\0ED00", 12})},
      {"graph.etg", FileKind::kGraphImage, text_of({"\x08\0\0\0ETG1", 8})},
      {"graph.txt", FileKind::kGraphText, "etg 1\n"},
      {"plugin.json", FileKind::kManifest, "{\n  \"manifest_version\": 1\n}"},
      {"other.json", FileKind::kJson, "{}"},
      {"lib.so", FileKind::kLibrary,
       text_of({"\x7f"
                "ELF\2\1\1\0",
                8})},
      {"other.zip", FileKind::kZip, pt2::write_zip({{"hello.txt", "hello"}})},
      {"old.pt", FileKind::kPickle, text_of({"\x80\2\x8a\nl\xfc", 6})},
      {"new.pth", FileKind::kPickledZip, pt2::write_zip({{"model/data.pkl", "x"}})},
      {"script.pt", FileKind::kTorchScript, pt2::write_zip({{"m/data.pkl", "x"}, {"m/constants.pkl", "x"}})},
      {"model.onnx", FileKind::kOnnx,
       text_of({"\x08\x08\x12\x07pytorch\x1a\x05"
                "2.0.1",
                18})},
      {"model.tflite", FileKind::kTflite, text_of({"\x1c\0\0\0TFL3", 8})},
      {"model.gguf", FileKind::kGguf, text_of({"GGUF\3\0\0\0", 8})},
      {"model.safetensors", FileKind::kSafetensors, safetensors},
      {"x.npy", FileKind::kArray, text_of({"\x93NUMPY\1\0", 8})},
      {"page.pte", FileKind::kHtml, "<!DOCTYPE html><html><body>404</body></html>"},
      {"notes.txt", FileKind::kText, "hello\n"},
      {"noise.bin", FileKind::kUnknown, text_of({"\1\2\3\4\5\6\7\0", 8})},
  };
}

TEST(FileKind, IsFoundByTheBytes) {
  const host::ScratchDir dir;
  for (const Sample& sample : samples()) {
    dir.write(sample.name, sample.bytes);
    EXPECT_EQ(static_cast<int>(find_file_kind(dir.path(sample.name))), static_cast<int>(sample.kind))
        << sample.name << ": " << describe_file_kind(find_file_kind(dir.path(sample.name)));
  }
  EXPECT_EQ(find_file_kind(kFixtures + "programs/add.pte"), FileKind::kProgram);
  EXPECT_EQ(find_file_kind(kFixtures + "zoo/activations.pt2"), FileKind::kArchive);
  EXPECT_EQ(find_file_kind(kFixtures + "programs/external.ptd"), FileKind::kExternalData);
  EXPECT_EQ(find_file_kind(dir.path("nothing")), FileKind::kUnknown);
}

// Each command names the kind found and what it expects.
TEST(FileKind, IsNamedByEveryCommand) {
  const host::ScratchDir dir;
  for (const Sample& sample : samples()) {
    dir.write(sample.name, sample.bytes);
    if (sample.kind == FileKind::kUnknown) continue;
    const std::string path = dir.path(sample.name);
    const std::string found = "found " + describe_file_kind(sample.kind);
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"compile", path, "-o", dir.path("out.pte")}, {"run", path}}) {
      const CliRun run = cli(args);
      EXPECT_EQ(run.exit, static_cast<int>(ExitCode::INVALID_INPUT)) << args[0] << ' ' << run.err;
      EXPECT_THAT(run.err, AllOf(HasSubstr(found), HasSubstr("expected a"), HasSubstr(path))) << args[0];
    }
    const bool is_plugin = sample.kind == FileKind::kManifest || sample.kind == FileKind::kJson ||
                           sample.kind == FileKind::kLibrary;
    if (!is_plugin) {
      EXPECT_THAT(cli({"verify", path}).err, HasSubstr(found));
      EXPECT_THAT(cli({"info", path}).err, HasSubstr(found));
    }
    const bool is_graph = sample.kind == FileKind::kGraphImage || sample.kind == FileKind::kGraphText ||
                          sample.kind == FileKind::kText;
    if (!is_graph) {
      EXPECT_THAT(cli({"graph", path}).err, HasSubstr(found));
    }
  }
}

TEST(FileKind, NamesTheCommandThatTakesTheFile) {
  const std::string program = kFixtures + "programs/add.pte", archive = kFixtures + "zoo/activations.pt2";
  EXPECT_THAT(cli({"compile", program}).err, HasSubstr("hint: `etbackend run FILE`"));
  EXPECT_THAT(cli({"graph", program}).err, HasSubstr("hint: `etbackend run FILE`"));
  EXPECT_THAT(cli({"verify", program}).err, HasSubstr("hint: `etbackend run FILE`"));
  EXPECT_THAT(cli({"verify", archive}).err, HasSubstr("`etbackend compile FILE` makes a program"));
  EXPECT_THAT(cli({"run", program, "--data", program}).err, HasSubstr("expected external weights (.ptd)"));
  const host::ScratchDir dir;
  dir.write("model.onnx", samples()[12].bytes);
  EXPECT_THAT(cli({"compile", dir.path("model.onnx")}).err, HasSubstr("torch.export.export"));
}

TEST(InfoCommand, PrintsAnArchive) {
  const CliRun run = cli({"info", kFixtures + "zoo/activations.pt2"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("archive of torch.export"), HasSubstr("input 0: float32 [2,6], x"),
                             HasSubstr("1 x aten.abs.default")));
}

}  // namespace
}  // namespace etb::tools
