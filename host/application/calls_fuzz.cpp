// SPDX-License-Identifier: Apache-2.0
// Fuzzes sequences of calls of the C API: the input selects functions and arguments, in any order, on open, ended and
// foreign handles. The checked mode is on, as it is for an application that is under test. No call may crash, and
// each failing call must say why.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "etb/etbackend.h"
#include "host/testing/toy_application.hpp"

namespace {

using namespace etb::host;

// Reads decisions from the input; zeros after its end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool is_over() const { return at_ >= size_; }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  // A number below `end`.
  uint32_t below(uint32_t end) { return byte() % end; }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

struct Programs {
  AlignedBytes toy = toy_program(), missing = toy_program("NoSuchBackend"), endless = endless_program();
};

class Session {
 public:
  explicit Session(Choices& choices) : choices_(choices) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    for (etb_module*& module : modules_) etb_module_close(module);  // ended ones, too
    for (etb_registry*& registry : registries_) etb_registry_close(registry);
    for (etb_recording*& recording : recordings_) etb_recording_close(recording);
  }

  void step() {
    error_ = ETB_ERROR_INIT;
    const uint32_t function = choices_.below(26);
    etb_status status = ETB_OK;
    if (function < 4)
      status = open_or_close(function);
    else if (function < 11)
      status = describe(function);
    else if (function < 18)
      status = run(function);
    else if (function < 22)
      status = ask(function);
    else
      status = record(function);
    if (status != ETB_OK && (error_.code != status || error_.text[0] == '\0')) std::abort();
  }

 private:
  template <class Handle, size_t N>
  Handle*& any_of(std::array<Handle*, N>& handles) {
    return handles[choices_.below(N)];
  }

  const char* method() {
    constexpr const char* kNames[] = {nullptr, "forward", "backward", "", "\x1b[0m"};
    return kNames[choices_.below(5)];
  }

  etb_module_options module_options() {
    etb_module_options options = ETB_MODULE_OPTIONS_INIT;
    options.thread_count = choices_.below(2);
    if (choices_.below(4) != 0) {
      options.registry = any_of(registries_);
      if (options.registry != nullptr) options.thread_count = 0;
    }
    options.flags = choices_.below(8) == 0 ? choices_.byte() : 0;
    if (choices_.below(16) == 0) options.load_mode = choices_.byte();
    if (choices_.below(16) == 0) options.struct_size = choices_.byte();
    if (choices_.below(8) == 0) options.max_memory_bytes = choices_.byte();
    options.settings = &setting_;
    options.setting_count = choices_.below(8) == 0 ? 1 : 0;
    options.choices = &choice_;
    options.choice_count = choices_.below(8) == 0 ? 1 : 0;
    if (choices_.below(2) == 0) options.recording = any_of(recordings_);
    return options;
  }

  etb_status open_or_close(uint32_t function) {
    static const Programs programs;
    if (function == 0) {
      etb_registry*& slot = any_of(registries_);
      etb_registry_close(slot);
      etb_registry_options options = toy_registry_options();
      options.thread_count = 1 + choices_.below(2);
      if (choices_.below(8) == 0) options.flags |= choices_.byte() & ~uint32_t{ETB_REGISTRY_SECURE};
      options.choices = &choice_;
      options.choice_count = choices_.below(4) == 0 ? 1 : 0;
      static const char* const disabled[] = {"*", nullptr};
      options.disabled = disabled;
      options.disabled_count = choices_.below(8) == 0 ? choices_.below(3) : 0;
      return etb_registry_open(&options, &slot, &error_);
    }
    if (function == 1) {
      etb_module*& slot = any_of(modules_);
      etb_module_close(slot);
      const AlignedBytes* const all[] = {&programs.toy, &programs.missing, &programs.endless};
      etb_bytes bytes = all[choices_.below(3)]->view();
      if (choices_.below(8) == 0) bytes.nbytes = std::min<uint64_t>(bytes.nbytes, choices_.byte());
      const etb_module_options options = module_options();
      return etb_module_open_bytes(bytes, choices_.below(8) == 0 ? nullptr : &options, &slot, &error_);
    }
    if (function == 2) {
      etb_module*& slot = modules_[0];
      etb_module* const from = any_of(modules_);
      etb_module* made = nullptr;
      const etb_module_options options = module_options();
      const etb_status status = etb_module_open_again(from, &options, &made, &error_);
      if (made != nullptr) etb_module_close(slot), slot = made;
      return status;
    }
    // The slot keeps the ended handle, so that later calls use it.
    choices_.below(2) == 0 ? etb_module_close(any_of(modules_)) : etb_registry_close(any_of(registries_));
    return ETB_OK;
  }

  etb_status describe(uint32_t function) {
    etb_module* const module = any_of(modules_);
    etb_registry* const registry = any_of(registries_);
    const uint32_t index = choices_.below(4);
    etb_value value = ETB_VALUE_INIT;
    switch (function) {
      case 4:
        static_cast<void>(etb_module_method_name(module, index));
        return etb_module_load_method(module, method(), &error_);
      case 5:
        etb_module_unload_method(module, method());
        return ETB_OK;
      case 6: {
        uint32_t inputs = 0, outputs = 0;
        return etb_module_io_count(module, method(), &inputs, &outputs, &error_);
      }
      case 7:
        return etb_module_input_spec(module, method(), index, &value, &error_);
      case 8:
        return etb_module_output_spec(module, method(), index, &value, &error_);
      case 9: {
        etb_decision decision = ETB_DECISION_INIT;
        return etb_module_decision(module, index, &decision, &error_);
      }
      default: {
        etb_plugin_info info = ETB_PLUGIN_INFO_INIT;
        etb_text_sink sink{};
        sink.struct_size = ETB_INIT_SIZE(etb_text_sink);
        sink.put = [](void*, const char*) -> etb_status { return ETB_OK; };
        static_cast<void>(etb_registry_explain(registry, "ToyBackend", &sink, nullptr));
        return etb_registry_plugin(registry, index, &info, &error_);
      }
    }
  }

  etb_value input() {
    sizes_[0] = choices_.below(8) == 0 ? static_cast<int8_t>(choices_.byte()) : 4;
    etb_value value = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes_, floats_, sizeof floats_);
    if (choices_.below(8) != 0) return value;
    value.kind = choices_.byte();
    value.tensor.dtype = choices_.byte();
    value.tensor.rank = choices_.below(3);
    value.tensor.capacity_bytes = choices_.byte() % (sizeof floats_ + 1);
    value.flags = choices_.below(4) == 0 ? choices_.byte() : 0;
    return value;
  }

  etb_status run(uint32_t function) {
    etb_module* const module = any_of(modules_);
    etb_run_limits limits = ETB_RUN_LIMITS_INIT;
    limits.max_instructions = 1 + choices_.byte();
    limits.flags = choices_.below(2);
    limits.timeout_ns = choices_.below(4) == 0 ? choices_.byte() : 0;
    etb_value value = input();
    etb_value output = ETB_VALUE_INIT;
    switch (function) {
      case 11:
        return etb_module_set_input(module, method(), choices_.below(3), &value, &error_);
      case 12:
        return etb_module_execute(module, method(), &limits, &error_);
      case 13:
      case 14:
        return etb_module_call(module, method(), &value, choices_.below(3) == 2 ? 0 : 1, &limits, &output,
                               choices_.below(2), &error_);
      case 15:
        return etb_module_get_output(module, method(), choices_.below(2), &output, &error_);
      case 16:
        return etb_module_start(module, method(), &limits, nullptr, nullptr, &error_);
      default:
        if (choices_.below(2) == 0) etb_module_cancel(module);
        return etb_module_wait(module, choices_.byte() * uint64_t{100}, &error_);
    }
  }

  // Delegates, devices, memory of outputs, programs behind a descriptor.
  etb_status ask(uint32_t function) {
    etb_module*& module = any_of(modules_);
    const uint32_t index = choices_.below(3);
    switch (function) {
      case 18: {
        uint32_t count = 0;
        const char* id = nullptr;
        static_cast<void>(etb_module_delegate_count(module, method(), &count, nullptr));
        const etb_status status =
            etb_module_delegate_id(module, method(), index, choices_.below(8) == 0 ? nullptr : &id, &error_);
        if (status == ETB_OK && std::strlen(id) == 0) std::abort();
        return status;
      }
      case 19: {
        etb_device_sink sink{};
        sink.struct_size = ETB_INIT_SIZE(etb_device_sink);
        sink.put = [](void*, const etb_device_info* info) -> etb_status {
          return info->name == nullptr ? ETB_INTERNAL : ETB_OK;
        };
        constexpr const char* kNames[] = {"ToyBackend", "toy", "", nullptr};
        return etb_registry_devices(any_of(registries_), kNames[choices_.below(4)], &sink, &error_);
      }
      case 20:
        if (choices_.below(2) == 0) {
          constexpr const char* kIds[] = {"ToyBackend", "ToyBackend", "NoSuchBackend", nullptr};
          constexpr const char* kKeys[] = {"bias", "share", "gain", "", nullptr};
          constexpr const char* kTexts[] = {"2", "true", "nan", "", nullptr};
          return etb_module_set_option(module, kIds[choices_.below(4)], kKeys[choices_.below(5)],
                                       kTexts[choices_.below(5)], &error_);
        }
        return etb_module_set_output(module, method(), index, choices_.below(8) == 0 ? nullptr : output_,
                                     choices_.byte() % (sizeof output_ + 1), &error_);
      default: {
        static const AlignedBytes toy = toy_program();
        static const int file = [] {
          const int made = ::memfd_create("toy", 0);
          if (::write(made, toy.view().data, toy.view().nbytes) < 0) std::abort();
          return made;
        }();
        const etb_module_options options = module_options();
        etb_module* made = nullptr;
        const etb_status status = etb_module_open_descriptor(
            choices_.below(8) == 0 ? -1 : file, choices_.below(4) == 0 ? choices_.byte() : 0,
            choices_.below(4) == 0 ? choices_.byte() : 0, &options, &made, &error_);
        if (made != nullptr) etb_module_close(module), module = made;
        return status;
      }
    }
  }

  etb_status record(uint32_t function) {
    etb_recording*& slot = any_of(recordings_);
    etb_bytes bytes{};
    switch (function) {
      case 22: {
        etb_recording_close(slot);  // modules that have it go on
        if (choices_.below(4) == 0) return ETB_OK;
        etb_recording_filter filter = ETB_RECORDING_FILTER_INIT;
        constexpr const char* kPatterns[] = {nullptr, "add", "(", ""};
        filter.pattern = kPatterns[choices_.below(4)];
        filter.first_id = choices_.below(4) == 0 ? choices_.byte() : 0;
        filter.id_count = choices_.below(4);
        etb_recording_options options = ETB_RECORDING_OPTIONS_INIT;
        options.flags = choices_.below(4);
        options.instructions = choices_.below(3);
        options.values = choices_.below(4);
        if (choices_.below(4) == 0) options.event_filter = &filter;
        if (choices_.below(4) == 0) options.value_filter = &filter;
        if (choices_.below(4) == 0) options.max_debug_bytes = choices_.byte();
        if (choices_.below(4) == 0) options.max_event_bytes = choices_.byte() * uint64_t{64};
        return etb_recording_open(choices_.below(8) == 0 ? nullptr : &options, &slot, &error_);
      }
      case 23:
        if (choices_.below(2) == 0) return etb_recording_debug_bytes(slot, &bytes, &error_);
        return etb_recording_bytes(slot, choices_.below(8) == 0 ? nullptr : &bytes, &error_);
      case 24:
        if (choices_.below(2) == 0) etb_recording_clear(slot);
        etb_recording_set_input_index(slot, static_cast<int8_t>(choices_.byte()));
        static_cast<void>(etb_recording_dropped_count(slot));
        return ETB_OK;
      default:
        return etb_recording_write(slot, choices_.below(4) == 0 ? nullptr : "/dev/null/no-folder", &error_);
    }
  }

  Choices& choices_;
  etb_error error_ = ETB_ERROR_INIT;
  std::array<etb_registry*, 2> registries_{};
  std::array<etb_module*, 3> modules_{};
  std::array<etb_recording*, 2> recordings_{};
  int64_t sizes_[2] = {4, 1};
  float floats_[4] = {1, 2, 3, 4};
  alignas(64) std::byte output_[64] = {};
  etb_setting setting_ = {ETB_INIT_SIZE(etb_setting), 0, "ToyBackend", "bias", "0.5"};
  etb_backend_choice choice_ = {ETB_INIT_SIZE(etb_backend_choice), 0, "ToyBackend", nullptr, "toy"};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb_set_checked(1);
  Choices choices(data, std::min<size_t>(size, 400));
  Session session(choices);
  while (!choices.is_over()) session.step();
  return 0;
}
