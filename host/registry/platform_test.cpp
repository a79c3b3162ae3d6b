// SPDX-License-Identifier: Apache-2.0
#include "host/registry/platform.hpp"

#include "host/registry/needs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace etb::host {
namespace {

using testing::ElementsAre;

const Platform kMachine{"linux", "x86_64", "glibc", 0, {"avx", "avx2", "fma"}, "6.1.0"};

LibraryEntry library(std::string path, std::vector<std::string> cpu, int32_t rank) {
  LibraryEntry entry;
  entry.os = "linux";
  entry.arch = "x86_64";
  entry.path = std::move(path);
  entry.cpu = std::move(cpu);
  entry.rank = rank;
  return entry;
}

TEST(ChooseLibrary, HighestRankOfThoseThatSuit) {
  const std::vector<LibraryEntry> entries{library("base", {}, 0), library("avx512", {"avx512f"}, 20),
                                          library("avx2", {"avx2", "fma"}, 10)};
  const LibraryChoice choice = choose_library(entries, kMachine);
  ASSERT_NE(choice.entry, nullptr);
  EXPECT_EQ(choice.entry->path, "avx2");
  EXPECT_THAT(choice.reasons, ElementsAre("libraries[0]: suits, but ranks lower",
                                          "libraries[1]: the processor lacks avx512f"));
}

TEST(ChooseLibrary, MoreFeaturesBreakATieThenTheFirst) {
  EXPECT_EQ(choose_library({library("a", {}, 0), library("b", {"avx"}, 0)}, kMachine).entry->path, "b");
  EXPECT_EQ(choose_library({library("a", {"avx"}, 0), library("b", {"fma"}, 0)}, kMachine).entry->path, "a");
}

TEST(ChooseLibrary, SaysWhyNothingSuits) {
  LibraryEntry arm = library("a", {}, 0), musl = library("b", {}, 0), android = library("c", {}, 0),
               windows = library("d", {}, 0);
  arm.arch = "arm64";
  musl.libc = "musl";
  android.api_level = 30;
  windows.os = "windows";
  const LibraryChoice choice = choose_library({arm, musl, android, windows}, kMachine);
  EXPECT_EQ(choice.entry, nullptr);
  EXPECT_THAT(choice.reasons, ElementsAre("libraries[0]: for arch arm64, here is x86_64",
                                          "libraries[1]: for libc musl, here is glibc",
                                          "libraries[2]: for api level 30, here is 0",
                                          "libraries[3]: for os windows, here is linux"));
}

TEST(ChooseLibrary, KnowsOtherNamesOfAnArchitecture) {
  LibraryEntry entry = library("a", {}, 0);
  entry.arch = "amd64";
  EXPECT_NE(choose_library({entry}, kMachine).entry, nullptr);
}

// The kernel lists the features that it enabled. For features that it knows, the lists must
// agree in both directions.
TEST(CpuFeatures, AgreeWithTheKernel) {
  std::ifstream in("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(in, line))
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0)
      flags = line.substr(line.find(':') + 1);
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no features";
  std::istringstream words(flags);
  const std::vector<std::string> kernel{std::istream_iterator<std::string>(words), {}};
#if defined(__aarch64__)
  if (std::count(kernel.begin(), kernel.end(), "sse2") > 0)
    GTEST_SKIP() << "/proc/cpuinfo is that of an emulator's host";
#endif
  const std::vector<std::string> ours = detect_cpu_feature_names();
  const std::pair<const char*, const char*> same[] = {
      {"avx2", "avx2"},         {"fma", "fma"},         {"f16c", "f16c"},
      {"sse4.2", "sse4_2"},     {"avx512f", "avx512f"}, {"avx512vnni", "avx512_vnni"},
      {"amx-tile", "amx_tile"}, {"neon", "asimd"},      {"dotprod", "asimddp"}};
  for (const auto& [mine, theirs] : same)
    EXPECT_EQ(std::count(ours.begin(), ours.end(), mine) > 0,
              std::count(kernel.begin(), kernel.end(), theirs) > 0)
        << mine;
}

TEST(DottedNumbers, CompareByNumber) {
  EXPECT_LT(compare_dotted_numbers("5.9", "5.10"), 0);
  EXPECT_EQ(compare_dotted_numbers("5.10", "5.10.0"), 0);
  EXPECT_GT(compare_dotted_numbers("6.1.0-13-amd64", "6.0.99"), 0);
  EXPECT_EQ(compare_dotted_numbers("6.1.0-13-amd64", "6.1"), 0);
  EXPECT_LT(compare_dotted_numbers("", "1"), 0);
}

TEST(DetectPlatform, IsThisOne) {
  const Platform platform = detect_platform();
  EXPECT_EQ(platform.os, "linux");
  EXPECT_NE(platform.arch, "unknown");
  EXPECT_FALSE(platform.kernel.empty());
  EXPECT_TRUE(std::is_sorted(platform.cpu.begin(), platform.cpu.end()));
}

}  // namespace
}  // namespace etb::host
