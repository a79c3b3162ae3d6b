// SPDX-License-Identifier: Apache-2.0
// Tests forbidden dependencies: the folders that each folder may include, and the third-party libraries that
// it may use.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Folders that a folder may include besides itself. "etb/" headers belong to api.
const std::map<std::string, std::set<std::string>>& allowed_folders() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"api", {}},
      {"host", {"api"}},
      {"partitioner_sdk", {"api"}},
      {"plugins", {"api"}},
      {"conformance", {"api", "host", "partitioner_sdk"}},
      {"tools", {"api", "host", "partitioner_sdk", "conformance"}},
  };
  return table;
}

// A third-party header that only some folders may include: a pattern of the include, and the folders.
struct Fence {
  const char* include;
  std::vector<std::string> folders;
};
const std::vector<Fence>& fences() {
  static const std::vector<Fence> list = {
      {"(flatbuffers/.*|etb_schema/.*)", {"api/format", "plugins/gpu/official", "plugins/xnnpack"}},
      {"CLI/.*", {"tools"}},
      {"zip\\.h", {"partitioner_sdk/import", "host/devtools"}},
      {"sodium(/.*|\\.h)", {"api/format"}},
      {"vulkan/.*", {"plugins/vulkan"}},
      {"CL/.*", {"plugins/opencl"}},
      {"executorch/.*", {"host/bridge", "api/include/etb/bridge"}},
  };
  return list;
}

struct Include {
  fs::path file;  // relative to the root
  std::string header;
  bool quoted;
};

std::vector<Include> all_includes() {
  std::vector<Include> found;
  const fs::path root = ETB_SOURCE_DIR;
  const std::regex line("^\\s*#\\s*include\\s*([\"<])([^\">]+)[\">]");
  for (const auto& [folder, unused] : allowed_folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string ending = entry.path().extension().string();
      if (!entry.is_regular_file() ||
          !std::set<std::string>{".c", ".cpp", ".h", ".hpp", ".inc"}.count(ending))
        continue;
      std::ifstream in(entry.path());
      std::smatch match;
      for (std::string text; std::getline(in, text);) {
        if (std::regex_search(text, match, line)) {
          found.push_back({fs::relative(entry.path(), root), match[2], match[1] == "\""});
        }
      }
    }
  }
  return found;
}

bool is_test_code(const fs::path& file) {
  return std::regex_search(file.string(), std::regex("_(test|benchmark|fuzz)\\.(c|cpp)$|/testing/"));
}

struct Definition {
  std::string name;  // with its namespace
  std::string file;
};

// Returns types at namespace scope that the linker sees: none in unnamed namespaces, and none of tests, which
// are separate programs.
std::vector<Definition> all_types() {
  std::vector<Definition> found;
  const fs::path root = ETB_SOURCE_DIR;
  const std::regex opens("^(?:inline )?namespace ?([\\w:]*) ?\\{$"), closes("^\\}  // namespace");
  const std::regex type("^(?:class|struct|enum class) (?:[A-Z_]+ )?(\\w+)(?: final)?(?: :.*)? \\{");
  for (const auto& [folder, unused] : allowed_folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string file = fs::relative(entry.path(), root).string();
      const std::string ending = entry.path().extension().string();
      if (!std::set<std::string>{".cpp", ".hpp"}.count(ending) || is_test_code(file)) continue;
      std::ifstream in(entry.path());
      std::vector<std::string> namespaces;
      std::smatch match;
      for (std::string text; std::getline(in, text);) {
        if (std::regex_search(text, match, opens)) {
          namespaces.push_back(match[1]);
        } else if (std::regex_search(text, closes) && !namespaces.empty()) {
          namespaces.pop_back();
        } else if (std::regex_search(text, match, type)) {
          std::string name;
          bool is_unnamed = false;
          for (const std::string& one : namespaces) {
            name += one + "::";
            is_unnamed |= one.empty();
          }
          if (!is_unnamed) found.push_back({name + match[1].str(), file});
        }
      }
    }
  }
  return found;
}

TEST(Architecture, FoldersIncludeOnlyWhatTheArrowsAllow) {
  const auto includes = all_includes();
  ASSERT_GT(includes.size(), 100u) << "the scan found almost nothing";
  for (const Include& include : includes) {
    const std::string from = include.file.begin()->string();
    const std::string to = fs::path(include.header).begin()->string();
    if (!include.quoted || allowed_folders().count(to) == 0 || to == from) continue;
    EXPECT_TRUE(allowed_folders().at(from).count(to)) << include.file << " includes " << include.header;
  }
}

// The suite's folders form layers.
TEST(Architecture, FoldersOfTheSuiteIncludeOnlyThoseBefore) {
  const std::vector<std::string> layers = {"cases",  "judge",   "outcome", "subject", "networks",
                                           "checks", "process", "runner",  "report"};
  const auto layer_of = [&](const fs::path& path) {
    const std::string folder = *std::next(path.begin());
    return std::find(layers.begin(), layers.end(), folder) - layers.begin();
  };
  size_t count = 0;
  for (const Include& include : all_includes()) {
    if (*include.file.begin() != "conformance" || include.header.rfind("conformance/", 0) != 0) continue;
    EXPECT_LT(layer_of(include.file), static_cast<ptrdiff_t>(layers.size())) << include.file;
    EXPECT_LE(layer_of(include.header), layer_of(include.file))
        << include.file << " includes " << include.header;
    ++count;
  }
  EXPECT_GT(count, 100u) << "the scan found almost nothing";
}

// The linker treats two classes of one name in one namespace as one: it keeps the members of either.
TEST(Architecture, ATypeIsDefinedInOneFile) {
  const std::vector<Definition> types = all_types();
  ASSERT_GT(types.size(), 300u) << "the scan found almost nothing";
  std::map<std::string, std::string> first;
  for (const Definition& one : types) {
    const auto [at, is_new] = first.emplace(one.name, one.file);
    EXPECT_EQ(at->second, one.file) << one.name << " is defined in both";
  }
}

// Test support is in folders named testing, which the product does not include.
TEST(Architecture, OnlyTestsIncludeTestSupport) {
  size_t count = 0;
  for (const Include& include : all_includes()) {
    if (!include.quoted || include.header.find("/testing/") == std::string::npos) continue;
    EXPECT_TRUE(is_test_code(include.file)) << include.file << " includes " << include.header;
    ++count;
  }
  EXPECT_GT(count, 50u) << "the scan found almost nothing";
}

TEST(Architecture, PluginsDoNotIncludeEachOther) {
  for (const Include& include : all_includes()) {
    const std::string header = include.header;
    if (include.file.begin()->string() != "plugins" || header.rfind("plugins/", 0) != 0) continue;
    const std::string own = (*include.file.begin() / *std::next(include.file.begin())).string();
    if ((own == "plugins/vulkan" || own == "plugins/opencl") && header.rfind("plugins/gpu/", 0) == 0)
      continue;  // the half that GPUs share
    if (own == "plugins/dsp_stub" && header == "plugins/gpu/compile/arguments.hpp")
      continue;  // the reader of a node's arguments
    EXPECT_EQ(header.rfind(own + "/", 0), 0u) << include.file << " includes " << header;
  }
}

TEST(Architecture, ThirdPartyLibrariesStayInTheirFolder) {
  for (const Include& include : all_includes()) {
    if (is_test_code(include.file)) continue;
    for (const Fence& fence : fences()) {
      if (!std::regex_match(include.header, std::regex(fence.include))) continue;
      bool inside = false;
      for (const std::string& folder : fence.folders)
        inside |= include.file.string().rfind(folder + "/", 0) == 0;
      EXPECT_TRUE(inside) << include.file << " includes <" << include.header << ">, which belongs to "
                          << fence.folders[0];
    }
  }
}

// Calls visit(file, line) for each line of the product's own C and C++ files, without tests.
template <class Visit>
void for_each_product_line(Visit visit) {
  for (const auto& [folder, unused] : allowed_folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(ETB_SOURCE_DIR) / folder)) {
      const std::string file = fs::relative(entry.path(), ETB_SOURCE_DIR).string();
      const std::string ending = entry.path().extension().string();
      if (!std::set<std::string>{".c", ".cpp", ".h", ".hpp", ".inc"}.count(ending) || is_test_code(file))
        continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) visit(file, line);
    }
  }
}

// Only one file loads plugins into the process, and it checks them first. Plugins for GPUs open the system's loader of
// drivers, so that machines without one can load the plugin.
TEST(Architecture, OneFileCallsTheDynamicLoader) {
  const std::regex call("\\b(dlopen|dlmopen|__libc_dlopen_mode|dlfunc|boost::dll)\\b");
  size_t count = 0;
  for_each_product_line([&](const std::string& file, const std::string& line) {
    const std::string code = line.substr(0, line.find("//"));
    if (!std::regex_search(code, call)) return;
    if (file == "plugins/vulkan/vulkan_api.cpp" || file == "plugins/vulkan/kept_libraries.cpp" ||
        file == "plugins/opencl/opencl_api.cpp")
      return;
    EXPECT_EQ(file, "host/registry/library.cpp") << code;
    ++count;
  });
  EXPECT_GE(count, 4u) << "the scan did not find the loader's own file";
}

// Other ways to write a file may leave it incomplete, replace a device or follow a link.
TEST(Architecture, FilesAreOpenedForWritingInOnePlace) {
  const std::set<std::string> allowed = {
      "api/format/output_file.cpp",               // the one place
      "api/ops/make_argument_views.cpp",          // runs while the product is built
      "api/ops/make_schema_tables.cpp",           // runs while the product is built
      "conformance/process/cleanup_process.cpp",  // a lock without content
      "conformance/subject/file_watch.cpp",       // watches the flags of a plugin's calls
      "host/registry/digest_records.cpp",         // a cache, written beneath a folder's descriptor
      "host/services/disk_cache.cpp",             // another one
      "plugins/xnnpack/packed_folder.cpp",  // a cache whose partial files are locked while they are written
  };
  const std::regex opens("std::ofstream|std::fstream|\\bfopen\\(|\\bO_CREAT\\b|\\bO_TRUNC\\b|mkos?temp\\(");
  std::set<std::string> found;
  for_each_product_line([&](const std::string& file, const std::string& line) {
    if (std::regex_search(line, opens)) found.insert(file);
  });
  EXPECT_TRUE(found.count("api/format/output_file.cpp")) << "the scan found almost nothing";
  for (const std::string& file : found)
    EXPECT_TRUE(allowed.count(file)) << file << " writes a file, expected api/format/output_file.hpp";
}

// A merge once emptied a test file, and no build fails then.
TEST(Architecture, SourcesBeginWithTheLicenceAndTestFilesHoldTests) {
  const fs::path root = ETB_SOURCE_DIR;
  const std::regex is_test("_test\\.(c|cpp)$"), test("^(TEST|TEST_F|TEST_P|TYPED_TEST)\\(|\\bmain\\(");
  size_t count = 0;
  for (const char* folder : {"api", "host", "partitioner_sdk", "plugins", "conformance", "tools", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string file = fs::relative(entry.path(), root).string();
      const std::string ending = entry.path().extension().string();
      const bool is_frozen = file.starts_with("tests/compat/template_1_0/");  // as released
      if (!std::set<std::string>{".c", ".cc", ".cpp", ".h", ".hpp"}.count(ending) || is_frozen) continue;
      ++count;
      std::ifstream in(entry.path());
      std::string line;
      std::getline(in, line);
      EXPECT_EQ(line, "// SPDX-License-Identifier: Apache-2.0") << file;
      if (!std::regex_search(file, is_test)) continue;
      bool has_tests = false;
      while (!has_tests && std::getline(in, line)) has_tests = std::regex_search(line, test);
      EXPECT_TRUE(has_tests) << file << " has no test";
    }
  }
  EXPECT_GE(count, 900u) << "the scan found too few files";
}

TEST(Architecture, TopLevelHoldsOnlyTheDesignedFolders) {
  const std::set<std::string> folders = {"api",         "host",  "plugins", "partitioner_sdk",
                                         "conformance", "tools", "docs",    "tests"};
  const std::set<std::string> files = {"CMakeLists.txt", "README.md", "CHANGELOG.md",     "CONTRIBUTING.md",
                                       "SECURITY.md",    "LICENSE",   "CMakePresets.json"};
  for (const auto& entry : fs::directory_iterator(ETB_SOURCE_DIR)) {
    const std::string name = entry.path().filename().string();
    if (name[0] == '.' || name == "build") continue;
    EXPECT_TRUE((entry.is_directory() ? folders : files).count(name)) << name << " at the top level";
  }
}

}  // namespace
