// SPDX-License-Identifier: Apache-2.0
// Module: a program with all that it needs. It owns what the core borrows: file, kernels, memory, threads.
//
//   ETB_ASSIGN(auto module, etb::host::Module::open("model.pte"));
//   auto x = etb::host::OwnedTensor::make<float>({1, 3}, {1, 2, 3});
//   ETB_ASSIGN(auto outputs, module.forward({x.value()}));
//   // outputs[0].tensor() is valid until the next run of the method
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/module/owned_tensor.hpp"
#include "host/runtime/method.hpp"
#include "host/services/thread_pool.hpp"

namespace etb::host {

enum class LoadMode : uint8_t {
  // Reads pages at first use. SIGBUS ends the process when the file is truncated meanwhile.
  kMmap,
  kFile,         // reads all into memory, for long-lived processes: the file may change or shrink afterwards
  kMmapLock,     // maps and locks the file in memory; fails when the system's limit is too low
  kMmapTryLock,  // maps the file, and locks it where the limit allows
};

// Every pointer is borrowed and must outlive the module. The defaults run any program of portable
// operators on one thread.
struct ModuleOptions {
  LoadMode load_mode = LoadMode::kMmap;
  std::vector<std::string> data_files = {};  // external weights (.ptd)
  // Shared libraries with kernels (kernel_library.hpp): PATH or PATH@sha256:HEX. A kernel of a library replaces one
  // of `kernels` of the same name and key; among libraries, the last in this list has precedence.
  std::vector<std::string> kernel_libraries = {};
  bool secure = false;                      // accepts such libraries only with a digest and owned by root
  const KernelRegistry* kernels = nullptr;  // null: the portable kernels
  DelegateResolver* delegates = nullptr;    // null: programs with delegates are rejected
  EventTracer* tracer = nullptr;
  const PlatformHooks* platform = &kDefaultPlatformHooks;
  uint32_t thread_count = 1;   // for kernels; 0: as many as the machine has
  ThreadPool* pool = nullptr;  // the application's pool, instead of threads of the module's own
  // All methods of the module use one set of arenas. They then must not run at the same time.
  bool shares_arenas = false;
  // A delegate's run goes on while instructions run that do not depend on it, if `delegates` makes such delegates
  // (PluginDelegates::allow_async_runs). Results are the same.
  bool async = false;
  // The module allocates outputs that the program leaves to the caller. False: the caller calls set_output.
  bool brings_outputs = true;
  // Memory of arenas, state, scratch and outputs. NULL: the C library's.
  const etb_alloc_service* allocator = nullptr;
  // arena_allocators[i] allocates arena i, memory id i + 1 of the program, with exactly its bytes. NULL or not there:
  // `allocator`.
  std::vector<const etb_alloc_service*> arena_allocators = {};
  LoadLimits limits = {};  // rejects programs that ask for more: a file is not trusted
  uint64_t random_seed = 0;
};

class LoadedMethod;   // loaded_method.hpp
class SharedProgram;  // a loaded, read-only program that several modules share

class Module {
 public:
  [[nodiscard]] static Result<Module> open(const std::string& path, ModuleOptions options = {});
  // `bytes` outlive the module and start on a 16-byte boundary.
  [[nodiscard]] static Result<Module> from_bytes(std::span<const std::byte> bytes,
                                                 ModuleOptions options = {});
  // Reads a part of an open file. The caller keeps the descriptor. nbytes 0: to the end.
  [[nodiscard]] static Result<Module> from_descriptor(int descriptor, uint64_t offset, uint64_t nbytes,
                                                      ModuleOptions options = {});
  [[nodiscard]] static Result<Module> from_loader(std::shared_ptr<DataLoader> loader,
                                                  ModuleOptions options = {});
  // A second module on the same program, with its own methods, memory and state. Where `delegates` share, it has contexts of the
  // other module's delegates (SharedDelegates).
  [[nodiscard]] static Result<Module> from_program(std::shared_ptr<const SharedProgram> program,
                                                   ModuleOptions options = {});

  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  const std::shared_ptr<const SharedProgram>& program() const noexcept;
  std::vector<std::string> method_names() const;
  [[nodiscard]] Result<MethodMeta> method_meta(std::string_view method) const;

  // Loads a method before its first run, which would load it otherwise. Loading it again has no effect.
  [[nodiscard]] Status load_method(std::string_view method);
  bool is_method_loaded(std::string_view method) const noexcept;
  // Ends the method and its state. The next run starts from the initial values.
  void unload_method(std::string_view method) noexcept;

  // Copies the value. Borrows it until the method has run when the program leaves that
  // input's memory to the caller.
  [[nodiscard]] Status set_input(std::string_view method, uint32_t index, const EValue& value);
  [[nodiscard]] Status set_inputs(std::string_view method, std::span<const EValue> values);
  // Returns INVALID_STATE with the first input that was never set. Loads the method.
  [[nodiscard]] Status check_inputs(std::string_view method);
  // Sets the memory of an output that the program leaves to the caller. By default the module allocates it.
  [[nodiscard]] Status set_output(std::string_view method, uint32_t index, std::span<std::byte> memory);

  // Runs a method with one value for each input, or on the inputs set before. Outputs are
  // valid until its next run.
  [[nodiscard]] Result<std::vector<EValue>> execute(std::string_view method, std::span<const EValue> values,
                                                    const RunLimits& limits = {});
  [[nodiscard]] Result<std::vector<EValue>> execute(std::string_view method, const RunLimits& limits = {});
  [[nodiscard]] Result<std::vector<EValue>> forward(std::initializer_list<EValue> values) {
    return execute("forward", {values.begin(), values.size()});
  }
  // Like execute, but returns no vector: allocates nothing from the heap once the method has run.
  [[nodiscard]] Status run(std::string_view method, const RunLimits& limits = {});

  // Outputs of the latest run. INVALID_STATE before the first.
  [[nodiscard]] Result<EValue> get_output(std::string_view method, uint32_t index) const;
  [[nodiscard]] Result<std::vector<EValue>> get_outputs(std::string_view method) const;

  // Returns the method itself, loaded if it was not: for several calls without a search by name, and for the core's
  // own interface. It is valid until unload_method().
  [[nodiscard]] Result<LoadedMethod*> loaded(std::string_view method);

 private:
  struct State;
  explicit Module(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace etb::host
