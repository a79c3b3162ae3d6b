// SPDX-License-Identifier: Apache-2.0
// The C API refuses what a caller gets wrong, and reports it in full: structs, pointers, handles, threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "etb/etbackend.h"
#include "host/testing/toy_application.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}

class Misuse : public testing::Test {
 protected:
  Misuse() { EXPECT_EQ(etb_module_open(fixture("add.pte").c_str(), nullptr, &module_, &error_), ETB_OK); }
  ~Misuse() override {
    etb_set_checked(0);
    etb_module_close(module_);
  }
  etb_status open(const etb_module_options& options) {
    return etb_module_open(fixture("add.pte").c_str(), &options, &other_, &error_);
  }

  etb_error error_ = ETB_ERROR_INIT;
  etb_module* module_ = nullptr;
  etb_module* other_ = nullptr;  // stays NULL
  int64_t sizes_[2] = {2, 3};
  float x_[6] = {};
};

TEST_F(Misuse, NullIsNamed) {
  EXPECT_EQ(etb_module_open(nullptr, nullptr, &other_, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "path is NULL");
  EXPECT_EQ(etb_module_open(fixture("add.pte").c_str(), nullptr, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_open_bytes({nullptr, 8}, nullptr, &other_, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_open_again(nullptr, nullptr, &other_, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_execute(nullptr, "forward", nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "module is NULL");
  EXPECT_EQ(etb_module_execute(nullptr, "forward", nullptr, nullptr), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_call(module_, nullptr, nullptr, 2, nullptr, nullptr, 0, &error_),
            ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_set_input(module_, nullptr, 0, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_get_output(module_, nullptr, 0, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_input_spec(module_, nullptr, 0, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_decision(module_, 0, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_set_option(nullptr, "x", "y", "z", &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_set_option(module_, "x", nullptr, "z", &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_wait(nullptr, 0, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_module_method_count(nullptr), 0U);
  EXPECT_EQ(etb_module_method_name(nullptr, 0), nullptr);
  EXPECT_EQ(etb_registry_plugin_count(nullptr), 0U);
  EXPECT_EQ(etb_registry_open(nullptr, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(etb_registry_explain(nullptr, "x", nullptr, &error_), ETB_INVALID_ARGUMENT);
  etb_module_cancel(nullptr);
  etb_module_unload_method(nullptr, nullptr);
  etb_module_close(nullptr);
  etb_registry_close(nullptr);
  EXPECT_EQ(other_, nullptr);
}

TEST_F(Misuse, OptionsAreChecked) {
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.struct_size = 4;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("options: struct_size 4"));
  options = ETB_MODULE_OPTIONS_INIT;
  options.flags = 0x80;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  options = ETB_MODULE_OPTIONS_INIT;
  options.load_mode = 9;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "options: load mode 9, expected 0 to 3");
  options = ETB_MODULE_OPTIONS_INIT;
  options.thread_count = 1U << 20;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  options = ETB_MODULE_OPTIONS_INIT;
  options.data_path_count = 1;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "options: data_paths: NULL with 1 elements");
  const etb_setting setting = {ETB_INIT_SIZE(etb_setting), 0, "X", nullptr, "1"};
  options = ETB_MODULE_OPTIONS_INIT;
  options.settings = &setting;
  options.setting_count = 1;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  const etb_backend_choice choice = {ETB_INIT_SIZE(etb_backend_choice), 0, nullptr, "plugin", nullptr};
  options = ETB_MODULE_OPTIONS_INIT;
  options.choices = &choice;
  options.choice_count = 1;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  etb_alloc_service half{};
  half.struct_size = ETB_INIT_SIZE(etb_alloc_service);
  options = ETB_MODULE_OPTIONS_INIT;
  options.allocator = &half;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  const etb_alloc_service* const by_id[] = {nullptr, &half};
  etb_memory_allocators memories = ETB_MEMORY_ALLOCATORS_INIT;
  memories.count = 2;
  options = ETB_MODULE_OPTIONS_INIT;
  options.memory_allocators = &memories;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "options: memory_allocators.by_id: NULL with 2 elements");
  memories.by_id = by_id;
  EXPECT_EQ(open(options), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "options: memory_allocators.by_id[1].allocate is NULL");
  EXPECT_EQ(other_, nullptr);
}

TEST_F(Misuse, ValuesAreChecked) {
  etb_value value = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes_, x_, 20);
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "input 0: tensor memory of 20 bytes, its sizes need more");
  int64_t negative[] = {-2, 3};
  value = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, negative, x_, sizeof x_);
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "input 0: tensor of sizes [-2, 3]: a negative size, or too many elements");
  const uint8_t twice[] = {1, 1};
  value = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes_, x_, sizeof x_);
  value.tensor.dim_order = twice;
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "input 0: tensor of dim order [1, 1], expected each of 2 dimensions once");
  const int64_t transposed[] = {1, 2};
  value = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes_, x_, sizeof x_);
  value.tensor.strides = transposed;
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_NOT_SUPPORTED);
  value = etb_value_tensor(9, 2, sizes_, x_, sizeof x_);
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  value = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes_, nullptr, sizeof x_);
  EXPECT_NE(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_OK);
  value = etb_value_tensor(ETB_DTYPE_FLOAT32, 40, sizes_, x_, sizeof x_);
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  value.struct_size = 8;
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  value = ETB_VALUE_INIT;
  value.kind = 77;
  EXPECT_EQ(etb_module_set_input(module_, "forward", 0, &value, &error_), ETB_INVALID_ARGUMENT);
  value = ETB_VALUE_INIT;
  EXPECT_EQ(etb_module_set_input(module_, "backward", 0, &value, &error_), ETB_NOT_FOUND);
  EXPECT_EQ(etb_module_get_output(module_, "forward", 0, &value, &error_), ETB_INVALID_STATE);
}

TEST_F(Misuse, CheckedModeKnowsEndedHandles) {
  etb_set_checked(1);
  etb_module* ended = nullptr;
  ASSERT_EQ(etb_module_open_again(module_, nullptr, &ended, &error_), ETB_OK) << error_.text;
  etb_module_close(ended);
  EXPECT_EQ(etb_module_execute(ended, nullptr, nullptr, &error_), ETB_INVALID_HANDLE);
  EXPECT_STREQ(error_.text, "module: the handle was ended, or never made");
  etb_module_close(ended);
  etb_module_cancel(ended);
  EXPECT_EQ(etb_module_method_count(ended), 0U);
  EXPECT_EQ(etb_module_wait(ended, 0, &error_), ETB_INVALID_HANDLE);
  EXPECT_EQ(etb_registry_plugin_count(reinterpret_cast<etb_registry*>(module_)), 0U);
  EXPECT_EQ(etb_registry_explain(reinterpret_cast<etb_registry*>(module_), "x", nullptr, &error_),
            ETB_INVALID_HANDLE);
  EXPECT_STREQ(error_.text, "registry: the handle is one of another kind");
}

TEST_F(Misuse, CheckedModeKnowsTwoThreads) {
  etb_set_checked(1);
  const AlignedBytes program = endless_program();
  etb_module* endless = nullptr;
  ASSERT_EQ(etb_module_open_bytes(program.view(), nullptr, &endless, &error_), ETB_OK) << error_.text;
  std::atomic<etb_status> status{ETB_BUSY};
  std::atomic<bool> has_ended{false};
  // Each thread may find the other one in a call.
  std::thread running([&] {
    etb_run_limits limits = ETB_RUN_LIMITS_INIT;
    limits.flags = ETB_RUN_CANCELLABLE;
    limits.max_instructions = UINT64_MAX;
    while (status == ETB_BUSY) status = etb_module_execute(endless, nullptr, &limits, nullptr);
    has_ended = true;
  });
  while (etb_module_load_method(endless, nullptr, &error_) == ETB_OK) std::this_thread::yield();
  EXPECT_EQ(error_.code, ETB_BUSY) << error_.text;
  // A run that has only begun forgets an earlier cancellation.
  while (!has_ended) etb_module_cancel(endless), std::this_thread::yield();
  running.join();
  EXPECT_EQ(status, ETB_CANCELLED);
  etb_module_close(endless);
}

// ---- Errors

TEST_F(Misuse, ErrorsKeepTheirHintAndTheirFullText) {
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.max_memory_bytes = 1;
  ASSERT_EQ(open(options), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_load_method(other_, nullptr, &error_), ETB_OUT_OF_MEMORY);
  EXPECT_THAT(etb_error_hint(&error_), HasSubstr("raise it"));
  EXPECT_THAT(etb_last_error(), HasSubstr(error_.text));
  etb_module_close(other_);
  std::string folder = testing::TempDir() + "etb_misuse";
  for (int i = 0; i < 7; ++i) folder += '/' + std::string(100, 'a');
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/text.pte") << "no program";
  EXPECT_EQ(etb_module_open((folder + "/text.pte").c_str(), nullptr, &other_, &error_), ETB_INVALID_PROGRAM);
  EXPECT_GT(std::strlen(etb_last_error()), 700U);
  EXPECT_LT(std::strlen(error_.text), sizeof error_.text);
  other_ = nullptr;
}

TEST_F(Misuse, TextsOfFilesAreEscaped) {
  EXPECT_EQ(etb_module_load_method(module_, "\x1b[31mred", &error_), ETB_NOT_FOUND);
  EXPECT_EQ(std::strchr(error_.text, '\x1b'), nullptr);
  EXPECT_THAT(error_.text, HasSubstr("\\x1b[31mred"));
}

TEST_F(Misuse, FilesThatAreMissingOrWrong) {
  EXPECT_EQ(etb_module_open("/nonexistent.pte", nullptr, &other_, &error_), ETB_NOT_FOUND);
  EXPECT_EQ(etb_module_open("/", nullptr, &other_, &error_), ETB_ACCESS_FAILED) << error_.text;
  const std::string path = testing::TempDir() + "etb_misuse_text";
  std::ofstream(path) << "no program";
  EXPECT_EQ(etb_module_open(path.c_str(), nullptr, &other_, &error_), ETB_INVALID_PROGRAM) << error_.text;
  EXPECT_EQ(other_, nullptr);
}

TEST_F(Misuse, AFileThatVanishesStaysUsableWhenItWasRead) {
  const std::string path = testing::TempDir() + "etb_misuse_vanishing.pte";
  std::filesystem::copy_file(fixture("add.pte"), path, std::filesystem::copy_options::overwrite_existing);
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.load_mode = ETB_LOAD_FILE;
  ASSERT_EQ(etb_module_open(path.c_str(), &options, &other_, &error_), ETB_OK) << error_.text;
  std::filesystem::remove(path);
  EXPECT_EQ(etb_module_load_method(other_, nullptr, &error_), ETB_OK) << error_.text;
  etb_module_close(other_);
}

// ---- Recordings

TEST_F(Misuse, AModuleOutlivesItsRecording) {
  etb_recording* recording = nullptr;
  ASSERT_EQ(etb_recording_open(nullptr, &recording, &error_), ETB_OK);
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.recording = recording;
  ASSERT_EQ(open(options), ETB_OK);
  etb_recording_close(recording);
  const etb_value x = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes_, x_, sizeof x_);
  const etb_value inputs[] = {x, x};
  EXPECT_EQ(etb_module_call(other_, nullptr, inputs, 2, nullptr, nullptr, 0, &error_), ETB_OK) << error_.text;
  etb_module_close(other_);
}

TEST_F(Misuse, ARecordingServesOneRunAtATime) {
  etb_recording* recording = nullptr;
  ASSERT_EQ(etb_recording_open(nullptr, &recording, &error_), ETB_OK);
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.recording = recording;
  const AlignedBytes endless = endless_program();
  etb_module* running = nullptr;
  ASSERT_EQ(etb_module_open_bytes(endless.view(), &options, &running, &error_), ETB_OK);
  ASSERT_EQ(open(options), ETB_OK);
  ASSERT_EQ(etb_module_start(running, nullptr, nullptr, nullptr, nullptr, &error_), ETB_OK);
  etb_bytes bytes{};
  EXPECT_EQ(etb_recording_bytes(recording, &bytes, &error_), ETB_BUSY);
  EXPECT_THAT(error_.text, HasSubstr("the recording is used"));
  EXPECT_EQ(etb_module_load_method(other_, nullptr, &error_), ETB_BUSY);
  EXPECT_EQ(etb_recording_dropped_count(recording), 0U);
  etb_module_cancel(running);
  EXPECT_EQ(etb_module_wait(running, UINT64_MAX, &error_), ETB_CANCELLED);
  EXPECT_EQ(etb_recording_bytes(recording, &bytes, &error_), ETB_OK) << error_.text;
  EXPECT_NE(bytes.nbytes, 0U);
  EXPECT_EQ(etb_module_load_method(other_, nullptr, &error_), ETB_OK) << error_.text;
  etb_module_close(running);
  etb_module_close(other_);
  etb_recording_close(recording);
}

// ---- Log

TEST_F(Misuse, NothingIsLoggedUntilALogIsSet) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  std::vector<std::byte> unused;
  const AlignedBytes program = toy_program("None");
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.flags = ETB_MODULE_NO_PLUGINS;
  ASSERT_EQ(etb_module_open(fixture("xnnpack.pte").c_str(), &options, &other_, &error_), ETB_OK);
  EXPECT_NE(etb_module_load_method(other_, nullptr, &error_), ETB_OK);
  etb_module_close(other_);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST_F(Misuse, TheLogIsChecked) {
  etb_log_service log{};
  EXPECT_EQ(etb_set_log(&log, &error_), ETB_INVALID_ARGUMENT);
  log.struct_size = ETB_INIT_SIZE(etb_log_service);
  EXPECT_EQ(etb_set_log(&log, &error_), ETB_INVALID_ARGUMENT);
  log.write = [](void*, uint32_t, const char*, const etb_option*, uint64_t) {};
  EXPECT_EQ(etb_set_log(&log, &error_), ETB_OK);
  EXPECT_EQ(etb_set_log(nullptr, &error_), ETB_OK);
}

}  // namespace
}  // namespace etb::host
