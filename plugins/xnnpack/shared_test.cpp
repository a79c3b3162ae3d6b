// SPDX-License-Identifier: Apache-2.0
// Tests the state that delegates share: packed weights, a workspace, a file between processes. Several
// threads create, run and destroy delegates at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "api/format/program_view.hpp"
#include "etb/static_plugins.h"
#include "plugins/xnnpack/testing/program_data.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(xnnpack);
}

namespace etb::xnnpack {
namespace {

namespace fs = std::filesystem;

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kBareHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0", "", nullptr, no_service, nullptr};

// A log/1 service that stores its lines.
struct Log {
  std::vector<std::string> lines;
  etb_log_service service{ETB_INIT_SIZE(etb_log_service),
                          0,
                          this,
                          ETB_LOG_WARNING,
                          0,
                          [](void* ctx, uint32_t level, const char* text, const etb_option*, uint64_t) {
                            static_cast<Log*>(ctx)->lines.push_back(std::to_string(level) + " " + text);
                          }};
};
const void* ETB_CALL find_log(const etb_host* host, const char* id) {
  return std::strcmp(id, ETB_SERVICE_LOG) == 0 ? &static_cast<Log*>(host->ctx)->service : nullptr;
}

fs::path note_of(const fs::path& file) { return file.string() + ".verified"; }

std::vector<char> read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A program of one delegate, one float input and one float output.
class Program {
 public:
  explicit Program(const std::string& name) {
    const fs::path folder = fs::path(ETB_SOURCE_DIR) / "tests/fixtures/xnnpack";
    const std::vector<char> chars = read_bytes(folder / (name + ".pte"));
    const auto* first = reinterpret_cast<const std::byte*>(chars.data());
    file_.assign(first, first + chars.size());
    etb_error error = ETB_ERROR_INIT;
    EXPECT_EQ(format::read_program(file_, &view_, &error), ETB_OK) << error.text;
    input_ = read_npy(folder / (name + ".forward.0.in.0.npy"), input_sizes_);
    expected_ = read_npy(folder / (name + ".forward.0.out.0.npy"), output_sizes_);
  }

  etb_status make(const etb_plugin_table& table, etb_plugin* plugin, const std::vector<etb_option>& options,
                  etb_delegate** out, etb_error* error) const {
    PayloadArguments given(data_.payload(), &named_);
    given.args.options = options.data();
    given.args.option_count = options.size();
    return table.delegate->create(plugin, &given.args, out, error);
  }

  // Runs once in a new context. Returns the largest difference from PyTorch's result, or NAN if it did not
  // run.
  float run(const etb_plugin_table& table, etb_delegate* delegate) const {
    etb_error error = ETB_ERROR_INIT;
    etb_context* context = nullptr;
    if (table.delegate->context_create(delegate, nullptr, 0, &context, &error) != ETB_OK) return NAN;
    std::vector<float> input = input_, output(expected_.size() + 32, NAN);
    input.resize(input.size() + 32);
    std::vector<int64_t> input_sizes = input_sizes_, output_sizes = output_sizes_;
    const etb_tensor in = tensor(input, input_sizes, ETB_ROLE_INPUT);
    etb_tensor out = tensor(output, output_sizes, ETB_ROLE_OUTPUT);
    etb_exec_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    args.inputs = &in;
    args.input_count = 1;
    args.outputs = &out;
    args.output_count = 1;
    float worst = 0;
    for (int i = 0; i < 3; ++i) {
      if (table.delegate->execute(context, &args, &error) != ETB_OK) worst = NAN;
      for (size_t e = 0; e < expected_.size(); ++e)
        worst = std::max(worst, std::abs(output[e] - expected_[e]));
    }
    return table.delegate->context_destroy(context, &error) == ETB_OK ? worst : NAN;
  }

 private:
  static std::vector<float> read_npy(const fs::path& path, std::vector<int64_t>& sizes) {
    const std::vector<char> bytes = read_bytes(path);
    uint16_t header_nbytes = 0;
    std::memcpy(&header_nbytes, bytes.data() + 8, 2);
    const std::string header(bytes.data() + 10, header_nbytes);
    for (size_t at = header.find('(') + 1; at < header.size() && std::isdigit(header[at]);) {
      sizes.push_back(std::stoll(header.substr(at)));
      at = header.find_first_not_of(", ", header.find_first_of(",)", at));
    }
    std::vector<float> out((bytes.size() - 10 - header_nbytes) / sizeof(float));
    std::memcpy(out.data(), bytes.data() + 10 + header_nbytes, out.size() * sizeof(float));
    return out;
  }
  static etb_tensor tensor(std::vector<float>& data, std::vector<int64_t>& sizes, uint32_t role) {
    etb_tensor made{};
    made.struct_size = ETB_INIT_SIZE(etb_tensor);
    made.dtype = ETB_DTYPE_FLOAT32;
    made.role = role;
    made.rank = static_cast<uint32_t>(sizes.size());
    made.sizes = sizes.data();
    made.data = data.data();
    made.capacity_bytes = (data.size() - 32) * sizeof(float);
    return made;
  }
  std::vector<std::byte> file_;
  format::ProgramView view_;
  const ProgramData data_{view_, file_};
  const etb_named_data named_ = data_.table();  // delegates read it during their whole life
  std::vector<int64_t> input_sizes_, output_sizes_;
  std::vector<float> input_, expected_;
};

class XnnpackShared : public testing::Test {
 protected:
  void SetUp() override {
    table_ = etb_plugin_query_xnnpack(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    etb_error error = ETB_ERROR_INIT;
    ASSERT_EQ(table_->init(&kBareHost, nullptr, 0, &plugin_, &error), ETB_OK) << error.text;
    folder_ = fs::temp_directory_path() / ("etb_packed_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override {
    etb_error error = ETB_ERROR_INIT;
    EXPECT_EQ(table_->deinit(plugin_, &error), ETB_OK) << error.text;
    fs::remove_all(folder_);
  }
  etb_delegate* make(const Program& program, const std::vector<etb_option>& options = {}) {
    etb_error error = ETB_ERROR_INIT;
    etb_delegate* made = nullptr;
    EXPECT_EQ(program.make(*table_, plugin_, options, &made, &error), ETB_OK) << error.text;
    return made;
  }
  void destroy(etb_delegate* delegate) {
    etb_error error = ETB_ERROR_INIT;
    EXPECT_EQ(table_->delegate->destroy(delegate, &error), ETB_OK) << error.text;
  }
  fs::path only_file() const {
    fs::path found;
    for (const auto& item : fs::directory_iterator(folder_)) {
      if (item.path().extension() == ".verified") continue;
      EXPECT_TRUE(found.empty());
      found = item.path();
    }
    return found;
  }

  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  fs::path folder_;
};

// With the tsan preset this test finds races of the plugin; XNNPACK and its threads are built without tsan.
// Programs this small run on the calling thread; tests/runtime/xnnpack_race_test.cpp covers larger ones.
TEST_F(XnnpackShared, ThreadsMakeRunAndDestroyDelegatesAtOnce) {
  for (const char* mode : {"disabled", "concurrent", "global"}) {
    const Program programs[] = {Program("conv_bn_relu"), Program("linear"), Program("mlp"),
                                Program("qc8_conv2d")};
    etb_delegate* common = make(programs[2], {given_text("workspace_sharing_mode", mode)});
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < 8; ++round) {
          const Program& program = programs[(t + round) % 4];
          etb_error error = ETB_ERROR_INIT;
          etb_delegate* mine = nullptr;
          if (program.make(*table_, plugin_, {given_text("workspace_sharing_mode", mode)}, &mine, &error) !=
              ETB_OK) {
            ++failures;
            continue;
          }
          if (!(program.run(*table_, mine) < 0.07f)) ++failures;  // a step of the quantised program
          if (!(programs[2].run(*table_, common) < 1e-4f)) ++failures;
          if (table_->delegate->destroy(mine, &error) != ETB_OK) ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 0) << mode;
    destroy(common);
  }
}

TEST_F(XnnpackShared, PackedWeightsComeBackFromTheFile) {
  const Program program("mlp");
  const std::string folder = folder_.string();
  const std::vector<etb_option> options = {given_text("packed_cache_path", folder.c_str())};
  destroy(make(program, options));
  const fs::path file = only_file();
  const auto written = fs::last_write_time(file);
  EXPECT_EQ(fs::status(file).permissions() & fs::perms::others_read, fs::perms::none);
  etb_delegate* again = make(program, options);
  EXPECT_LT(program.run(*table_, again), 1e-4f);
  destroy(again);
  EXPECT_EQ(fs::last_write_time(only_file()), written) << "written again though nothing was new";
}

TEST_F(XnnpackShared, ADamagedFileIsAsGoodAsNone) {
  const Program program("mlp");
  const std::string folder = folder_.string();
  const std::vector<etb_option> options = {given_text("packed_cache_path", folder.c_str())};
  destroy(make(program, options));
  const fs::path file = only_file();
  const std::vector<char> whole = read_bytes(file);
  for (size_t byte = 0; byte < whole.size(); byte += 1 + whole.size() / 200) {
    std::vector<char> damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
    std::ofstream(file, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    fs::remove(note_of(file));
    etb_delegate* made = make(program, options);
    ASSERT_LT(program.run(*table_, made), 1e-4f) << "byte " << byte;
    destroy(made);
  }
  for (size_t kept = 0; kept < whole.size(); kept += 1 + whole.size() / 50) {
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(whole.data(), static_cast<std::streamsize>(kept));
    etb_delegate* made = make(program, options);
    ASSERT_LT(program.run(*table_, made), 1e-4f) << kept << " bytes kept";
    destroy(made);
  }
}

// The note is valid for the file in the state when it was written, and is rewritten afterwards.
TEST_F(XnnpackShared, AVerifiedFileIsBelievedUntilItChanges) {
  const Program program("mlp");
  const std::string folder = folder_.string();
  const std::vector<etb_option> options = {given_text("packed_cache_path", folder.c_str())};
  destroy(make(program, options));
  const fs::path file = only_file(), note = note_of(file);
  if (!fs::exists(note)) GTEST_SKIP() << "the system has no boot id";
  const std::vector<char> whole = read_bytes(file), said = read_bytes(note);
  const auto error_of_program = [&] {
    etb_delegate* made = make(program, options);
    const float error = program.run(*table_, made);
    destroy(made);
    return error;
  };
  EXPECT_LT(error_of_program(), 1e-4f);
  EXPECT_EQ(read_bytes(note), said);
  // A missing note, or one for another file, is rewritten.
  fs::remove(note);
  EXPECT_LT(error_of_program(), 1e-4f);
  EXPECT_EQ(read_bytes(note), said);
  std::ofstream(note) << "1 another time";
  EXPECT_LT(error_of_program(), 1e-4f);
  EXPECT_EQ(read_bytes(note), said);
  // A note that others can write is ignored. A file changed since its note is verified and packed again.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the clock of file systems may be that slow
  std::vector<char> damaged = whole;
  for (size_t i = whole.size() / 2 + 3 - whole.size() / 2 % 4; i < whole.size(); i += 4) damaged[i] ^= 0x10;
  std::ofstream(file, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
  EXPECT_LT(error_of_program(), 1e-4f);
  EXPECT_EQ(read_bytes(file), whole);
  EXPECT_NE(read_bytes(note), said);
  // The note skips the check: with a note for the damaged file, the damage is loaded.
  std::ofstream(file, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
  std::string version, boot;
  std::istringstream(std::string(said.begin(), said.end())) >> version >> boot;
  const auto believe = [&] {
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    std::ofstream(note) << version << " " << boot << " " << info.st_dev << " " << info.st_ino << " "
                        << info.st_size << " " << info.st_mtim.tv_sec << "." << info.st_mtim.tv_nsec << " "
                        << info.st_ctim.tv_sec << "." << info.st_ctim.tv_nsec << " ";
  };
  believe();
  fs::permissions(note, fs::perms::others_write, fs::perm_options::add);
  EXPECT_LT(error_of_program(), 1e-4f) << "others could have written that note";
  std::ofstream(file, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
  believe();
  EXPECT_FALSE(error_of_program() < 1e-4f) << "the note did not spare the check";
}

TEST_F(XnnpackShared, TheFolderStaysBelowItsLimit) {
  const std::string folder = folder_.string();
  const std::vector<etb_option> options = {given_text("packed_cache_path", folder.c_str()),
                                           given_number("packed_cache_max_bytes", 4096)};
  for (const char* name : {"linear", "mlp", "conv2d", "linear_relu", "conv_bn_relu"})
    destroy(make(Program(name), options));
  uint64_t total = 0;
  for (const auto& item : fs::directory_iterator(folder_)) total += item.file_size();
  EXPECT_LE(total, 4096u);
  EXPECT_GT(total, 0u);
}

// Programs run without the folder, and the log reports it once.
TEST_F(XnnpackShared, WeightsThatAreNotKeptAreLoggedOnce) {
  Log log;
  etb_host host = kBareHost;
  host.ctx = &log;
  host.get_service = find_log;
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* plugin = nullptr;
  ASSERT_EQ(table_->init(&host, nullptr, 0, &plugin, &error), ETB_OK) << error.text;
  const Program program("mlp");
  const std::string small = folder_.string();
  for (int i = 0; i < 2; ++i) {
    etb_delegate* made = nullptr;
    ASSERT_EQ(program.make(*table_, plugin,
                           {given_text("packed_cache_path", small.c_str()),
                            given_number("packed_cache_max_bytes", 100)},
                           &made, &error),
              ETB_OK)
        << error.text;
    EXPECT_LT(program.run(*table_, made), 1e-4f);
    destroy(made);
  }
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_THAT(log.lines[0],
              testing::MatchesRegex(
                  "30 xnnpack: packed weights: [0-9]+ bytes are not kept, packed_cache_max_bytes is 100"));
  EXPECT_FALSE(fs::exists(folder_));
  log.lines.clear();
  std::ofstream(folder_) << "no folder";
  const std::string no_folder = folder_.string(), below = (folder_ / "below").string();
  const std::vector<std::string> expected = {no_folder, below};
  const Program programs[] = {Program("mlp"), Program("linear")};
  for (const std::string& folder : expected) {
    for (int i = 0; i < 4; ++i) {
      etb_delegate* made = nullptr;
      ASSERT_EQ(programs[i % 2].make(*table_, plugin, {given_text("packed_cache_path", folder.c_str())},
                                     &made, &error),
                ETB_OK)
          << error.text;
      EXPECT_LT(programs[i % 2].run(*table_, made), 1e-4f);
      destroy(made);
    }
  }
  ASSERT_EQ(log.lines.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string begin = "30 xnnpack: packed weights: cannot write to '" + expected[i] + "': ";
    EXPECT_EQ(log.lines[i].substr(0, begin.size()), begin);
    EXPECT_GT(log.lines[i].size(), begin.size()) << "it does not say why";
  }
  EXPECT_EQ(table_->deinit(plugin, &error), ETB_OK) << error.text;
}

}  // namespace
}  // namespace etb::xnnpack
