// SPDX-License-Identifier: Apache-2.0
//
// Open programs and their methods for Python: the classes Program and Method of etbackend._native.
//
// Every function takes the GIL from its caller and releases it while the library works. A program is used by one
// thread at a time, as the C API demands; further threads wait, without the GIL. An object that is closed while
// another thread runs it, or while an array borrows its memory, ends with the last of these users.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "etb/etbackend.h"
#include "input_value.hpp"

namespace etb::python {

struct MethodSpecs {
  std::vector<Spec> inputs, outputs;
  std::atomic<int64_t> view_count{0};  // arrays that borrow outputs of the method
};

// Options of a program; those of etb_module_options and, for plugin_paths, etb_registry_options.
struct ProgramOptions {
  uint32_t load_mode = ETB_LOAD_FILE;
  uint32_t flags = 0;           // ETB_MODULE_*
  uint32_t registry_flags = 0;  // ETB_REGISTRY_*
  uint32_t threads = 0;
  uint64_t max_memory_bytes = 0;
  uint64_t random_seed = 0;
  bool is_recorded = false;
  uint32_t record_flags = 0, record_values = 0;  // ETB_RECORD_*
  uint64_t max_debug_bytes = 0;
  std::vector<std::string> data_paths, kernel_libraries, plugin_paths;
  std::vector<std::tuple<std::string, std::string, std::string>>
      choices;  // delegate id, plugin or "", device or ""
  std::vector<std::tuple<std::string, std::string, std::string>> settings;  // delegate id, key, text
};

// An open module of the C API, shared by its users.
struct OpenProgram {
  etb_module* module = nullptr;
  etb_recording* recording = nullptr;  // of the module; NULL: none
  nanobind::object bytes;              // of the program; none for a file
  std::mutex mutex;                    // held during each call but cancel
  std::atomic<std::thread::id> user{};
  std::map<std::string, std::unique_ptr<MethodSpecs>> methods;

  explicit OpenProgram(const ProgramOptions& options);  // opens the recording, if there is one
  OpenProgram(const OpenProgram&) = delete;
  OpenProgram& operator=(const OpenProgram&) = delete;
  ~OpenProgram();
};

class Method;

class Program {
 public:
  // Opens a file (a path as bytes) or bytes, which the program keeps.
  static Program open_file(nanobind::bytes path, const ProgramOptions& options);
  static Program open_bytes(nanobind::bytes bytes, const ProgramOptions& options);

  nanobind::list method_names() const;
  Method method(uint32_t index) const;
  nanobind::list decisions() const;
  nanobind::tuple recorded() const;  // (ETDump, debug buffer) as bytes
  void clear_recorded() const;
  void set_option(const std::string& backend_id, const std::string& key, const std::string& text) const;
  void cancel() const;
  void close();
  bool is_closed() const;

 private:
  friend class Method;
  explicit Program(std::shared_ptr<OpenProgram> opened)
      : opened_(std::make_shared<Slot>(std::move(opened))) {}

  // Shared with the methods, so that close() closes them too.
  struct Slot {
    explicit Slot(std::shared_ptr<OpenProgram> given) : program(std::move(given)) {}
    std::shared_ptr<OpenProgram> program;  // NULL: closed. Read and written with the GIL
  };
  static std::shared_ptr<OpenProgram> use(const std::shared_ptr<Slot>& slot);

  std::shared_ptr<Slot> opened_;
};

class Method {
 public:
  Method(std::shared_ptr<Program::Slot> slot, std::string name)
      : slot_(std::move(slot)), name_(std::move(name)) {}

  nanobind::object name() const;
  void load();
  void unload();
  nanobind::list input_specs();
  nanobind::list output_specs();

  // Runs the method on a tuple of inputs. `framework`: 0 NumPy, 1 PyTorch, -1 that of the inputs. Without
  // `copies`, arrays borrow the program's memory, which the next run overwrites.
  nanobind::list run(nanobind::tuple inputs, int framework, bool copies, uint64_t timeout_ns,
                     uint64_t max_instructions, uint32_t priority, uint64_t run_id);

 private:
  MethodSpecs& specs(OpenProgram& program);  // with the mutex held; loads the method

  std::shared_ptr<Program::Slot> slot_;
  std::string name_;
};

}  // namespace etb::python
