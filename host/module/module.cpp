// SPDX-License-Identifier: Apache-2.0
#include "host/module/module.hpp"

#include <algorithm>
#include <cassert>
#include <map>

#include "host/kernels/portable.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/loaders/mmap_loader.hpp"
#include "host/module/core_error.hpp"
#include "host/module/kernel_library.hpp"
#include "host/module/loaded_method.hpp"
#include "host/module/open_files.hpp"
#include "host/module/shared_program.hpp"
#include "host/module/shared_states.hpp"
#include "host/services/thread_pool.hpp"

namespace etb::host {

namespace {

// Adapts the thread pool to the core's ParallelFor.
class KernelThreads {
 public:
  KernelThreads(ThreadPool* pool, uint32_t thread_count)
      : own_(pool == nullptr ? std::make_unique<ThreadPool>(thread_count) : nullptr),
        pool_(pool == nullptr ? *own_ : *pool),
        parallel_{this, static_cast<int>(pool_.max_workers()), &run} {}
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
  const ParallelFor* get() const noexcept { return &parallel_; }

 private:
  struct Job {
    void (*body)(void* argument, int64_t index);
    void* argument;
  };
  static void run(void* self, int64_t count, void (*body)(void* argument, int64_t index), void* argument) {
    Job job{body, argument};
    static_cast<KernelThreads*>(self)->pool_.parallel_for(static_cast<uint64_t>(count), 1, &run_range, &job);
  }
  static void run_range(void* arg, uint64_t begin, uint64_t end, uint32_t) {
    const auto& job = *static_cast<const Job*>(arg);
    for (uint64_t i = begin; i < end; ++i) job.body(job.argument, static_cast<int64_t>(i));
  }

  std::unique_ptr<ThreadPool> own_;
  ThreadPool& pool_;
  ParallelFor parallel_;
};

// Filled once and never changed. Modules without kernel libraries share it.
const KernelRegistry& portable_kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry filled;
    [[maybe_unused]] const etb_status status = add_portable_kernels(filled);
    assert(status == ETB_OK);  // only a duplicate in our own table could fail
    return filled;
  }();
  return registry;
}

}  // namespace

struct Module::State {
  std::shared_ptr<const SharedProgram> shared;
  ModuleOptions options;
  std::vector<std::shared_ptr<const KernelLibrary>> libraries;
  std::unique_ptr<KernelRegistry> own_kernels;  // only when there are kernel libraries
  std::shared_ptr<const OpenFiles> files;
  std::unique_ptr<KernelThreads> threads;
  MemoryBudget budget{0};
  Arenas shared_arenas;
  SharedStates states;
  std::map<std::string, std::unique_ptr<LoadedMethod>, std::less<>> methods;
  // The one of `methods` that was used last, which is most often wanted again.
  mutable LoadedMethod* latest = nullptr;

  const Program& program() const noexcept { return shared->program(); }

  Status prepare() {
    budget = MemoryBudget(options.limits.max_memory_bytes, options.allocator);
    if (options.kernels == nullptr) options.kernels = &portable_kernels();
    ETB_TRY(add_libraries());
    ETB_ASSIGN(files, OpenFiles::open(shared, options.data_files, options.load_mode));
    if (options.pool != nullptr || options.thread_count != 1)
      threads = std::make_unique<KernelThreads>(options.pool, options.thread_count);
    return {};
  }

  // Makes a registry for this module: the given kernels and the rows of its libraries.
  Status add_libraries() {
    if (options.kernel_libraries.empty()) return {};
    own_kernels = std::make_unique<KernelRegistry>(*options.kernels);
    options.kernels = own_kernels.get();
    for (const std::string& path : options.kernel_libraries) {
      ETB_ASSIGN(std::shared_ptr<const KernelLibrary> library, KernelLibrary::open(path, options.secure));
      const Kernel* duplicate = nullptr;
      const etb_status status = own_kernels->add_over(library->rows(), &duplicate);
      if (status != ETB_OK) {
        return make_error(static_cast<Code>(status),
                          "kernel library '" + path + "': " +
                              (duplicate == nullptr ? "too many tables"
                                                    : std::string(duplicate->name) + " is there twice"));
      }
      libraries.push_back(std::move(library));
    }
    return {};
  }

  Result<MethodMeta> find_meta(std::string_view name) const {
    MethodMeta meta;
    ETB_TRY(checked([&](etb_error* error) { return program().find_method(name, &meta, error); }));
    return meta;
  }

  // Sizes of the arenas for one method, or the largest of all methods when they share arenas.
  std::vector<uint64_t> arena_sizes(const MethodMeta& meta) const {
    std::vector<uint64_t> sizes;
    const auto grow = [&sizes](const MethodMeta& other) {
      sizes.resize(std::max<size_t>(sizes.size(), other.arena_count()));
      for (uint32_t i = 0; i < other.arena_count(); ++i) sizes[i] = std::max(sizes[i], other.arena_nbytes(i));
    };
    if (!options.shares_arenas) return grow(meta), sizes;
    for (uint32_t i = 0; i < program().method_count(); ++i) grow(MethodMeta(program().view().method(i)));
    return sizes;
  }

  static Error in_method(std::string_view name, Error error) {
    return with_context(std::move(error), "method '" + std::string(name) + "'");
  }
  static Status in_method(std::string_view name, Status status) {
    if (status) return status;
    return tl::make_unexpected(in_method(name, std::move(status).error()));
  }

  // Checked before memory is allocated for the arenas. The core checks the other limits.
  Status check_arena_count(const MethodMeta& meta) const {
    if (meta.arena_count() <= options.limits.max_arenas) return {};
    return make_error(Code::OUT_OF_RESOURCES,
                      "method '" + std::string(meta.name()) + "': " + std::to_string(meta.arena_count()) +
                          " arenas, more than the limit max_arenas of " +
                          std::to_string(options.limits.max_arenas) +
                          "\nhint: raise it in LoadLimits when the program is trusted");
  }

  // NULL if the method is not loaded.
  LoadedMethod* find_loaded(std::string_view name) const {
    if (latest != nullptr && latest->meta().name() == name) return latest;
    const auto found = methods.find(name);
    if (found == methods.end()) return nullptr;
    latest = found->second.get();
    return latest;
  }

  // The application may read arenas that it allocates.
  bool may_keep_state() const {
    const auto& given = options.arena_allocators;
    return std::all_of(given.begin(), given.end(),
                       [](const auto* allocator) { return allocator == nullptr; });
  }
  // Other methods may use mutable buffers of shared arenas.
  bool shares_state() const { return options.shares_arenas && program().method_count() > 1; }

  Result<LoadedMethod*> loaded(std::string_view name) {
    if (LoadedMethod* const found = find_loaded(name)) return found;
    ETB_ASSIGN(const MethodMeta meta, find_meta(name));
    auto made = std::make_unique<LoadedMethod>(budget, options.limits.max_scratch_bytes);
    Arenas& arenas = options.shares_arenas ? shared_arenas : made->own_arenas();
    ETB_TRY(check_arena_count(meta));
    if (arenas.spans.empty())
      ETB_TRY(in_method(name, arenas.make(budget, arena_sizes(meta), options.arena_allocators)));
    ETB_TRY(made->load(program(), meta, arenas.spans, method_options()));
    if (options.brings_outputs) ETB_TRY(made->allocate_outputs());
    made->keep_on_devices(may_keep_state() && !shares_state());
    if (options.async) made->overlap();
    made->plan_for_inputs_of_new_sizes();
    files->rest();
    if (may_keep_state() && shares_state()) states.add(program().view(), arenas.spans, *made);
    return methods.emplace(std::string(name), std::move(made)).first->second.get();
  }

  MethodOptions method_options() const {
    MethodOptions made;
    made.kernels = options.kernels;
    made.delegates = options.delegates;
    made.data_files = files->data_files();
    made.files = files.get();
    made.tracer = options.tracer;
    made.parallel = threads == nullptr ? nullptr : threads->get();
    made.platform = options.platform;
    made.random_seed = options.random_seed;
    made.limits = options.limits;
    return made;
  }

  // Finds a method that has outputs.
  Result<const LoadedMethod*> find_run(std::string_view name) const {
    const LoadedMethod* const found = find_loaded(name);
    if (found != nullptr && found->has_run()) return found;
    return make_error(Code::INVALID_STATE,
                      "method '" + std::string(name) + "' has not run, so it has no outputs");
  }
};

Module::Module(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

Result<Module> Module::from_program(std::shared_ptr<const SharedProgram> program, ModuleOptions options) {
  auto state = std::make_unique<State>();
  state->shared = std::move(program);
  state->options = std::move(options);
  ETB_TRY(state->prepare());
  return Module(std::move(state));
}

Result<Module> Module::from_loader(std::shared_ptr<DataLoader> loader, ModuleOptions options) {
  auto program = std::make_shared<SharedProgram>(std::move(loader));
  ETB_TRY(checked([&](etb_error* error) { return program->load(error); }));
  return from_program(std::move(program), std::move(options));
}

Result<Module> Module::open(const std::string& path, ModuleOptions options) {
  ETB_ASSIGN(std::shared_ptr<DataLoader> loader, open_loader(path, options.load_mode));
  auto made = from_loader(std::move(loader), std::move(options));
  if (!made) return tl::make_unexpected(with_context(std::move(made).error(), path));
  return made;
}

Result<Module> Module::from_bytes(std::span<const std::byte> bytes, ModuleOptions options) {
  return from_loader(std::make_shared<BufferLoader>(bytes), std::move(options));
}

Result<Module> Module::from_descriptor(int descriptor, uint64_t offset, uint64_t nbytes,
                                       ModuleOptions options) {
  auto loader = std::make_shared<MmapLoader>();
  ETB_TRY(checked([&](etb_error* error) {
    return loader->open(descriptor, offset, nbytes, MmapLoader::Lock::kNone, error);
  }));
  return from_loader(std::move(loader), std::move(options));
}

const std::shared_ptr<const SharedProgram>& Module::program() const noexcept { return state_->shared; }

std::vector<std::string> Module::method_names() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < state_->program().method_count(); ++i)
    names.emplace_back(state_->program().method_name(i));
  return names;
}

Result<MethodMeta> Module::method_meta(std::string_view method) const { return state_->find_meta(method); }

Status Module::load_method(std::string_view method) {
  ETB_TRY(state_->loaded(method));
  return {};
}

bool Module::is_method_loaded(std::string_view method) const noexcept {
  return state_->methods.contains(method);
}

void Module::unload_method(std::string_view method) noexcept {
  state_->latest = nullptr;
  if (const auto found = state_->methods.find(method); found != state_->methods.end()) {
    state_->states.remove(*found->second);
    state_->methods.erase(found);
  }
}

Status Module::set_input(std::string_view method, uint32_t index, const EValue& value) {
  ETB_ASSIGN(LoadedMethod* const loaded, state_->loaded(method));
  return loaded->set_input(index, value);
}

Status Module::set_inputs(std::string_view method, std::span<const EValue> values) {
  ETB_ASSIGN(LoadedMethod* const loaded, state_->loaded(method));
  return loaded->set_inputs(values);
}

Status Module::check_inputs(std::string_view method) {
  ETB_ASSIGN(const LoadedMethod* const loaded, state_->loaded(method));
  return loaded->check_inputs();
}

Status Module::set_output(std::string_view method, uint32_t index, std::span<std::byte> memory) {
  ETB_ASSIGN(LoadedMethod* const loaded, state_->loaded(method));
  return loaded->set_output(index, memory);
}

Status Module::run(std::string_view method, const RunLimits& limits) {
  ETB_ASSIGN(LoadedMethod* const loaded, state_->loaded(method));
  return loaded->run(limits);
}

Result<std::vector<EValue>> Module::execute(std::string_view method, const RunLimits& limits) {
  ETB_ASSIGN(LoadedMethod* const loaded, state_->loaded(method));
  ETB_TRY(loaded->run(limits));
  return loaded->outputs();
}

Result<std::vector<EValue>> Module::execute(std::string_view method, std::span<const EValue> values,
                                            const RunLimits& limits) {
  ETB_ASSIGN(LoadedMethod* const loaded, state_->loaded(method));
  ETB_TRY(loaded->set_inputs(values));
  ETB_TRY(loaded->run(limits));
  return loaded->outputs();
}

Result<EValue> Module::get_output(std::string_view method, uint32_t index) const {
  ETB_ASSIGN(const LoadedMethod* const run, state_->find_run(method));
  if (index >= run->output_count()) {
    return make_error(Code::INVALID_ARGUMENT, "output " + std::to_string(index) + ": the method has " +
                                                  std::to_string(run->output_count()) + " outputs");
  }
  return run->output(index);
}

Result<std::vector<EValue>> Module::get_outputs(std::string_view method) const {
  ETB_ASSIGN(const LoadedMethod* const run, state_->find_run(method));
  return run->outputs();
}

Result<LoadedMethod*> Module::loaded(std::string_view method) { return state_->loaded(method); }

}  // namespace etb::host
