// SPDX-License-Identifier: Apache-2.0
// Tests the tools of the module fuzzer: they write back what they decode, and generated calls
// reach nearly every kernel.
#include "host/testing/mutator/program_mutator.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "host/kernels/portable.hpp"
#include "host/testing/mutator/program_decoder.hpp"
#include "host/testing/run_bytes.hpp"

namespace etb::host {
namespace {

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

TEST(ProgramMutator, DecodesWhatItWrites) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs")) {
    if (entry.path().extension() != ".pte") continue;
    const auto program = decode_program(read_file(entry.path()));
    ASSERT_TRUE(program) << entry.path();
    const std::vector<std::byte> once = format::build_program(*program);
    const auto again = decode_program(once);
    ASSERT_TRUE(again) << entry.path();
    EXPECT_EQ(format::build_program(*again), once) << entry.path();
    EXPECT_EQ(run_bytes(once).has_run, run_bytes(read_file(entry.path())).has_run) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 12);
}

TEST(ProgramMutator, GeneratesCallsThatRunForNearlyEveryKernel) {
  KernelRegistry registry;
  ASSERT_EQ(add_portable_kernels(registry), ETB_OK);
  std::set<std::string> never;
  size_t kernel_count = 0;
  registry.for_each([&](const Kernel& kernel) {
    ++kernel_count;
    CallGenerator generator(7);
    bool has_run = false;
    for (int i = 0; i < 400 && !has_run; ++i) {
      format::ProgramSpec program;
      program.methods.emplace_back();
      generator.append_call(program, program.methods[0], kernel);
      has_run = run_bytes(format::build_program(program)).has_run;
    }
    if (!has_run) never.insert(kernel.name);
  });
  std::string names;
  for (const std::string& name : never) names += name + " ";
  std::printf("%zu of %zu kernels ran\n", kernel_count - never.size(), kernel_count);
  EXPECT_LE(never.size(), kernel_count / 10) << "never ran: " << names;
}

TEST(ProgramMutator, KeepsMostProgramsReadable) {
  ProgramMutator mutator(11);
  format::ProgramSpec program = format::add_program(4);
  int readable = 0, ran = 0;
  for (int i = 0; i < 300; ++i) {
    format::ProgramSpec changed = program;
    mutator.mutate(changed);
    const RunBytesOutcome outcome = run_bytes(format::build_program(changed));
    readable += outcome.is_accepted ? 1 : 0;
    ran += outcome.has_run ? 1 : 0;
    if (outcome.has_run) program = changed;
    if (i % 50 == 0) program = format::add_program(4);
  }
  EXPECT_GE(readable, 200);
  EXPECT_GE(ran, 100);
}

}  // namespace
}  // namespace etb::host
