// SPDX-License-Identifier: Apache-2.0
// Tests libraries that plugins share with the process: conflicts of names, and descriptors, which must not
// leak.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <functional>

#include "host/registry/probe.hpp"
#include "host/testing/plugin_fixture.hpp"

namespace etb::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string library(const std::string& name) { return std::string(ETB_BROKEN_DIR) + "/" + name + ".so"; }
std::string attack(const std::string& name) { return std::string(ETB_ATTACKS_DIR) + "/" + name + ".so"; }

// Adds a plugin. Plugins of attacks/ get a correct run path.
void add_plugin(const PluginFixture& fixture, const std::string& folder, const std::string& plugin) {
  std::string content = PluginFixture::read_file(plugin);
  if (const size_t at = content.find("/run-path-"); at != std::string::npos) {
    const size_t nbytes = content.find('\0', at) - at;
    content.replace(at, nbytes, "$ORIGIN" + std::string(nbytes - 7, '\0'));
  }
  const std::string name = std::filesystem::path(plugin).filename().string();
  fixture.dir().write("prepared/" + name, content);
  fixture.add(folder, fixture.path("prepared/" + name));
}

void add_with_bundle(const PluginFixture& fixture, const std::string& folder, const std::string& plugin,
                     const std::string& bundled) {
  add_plugin(fixture, folder, plugin);
  fixture.dir().write(folder + "/bundled.so", PluginFixture::read_file(bundled));
}

// Runs `body` in a separate process, since loaded libraries stay. Returns its text, "" if it did not end
// well.
std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = body();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string out(4096, '\0');
  size_t nbytes = 0;
  for (ssize_t count; (count = ::read(ends[0], out.data() + nbytes, out.size() - nbytes)) > 0;)
    nbytes += static_cast<size_t>(count);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  out.resize(nbytes);
  return WIFEXITED(status) ? out : "";
}

// Loads the one plugin of each folder, in order, and keeps it. Returns "ok", or the reason and message.
std::string load(const PluginFixture& fixture, const std::vector<std::string>& folders) {
  std::string out;
  for (const std::string& folder : folders) {
    Registry registry(fixture.options({folder}));
    const auto loaded = registry.load(registry.plugins()[0]);
    out +=
        (out.empty() ? "" : ", ") + (loaded ? "ok" : loaded.error().reason + ": " + loaded.error().message);
  }
  return out;
}

// Returns the path of a library that this program has loaded.
std::string own_library(const std::string& soname) {
  for (const ProcessObject& object : process_objects())
    if (object.soname == soname) return object.path;
  return "";
}

TEST(SharedLibraries, TwoPluginsMayBringTheSameLibrary) {
  PluginFixture fixture;
  add_with_bundle(fixture, "a", library("with_bundle"), ETB_BUNDLED);
  add_with_bundle(fixture, "b", library("with_bundle"), ETB_BUNDLED);
  EXPECT_EQ(in_child([&] { return load(fixture, {"a", "b"}); }), "ok, ok");
}

TEST(SharedLibraries, ASecondLibraryOfOneSonameIsRefused) {
  PluginFixture fixture;
  add_with_bundle(fixture, "a", library("with_bundle"), ETB_BUNDLED);
  add_with_bundle(fixture, "b", attack("with_other_bundle"), attack("bundled_other"));
  EXPECT_EQ(in_child([&] { return load(fixture, {"b"}); }), "ok") << "alone it works";
  EXPECT_THAT(in_child([&] {
                return load(fixture, {"a", "b"});
              }),
              AllOf(HasSubstr("ok, library.conflict: needs bundled.so from beside with_other_bundle.so"),
                    HasSubstr("another one, from " + fixture.path("a/bundled.so"))));
}

TEST(SharedLibraries, ABundledLibraryDoesNotReplaceTheSystems) {
  PluginFixture fixture;
  add_with_bundle(fixture, "a", library("with_bundle"), ETB_BUNDLED);
  fixture.add("b", library("with_bundle"));  // without its library beside it
  EXPECT_THAT(in_child([&] {
                return load(fixture, {"a", "b"});
              }),
              HasSubstr("ok, library.conflict: needs bundled.so of the system"));
}

TEST(SharedLibraries, TheProgramsOwnLibraryIsNotBroughtAgain) {
  PluginFixture fixture;
  add_plugin(fixture, "a", attack("needs_system"));
  const std::string libc = own_library("libc.so.6");
  fixture.dir().write("a/libc.so.6", PluginFixture::read_file(libc));
  EXPECT_EQ(in_child([&] { return load(fixture, {"a"}); }), "ok") << "the same bytes are the same library";
  std::ofstream(fixture.path("a/libc.so.6"), std::ios::app) << "tail";
  EXPECT_THAT(in_child([&] { return load(fixture, {"a"}); }),
              AllOf(HasSubstr("library.conflict: needs libc.so.6 from beside needs_system.so"),
                    HasSubstr("another one, from " + libc)));
}

TEST(SharedLibraries, AMissingSonameIsRefused) {
  PluginFixture fixture;
  add_with_bundle(fixture, "a", library("with_bundle"), attack("bundled_misnamed"));
  EXPECT_THAT(in_child([&] { return load(fixture, {"a"}); }),
              HasSubstr("library.soname: needs bundled.so: SONAME 'elsewhere.so', expected 'bundled.so'"));
}

TEST(SharedLibraries, ALibraryOfTheSystemIsLoadedByItsPath) {
  PluginFixture fixture;
  add_plugin(fixture, "a", attack("needs_system"));
  Registry registry(fixture.options({"a"}));
  const auto probed = probe_plugin(registry.plugins()[0], registry.load_options(), std::chrono::seconds(20));
  ASSERT_TRUE(probed) << probed.error().message;
  EXPECT_THAT(probed->libraries, testing::Contains(testing::MatchesRegex("/.*/libcrypt\\.so\\.1.*")));
}

TEST(SharedLibraries, AFileThatWasChangedInPlaceIsRefused) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  EXPECT_THAT(in_child([&] {
                const std::string first = load(fixture, {"a"});
                const std::string content = PluginFixture::read_file(fixture.path("a/good.so"));
                fixture.dir().write("a/good.so", content + "tail");  // the same inode
                fixture.dir().write("a/plugin.json",
                                    PluginFixture::manifest(content + "tail", "good.so").dump());
                return first + ", " + load(fixture, {"a"});
              }),
              HasSubstr("ok, library.changed: good.so: was changed in place"));
}

size_t descriptor_count() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

uint64_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

struct Cycles {
  const char* name;
  std::string plugin;
  std::string bundled;  // "" for none
  SealPolicy seal = SealPolicy::kForeignFilesystems;
  size_t files_while_loaded = 1;
};

class LoadCycles : public testing::TestWithParam<Cycles> {};

// Runs more cycles than a process has descriptors by default, so that a leak of one fails. ETB_CYCLES sets
// another number.
TEST_P(LoadCycles, LeaveNoDescriptorBehind) {
  const char* const wanted = std::getenv("ETB_CYCLES");
  const int count = wanted == nullptr ? 200 : std::atoi(wanted);
  const Cycles& row = GetParam();
  PluginFixture fixture;
  fixture.add("plugins", row.plugin);
  if (!row.bundled.empty()) fixture.dir().write("plugins/bundled.so", PluginFixture::read_file(row.bundled));
  RegistryOptions options = fixture.options();
  options.seal = row.seal;
  const auto cycle = [&] {
    Registry registry(options);
    const auto opened = registry.open("BrokenBackend");
    EXPECT_TRUE(opened) << opened.error().message;
    return descriptor_count();
  };
  const size_t before = descriptor_count();
  const size_t while_loaded = cycle();
  EXPECT_EQ(while_loaded, before + row.files_while_loaded);
  const size_t after_first = descriptor_count();
  const uint64_t kilobytes = resident_kilobytes();
  for (int i = 1; i < count; ++i) ASSERT_EQ(cycle(), while_loaded) << "cycle " << i;
  EXPECT_EQ(descriptor_count(), after_first);
  std::printf(
      "%d cycles: %zu descriptors before, %zu while it is loaded, %zu after; %llu kB resident after the "
      "first, %llu "
      "after the last\n",
      count, before, while_loaded, descriptor_count(), static_cast<unsigned long long>(kilobytes),
      static_cast<unsigned long long>(resident_kilobytes()));
}

INSTANTIATE_TEST_SUITE_P(
    SharedLibraries, LoadCycles,
    testing::Values(Cycles{"Kept", library("good"), ""}, Cycles{"Unloadable", library("unloadable"), ""},
                    Cycles{"WithBundle", library("with_bundle"), ETB_BUNDLED, SealPolicy::kForeignFilesystems,
                           2},
                    Cycles{"Sealed", library("good"), "", SealPolicy::kAlways, 1},
                    Cycles{"SealedUnloadable", library("unloadable"), "", SealPolicy::kAlways, 1}),
    [](const testing::TestParamInfo<Cycles>& one) { return std::string(one.param.name); });

// Closing does not unmap a library with symbols that are unique in the process. Its descriptor must stay
// open, too: if another file got its number, the loader would confuse the two.
TEST(SharedLibraries, WhatTheLoaderKeepsKeepsItsDescriptor) {
  const auto text = in_child([&]() -> std::string {
    const PluginFixture fixture;
    fixture.dir().write("unique.so", PluginFixture::read_file(attack("bundled_unique")));
    fixture.dir().write("other.so", PluginFixture::read_file(ETB_BUNDLED));
    const auto folder = open_trusted_directory(fixture.path(), {});
    const auto load_and_close = [&](const char* name) -> std::string {
      auto file = open_code_file(folder->get(), name, {}, SealPolicy::kNever);
      if (!file) return file.error().message;
      const auto loaded = Library::load(std::move(file->file), file->source);
      if (!loaded) return loaded.error().message;
      return loaded->find_symbol("etb_unique_user") != nullptr ? "unique" : "other";
    };
    return load_and_close("unique.so") + ", " + load_and_close("other.so") + ", " +
           load_and_close("unique.so");
  });
  EXPECT_EQ(text, "unique, other, unique");
}

}  // namespace
}  // namespace etb::host
