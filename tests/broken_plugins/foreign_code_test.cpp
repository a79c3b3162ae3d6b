// SPDX-License-Identifier: Apache-2.0
// Tests ways to load code that no manifest names into a process. Each succeeded before the host checked what
// the dynamic loader would find. The library foreign.so leaves a file in the current folder when it is
// loaded.
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <thread>

#include "host/registry/probe.hpp"
#include "host/testing/plugin_fixture.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

constexpr size_t kRunPathNbytes = 210;  // size of the placeholders "/run-path-xxx..." and "/name-xxx..."

std::string attack(const std::string& name) { return std::string(ETB_ATTACKS_DIR) + "/" + name + ".so"; }

// A library of a plugin, changed before its manifest is written.
class Bytes {
 public:
  explicit Bytes(const std::string& file) : content_(PluginFixture::read_file(file)) {}

  Bytes& replace(const std::string& placeholder, const std::string& text) {
    const size_t at = content_.find(placeholder + "xxxx");
    if (at == std::string::npos || text.size() >= kRunPathNbytes - 10) std::abort();
    const size_t end = content_.find('\0', at);
    content_.replace(at, end - at, text + std::string(end - at - text.size(), '\0'));
    return *this;
  }
  Bytes& run_path(const std::string& text) { return replace("/run-path-", text); }

  template <class T>
  T& at(uint64_t offset) {
    return *reinterpret_cast<T*>(content_.data() + offset);
  }
  std::vector<Elf64_Phdr*> segments(uint32_t type) {
    const auto& header = at<Elf64_Ehdr>(0);
    std::vector<Elf64_Phdr*> out;
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
      auto& one = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
      if (one.p_type == type) out.push_back(&one);
    }
    return out;
  }
  std::vector<Elf64_Dyn> dynamic() {
    const Elf64_Phdr& segment = *segments(PT_DYNAMIC)[0];
    std::vector<Elf64_Dyn> out;
    for (uint64_t i = 0; at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn)).d_tag != DT_NULL; ++i)
      out.push_back(at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn)));
    return out;
  }
  // Returns the dynamic section without the entries that lead to foreign code. The first needed library is
  // foreign.so.
  std::vector<Elf64_Dyn> harmless_dynamic() {
    std::vector<Elf64_Dyn> out = dynamic();
    std::erase_if(out, [](const Elf64_Dyn& one) { return one.d_tag == DT_RUNPATH; });
    const auto needed =
        std::find_if(out.begin(), out.end(), [this](const Elf64_Dyn& one) { return is_foreign(one); });
    if (needed == out.end()) std::abort();
    out.erase(needed);
    return out;
  }
  bool is_foreign(const Elf64_Dyn& entry) {
    if (entry.d_tag != DT_NEEDED) return false;
    uint64_t strings = 0;
    for (const Elf64_Dyn& one : dynamic())
      if (one.d_tag == DT_STRTAB) strings = one.d_un.d_ptr;  // address and offset agree in the first segment
    return std::string(&at<char>(strings + entry.d_un.d_val)) == "foreign.so";
  }
  // Writes a dynamic section into the library's spare room. Returns the segment for it.
  Elf64_Phdr put_spare(const std::vector<Elf64_Dyn>& entries) {
    const uint64_t offset = content_.find("etb spare room") + 16;
    std::memcpy(&at<char>(offset), entries.data(), entries.size() * sizeof(Elf64_Dyn));
    Elf64_Phdr out = *segments(PT_DYNAMIC)[0];
    for (const Elf64_Phdr* load : segments(PT_LOAD))
      if (offset >= load->p_offset && offset - load->p_offset < load->p_filesz)
        out.p_vaddr = out.p_paddr = load->p_vaddr + (offset - load->p_offset);
    out.p_offset = offset;
    out.p_filesz = out.p_memsz = (entries.size() + 1) * sizeof(Elf64_Dyn);
    return out;
  }

  const std::string& content() const { return content_; }

 private:
  std::string content_;
};

// A temporary current folder, with plugins in "plugins" and foreign code in "foreign".
struct AttackedFixture {
  PluginFixture fixture;
  std::filesystem::path home = std::filesystem::current_path();

  AttackedFixture() {
    std::filesystem::current_path(fixture.path());
    add_foreign("foreign");
  }
  ~AttackedFixture() { std::filesystem::current_path(home); }

  void add_foreign(const std::string& folder) const {
    fixture.dir().write(folder + "/foreign.so", PluginFixture::read_file(attack("foreign")));
  }
  void add_plugin(const Bytes& library, const std::string& folder = "plugins") const {
    fixture.dir().write("library.so", library.content());
    fixture.add(folder, fixture.path("library.so"));
  }
  // Loads the plugin in a child process. Returns the error; its message is empty on success.
  Error try_plugin() const {
    Registry registry(fixture.options());
    return try_plugin(registry);
  }
  static Error try_plugin(const Registry& registry) {
    const PluginEntry& entry = registry.plugins()[0];
    if (entry.problem) return *entry.problem;
    const auto probed = probe_plugin(entry, registry.load_options(), std::chrono::seconds(20));
    return probed ? Error{} : probed.error();
  }
  bool was_foreign_code_here() const { return std::filesystem::exists(fixture.path("foreign-was-here")); }
};

// An environment in a folder of root without the sticky bit, as secure mode requires. For root only.
struct SecureFixture {
  const char* const temporary = ::getenv("TMPDIR");
  const std::string before = temporary == nullptr ? "/tmp" : temporary;
  const int moved = ::setenv("TMPDIR", "/run", 1);
  AttackedFixture fixture;
  RegistryOptions options = fixture.fixture.options();

  SecureFixture() { options.secure = true; }
  ~SecureFixture() { ::setenv("TMPDIR", before.c_str(), 1); }

  std::string reason() const {
    Registry registry(options);
    const Error error = AttackedFixture::try_plugin(registry);
    return error.message.empty() ? "ok" : error.reason;
  }
};

TEST(ForeignCode, SecureModeHoldsTheSameRules) {
  if (::geteuid() != 0) GTEST_SKIP() << "secure mode takes only files of root";
  for (const char* path : {"$ORIGIN/../cwd/foreign", "${ORIGIN}/../cwd/foreign", "/run/$LIB"}) {
    SecureFixture secure;
    secure.fixture.add_plugin(Bytes(attack("needs_foreign")).run_path(path));
    EXPECT_EQ(secure.reason(), "library.search") << path;
    EXPECT_FALSE(secure.fixture.was_foreign_code_here()) << path;
  }
  SecureFixture secure;
  const std::string foreign = secure.fixture.fixture.path("foreign/foreign.so");
  secure.fixture.add_plugin(Bytes(attack("auxiliary")).run_path("$ORIGIN").replace("/name-", foreign));
  EXPECT_EQ(secure.reason(), "library.filter");
  EXPECT_FALSE(secure.fixture.was_foreign_code_here());
}

TEST(ForeignCode, SecureModeWantsADigestOfWhatAPluginBringsAlong) {
  if (::geteuid() != 0) GTEST_SKIP() << "secure mode takes only files of root";
  SecureFixture secure;
  const PluginFixture& fixture = secure.fixture.fixture;
  const std::string content = PluginFixture::read_file(ETB_BUNDLED);
  const auto add = [&](const nlohmann::json& patch) {
    fixture.add("plugins", std::string(ETB_BROKEN_DIR) + "/with_bundle.so", patch);
    fixture.dir().write("plugins/bundled.so", content);
    return secure.reason();
  };
  EXPECT_EQ(add(nullptr), "policy.no-digest");
  const auto needs = [](const std::string& digest) {
    return nlohmann::json{
        {"needs", {{"libraries", {{{"name", "bundled.so"}, {"where", "bundle"}, {"sha256", digest}}}}}}};
  };
  EXPECT_EQ(add(needs(std::string(64, '0'))), "library.digest");
  EXPECT_EQ(add(needs(PluginFixture::manifest(content, "x")["libraries"][0]["sha256"])), "ok");
}

// Repeats one test of this program with a variable of the loader, which reads it at the start of a process
// only.
void run_again(const char* filter, const char* variable, const std::string& value) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(1);
    ::setenv(variable, value.c_str(), 1);
    ::execl("/proc/self/exe", "test", filter, nullptr);
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
}

// Checks that the foreign library works, so that later tests would detect it.
TEST(ForeignCode, LeavesAMarkWhenItIsLoaded) {
  if (ETB_SANITIZERS_BUILT != 0) GTEST_SKIP() << "the sanitizer's own library must be loaded first";
  AttackedFixture fixture;
  run_again("--gtest_list_tests", "ETB_NOTHING", "");
  EXPECT_FALSE(fixture.was_foreign_code_here());
  run_again("--gtest_list_tests", "LD_PRELOAD", fixture.fixture.path("foreign/foreign.so"));
  EXPECT_TRUE(fixture.was_foreign_code_here());
}

struct RunPath {
  const char* name;
  std::string (*path)(const PluginFixture&);
  std::string folder;  // folder of foreign.so, in the environment
};

std::string platform() {
  const auto* text = reinterpret_cast<const char*>(::getauxval(AT_PLATFORM));
  return text == nullptr ? "x86_64" : text;
}

class ForeignRunPath : public testing::TestWithParam<RunPath> {};

TEST_P(ForeignRunPath, IsRefused) {
  AttackedFixture fixture;
  fixture.add_foreign(GetParam().folder);
  fixture.add_plugin(Bytes(attack("needs_foreign")).run_path(GetParam().path(fixture.fixture)));
  const Error error = fixture.try_plugin();
  EXPECT_EQ(error.reason, "library.search") << error.message;
  EXPECT_THAT(error.message, HasSubstr("expected $ORIGIN alone or none"));
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

INSTANTIATE_TEST_SUITE_P(
    ForeignCode, ForeignRunPath,
    testing::Values(
        RunPath{"Parent", [](const PluginFixture&) { return std::string("$ORIGIN/../cwd/foreign"); },
                "foreign"},
        RunPath{"ParentInBraces",
                [](const PluginFixture&) { return std::string("${ORIGIN}/../cwd/foreign"); }, "foreign"},
        RunPath{"Lib", [](const PluginFixture& fixture) { return fixture.path("deep/$LIB"); },
                "deep/lib/x86_64-linux-gnu"},
        RunPath{"Platform", [](const PluginFixture& fixture) { return fixture.path("deep/$PLATFORM"); },
                "deep/" + platform()},
        RunPath{"Absolute", [](const PluginFixture& fixture) { return fixture.path("foreign"); }, "foreign"},
        RunPath{"Second", [](const PluginFixture& fixture) { return "$ORIGIN:" + fixture.path("foreign"); },
                "foreign"}),
    [](const testing::TestParamInfo<RunPath>& one) { return std::string(one.param.name); });

TEST(ForeignCode, FilteredLibrariesAreNotLoaded) {
  for (const char* name : {"auxiliary", "filter"}) {
    AttackedFixture fixture;
    fixture.add_plugin(Bytes(attack(name))
                           .run_path("$ORIGIN")
                           .replace("/name-", fixture.fixture.path("foreign/foreign.so")));
    const Error error = fixture.try_plugin();
    EXPECT_EQ(error.reason, "library.filter") << error.message;
    EXPECT_FALSE(fixture.was_foreign_code_here()) << name;
  }
}

// The loader reads the last dynamic section, the registry read the first.
TEST(ForeignCode, ASecondDynamicSectionIsRefused) {
  AttackedFixture fixture;
  Bytes bytes(attack("needs_foreign"));
  bytes.run_path("$ORIGIN/../cwd/foreign");
  const Elf64_Phdr harmless = bytes.put_spare(bytes.harmless_dynamic());
  Elf64_Phdr* const section = bytes.segments(PT_DYNAMIC)[0];
  Elf64_Phdr* const stack = bytes.segments(PT_GNU_STACK)[0];
  ASSERT_GT(stack, section);
  *stack = *section;
  *section = harmless;
  fixture.add_plugin(bytes);
  const Error error = fixture.try_plugin();
  EXPECT_EQ(error.reason, "library.format") << error.message;
  EXPECT_THAT(error.message, HasSubstr("two dynamic sections"));
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

// The loader reads by address, the registry by offset.
TEST(ForeignCode, ADynamicSectionWhoseOffsetLeadsElsewhereIsRefused) {
  AttackedFixture fixture;
  Bytes bytes(attack("needs_foreign"));
  bytes.run_path("$ORIGIN/../cwd/foreign");
  const Elf64_Phdr harmless = bytes.put_spare(bytes.harmless_dynamic());
  bytes.segments(PT_DYNAMIC)[0]->p_offset = harmless.p_offset;
  bytes.segments(PT_DYNAMIC)[0]->p_filesz = harmless.p_filesz;
  fixture.add_plugin(bytes);
  const Error error = fixture.try_plugin();
  EXPECT_EQ(error.reason, "library.format") << error.message;
  EXPECT_THAT(error.message, HasSubstr("the dynamic section's address leads to byte"));
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

// The registry stopped reading at a limit; the loader has none.
TEST(ForeignCode, EntriesBeyondTheLimitAreRefused) {
  AttackedFixture fixture;
  Bytes bytes(attack("needs_foreign"));
  bytes.run_path("$ORIGIN/../cwd/foreign");
  std::vector<Elf64_Dyn> entries = bytes.harmless_dynamic();
  Elf64_Dyn filler{};
  filler.d_tag = DT_LOOS + 0x7ff;  // unknown to every loader
  entries.resize(4096, filler);
  for (const Elf64_Dyn& one : bytes.dynamic())
    if (one.d_tag == DT_RUNPATH || bytes.is_foreign(one)) entries.push_back(one);
  *bytes.segments(PT_DYNAMIC)[0] = bytes.put_spare(entries);
  fixture.add_plugin(bytes);
  const Error error = fixture.try_plugin();
  EXPECT_EQ(error.reason, "library.format") << error.message;
  EXPECT_THAT(error.message, HasSubstr("no end of the dynamic section within its first 4096 entries"));
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

// Loads the plugin in a process that was started with LD_LIBRARY_PATH.
std::string reason_under_library_path(const AttackedFixture& fixture) {
  ::setenv("ETB_ATTACKED_WORLD", fixture.fixture.path().c_str(), 1);
  run_again("--gtest_filter=ForeignCode.ChildUnderLibraryPath", "LD_LIBRARY_PATH",
            fixture.fixture.path("foreign"));
  ::unsetenv("ETB_ATTACKED_WORLD");
  return PluginFixture::read_file(fixture.fixture.path("reason"));
}

// The child of the tests below; alone it does nothing.
TEST(ForeignCode, ChildUnderLibraryPath) {
  const char* const folder = std::getenv("ETB_ATTACKED_WORLD");
  if (folder == nullptr) return;
  const std::string fixture = folder;
  RegistryOptions options;
  options.application_paths = {fixture + "/plugins"};
  options.admin_path = "";
  options.environment = {};
  Registry registry(options);
  const auto loaded = registry.load(registry.plugins()[0]);
  std::ofstream(fixture + "/reason") << (loaded ? "loaded" : loaded.error().reason);
}

TEST(ForeignCode, LibraryPathDoesNotReplaceWhatIsMissing) {
  AttackedFixture fixture;
  fixture.add_plugin(Bytes(attack("needs_foreign")).run_path("$ORIGIN"));
  EXPECT_EQ(reason_under_library_path(fixture), "library.needed");
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

TEST(ForeignCode, LibraryPathDoesNotReplaceABundledLibraryOfAnotherSoname) {
  AttackedFixture fixture;
  fixture.fixture.dir().write("foreign/bundled.so", PluginFixture::read_file(attack("foreign")));
  fixture.fixture.add("plugins", std::string(ETB_BROKEN_DIR) + "/with_bundle.so");
  fixture.fixture.dir().write("plugins/bundled.so", PluginFixture::read_file(attack("bundled_misnamed")));
  EXPECT_EQ(reason_under_library_path(fixture), "library.soname");
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

TEST(ForeignCode, LibraryPathDoesNotReplaceALibraryOfTheSystem) {
  AttackedFixture fixture;
  fixture.fixture.dir().write("foreign/libcrypt.so.1", PluginFixture::read_file(attack("foreign")));
  fixture.add_plugin(Bytes(attack("needs_system")).run_path("$ORIGIN"));
  EXPECT_EQ(reason_under_library_path(fixture), "loaded");
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

// Loads the plugin in many child processes while a thread renames two folders.
void load_while_renaming(const AttackedFixture& fixture, const std::string& one, const std::string& other,
                         unsigned flags) {
  const Registry registry(fixture.fixture.options());
  const PluginEntry& entry = registry.plugins()[0];
  if (entry.problem) return;  // rejected before any rename
  std::atomic<bool> is_over{false};
  std::thread renamer([&] {
    while (!is_over) {
      ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), flags);
      ::syscall(SYS_renameat2, AT_FDCWD, other.c_str(), AT_FDCWD, one.c_str(), flags);
    }
  });
  for (int i = 0; i < 400 && !fixture.was_foreign_code_here(); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)LoadedPlugin::load(entry, registry.load_options());
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  is_over = true;
  renamer.join();
}

// A folder that is missing during the check and exists when the loader reads it.
TEST(ForeignCode, AFolderThatComesLaterIsNoRunPath) {
  AttackedFixture fixture;
  fixture.add_foreign("hidden");
  ::chmod(fixture.fixture.path("hidden").c_str(), 0777);
  fixture.add_plugin(Bytes(attack("needs_foreign")).run_path(fixture.fixture.path("later")));
  load_while_renaming(fixture, fixture.fixture.path("hidden"), fixture.fixture.path("later"), 0);
  EXPECT_EQ(fixture.try_plugin().reason, "library.search");
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

// Exchanges the plugin's folder for one that all users may write, repeatedly while the plugin is loaded.
TEST(ForeignCode, RenamesDuringTheCheckMixNoFolders) {
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE of linux/fs.h
  AttackedFixture fixture;
  const std::string library = std::string(ETB_BROKEN_DIR) + "/with_bundle.so";
  fixture.fixture.add(
      "plugins", library,
      {{"libraries", {{{"os", "linux"}, {"arch", detect_platform().arch}, {"path", "lib/with_bundle.so"}}}}});
  for (const char* folder : {"plugins/lib", "plugins/open"})
    fixture.fixture.dir().write(std::string(folder) + "/with_bundle.so", PluginFixture::read_file(library));
  fixture.fixture.dir().write("plugins/lib/bundled.so", PluginFixture::read_file(ETB_BUNDLED));
  // The file has the right owner. Only the folder's mode shows that other users could replace it.
  fixture.fixture.dir().write("plugins/open/bundled.so", PluginFixture::read_file(attack("foreign")));
  ::chmod(fixture.fixture.path("plugins/open").c_str(), 0777);
  const Error error = fixture.try_plugin();
  EXPECT_EQ(error.message, "") << "without renames it loads";
  load_while_renaming(fixture, fixture.fixture.path("plugins/lib"), fixture.fixture.path("plugins/open"),
                      kExchange);
  EXPECT_FALSE(fixture.was_foreign_code_here());
}

}  // namespace
}  // namespace etb::host
