// SPDX-License-Identifier: Apache-2.0
#include "host/services/disk_cache.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "host/registry/registry.hpp"
#include "host/services/plugin_services.hpp"
#include "host/testing/scratch_dir.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class DiskCacheTest : public testing::Test {
 protected:
  DiskCache cache(uint64_t max_nbytes = 1 << 20) const { return DiskCache({folder_, max_nbytes, {}}); }

  // Returns "" for a value that is not there.
  static std::string read(const DiskCache& cache, uint8_t name) {
    const auto found = cache.get({name});
    if (!found) {
      EXPECT_EQ(found.error().code, Code::NOT_FOUND) << found.error().message;
      return "";
    }
    return {reinterpret_cast<const char*>(found->bytes().data()), found->bytes().size()};
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder_, failed)) out.push_back(entry.path());
    return out;
  }

  ScratchDir dir_;
  std::string folder_ = dir_.path("etbackend/plugins");
};

TEST_F(DiskCacheTest, ReadsWhatWasWritten) {
  EXPECT_EQ(read(cache(), 1), "");
  ASSERT_TRUE(cache().put({1}, bytes_of("one")));
  ASSERT_TRUE(cache().put({2}, bytes_of("two")));
  ASSERT_TRUE(cache().put({1}, bytes_of("uno")));
  EXPECT_EQ(read(cache(), 1), "uno");
  EXPECT_EQ(read(cache(), 2), "two");
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(DiskCacheTest, FilesAreThoseOfThisUserAlone) {
  ASSERT_TRUE(cache().put({1}, bytes_of("one")));
  struct stat status {};
  ASSERT_EQ(::stat(files().at(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(DiskCacheTest, ADamagedFileIsRemoved) {
  const std::string value = "a compiled kernel";
  for (size_t at = 0; at <= kCacheHeaderNbytes + value.size(); at += 7) {
    ASSERT_TRUE(cache().put({1}, bytes_of(value)));
    const fs::path file = files().at(0);
    if (at < kCacheHeaderNbytes + value.size()) {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<long>(at));
      const auto byte = static_cast<char>(stream.get() ^ 0x20);
      stream.seekp(static_cast<long>(at));
      stream.put(byte);
    }
    if (at % 2 == 0) fs::resize_file(file, at);
    EXPECT_EQ(read(cache(), 1), "") << at;
    EXPECT_TRUE(files().empty()) << at;
  }
}

TEST_F(DiskCacheTest, AFileUnderAnotherNameIsNotRead) {
  ASSERT_TRUE(cache().put({1}, bytes_of("one")));
  const fs::path one = files().at(0);
  ASSERT_TRUE(cache().put({2}, bytes_of("two")));
  for (const fs::path& file : files())
    if (file != one) fs::copy_file(one, file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(read(cache(), 2), "");
  EXPECT_EQ(read(cache(), 1), "one");
}

TEST_F(DiskCacheTest, ASymbolicLinkIsNotFollowed) {
  ASSERT_TRUE(cache().put({1}, bytes_of("one")));
  const fs::path file = files().at(0), elsewhere = dir_.path("elsewhere");
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(read(cache(), 1), "");
  fs::create_symlink(elsewhere, file);
  ASSERT_TRUE(cache().put({1}, bytes_of("uno")));
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_EQ(fs::file_size(elsewhere), kCacheHeaderNbytes + 3);
}

TEST_F(DiskCacheTest, TheLeastRecentlyUsedGoWhenThereIsNoRoom) {
  const std::string value(1000, 'v');
  const DiskCache small = cache(3 * (kCacheHeaderNbytes + 1000));
  const auto put_and_age = [&](uint8_t name) {
    ASSERT_TRUE(small.put({name}, bytes_of(value)));
    for (const fs::path& file : files())
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(10));
  };
  for (const uint8_t name : {1, 2, 3}) put_and_age(name);
  EXPECT_EQ(read(small, 1), value);  // so that 2 is older
  put_and_age(4);
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(read(small, 2), "");
  EXPECT_EQ(read(small, 1), value);
  const Status large = small.put({5}, bytes_of(std::string(4000, 'l')));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::OUT_OF_RESOURCES);
  EXPECT_EQ(read(small, 1), value);
}

TEST_F(DiskCacheTest, AFullDiskIsAnErrorAndLeavesNoFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status put = cache().put({1}, bytes_of("one"));
    ::_exit(!put && put.error().code == Code::OUT_OF_RESOURCES ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(DiskCacheTest, AFolderOfOthersIsNotUsed) {
  ASSERT_TRUE(cache().put({1}, bytes_of("one")));
  fs::permissions(folder_, fs::perms::all);
  const Status put = cache().put({2}, bytes_of("two"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::PERMISSION_DENIED);
  EXPECT_FALSE(cache().get({1}));
}

TEST_F(DiskCacheTest, AFileThatAKilledWriterLeftIsRemovedLater) {
  ASSERT_TRUE(cache().put({1}, bytes_of("one")));
  const std::string left = folder_ + "/x.unfinished", live = folder_ + "/y.unfinished";
  std::ofstream(left) << "part";
  std::ofstream(live) << "part";
  fs::last_write_time(left, fs::last_write_time(left) - std::chrono::hours(2));
  ASSERT_TRUE(cache().put({2}, bytes_of("two")));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(live));
}

// Values tell which process wrote them, and are long enough that a mixture would be seen.
TEST_F(DiskCacheTest, ProcessesThatWriteAtOnceLeaveWholeValues) {
  constexpr int kProcesses = 4, kRounds = 60;
  const auto value_of = [](int process) { return std::string(50'000, static_cast<char>('a' + process)); };
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int round = 0; round < kRounds; ++round) {
        // Room for three of the four values, so that processes remove each other's, too.
        const DiskCache shared = cache(160'000);
        if (!shared.put({static_cast<uint8_t>(round % 4)}, bytes_of(value_of(process)))) ::_exit(1);
        const auto found = shared.get({static_cast<uint8_t>((round + 1) % 4)});
        if (!found) continue;
        const auto first = static_cast<char>(found->bytes()[0]);
        const std::string_view text(reinterpret_cast<const char*>(found->bytes().data()),
                                    found->bytes().size());
        if (text != value_of(first - 'a')) ::_exit(2);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const fs::path& file : files()) EXPECT_EQ(file.extension(), ".entry");
}

TEST(PluginCacheFolder, IsThatOfTheVariableOrOfTheUser) {
  std::map<std::string, std::string> variables;
  const auto folder = [&] {
    return plugin_cache_folder([&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(folder(), "");
  variables["HOME"] = "/home/u";
  EXPECT_EQ(folder(), "/home/u/.cache/etbackend/plugins");
  variables["XDG_CACHE_HOME"] = "/cache";
  EXPECT_EQ(folder(), "/cache/etbackend/plugins");
  variables["ETBACKEND_PLUGIN_CACHE"] = "/mine";
  EXPECT_EQ(folder(), "/mine");
  variables["ETBACKEND_PLUGIN_CACHE"] = "off";
  EXPECT_EQ(folder(), "");
  EXPECT_EQ(plugin_cache_folder({}), "");
}

// ---- cache/1

class PluginCacheTest : public DiskCacheTest {
 protected:
  auto with(const char* version, const char* build, const auto& body) {
    etb_plugin_ident ident{};
    std::strcpy(ident.id, "org.example.cached");
    std::strcpy(ident.version, version);
    std::strcpy(ident.build_id, build);
    SharedServices shared;
    shared.cache = std::make_shared<DiskCache>(DiskCacheOptions{folder_});
    PluginServices services(shared, AccountedAllocator::kUnbounded, nullptr, &ident);
    return body(*static_cast<const etb_cache_service*>(services.table().find(ETB_SERVICE_CACHE)));
  }

  // Reads with the service that a plugin of this version gets.
  std::string read_as(const char* version, const char* key = "key", const char* build = "") {
    return with(version, build, [&](const etb_cache_service& service) -> std::string {
      etb_payload_view view{};
      view.struct_size = ETB_INIT_SIZE(etb_payload_view);
      if (service.get(service.ctx, {key, std::strlen(key)}, &view, nullptr) != ETB_OK) return "";
      EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % view.alignment, 0u);
      const std::string out(static_cast<const char*>(view.data), view.nbytes);
      if (is_released_) view.release(view.release_ctx);
      return out;
    });
  }
  etb_status write_as(const char* version, std::string_view value, const char* key = "key") {
    return with(version, "", [&](const etb_cache_service& service) {
      return service.put(service.ctx, {key, std::strlen(key)}, {value.data(), value.size()}, nullptr);
    });
  }

  bool is_released_ = true;
};

TEST_F(PluginCacheTest, AnotherVersionOrBuildOfThePluginHasOtherEntries) {
  ASSERT_EQ(write_as("1.0.0", "old"), ETB_OK);
  EXPECT_EQ(read_as("1.0.0"), "old");
  EXPECT_EQ(read_as("1.0.1"), "");
  EXPECT_EQ(read_as("1.0.0", "key", "other build"), "");
  EXPECT_EQ(read_as("1.0.0", "another key"), "");
}

TEST_F(PluginCacheTest, AViewThatIsNeverReleasedIsFreedWithThePlugin) {
  ASSERT_EQ(write_as("1.0.0", "value"), ETB_OK);
  is_released_ = false;
  EXPECT_EQ(read_as("1.0.0"), "value");  // the leak checker of the sanitizers sees the rest
}

TEST_F(PluginCacheTest, RejectsAViewThatIsTooSmall) {
  ASSERT_EQ(write_as("1.0.0", "value"), ETB_OK);
  SharedServices shared;
  shared.cache = std::make_shared<DiskCache>(DiskCacheOptions{folder_});
  etb_plugin_ident ident{};
  PluginServices services(shared, AccountedAllocator::kUnbounded, nullptr, &ident);
  const auto* const service = static_cast<const etb_cache_service*>(services.table().find(ETB_SERVICE_CACHE));
  etb_payload_view view{};
  view.struct_size = 8;
  EXPECT_EQ(service->get(service->ctx, {"key", 3}, &view, nullptr), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(service->get(service->ctx, {"key", 3}, nullptr, nullptr), ETB_INVALID_ARGUMENT);
}

// True if a plugin of this registry finds the service.
bool has_cache(RegistryOptions options) {
  static const void* found;
  static ToyPlugin toy;
  static const auto init = toy.plugin.init;
  toy.plugin.init = [](const etb_host* host, const etb_option* given, uint64_t count, etb_plugin** out,
                       etb_error* error) {
    found = host->get_service(host, ETB_SERVICE_CACHE);
    return init(host, given, count, out, error);
  };
  const etb_static_plugin row{
      ETB_INIT_SIZE(etb_static_plugin), 0,
      [](const etb_host*, uint32_t, uint32_t) -> const etb_plugin_table* { return &toy.plugin; },
      kToyBackend};
  options.admin_path = "/nonexistent";
  options.static_plugins = {&row, 1};
  Registry registry(options);
  found = nullptr;
  EXPECT_TRUE(registry.initialise(registry.plugins().back()));
  return found != nullptr;
}

TEST(PluginCache, IsNullWhereItIsOffAndInSecureMode) {
  const ScratchDir dir;
  RegistryOptions options;
  options.environment = {};
  EXPECT_FALSE(has_cache(options));
  options.plugin_cache = dir.path();
  EXPECT_TRUE(has_cache(options));
  options.secure = true;
  EXPECT_FALSE(has_cache(options));
  options.secure = false;
  options.plugin_cache = "";
  EXPECT_FALSE(has_cache(options));
  options.plugin_cache.reset();
  options.environment = [&](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "HOME" ? std::optional(dir.path()) : std::nullopt;
  };
  EXPECT_TRUE(has_cache(options));
  EXPECT_TRUE(fs::is_empty(dir.path()));  // made by the first write
}

}  // namespace
}  // namespace etb::host
