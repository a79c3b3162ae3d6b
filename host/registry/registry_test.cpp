// SPDX-License-Identifier: Apache-2.0
#include "host/registry/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "host/registry/digest_records.hpp"
#include "host/registry/registry_json.hpp"
#include "host/testing/plugin_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string library(const char* name) { return std::string(ETB_BROKEN_DIR) + "/" + name + ".so"; }

std::vector<std::string> loaded_objects() {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::string> lines;
  for (std::string line; std::getline(maps, line);) lines.push_back(line);
  return lines;
}

bool is_mapped(const std::string& name) {
  for (const std::string& line : loaded_objects())
    if (line.find(name) != std::string::npos) return true;
  return false;
}

// proves: ABI-LOAD-01
TEST(Registry, ListsWithoutLoading) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  const Registry registry(fixture.options());
  ASSERT_TRUE(registry.plugins()[0].is_usable());
  EXPECT_EQ(registry.plugins()[0].digest, DigestState::kUnchecked);
  EXPECT_FALSE(is_mapped(fixture.path("plugins/good.so")));
}

TEST(Registry, OpensByEveryKindOfName) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  Registry registry(fixture.options());
  for (const char* name : {"com.example.broken", "BrokenBackend", "broken"}) {
    const Result<Selection> selection = registry.open(name);
    ASSERT_TRUE(selection) << selection.error().message;
    EXPECT_NE(selection->plugin->handle(), nullptr);
    EXPECT_EQ(selection->plugin, registry.open("broken")->plugin) << "one context, whatever it was called";
  }
  EXPECT_TRUE(is_mapped(fixture.path("plugins/good.so")));
}

// proves: ABI-LOAD-04
TEST(Registry, SymbolsOfAPluginAreOfferedToNobody) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  Registry registry(fixture.options());
  ASSERT_TRUE(registry.open("BrokenBackend"));
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, ETB_PLUGIN_QUERY_SYMBOL), nullptr);
}

TEST(Registry, FunctionsThatAPluginLacksAnswerNotImplemented) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  Registry registry(fixture.options());
  const auto plugin = registry.load(registry.plugins()[0]);
  ASSERT_TRUE(plugin);
  const etb_delegate_table& delegate = *(*plugin)->table().delegate;
  ASSERT_NE(delegate.cancel, nullptr);
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(delegate.cancel(nullptr, &error), ETB_NOT_IMPLEMENTED);  // ABI-CALL-01
}

TEST(Registry, ChecksDigestsDuringTheSearchWhenAsked) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  RegistryOptions options = fixture.options();
  options.check_digests = true;
  EXPECT_EQ(Registry(options).plugins()[0].digest, DigestState::kMatches);
  std::string content = PluginFixture::read_file(fixture.path("plugins/good.so"));
  content.back() = static_cast<char>(content.back() ^ 1);
  fixture.dir().write("plugins/good.so", content);
  const Registry registry(options);
  EXPECT_EQ(registry.plugins()[0].digest, DigestState::kDiffers);
  EXPECT_EQ(registry.plugins()[0].problem->reason, "library.digest");
}

TEST(Registry, TriesTheNextCandidateWhenTheBestFails) {
  PluginFixture fixture;
  fixture.add("a", library("init_fails"));
  json other = {{"id", "com.example.second"}};
  fixture.add("b", library("null_table"));
  Registry first(fixture.options({"a"}));
  EXPECT_FALSE(first.open("BrokenBackend"));
  // A plugin with another id, linked into the program, provides the same backend.
  static const ToyPlugin& toy = toy_tables();
  const etb_static_plugin plugins[] = {{sizeof(etb_static_plugin), 0,
                                        [](const etb_host*, uint32_t, uint32_t) { return &toy.plugin; },
                                        "BrokenBackend"}};
  RegistryOptions options = fixture.options({"a"});
  options.static_plugins = plugins;
  Registry registry(options);
  const Result<Selection> selection = registry.open("BrokenBackend");
  ASSERT_TRUE(selection) << selection.error().message;
  EXPECT_EQ(selection->decision->winner()->id, toy.ident.id);
  EXPECT_EQ(selection->decision->rule, "next candidate, since a better one failed");
  EXPECT_THAT(selection->decision->candidates[1].refusal->message, HasSubstr("no driver"));
  EXPECT_EQ(registry.resolve("BrokenBackend")->winner()->id, "com.example.broken")
      << "resolve alone loads nothing";
}

TEST(Registry, StaticPluginsGoTheSameWay) {
  static const ToyPlugin& toy = toy_tables();
  static ToyPlugin bad;
  bad.delegate.execute = nullptr;
  const etb_static_plugin plugins[] = {
      {sizeof(etb_static_plugin), 0, [](const etb_host*, uint32_t, uint32_t) { return &toy.plugin; },
       "ToyBackend  OtherBackend"},
      {sizeof(etb_static_plugin), 0,
       [](const etb_host*, uint32_t, uint32_t) -> const etb_plugin_table* { return nullptr; }, ""},
      {sizeof(etb_static_plugin), 0,
       [](const etb_host*, uint32_t, uint32_t) -> const etb_plugin_table* { return &bad.plugin; }, ""},
      {sizeof(etb_static_plugin), 0, [](const etb_host*, uint32_t, uint32_t) { return &toy.plugin; },
       "ToyBackend"},
      {sizeof(etb_static_plugin), 0, nullptr, "ToyBackend"},
      {sizeof(etb_static_plugin), 1, [](const etb_host*, uint32_t, uint32_t) { return &toy.plugin; }, ""}};
  PluginFixture fixture;
  RegistryOptions options = fixture.options({});
  options.static_plugins = plugins;
  Registry registry(options);
  ASSERT_EQ(registry.plugins().size(), 6u);
  EXPECT_TRUE(registry.open("ToyBackend"));
  EXPECT_TRUE(registry.open("OtherBackend"));
  EXPECT_EQ(registry.plugins()[0].tier, Tier::kStatic);
  EXPECT_EQ(registry.plugins()[1].problem->reason, "query.null");
  EXPECT_EQ(registry.plugins()[2].problem->reason, "query.table");
  EXPECT_THAT(registry.plugins()[2].problem->message, HasSubstr("delegate.execute"));
  EXPECT_EQ(registry.plugins()[3].problem->reason, "policy.shadowed");
  EXPECT_EQ(registry.plugins()[4].problem->message, "static plugin: query is NULL");
  EXPECT_EQ(registry.plugins()[5].problem->message, "static plugin: flags 1, expected 0");
}

TEST(Registry, OverlayOfAnEarlierFolderSteersALaterOne) {
  PluginFixture fixture;
  fixture.dir().write("admin/com.example.broken.local.json",
                      R"({"manifest_version": 1, "priority": 7, "pin": ["BrokenBackend"]})");
  fixture.add("dist", library("good"));
  const Registry registry(fixture.options({"admin", "dist"}));
  ASSERT_TRUE(registry.plugins()[0].is_usable()) << registry.plugins()[0].problem->message;
  EXPECT_EQ(registry.plugins()[0].priority, 7);
  EXPECT_EQ(registry.plugins()[0].overlay_path, fixture.path("admin/com.example.broken.local.json"));
  EXPECT_EQ(registry.resolve("BrokenBackend")->winner()->pinned_by, "overlay");
}

TEST(Registry, OverlayOfALaterFolderDoesNotSteerAnEarlierOne) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  fixture.dir().write("b/com.example.broken.local.json", R"({"manifest_version": 1, "disable": true})");
  const Registry registry(fixture.options({"a", "b"}));
  EXPECT_TRUE(registry.plugins()[0].is_usable());
  EXPECT_THAT(registry.warnings(),
              ElementsAre(HasSubstr("there is no plugin of this id in its folder or after it")));
}

TEST(Registry, AnyOverlayMaySwitchAPluginOff) {
  PluginFixture fixture;
  fixture.dir().write("a/com.example.broken.local.json",
                      R"({"manifest_version": 1, "disable": false, "priority": 3})");
  fixture.dir().write("b/com.example.broken.local.json", R"({"manifest_version": 1, "disable": true})");
  fixture.add("c", library("good"));
  const Registry registry(fixture.options({"a", "b", "c"}));
  ASSERT_EQ(registry.plugins().size(), 1u);
  ASSERT_TRUE(registry.plugins()[0].problem);
  EXPECT_EQ(registry.plugins()[0].problem->reason, "policy.disabled");
  EXPECT_EQ(registry.plugins()[0].overlay_path, fixture.path("b/com.example.broken.local.json"));
}

TEST(Registry, AUsersOverlayDoesNotPromoteAPluginOfTheSystem) {
  PluginFixture fixture;
  fixture.dir().write("user/com.example.broken.local.json",
                      R"({"manifest_version": 1, "priority": 40, "pin": ["BrokenBackend"]})");
  fixture.add("admin", library("good"));
  fixture.dir().write("admin/com.example.broken.local.json", R"({"manifest_version": 1, "priority": 7})");
  RegistryOptions options = fixture.options({"user"});
  options.admin_path = fixture.path("admin");
  const Registry registry(options);
  ASSERT_TRUE(registry.plugins()[0].is_usable());
  EXPECT_EQ(registry.plugins()[0].priority, 7) << "the administrator's own overlay still counts";
  EXPECT_TRUE(registry.plugins()[0].pins.empty());
  EXPECT_THAT(registry.plugins()[0].warnings, Contains(HasSubstr("not pin or prioritise")));
}

TEST(Registry, HighPriorityCountsInSystemFoldersOnly) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"), {{"priority", 90}});
  EXPECT_EQ(Registry(fixture.options()).plugins()[0].priority, 50);
  RegistryOptions options = fixture.options({});
  options.admin_path = fixture.path("plugins");
  EXPECT_EQ(Registry(options).plugins()[0].priority, 90);
}

TEST(Registry, EnvironmentNarrowsAndAddsFolders) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  RegistryOptions options = fixture.options({});
  options.environment = [&](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "ETBACKEND_PATH") return fixture.path("plugins");
    if (std::string_view(name) == "ETBACKEND_DISABLE") return "com.example.*";
    return std::nullopt;
  };
  const Registry registry(options);
  ASSERT_EQ(registry.plugins().size(), 1u);
  EXPECT_EQ(registry.plugins()[0].tier, Tier::kEnvironment);
  EXPECT_EQ(registry.plugins()[0].problem->reason, "policy.filtered");
}

TEST(Registry, SecureModeWantsADigestAndIgnoresTheEnvironment) {
  if (::geteuid() != 0) GTEST_SKIP() << "secure mode takes only files of root";
  // Secure mode rejects folders beneath one with the sticky bit.
  ASSERT_EQ(::mkdir("/run/etb-registry-test", 0755) != 0 && errno != EEXIST, false);
  const std::string folder = "/run/etb-registry-test";
  const std::string content = PluginFixture::read_file(library("good"));
  std::ofstream(folder + "/good.so", std::ios::binary) << content;
  json document = PluginFixture::manifest(content, "good.so");
  std::ofstream(folder + "/plugin.json") << document.dump();
  PluginFixture fixture;
  RegistryOptions options = fixture.options({});
  options.application_paths = {folder};
  options.secure = true;
  options.environment = [](const char*) -> std::optional<std::string> {
    ADD_FAILURE() << "the environment was read";
    return std::nullopt;
  };
  {
    Registry registry(options);
    ASSERT_EQ(registry.plugins().size(), 1u) << to_text(registry.places()[0]);
    EXPECT_TRUE(registry.open("BrokenBackend"));
  }
  document["libraries"][0].erase("sha256");
  std::ofstream(folder + "/plugin.json") << document.dump();
  EXPECT_EQ(Registry(options).plugins()[0].problem->reason, "policy.no-digest");
  std::filesystem::remove_all(folder);
}

// The record is given a digest that the library does not have: only a registry that reads it refuses the plugin.
TEST(Registry, DigestOfAnEarlierProcessIsReadUnlessTheApplicationOrSecureModeForbidsIt) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  RegistryOptions options = fixture.options();
  options.environment = [&](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) != "XDG_CACHE_HOME") return std::nullopt;
    return fixture.path("cache");
  };
  std::this_thread::sleep_for(std::chrono::nanoseconds(DigestRecords::kMinAgeNs));
  ASSERT_TRUE(Registry(options).open("BrokenBackend"));
  std::error_code failed;
  const std::filesystem::directory_iterator record(fixture.path("cache/etbackend/digests"), failed);
  if (failed) GTEST_SKIP() << "no records on the file system of " << fixture.path();
  std::string text = PluginFixture::read_file(record->path());
  text[text.size() - 2] = text[text.size() - 2] == '0' ? '1' : '0';
  std::ofstream(record->path(), std::ios::trunc) << text;

  const auto refused = Registry(options).open("BrokenBackend");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("good.so: sha256 "));
  options.record_digests = false;
  EXPECT_TRUE(Registry(options).open("BrokenBackend"));
  options.record_digests = true;
  options.secure = true;
  EXPECT_EQ(Registry(options).load_options().digest_records, "");
}

TEST(Registry, CertifiedSystemPluginMayNotBeShadowedWhenPolicySaysSo) {
  PluginFixture fixture;
  fixture.add("user", library("good"), {{"certificate", "c.json"}});
  fixture.add("system", library("good"), {{"certificate", "c.json"}});
  RegistryOptions options = fixture.options({"user"});
  options.admin_path = fixture.path("system");
  options.judge_certificate = [](const PluginEntry&) { return CertificateState::kHeld; };
  EXPECT_EQ(Registry(options).plugins()[1].problem->reason, "policy.shadowed");
  options.no_shadow = true;
  const Registry registry(options);
  EXPECT_EQ(registry.plugins()[0].problem->reason, "policy.no-shadow");
  EXPECT_TRUE(registry.plugins()[1].is_usable());
}

// The first plugin of an id wins. A warning reports that it hides a usable one.
TEST(Registry, ABrokenPluginThatHidesAGoodOneIsAWarning) {
  PluginFixture fixture;
  fixture.add("a", library("good"));
  fixture.add("b", library("good"));
  ::chmod(fixture.path("a/good.so").c_str(), 0666);
  const Registry registry(fixture.options({"a", "b"}));
  EXPECT_EQ(registry.plugins()[0].problem->reason, "library.untrusted");
  EXPECT_EQ(registry.plugins()[1].problem->message,
            "shadowed by " + fixture.path("a/plugin.json") + ", which is refused itself: library.untrusted");
  EXPECT_THAT(
      registry.warnings(),
      ElementsAre(AllOf(HasSubstr(fixture.path("a/plugin.json") + ": hides " + fixture.path("b/plugin.json")),
                        HasSubstr("writable by everybody"))));
  ::chmod(fixture.path("a/good.so").c_str(), 0644);
  EXPECT_THAT(Registry(fixture.options({"a", "b"})).warnings(), IsEmpty()) << "a good one may shadow";
}

TEST(Registry, FolderSearchedTwiceIsReadOnce) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  std::filesystem::create_directory_symlink(fixture.path("plugins"), fixture.path("again"));
  const Registry registry(fixture.options({"plugins", "again"}));
  EXPECT_EQ(registry.plugins().size(), 1u);
  EXPECT_THAT(to_text(registry.places()[1]), HasSubstr("the same folder as " + fixture.path("plugins")));
}

// proves: ABI-LOAD-05
TEST(Registry, KeepsLibrariesUnlessTheyClaimUnloadable) {
  PluginFixture fixture;
  fixture.add("kept", library("good"));
  fixture.add("let_go", library("unloadable"));
  { EXPECT_TRUE(Registry(fixture.options({"kept"})).open("BrokenBackend")); }
  { EXPECT_TRUE(Registry(fixture.options({"let_go"})).open("BrokenBackend")); }
  EXPECT_TRUE(is_mapped(fixture.path("kept/good.so")));
  EXPECT_FALSE(is_mapped(fixture.path("let_go/unloadable.so")));
}

TEST(Registry, SelectionOutlivesTheRegistry) {
  PluginFixture fixture;
  fixture.add("plugins", library("unloadable"));
  std::shared_ptr<const PluginContext> plugin;
  { plugin = Registry(fixture.options()).open("BrokenBackend")->plugin; }
  int count = 0;
  EXPECT_TRUE(plugin->each_device([&](const etb_device_info&) { ++count; }));
  EXPECT_EQ(count, 1);
  plugin.reset();
  EXPECT_FALSE(is_mapped(fixture.path("plugins/unloadable.so")));
}

TEST(Registry, LoadsASealedCopyWhenAsked) {
  PluginFixture fixture;
  fixture.add("plugins", library("unloadable"));
  RegistryOptions options = fixture.options();
  options.seal = SealPolicy::kAlways;
  Registry registry(options);
  ASSERT_TRUE(registry.open("BrokenBackend"));
  EXPECT_FALSE(is_mapped(fixture.path("plugins/unloadable.so")));
  EXPECT_TRUE(is_mapped("memfd:etb-plugin"));
}

TEST(SealedCopy, CannotBeChanged) {
  const ScratchDir dir;
  dir.write("file", "content");
  const auto folder = open_trusted_directory(dir.path(), {});
  const auto file = open_trusted_file(folder->get(), "file", {});
  const auto copy = seal_copy(file->get());
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(*read_text_file(copy->get(), 100), "content");
  EXPECT_LT(::pwrite(copy->get(), "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(copy->get(), 1), 0);
}

TEST(Registry, AnswersFromManyThreads) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"));
  Registry registry(fixture.options());
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        if (registry.resolve(i % 3 ? "BrokenBackend" : "nobody" + std::to_string((t * 7 + i) % 50)) ==
            nullptr)
          ++failures;
        if (i % 20 == 0 && !registry.open("broken")) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST(Registry, JsonListsPluginsPlacesAndReasons) {
  PluginFixture fixture;
  fixture.add("plugins", library("good"), {{"version", "9.9.9"}});
  const auto document = json::parse(to_json(Registry(fixture.options({"plugins", "none"}))));
  EXPECT_EQ(document["plugins"][0]["usable"], false);
  EXPECT_EQ(document["plugins"][0]["problem"]["reason"], "ident.manifest");
  EXPECT_EQ(document["places"][0]["state"], "searched");
  EXPECT_EQ(document["places"][1]["state"], "missing");
}

TEST(Reasons, IdsAreDistinctAndDocumented) {
  std::ifstream in(ETB_SOURCE_DIR "/docs/registry.md");
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::set<std::string_view> ids;
  for (const ReasonRow& row : reason_rows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_THAT(page, HasSubstr("| `" + std::string(row.id) + "` | " + std::string(row.text) + " |"));
  }
}

}  // namespace
}  // namespace etb::host
