// SPDX-License-Identifier: Apache-2.0
#include "host/registry/search_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "host/registry/nearest_names.hpp"

namespace etb::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SearchOptions with_environment(std::map<std::string, std::string> variables) {
  SearchOptions options;
  options.environment = [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional<std::string>(it->second);
  };
  return options;
}

std::vector<std::string> texts(const SearchPath& path) {
  std::vector<std::string> out;
  for (const SearchFolder& place : path.places)
    out.push_back(std::string(to_text(place.tier)) + " " + place.path);
  return out;
}

TEST(SearchPath, HasFiveTiersInOrder) {
  SearchOptions options =
      with_environment({{"ETBACKEND_PATH", "/e1::/e2"}, {"XDG_DATA_HOME", "/data"}, {"HOME", "/home/u"}});
  options.application_paths = {"/app"};
  options.distribution_paths = {"/usr/lib/etbackend/plugins.d"};
  EXPECT_THAT(
      texts(make_search_path(options)),
      ElementsAre("application /app", "environment /e1", "environment /e2", "user /data/etbackend/plugins.d",
                  "admin /etc/etbackend/plugins.d", "distribution /usr/lib/etbackend/plugins.d"));
}

TEST(SearchPath, UserDirectoryFallsBackToHome) {
  EXPECT_THAT(texts(make_search_path(with_environment({{"HOME", "/home/u"}}))),
              testing::Contains("user /home/u/.local/share/etbackend/plugins.d"));
}

TEST(SearchPath, RelativeEntriesAreIgnoredWithAReason) {
  const SearchPath path =
      make_search_path(with_environment({{"ETBACKEND_PATH", "plugins:.:/ok"}, {"XDG_DATA_HOME", "rel"}}));
  EXPECT_THAT(texts(path), ElementsAre("environment /ok", "admin /etc/etbackend/plugins.d"));
  EXPECT_THAT(path.ignored, ElementsAre(HasSubstr("'plugins' is not absolute"),
                                        HasSubstr("'.' is not absolute"), HasSubstr("XDG_DATA_HOME")));
}

TEST(SearchPath, SecureModeIgnoresTheEnvironment) {
  SearchOptions options = with_environment(
      {{"ETBACKEND_PATH", "/e"}, {"HOME", "/h"}, {"ETBACKEND_DISABLE", "*"}, {"ETBACKEND_SELECT", "x"}});
  options.secure = true;
  options.application_paths = {"/app"};
  EXPECT_THAT(texts(make_search_path(options)),
              ElementsAre("application /app", "admin /etc/etbackend/plugins.d"));
  EXPECT_EQ(make_id_filter(options).refusal("com.example.x"), "");
}

TEST(IdFilter, NarrowsAndDisableWins) {
  const IdFilter filter = make_id_filter(with_environment(
      {{"ETBACKEND_SELECT", "com.example.*,org.*"}, {"ETBACKEND_DISABLE", "com.example.bad?"}}));
  EXPECT_EQ(filter.refusal("com.example.good"), "");
  EXPECT_EQ(filter.refusal("org.x"), "");
  EXPECT_THAT(filter.refusal("com.example.bad1"),
              HasSubstr("disabled by ETBACKEND_DISABLE='com.example.bad?'"));
  EXPECT_THAT(filter.refusal("net.x"), HasSubstr("not selected"));
  EXPECT_EQ(IdFilter{}.refusal("anything.at-all"), "");

  const std::string aliases[] = {"npu", "my_npu"};
  const IdFilter by_alias =
      make_id_filter(with_environment({{"ETBACKEND_SELECT", "my_*"}, {"ETBACKEND_DISABLE", "gpu"}}));
  EXPECT_EQ(by_alias.refusal("com.example.npu", aliases), "");
  EXPECT_THAT(by_alias.refusal("com.example.npu"), HasSubstr("not selected"));
  EXPECT_THAT(by_alias.refusal("com.example.npu", std::vector<std::string>{"gpu", "my_gpu"}),
              HasSubstr("disabled by ETBACKEND_DISABLE='gpu'"));
}

TEST(Glob, Matches) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*b*c", "aXXbYYc"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_FALSE(glob_matches("a*b", "aXXc"));
  EXPECT_FALSE(glob_matches(std::string(40, '*') + "x", std::string(10000, 'a'))) << "and in time";
}

TEST(NearestNames, FindsTypingErrorsAndParts) {
  const std::vector<std::string> names{"XnnpackBackend", "VulkanBackend", "com.example.my-npu", "cpu"};
  EXPECT_THAT(nearest_names("XnpackBackend", names), ElementsAre("XnnpackBackend"));
  EXPECT_THAT(nearest_names("xnnpackbackend", names), ElementsAre("XnnpackBackend"));
  EXPECT_THAT(nearest_names("my-npu", names), ElementsAre("com.example.my-npu"));
  EXPECT_THAT(nearest_names("cup", names), ElementsAre("cpu"));
  EXPECT_THAT(nearest_names("SomethingElseEntirely", names), IsEmpty());
}

}  // namespace
}  // namespace etb::host
