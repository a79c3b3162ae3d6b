// SPDX-License-Identifier: Apache-2.0
// Our side of the comparison.
// usage: compare_runtime_ours FILE.pte [LOADS] [SECONDS] [PLUGIN_DIR] [THREADS] [XNNPACK_CACHE_DIR]
// [FIRST.pte]
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "tests/compare/runtime/measure.hpp"

namespace {

using namespace etb::host;

[[noreturn]] void stop(const etb::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  std::exit(1);
}

// Ones for every input.
class Ones {
 public:
  std::span<const EValue> of(Module& module) {
    if (tensors_.empty()) make(module);
    return values_;
  }

 private:
  void make(Module& module) {
    const auto meta = module.method_meta("forward");
    for (uint32_t i = 0; i < meta->input_count(); ++i) {
      const auto record = meta->input(i).as_tensor();
      OwnedTensor& input = tensors_.emplace_back(
          static_cast<Dtype>(record.dtype), std::vector<int64_t>(record.sizes.begin(), record.sizes.end()),
          record.dim_order);
      for (int64_t k = 0; k < input.tensor().numel(); ++k) {
        if (input.tensor().dtype() == Dtype::FLOAT32) input.tensor().data_as<float>()[k] = 1;
        if (input.tensor().dtype() == Dtype::INT64) input.tensor().data_as<int64_t>()[k] = 1;
      }
      values_.push_back(input.value());
    }
  }

  std::vector<OwnedTensor> tensors_;
  std::vector<EValue> values_;
};

// Searches for plugins when a program first names one. So the first load includes the search, as in an
// application.
class SearchedDelegates final : public DelegateResolver {
 public:
  SearchedDelegates(const char* folder, ThreadPool& pool, std::string cache)
      : folder_(folder), pool_(pool), cache_(std::move(cache)) {}

  etb_status create(const DelegateRequest& request, MethodDelegate** out,
                    etb_error* error) noexcept override {
    if (delegates_ == nullptr) {
      RegistryOptions options;
      options.application_paths = {folder_};
      options.services.pool = &pool_;
      registry_ = std::make_unique<Registry>(options);
      delegates_ = std::make_unique<PluginDelegates>(*registry_);
      if (!cache_.empty()) delegates_->set_option("XnnpackBackend", "packed_cache_path", cache_);
    }
    return delegates_->create(request, out, error);
  }

 private:
  const char* folder_;
  ThreadPool& pool_;
  std::string cache_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<PluginDelegates> delegates_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ThreadPool pool(argc > 5 ? static_cast<uint32_t>(std::atoi(argv[5])) : 1);
  SearchedDelegates delegates(argc > 4 ? argv[4] : "", pool, argc > 6 ? argv[6] : "");
  const char* file = argv[1];
  const auto load = [&] {
    ModuleOptions options;
    options.delegates = &delegates;
    options.pool = &pool;
    auto module = Module::open(file, options);
    if (!module) stop(module.error());
    if (auto status = module->load_method("forward"); !status) stop(status.error());
    return std::move(*module);
  };
  if (argc > 7) {  // one-time work of the process is done with another program
    file = argv[7];
    (void)load();
    file = argv[1];
  }
  Ones ones;
  return measure(argc, argv, load, [&](Module& module) {
    if (auto outputs = module.execute("forward", ones.of(module)); !outputs) stop(outputs.error());
  });
}
