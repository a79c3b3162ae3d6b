// SPDX-License-Identifier: Apache-2.0
// Recording: what a module does, as an ETDump, for the C++ API of applications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "etb/cpp/failure.hpp"
#include "etb/recording.h"

namespace etb {

// Options of a recording (etb/recording.h). Texts are copied.
struct RecordingOptions {
  // Choice by name and index, as etb_recording_filter.
  struct Filter {
    std::string pattern = {};  // regular expression; "": any name
    uint64_t first_id = 0, id_count = 0;
  };
  bool has_instructions = true;            // false: only the times of whole methods
  uint32_t values = ETB_RECORD_NO_VALUES;  // ETB_RECORD_*
  bool has_allocations = false;
  bool has_wide_bfloat16 = false;  // bfloat16 as float32
  Filter event_filter = {}, value_filter = {};
  std::string debug_path = {};   // file of the debug buffer; "": memory
  uint64_t max_debug_bytes = 0;  // 0: 16 GiB
  uint64_t max_event_bytes = 0;  // 0: 512 MiB
};

// A record of what a module does, as an ETDump:
//
//   etb::Recording recording;
//   etb::ModuleOptions options;
//   options.recording = &recording;
//   etb::Module("model.pte", options).forward(x);
//   recording.write("run.etdp");
class Recording {
 public:
  explicit Recording(const RecordingOptions& options = {}) {
    const etb_recording_filter events = to_raw(options.event_filter), values = to_raw(options.value_filter);
    etb_recording_options raw = ETB_RECORDING_OPTIONS_INIT;
    raw.flags = (options.has_allocations ? ETB_RECORD_ALLOCATIONS : 0) |
                (options.has_wide_bfloat16 ? ETB_RECORD_WIDE_BFLOAT16 : 0);
    raw.instructions = options.has_instructions ? ETB_RECORD_ALL : ETB_RECORD_METHOD;
    raw.values = options.values;
    raw.event_filter = &events;
    raw.value_filter = &values;
    raw.debug_path = options.debug_path.empty() ? nullptr : options.debug_path.c_str();
    raw.max_debug_bytes = options.max_debug_bytes;
    raw.max_event_bytes = options.max_event_bytes;
    etb_recording* made = nullptr;
    detail::must([&](etb_error* error) { return etb_recording_open(&raw, &made, error); });
    handle_.reset(made);
  }

  etb_recording* get() const noexcept { return handle_.get(); }

  // Writes the ETDump, and ends a debug buffer in a file.
  void write(const std::string& path) const {
    detail::must([&](etb_error* error) { return etb_recording_write(get(), path.c_str(), error); });
  }
  // The ETDump, and the debug buffer in memory.
  std::vector<std::byte> bytes() const { return copy(&etb_recording_bytes); }
  std::vector<std::byte> debug_bytes() const { return copy(&etb_recording_debug_bytes); }

  void clear() noexcept { etb_recording_clear(get()); }
  // Index of the inputs of the next runs in a BundledProgram; -1: none.
  void set_input_index(int32_t index) noexcept { etb_recording_set_input_index(get(), index); }
  uint64_t dropped_count() const noexcept { return etb_recording_dropped_count(get()); }

 private:
  struct Close {
    void operator()(etb_recording* recording) const noexcept { etb_recording_close(recording); }
  };
  static etb_recording_filter to_raw(const RecordingOptions::Filter& filter) {
    return {ETB_INIT_SIZE(etb_recording_filter), 0, filter.pattern.empty() ? nullptr : filter.pattern.c_str(),
            filter.first_id, filter.id_count};
  }
  template <class Get>
  std::vector<std::byte> copy(Get get_bytes) const {
    etb_bytes bytes{};
    detail::must([&](etb_error* error) { return get_bytes(get(), &bytes, error); });
    const auto* const first = static_cast<const std::byte*>(bytes.data);
    return std::vector<std::byte>(first, first + bytes.nbytes);
  }
  std::unique_ptr<etb_recording, Close> handle_;
};

}  // namespace etb
