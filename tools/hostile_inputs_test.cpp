// SPDX-License-Identifier: Apache-2.0
// Tests every command on every file that it cannot use: it must print a message and exit with a code, without
// a signal, a hang or a defect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "partitioner_sdk/testing/zip_writer.hpp"
#include "tools/testing/program_process.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

// Replaces a text by one of the same length, so that no offset of the file changes.
std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + to.size()))
    bytes.replace(at, to.size(), to);
  return bytes;
}

// Each function creates the file of a test, at the given path.
using Make = void (*)(const std::string& path);
struct Input {
  const char* name;
  Make make;
};
void PrintTo(const Input& input, std::ostream* out) { *out << input.name; }

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
void write_sparse(const std::string& path, const std::string& bytes) {
  write(path, bytes);
  fs::resize_file(path, uint64_t{30} << 30);
}

constexpr Input kInputs[] = {
    {"Missing", [](const std::string&) {}},
    {"Empty", [](const std::string& path) { write(path, ""); }},
    {"Text", [](const std::string& path) { write(path, "hello\n"); }},
    {"Nuls", [](const std::string& path) { write(path, std::string(100, '\0')); }},
    {"Folder", [](const std::string& path) { fs::create_directory(path); }},
    {"Pipe", [](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
    {"Zeros", [](const std::string& path) { fs::create_symlink("/dev/zero", path); }},
    {"DanglingLink", [](const std::string& path) { fs::create_symlink("/nonexistent/file", path); }},
    {"LinkToItself", [](const std::string& path) { fs::create_symlink(path, path); }},
    {"Sparse", [](const std::string& path) { write_sparse(path, "x"); }},
    {"SparseArray", [](const std::string& path) { write_sparse(path, npy("<f4", "(8000000000,)", "")); }},
    {"ArrayOfNoType", [](const std::string& path) { write(path, npy("", "(2, 3)", std::string(24, '\0'))); }},
    {"ArrayOfOneLetter",
     [](const std::string& path) { write(path, npy("<", "(2, 3)", std::string(24, '\0'))); }},
    {"ArrayCutOff", [](const std::string& path) { write(path, npy("<f4", "(2, 3)", "")); }},
    {"HalfAProgram",
     [](const std::string& path) { write(path, bytes_of(program_fixture("add.pte")).substr(0, 536)); }},
    {"ProgramWithNulInAName",
     [](const std::string& path) {
       write(path, replaced(bytes_of(program_fixture("add.pte")), "forward", std::string("for\0ard", 7)));
     }},
    {"HalfAnArchive",
     [](const std::string& path) {
       write(path, bytes_of(archive_fixture("activations.pt2")).substr(0, 15000));
     }},
    {"ZipWithoutAModel",
     [](const std::string& path) {
       write(path, pt2::write_zip({{"folder/hello.txt", "hello"}}));
     }},
    {"ArchiveWithByteOrderMark",
     [](const std::string& path) {
       write(path, pt2::write_zip({{"m/archive_format", "pt2"},
                                   {"m/archive_version", "0"},
                                   {"m/byteorder", "little"},
                                   {"m/models/model.json", "\xef\xbb\xbf{}"}}));
     }},
    {"ByteOrderMark", [](const std::string& path) { write(path, "\xef\xbb\xbf{}"); }},
};

using Args = std::vector<std::string>;
struct Command {
  const char* name;
  const char* extension;  // extension of the hostile file
  Args (*args)(const std::string& file, const std::string& folder);
};

constexpr Command kCommands[] = {
    {"Compile", ".pt2",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"compile", file, "-o", folder + "/out.pte"};
     }},
    {"CompileMethod", ".pt2",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"compile", "--method", "forward=" + file, "-o", folder + "/out.pte"};
     }},
    {"RunProgram", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", file, "--ones"};
     }},
    {"RunProgramRead", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", file, "--ones", "--load-mode", "file"};
     }},
    {"RunArchive", ".pt2",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", file, "--ones"};
     }},
    {"Serve", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", file, "--serve"};
     }},
    {"RunWithArray", ".npy",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", program_fixture("add.pte"), "--input", file, "--input", file};
     }},
    {"RunWithBytes", ".bin",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", program_fixture("add.pte"), "--inputs", file + "," + file};
     }},
    {"RunWithData", ".ptd",
     [](const std::string& file, const std::string&) -> Args {
       return {"run", program_fixture("external.pte"), "--data", file, "--ones"};
     }},
    {"BenchProgram", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"bench", file, "--samples", "1", "--repeat", "1"};
     }},
    {"BenchArchive", ".pt2",
     [](const std::string& file, const std::string&) -> Args {
       return {"bench", file, "--samples", "1", "--repeat", "1", "--json"};
     }},
    {"InfoProgram", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"info", file};
     }},
    {"InfoManifest", ".json",
     [](const std::string& file, const std::string&) -> Args {
       return {"info", file};
     }},
    {"SizeProgram", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"size", file};
     }},
    {"SelectProgram", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"select", file};
     }},
    {"BindList", ".yaml",
     [](const std::string& file, const std::string&) -> Args {
       return {"bind", file};
     }},
    {"SizeArchive", ".pt2",
     [](const std::string& file, const std::string&) -> Args {
       return {"size", file, "--json"};
     }},
    {"DiffProgram", ".pte",
     [](const std::string& file, const std::string&) -> Args {
       return {"diff-program", program_fixture("add.pte"), file};
     }},
    {"GraphImage", ".etg",
     [](const std::string& file, const std::string&) -> Args {
       return {"graph", file};
     }},
    {"GraphArchive", ".pt2",
     [](const std::string& file, const std::string&) -> Args {
       return {"graph", file, "--after", "image"};
     }},
    {"VerifyLibrary", ".so",
     [](const std::string& file, const std::string&) -> Args {
       return {"verify", file, "--profile", "smoke"};
     }},
    {"Explain", ".json",
     [](const std::string& file, const std::string& folder) -> Args {
       return {"--plugin-path", folder, "explain", file};
     }},
};

void PrintTo(const Command& command, std::ostream* out) { *out << command.name; }

class HostileInput : public testing::TestWithParam<std::tuple<Command, Input>> {};

// A missing file is NOT_FOUND, an invalid one INVALID_INPUT. The same holds for plugins that no file
// provides.
TEST_P(HostileInput, IsAnErrorWithItsExitCode) {
  const auto& [command, input] = GetParam();
  const host::ScratchDir dir;
  const std::string file = dir.path(std::string("input") + command.extension);
  ASSERT_NO_FATAL_FAILURE(input.make(file));
  const Ended ended = run_program(command.args(file, dir.path()));
  EXPECT_THAT(ended.exit, AnyOf(Eq(3), Eq(4))) << "signal " << ended.signal << ": " << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("etbackend "));
  EXPECT_LT(ended.seconds, 20);
  EXPECT_FALSE(fs::exists(dir.path("out.pte")));
}

std::string name_of(const testing::TestParamInfo<std::tuple<Command, Input>>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
}
INSTANTIATE_TEST_SUITE_P(Commands, HostileInput,
                         testing::Combine(testing::ValuesIn(kCommands), testing::ValuesIn(kInputs)), name_of);

struct Exact {
  const char* name;
  Args args;
  Make make;  // "" of a file named "input" in the folder that replaces "@"
  int exit;
  const char* message;
};

void PrintTo(const Exact& command, std::ostream* out) { *out << command.name; }

class HostileCommand : public testing::TestWithParam<Exact> {};

TEST_P(HostileCommand, HasItsExitCodeAndMessage) {
  const host::ScratchDir dir;
  if (GetParam().make != nullptr) {
    ASSERT_NO_FATAL_FAILURE(GetParam().make(dir.path("input")));
  }
  Args args = GetParam().args;
  for (std::string& arg : args) {
    if (arg[0] == '@') arg.replace(0, 1, dir.path());
  }
  const Ended ended = run_program(args);
  EXPECT_EQ(ended.exit, GetParam().exit) << "signal " << ended.signal << ": " << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(GetParam().message));
}

void make_program_named_escape(const std::string& path) {
  write(path + ".pte", replaced(bytes_of(program_fixture("add.pte")), "forward", "\x1b[31mrd"));
}

const Exact kExact[] = {
    {"ThreadsBelowZero", {"run", program_fixture("add.pte"), "--threads", "-2"}, nullptr, 2, "--threads"},
    {"ThreadsByTheMillion",
     {"run", program_fixture("add.pte"), "--threads", "999999"},
     nullptr,
     2,
     "--threads"},
    {"ThreadsOfNoNumber", {"run", program_fixture("add.pte"), "--threads", "1e30"}, nullptr, 2, "--threads"},
    {"ThreadsOfTheMachine", {"run", program_fixture("add.pte"), "--threads", "0"}, nullptr, 0, ""},
    {"ThreadsByTheThousand", {"run", program_fixture("add.pte"), "--threads", "1000"}, nullptr, 0, ""},
    {"NoRepeat", {"run", program_fixture("add.pte"), "--repeat", "0"}, nullptr, 2, "--repeat"},
    {"RepeatForEver", {"run", program_fixture("add.pte"), "--repeat", "4294967295"}, nullptr, 2, "--repeat"},
    {"WarmupForEver", {"run", program_fixture("add.pte"), "--warmup", "4294967295"}, nullptr, 2, "--warmup"},
    {"ZipWithoutAModel",
     {"compile", "@/input", "-o", "@/out.pte"},
     [](const std::string& path) {
       write(path, pt2::write_zip({{"a/b", "c"}}));
     },
     4,
     "found a zip file without a model of torch.export"},
    {"ProgramIsNoArchive",
     {"compile", "@/input", "-o", "@/out.pte"},
     [](const std::string& path) { write(path, bytes_of(program_fixture("add.pte"))); },
     4,
     "found a program (.pte)"},
    {"ArchiveIsNoDataFile",
     {"run", program_fixture("external.pte"), "--data", archive_fixture("activations.pt2")},
     nullptr,
     4,
     "expected external weights (.ptd)"},
    {"DataFileTwice",
     {"run", program_fixture("external.pte"), "--data", program_fixture("external.ptd"), "--data",
      program_fixture("external.ptd")},
     nullptr,
     4,
     "is in two places"},
    {"NoKernelForTheNumbersInAFile",
     {"run", "@/input.pte", "--ones"},
     [](const std::string& path) {
       std::string bytes = bytes_of(program_fixture("conv.pte"));
       bytes[8545 / 8] = static_cast<char>(bytes[8545 / 8] ^ (1 << 8545 % 8));  // a weight has another rank
       write(path + ".pte", bytes);
     },
     4,
     "aten::convolution.out"},
    {"SizesInAnArchive",
     {"compile", "@/input", "-o", "@/out.pte"},
     [](const std::string& path) {
       std::string bytes = bytes_of(archive_fixture("activations.pt2"));
       bytes.at(18948) = '9';  // the exporter's size of a result
       write(path, bytes);
     },
     4,
     "the exporter declares float32[2, 6]"},
    {"ProgramIsNoGraph", {"graph", program_fixture("add.pte")}, nullptr, 4, "graph"},
    {"ArchiveHasNoPlugin", {"verify", archive_fixture("activations.pt2")}, nullptr, 4, "etbackend compile"},
    {"RulesThatArePipes",
     {"compile", archive_fixture("activations.pt2"), "--rules", "@/input", "-o", "@/out.pte"},
     [](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
     4,
     "found a named pipe"},
    {"RulesWithByteOrderMark",
     {"compile", archive_fixture("activations.pt2"), "--rules", "@/input", "-o", "@/out.pte"},
     [](const std::string& path) { write(path, "\xef\xbb\xbf# rules\n"); },
     4,
     "byte order mark"},
    {"GraphTextWithByteOrderMark",
     {"graph", "@/input"},
     [](const std::string& path) { write(path, "\xef\xbb\xbfgraph"); },
     4,
     "byte order mark"},
    {"NulInTheNameOfAMethod",
     {"info", "@/input.pte"},
     [](const std::string& path) {
       write(path + ".pte",
             replaced(bytes_of(program_fixture("add.pte")), "forward", std::string("for\0ard", 7)));
     },
     4,
     "has a NUL byte in it"},
    {"NulInTheNameOfAnOp",
     {"run", "@/input.pte", "--ones"},
     [](const std::string& path) {
       write(path + ".pte",
             replaced(bytes_of(program_fixture("add.pte")), "aten::add", std::string("aten::a\0d", 9)));
     },
     4,
     "has a NUL byte in it"},
    {"NulInAnArchive",
     {"compile", "@/input", "-o", "@/out.pte"},
     [](const std::string& path) {
       write(path,
             pt2::write_zip({{"m/archive_format", "pt2"},
                             {"m/archive_version", "0"},
                             {"m/byteorder", "little"},
                             {"m/models/model.json", R"({"schema_version": {"major": 8}, "a\u0000b": 1})"}}));
     },
     4,
     "NUL"},
    {"ManifestWithByteOrderMark",
     {"--plugin-path", "@", "info", "@/input.json"},
     [](const std::string& path) { write(path + ".json", "\xef\xbb\xbf{}"); },
     4,
     ""},
    {"PluginThatIsNot", {"explain", "no-such-plugin"}, nullptr, 3, "no-such-plugin"},
    {"ProjectOverAFile",
     {"new", "abc", "--dir", "@/input"},
     [](const std::string& path) { write(path, "x"); },
     4,
     "input"},
    {"EscapeInTheNameOfAMethod",
     {"run", "@/input.pte", "--method", "\x1b[2J"},
     &make_program_named_escape,
     3,
     "\\x1b[2J"},
};
INSTANTIATE_TEST_SUITE_P(Commands, HostileCommand, testing::ValuesIn(kExact),
                         [](const auto& of) { return of.param.name; });

// Names in a file must not control the terminal or the log.
TEST(HostileNames, AreEscapedWhereverTheyArePrinted) {
  const host::ScratchDir dir;
  make_program_named_escape(dir.path("method"));
  write(dir.path("op.pte"), replaced(bytes_of(program_fixture("add.pte")), "aten::add", "aten::\x1b[K"));
  for (const Args& args :
       {Args{"info", dir.path("method.pte")}, Args{"info", dir.path("method.pte"), "--json"},
        Args{"run", dir.path("method.pte"), "--ones"}, Args{"info", dir.path("op.pte")},
        Args{"run", dir.path("op.pte"), "--ones"}, Args{"run", dir.path("\x1b[2J")},
        Args{"explain", "\xe2\x80\xae"}, Args{"list", "--no-such-\x1b[2J"}}) {
    const Ended ended = run_program(args);
    EXPECT_EQ(ended.signal, 0);
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("\xe2\x80\xae")));
  }
  EXPECT_THAT(run_program({"info", dir.path("op.pte")}).out, HasSubstr("1 x aten::\\x1b[K.out\n"));
  EXPECT_THAT(run_program({"run", dir.path("op.pte"), "--ones"}).err,
              HasSubstr("no kernel for 1 of 1 operators: aten::\\x1b[K.out("));
  EXPECT_THAT(run_program({"explain", "\xe2\x80\xae"}).err, HasSubstr("\\xe2\\x80\\xae"));
  EXPECT_THAT(run_program({"info", dir.path("method.pte")}).out, HasSubstr("method \\x1b[31mrd\n"));
}

TEST(HostileManifests, ByteOrderMarksAndNulsAreNamed) {
  const host::ScratchDir dir;
  dir.write("mark.json", "\xef\xbb\xbf{}");
  dir.write("nul.json", std::string_view("{}\0{\"id\": 1}", 12));
  const Ended list = run_program({"--plugin-path", dir.path(), "list"});
  EXPECT_EQ(list.exit, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("found a byte order mark (EF BB BF)"));
  EXPECT_THAT(list.out, HasSubstr("found a NUL byte"));
}

}  // namespace
}  // namespace etb::tools
