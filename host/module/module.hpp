// Module: a program the comfortable way. It owns what the core borrows: file, kernels, memory, threads.
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
  kMmap,         // pages come in when first touched; SIGBUS ends the process when the file becomes shorter meanwhile
  kFile,         // read into memory, for processes that live long: the file may change or become shorter afterwards
  kMmapLock,     // mapped and kept in memory; refused when the system's limit is too low
  kMmapTryLock,  // the same where the limit allows
};

// Everything borrowed outlives the module. The defaults run any program of portable operators on one thread.
struct ModuleOptions {
  LoadMode load_mode = LoadMode::kMmap;
  std::vector<std::string> data_files = {};  // external weights (.ptd)
  std::vector<std::string> kernel_libraries =
      {};  // shared libraries with kernels (kernel_library.hpp), beside `kernels`: PATH or PATH@sha256:HEX
  bool secure = false;                      // takes such libraries only with a digest and from root
  const KernelRegistry* kernels = nullptr;  // null: the portable kernels
  DelegateResolver* delegates = nullptr;    // null: programs with delegates are refused
  EventTracer* tracer = nullptr;
  const PlatformHooks* platform = &kDefaultPlatformHooks;
  uint32_t thread_count = 1;   // for kernels; 0: as many as the machine has
  ThreadPool* pool = nullptr;  // what the application has already, instead of threads of the module's own
  bool shares_arenas =
      false;  // one set of arenas for all methods of the module, which then never run at the same time
  bool brings_outputs =
      true;  // memory for outputs that the program leaves to the caller; false: set_output gives all
  LoadLimits limits = {};  // refuses programs that ask for more: a file is not trusted
  uint64_t random_seed = 0;
};

// A loaded program that several modules share; read-only.
class SharedProgram;

class Module {
 public:
  [[nodiscard]] static Result<Module> open(const std::string& path, ModuleOptions options = {});
  // `bytes` outlive the module and lie on a 16-byte boundary.
  [[nodiscard]] static Result<Module> from_bytes(std::span<const std::byte> bytes,
                                                 ModuleOptions options = {});
  // A part of a file that is open already; the descriptor stays the caller's. nbytes 0: to the end.
  [[nodiscard]] static Result<Module> from_descriptor(int descriptor, uint64_t offset, uint64_t nbytes,
                                                      ModuleOptions options = {});
  [[nodiscard]] static Result<Module> from_loader(std::shared_ptr<DataLoader> loader,
                                                  ModuleOptions options = {});
  // A second module on the same program, with its own methods, memory and state.
  [[nodiscard]] static Result<Module> from_program(std::shared_ptr<const SharedProgram> program,
                                                   ModuleOptions options = {});

  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  const std::shared_ptr<const SharedProgram>& program() const noexcept;
  std::vector<std::string> method_names() const;
  [[nodiscard]] Result<MethodMeta> method_meta(std::string_view method) const;

  // Runs load their method by themselves; this does it earlier. Loading again is fine.
  [[nodiscard]] Status load_method(std::string_view method);
  bool is_method_loaded(std::string_view method) const noexcept;
  // Ends the method and its state; the next run starts from initial values.
  void unload_method(std::string_view method) noexcept;

  // Copied, or borrowed until the method has run when the program leaves that input's memory to the caller.
  [[nodiscard]] Status set_input(std::string_view method, uint32_t index, const EValue& value);
  [[nodiscard]] Status set_inputs(std::string_view method, std::span<const EValue> values);
  // Where an output goes that the program leaves to the caller; without it the module brings memory.
  [[nodiscard]] Status set_output(std::string_view method, uint32_t index, std::span<std::byte> memory);

  // Runs a method. With values, one for each input; without, on what was set before. Outputs are valid until its next run.
  [[nodiscard]] Result<std::vector<EValue>> execute(std::string_view method, std::span<const EValue> values,
                                                    const RunLimits& limits = {});
  [[nodiscard]] Result<std::vector<EValue>> execute(std::string_view method, const RunLimits& limits = {});
  [[nodiscard]] Result<std::vector<EValue>> forward(std::initializer_list<EValue> values) {
    return execute("forward", {values.begin(), values.size()});
  }
  // The same without a vector: takes nothing from the heap once the method has run.
  [[nodiscard]] Status run(std::string_view method, const RunLimits& limits = {});

  [[nodiscard]] Result<EValue> get_output(std::string_view method, uint32_t index) const;
  [[nodiscard]] Result<std::vector<EValue>> get_outputs(std::string_view method) const;

  // The method itself, loaded, for step() and the rest of the core's interface.
  [[nodiscard]] Result<Method*> method(std::string_view method);

 private:
  struct State;
  explicit Module(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace etb::host
