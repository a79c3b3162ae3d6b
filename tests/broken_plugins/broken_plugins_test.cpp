// SPDX-License-Identifier: Apache-2.0
// Tests the registry's answer to every broken plugin: one table. A built library that the table does not list
// fails the test, and so does a row without a library.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "host/registry/probe.hpp"
#include "host/testing/plugin_fixture.hpp"

namespace etb::host {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The step at which the registry detects the defect. Later steps run the plugin's code; kChild only in a
// child process.
enum class Seen { kBySearch, kByLoad, kByInit, kInChild, kNever };

struct Row {
  const char* name;  // name of the case, and of the library unless `library` is set
  Seen seen;
  const char* reason;    // id of reason.def, "" if none
  const char* message;   // part of the text
  json patch = nullptr;  // change to the manifest
  const char* library = nullptr;
  std::function<void(const PluginFixture&, const std::string& folder)> spoil =
      nullptr;  // change to the folder, before the search
  std::function<void(const PluginFixture&, const std::string& folder)> exchange =
      nullptr;  // after the search
};

std::string library_file(const std::string& name) { return std::string(ETB_BROKEN_DIR) + "/" + name + ".so"; }

void patch_byte(const PluginFixture& fixture, const std::string& file, size_t at, char value) {
  std::string content = PluginFixture::read_file(fixture.path(file));
  content[at] = value;
  fixture.dir().write(file, content);
}

json abi(const char* min, const char* max) { return {{"abi", {{"min", min}, {"max", max}}}}; }
// Omits the digest from the manifest, for cases that change the library on purpose.
json without_digest() {
  return {{"libraries", {{{"os", "linux"}, {"arch", detect_platform().arch}, {"path", "good.so"}}}}};
}

void replace_by_link(const PluginFixture& fixture, const std::string& folder) {
  const std::string original = fixture.path(folder + "/good.so");
  std::filesystem::rename(original, fixture.path("moved.so"));
  std::filesystem::create_symlink(fixture.path("moved.so"), original);
}

void add_bundled(const PluginFixture& fixture, const std::string& folder) {
  fixture.dir().write(folder + "/bundled.so", PluginFixture::read_file(ETB_BUNDLED));
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      // No defect.
      {"good", Seen::kNever, "", ""},
      {"unloadable", Seen::kNever, "", ""},
      {"aborts_in_execute", Seen::kNever, "", ""},
      {"keeps_pointers", Seen::kNever, "", ""},
      // proves: ABI-VER-03 ABI-SIZE-02
      {"future_minor", Seen::kNever, "", "", abi("1.0", "1.900")},
      {"extra_symbol", Seen::kNever, "", ""},
      {"bundle_missing", Seen::kByLoad, "library.needed", "needs bundled.so, which is neither beside it",
       nullptr, "with_bundle"},
      {"bundle_writable_by_all", Seen::kByLoad, "library.untrusted",
       "needs bundled.so: writable by everybody", nullptr, "with_bundle",
       [](const PluginFixture& fixture, const std::string& folder) {
         add_bundled(fixture, folder);
         ::chmod(fixture.path(folder + "/bundled.so").c_str(), 0666);
       }},
      {"bundle_truncated", Seen::kByLoad, "library.format", "needs bundled.so: segment", nullptr,
       "with_bundle",
       [](const PluginFixture& fixture, const std::string& folder) {
         add_bundled(fixture, folder);
         std::filesystem::resize_file(fixture.path(folder + "/bundled.so"), 4096);
       }},
      {"crashes_in_deinit", Seen::kInChild, "child.crashed", "in deinit"},
      // Detected in the manifest and the file, without running code.
      {"run_path_relative", Seen::kBySearch, "library.search",
       "run_path_relative.so: run path 'lib', expected $ORIGIN alone or none"},
      {"run_path_parent", Seen::kBySearch, "library.search", "run path '$ORIGIN/..', expected"},
      {"run_path_braces", Seen::kBySearch, "library.search", "run path '${ORIGIN}', expected"},
      {"run_path_lib", Seen::kBySearch, "library.search", "run path '/opt/$LIB', expected"},
      {"run_path_platform", Seen::kBySearch, "library.search", "run path '/opt/$PLATFORM', expected"},
      {"run_path_absolute", Seen::kBySearch, "library.search", "run path '/usr/lib', expected"},
      {"run_path_missing", Seen::kBySearch, "library.search", "run path '/nonexistent/etb', expected"},
      {"run_path_second", Seen::kBySearch, "library.search", "run path '/opt', expected"},
      {"auxiliary", Seen::kBySearch, "library.filter", "auxiliary.so: has DT_AUXILIARY foreign.so, expected"},
      {"filter", Seen::kBySearch, "library.filter", "filter.so: has DT_FILTER foreign.so, expected"},
      {"audit", Seen::kBySearch, "library.filter", "audit.so: has DT_AUDIT foreign.so, expected"},
      {"depaudit", Seen::kBySearch, "library.filter", "depaudit.so: has DT_DEPAUDIT foreign.so, expected"},
      {"other_soname", Seen::kBySearch, "library.soname",
       "other_soname.so: SONAME 'libhelper.so.1', expected 'other_soname.so'"},
      {"needs_nothing_there", Seen::kByLoad, "library.needed",
       "needs etb_absent.so, which is neither beside it nor in a system folder"},
      // proves: ABI-VER-01
      {"wrong_major", Seen::kBySearch, "abi.version", "speaks abi 2.0 to 2.0, the host 1.0 to 1.0",
       abi("2.0", "2.0")},
      // proves: ABI-VER-03
      {"only_future_minor", Seen::kBySearch, "abi.version", "speaks abi 1.900 to 1.900",
       abi("1.900", "1.900")},
      {"note_of_another_abi", Seen::kBySearch, "ident.manifest",
       "abi '2.0 to 2.0' in the library, '1.0 to 1.0' in the manifest", nullptr, "wrong_major"},
      // proves: ABI-SYM-01
      {"no_symbol", Seen::kBySearch, "library.symbol", "does not export etb_plugin_query"},
      // proves: ABI-LOAD-01
      {"no_note", Seen::kBySearch, "ident.note", "no identity note"},
      {"two_notes", Seen::kBySearch, "ident.note", "two identity notes"},
      // proves: ABI-TYPE-02
      {"unknown_flag", Seen::kBySearch, "ident.note", "flags 0x80000000, known are 0x7"},
      {"reserved_set", Seen::kBySearch, "ident.note", "reserved field is not zero"},
      {"other_candidate", Seen::kBySearch, "ident.note",
       "built for release candidate 2 of the ABI, the host speaks candidate 1"},
      {"no_profile", Seen::kBySearch, "ident.note", "profiles 0x0"},
      // proves: ABI-LOAD-03
      {"other_sanitizer", Seen::kBySearch, "ident.sanitizer", "built with sanitizers: memory"},
      // proves: ABI-LOAD-02
      {"id_not_ended", Seen::kBySearch, "ident.note", "id: no NUL within 96 bytes"},
      {"id_upper_case", Seen::kBySearch, "ident.note", "id: found 'Com.example.broken'"},
      {"ident_too_small", Seen::kBySearch, "ident.note", "struct_size 64"},
      {"ident_absurd", Seen::kBySearch, "ident.note", "struct_size 2147483647"},
      // proves: ABI-LOAD-02
      {"manifest_of_another_id",
       Seen::kBySearch,
       "ident.manifest",
       "id 'com.example.broken' in the library, 'com.example.other'",
       {{"id", "com.example.other"}},
       "good"},
      {"manifest_of_another_version",
       Seen::kBySearch,
       "ident.manifest",
       "version '1.2.3' in the library, '1.2.4'",
       {{"version", "1.2.4"}},
       "good"},
      {"manifest_of_other_profiles",
       Seen::kBySearch,
       "ident.manifest",
       "profiles",
       {{"abi", {{"profiles", {"aot"}}}}},
       "good"},
      {"for_another_system",
       Seen::kBySearch,
       "platform.none-suits",
       "for os plan9, here is linux",
       {{"libraries", {{{"os", "plan9"}, {"arch", "x86_64"}, {"path", "good.so"}}}}},
       "good"},
      {"for_a_better_processor",
       Seen::kBySearch,
       "platform.none-suits",
       "the processor lacks time-travel",
       {{"libraries",
         {{{"os", "linux"},
           {"arch", detect_platform().arch},
           {"path", "good.so"},
           {"cpu", {"time-travel"}}}}}},
       "good"},
      {"needs_a_newer_kernel",
       Seen::kBySearch,
       "needs.missing",
       "needs kernel 999.0, here is",
       {{"needs", {{"kernel_min", "999.0"}}}},
       "good"},
      {"needs_what_is_not_bundled",
       Seen::kBySearch,
       "needs.missing",
       "needs absent.so beside the library",
       {{"needs", {{"libraries", {{{"name", "absent.so"}, {"where", "bundle"}}}}}}},
       "good"},
      {"wrong_architecture", Seen::kBySearch, "library.arch",
       "good.so: for machine-22, the manifest declares", without_digest(), "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         patch_byte(fixture, folder + "/good.so", offsetof(Elf64_Ehdr, e_machine), EM_S390);
         patch_byte(fixture, folder + "/good.so", offsetof(Elf64_Ehdr, e_machine) + 1, 0);
       }},
      {"big_endian", Seen::kBySearch, "library.format", "big-endian", without_digest(), "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         patch_byte(fixture, folder + "/good.so", EI_DATA, ELFDATA2MSB);
       }},
      {"truncated", Seen::kBySearch, "library.format", "truncated", without_digest(), "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::resize_file(fixture.path(folder + "/good.so"), 4096);
       }},
      {"truncated_head", Seen::kBySearch, "library.format", "truncated", without_digest(), "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::resize_file(fixture.path(folder + "/good.so"), 40);
       }},
      {"empty", Seen::kBySearch, "library.format", "not an ELF file", without_digest(), "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         fixture.dir().write(folder + "/good.so", "");
       }},
      {"text_file", Seen::kBySearch, "library.format", "not an ELF file", without_digest(), "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         fixture.dir().write(folder + "/good.so", "INPUT(other.so) and more text");
       }},
      {"size_mismatch", Seen::kBySearch, "library.size", "bytes, the manifest declares", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::ofstream(fixture.path(folder + "/good.so"), std::ios::app) << "tail";
       }},
      {"missing", Seen::kBySearch, "library.missing", "good.so: No such file", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::remove(fixture.path(folder + "/good.so"));
       }},
      {"symlink_swap", Seen::kBySearch, "library.untrusted", "good.so: a symbolic link", nullptr, "good",
       replace_by_link},
      {"library_is_a_fifo", Seen::kBySearch, "library.unreadable", "good.so: not a regular file", nullptr,
       "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::remove(fixture.path(folder + "/good.so"));
         ASSERT_EQ(::mkfifo(fixture.path(folder + "/good.so").c_str(), 0644), 0);
       }},
      {"library_is_a_folder", Seen::kBySearch, "library.unreadable", "good.so: not a regular file", nullptr,
       "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::remove(fixture.path(folder + "/good.so"));
         std::filesystem::create_directory(fixture.path(folder + "/good.so"));
       }},
      {"library_writable_by_all", Seen::kBySearch, "library.untrusted",
       "good.so: writable by everybody (mode 0666)", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         ::chmod(fixture.path(folder + "/good.so").c_str(), 0666);
       }},
      {"manifest_writable_by_group", Seen::kBySearch, "manifest.untrusted",
       "plugin.json: writable by its group", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         ::chmod(fixture.path(folder + "/plugin.json").c_str(), 0664);
       }},
      {"manifest_is_a_folder", Seen::kBySearch, "manifest.unreadable", "plugin.json: not a regular file",
       nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::remove(fixture.path(folder + "/plugin.json"));
         std::filesystem::create_directory(fixture.path(folder + "/plugin.json"));
       }},
      {"manifest_is_a_link", Seen::kBySearch, "manifest.untrusted", "plugin.json: a symbolic link", nullptr,
       "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::rename(fixture.path(folder + "/plugin.json"), fixture.path("moved.json"));
         std::filesystem::create_symlink(fixture.path("moved.json"), fixture.path(folder + "/plugin.json"));
       }},
      {"manifest_is_no_json", Seen::kBySearch, "manifest.invalid", "$: parse error", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         fixture.dir().write(folder + "/plugin.json", "{\"id\": ");
       }},
      {"manifest_too_large", Seen::kBySearch, "manifest.unreadable", "expected at most 1048576", nullptr,
       "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         fixture.dir().write(folder + "/plugin.json", std::string((1 << 20) + 1, ' '));
       }},
      {"path_escape",
       Seen::kBySearch,
       "manifest.invalid",
       "libraries[0].path: found '../good.so'",
       {{"libraries", {{{"os", "linux"}, {"arch", "x86_64"}, {"path", "../good.so"}}}}},
       "good"},
      {"path_through_link",
       Seen::kBySearch,
       "library.untrusted",
       "sub: a symbolic link",
       {{"libraries", {{{"os", "linux"}, {"arch", detect_platform().arch}, {"path", "sub/good.so"}}}}},
       "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::filesystem::create_symlink(".", fixture.path(folder + "/sub"));
       }},
      {"overlay_disables", Seen::kBySearch, "policy.disabled", "disabled by", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         fixture.dir().write(folder + "/com.example.broken.local.json",
                             R"({"manifest_version": 1, "disable": true})");
       }},
      {"overlay_invalid", Seen::kBySearch, "overlay.invalid", "an overlay may only say", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         fixture.dir().write(folder + "/com.example.broken.local.json",
                             R"({"manifest_version": 1, "disabled": true})");
       }},
      // Detected when it is loaded, without harm to this process.
      {"digest_mismatch", Seen::kByLoad, "library.digest", ", expected ", nullptr, "good",
       [](const PluginFixture& fixture, const std::string& folder) {
         std::string content = PluginFixture::read_file(fixture.path(folder + "/good.so"));
         patch_byte(fixture, folder + "/good.so", content.size() - 1, static_cast<char>(content.back() ^ 1));
       }},
      // proves: ABI-LOAD-04
      {"exchanged_after_search", Seen::kByLoad, "library.digest", ", expected ", nullptr, "good", nullptr,
       [](const PluginFixture& fixture, const std::string& folder) {
         std::string content = PluginFixture::read_file(fixture.path(folder + "/good.so"));
         patch_byte(fixture, folder + "/good.so", content.size() - 1, static_cast<char>(content.back() ^ 1));
       }},
      {"linked_after_search", Seen::kByLoad, "library.untrusted", "good.so: a symbolic link", nullptr, "good",
       nullptr, replace_by_link},
      {"opened_up_after_search", Seen::kByLoad, "library.untrusted", "writable by everybody", nullptr, "good",
       nullptr,
       [](const PluginFixture& fixture,
          const std::string& folder) { ::chmod(fixture.path(folder).c_str(), 0777); }},
      // proves: ABI-LOAD-04
      {"undefined_symbol", Seen::kByLoad, "library.load", "etb_nobody_defines_this"},
      // proves: ABI-LOAD-02
      {"lies_about_id", Seen::kByLoad, "ident.query", "id 'com.example.other'"},
      {"lies_about_version", Seen::kByLoad, "ident.query", "version '9.9.9'"},
      {"lies_about_abi", Seen::kByLoad, "ident.query", "another identity than the note"},
      {"lies_about_flags", Seen::kByLoad, "ident.query", "another identity than the note"},
      {"null_ident", Seen::kByLoad, "ident.query", "the table's ident is NULL"},
      // proves: ABI-VER-02
      {"null_table", Seen::kByLoad, "query.null", "no table for abi 1.0 to 1.0"},
      // proves: ABI-SIZE-02
      {"table_too_small", Seen::kByLoad, "query.table", "plugin table: struct_size"},
      {"delegate_table_too_small", Seen::kByLoad, "query.table", "delegate table: struct_size"},
      {"table_absurd", Seen::kByLoad, "query.table",
       "plugin table: struct_size 4294967295, expected at most 65536"},
      {"table_flags", Seen::kByLoad, "query.table", "plugin table: unknown flags 2"},
      {"abi_out_of_range", Seen::kByLoad, "abi.version", "the table follows abi 3.0, asked for 1.0 to 1.0"},
      // proves: ABI-CALL-02
      {"no_execute", Seen::kByLoad, "query.table", "required function delegate.execute is NULL"},
      {"no_init", Seen::kByLoad, "query.table", "required function plugin.init is NULL"},
      {"no_delegate_table", Seen::kByLoad, "query.table",
       "profile runtime without the device and the delegate table"},
      // proves: ABI-CALL-01
      {"cap_without_function", Seen::kByLoad, "query.table", "ETB_DELEGATE_CAP_CANCEL"},
      // proves: ABI-CALL-03
      {"throws", Seen::kByLoad, "query.exception", "query threw"},
      {"init_fails", Seen::kByInit, "", "no driver\\x1b[31m"},
      {"init_gives_nothing", Seen::kByInit, "", "without a context"},
      // Loaded in a child process only; here they would end this one.
      {"crashes_at_load", Seen::kInChild, "child.crashed", "while loading"},
      {"hangs_at_load", Seen::kInChild, "child.deadline", "while loading"},
      {"exits_at_load", Seen::kInChild, "child.crashed", "exited with code 0 while loading"},
      {"crashes_in_query", Seen::kInChild, "child.crashed", "while loading"},
      {"exits_in_query", Seen::kInChild, "child.crashed", "exited with code 3 while loading"},
      {"crashes_in_init", Seen::kInChild, "child.crashed", "while in init"},
      {"hangs_in_init", Seen::kInChild, "child.deadline", "while in init"},
      {"exits_in_init", Seen::kInChild, "child.crashed", "exited with code 0 while in init"},
      {"crashes_in_enumerate", Seen::kInChild, "child.crashed", "while enumerating devices"},
      {"hostile_device_name", Seen::kNever, "", ""},
      {"no_device", Seen::kNever, "", ""},
  };
  return kRows;
}

class BrokenPlugin : public testing::TestWithParam<Row> {};

void expect_refusal(const Error& error, const Row& row) {
  EXPECT_EQ(error.reason, row.reason) << error.message;
  EXPECT_THAT(error.message, HasSubstr(row.message));
}

TEST_P(BrokenPlugin, GetsTheExpectedAnswer) {
  const Row& row = GetParam();
  const std::string library = row.library != nullptr ? row.library : row.name;
  PluginFixture fixture;
  fixture.add("plugins", library_file(library), row.patch);
  if (row.spoil) row.spoil(fixture, "plugins");
  Registry registry(fixture.options());
  ASSERT_EQ(registry.plugins().size(), 1u) << "a broken plugin is listed, never not found";
  const PluginEntry& entry = registry.plugins()[0];
  if (row.seen == Seen::kBySearch) {
    ASSERT_TRUE(entry.problem);
    expect_refusal(*entry.problem, row);
    EXPECT_FALSE(registry.load(entry));
    EXPECT_FALSE(registry.open("BrokenBackend"));
    return;
  }
  ASSERT_FALSE(entry.problem) << entry.problem->message;
  if (row.exchange) row.exchange(fixture, "plugins");

  const auto deadline = std::chrono::milliseconds(std::string(row.reason) == "child.deadline" ? 300 : 20000);
  const Result<ProbeReport> probed = probe_plugin(entry, {}, deadline);
  if (row.seen == Seen::kNever) {
    ASSERT_TRUE(probed) << probed.error().message;
    ASSERT_TRUE(registry.open("BrokenBackend")) << "and in this process too";
    return;
  }
  ASSERT_FALSE(probed) << "a child sees what this process would";
  expect_refusal(probed.error(), row);
  if (row.seen == Seen::kInChild) return;
  const auto loaded = registry.load(entry);
  EXPECT_EQ(loaded.has_value(), row.seen == Seen::kByInit);
  const auto opened = registry.open("BrokenBackend");
  ASSERT_FALSE(opened);
  expect_refusal(loaded ? opened.error() : loaded.error(), row);
}

INSTANTIATE_TEST_SUITE_P(BrokenPlugins, BrokenPlugin, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<Row>& one) { return std::string(one.param.name); });

TEST(BrokenPlugins, EveryLibraryHasARow) {
  std::set<std::string> built, listed;
  for (const auto& file : std::filesystem::directory_iterator(ETB_BROKEN_DIR))
    built.insert(file.path().stem().string());
  for (const Row& row : rows()) listed.insert(row.library != nullptr ? row.library : row.name);
  EXPECT_EQ(built, listed);
}

TEST(BrokenPlugins, HostileDeviceTextDoesNotReachTheCaller) {
  PluginFixture fixture;
  fixture.add("plugins", library_file("hostile_device_name"));
  const Registry registry(fixture.options());
  const auto probed = probe_plugin(registry.plugins()[0], {}, std::chrono::seconds(20));
  ASSERT_TRUE(probed);
  ASSERT_EQ(probed->devices.size(), 1u);
  EXPECT_TRUE(is_printable(probed->devices[0].name)) << probed->devices[0].name;
}

TEST(BrokenPlugins, APluginWithoutADeviceGivesItsReasonAndRemedy) {
  PluginFixture fixture;
  fixture.add("plugins", library_file("no_device"));
  const Registry registry(fixture.options());
  const auto probed = probe_plugin(registry.plugins()[0], {}, std::chrono::seconds(20));
  ASSERT_TRUE(probed);
  EXPECT_TRUE(probed->devices.empty());
  EXPECT_EQ(probed->no_device_reason, "no driver\\x1b[31m");
  EXPECT_EQ(probed->no_device_hint, "install one");
}

// In a child only: with its library in this process, the loader would find it, and none could be missing.
TEST(BrokenPlugins, LibrariesBroughtAlongAreLoadedFromBesideThePlugin) {
  PluginFixture fixture;
  fixture.add("plugins", library_file("with_bundle"));
  add_bundled(fixture, "plugins");
  const Registry registry(fixture.options());
  const auto probed = probe_plugin(registry.plugins()[0], {}, std::chrono::seconds(20));
  ASSERT_TRUE(probed) << probed.error().message;
  EXPECT_THAT(probed->libraries, testing::Contains(fixture.path("plugins/bundled.so")));
  EXPECT_THAT(probed->libraries, testing::Contains(fixture.path("plugins/with_bundle.so")));
}

TEST(BrokenPlugins, ExtraSymbolIsAWarning) {
  PluginFixture fixture;
  fixture.add("plugins", library_file("extra_symbol"));
  const Registry registry(fixture.options());
  EXPECT_THAT(registry.plugins()[0].warnings, testing::Contains(HasSubstr("exports 2 symbols")));
}

TEST(BrokenPlugins, WorldWritableFolderIsReportedAndNotRead) {
  PluginFixture fixture;
  fixture.add("plugins", library_file("good"));
  ::chmod(fixture.path("plugins").c_str(), 0777);
  Registry registry(fixture.options());
  EXPECT_TRUE(registry.plugins().empty());
  EXPECT_EQ(registry.places()[0].state, FolderState::kRefused);
  const auto opened = registry.open("BrokenBackend");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::NOT_FOUND);
  EXPECT_THAT(opened.error().message, HasSubstr("plugins: refused, " + fixture.path("plugins") +
                                                ": writable by everybody (mode 0777)"));
}

TEST(BrokenPlugins, SecondOfAnIdIsShadowed) {
  PluginFixture fixture;
  fixture.add("a", library_file("good"));
  fixture.add("b", library_file("good"));
  const Registry registry(fixture.options({"a", "b"}));
  ASSERT_EQ(registry.plugins().size(), 2u);
  EXPECT_TRUE(registry.plugins()[0].is_usable());
  EXPECT_EQ(registry.plugins()[1].problem->reason, "policy.shadowed");
  EXPECT_THAT(registry.plugins()[1].problem->message,
              HasSubstr("shadowed by " + fixture.path("a/plugin.json")));
}

TEST(BrokenPlugins, ForeignOwnerIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  PluginFixture fixture;
  fixture.add("plugins", library_file("good"));
  ASSERT_EQ(::chown(fixture.path("plugins/good.so").c_str(), 4711, 0), 0);
  const Registry registry(fixture.options());
  EXPECT_EQ(registry.plugins()[0].problem->reason, "library.untrusted");
  EXPECT_THAT(registry.plugins()[0].problem->message, HasSubstr("owned by user 4711"));
}

}  // namespace
}  // namespace etb::host
