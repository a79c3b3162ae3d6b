// SPDX-License-Identifier: Apache-2.0
// Our side of the comparison as an application has it: libetbackend, through the C API or the C++ header.
// usage: compare_runtime_application FILE.pte LOADS SECONDS PLUGIN_DIR c|cpp
#include <cstring>
#include <memory>

#include "etb/cpp/module.hpp"
#include "tests/compare/runtime/measure.hpp"

namespace {

[[noreturn]] void stop(const char* message) {
  std::fprintf(stderr, "%s\n", message);
  std::exit(1);
}

// Ones for every input of the default method.
class Ones {
 public:
  explicit Ones(etb_module* module) {
    uint32_t count = 0;
    if (etb_module_io_count(module, nullptr, &count, nullptr, nullptr) != ETB_OK) stop(etb_last_error());
    for (uint32_t i = 0; i < count; ++i) {
      etb_value spec = ETB_VALUE_INIT;
      if (etb_module_input_spec(module, nullptr, i, &spec, nullptr) != ETB_OK) stop(etb_last_error());
      auto& bytes = bytes_.emplace_back(spec.tensor.capacity_bytes / 4, 1.0F);
      values.push_back(etb::Value::view(spec.tensor.dtype, {spec.tensor.sizes, spec.tensor.rank},
                                        bytes.data(), spec.tensor.capacity_bytes));
    }
    for (const etb::Value& value : values) raw.push_back(value.raw());
  }

  std::vector<etb::Value> values;
  std::vector<etb_value> raw;

 private:
  std::vector<std::vector<float>> bytes_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6) return 2;
  const char* const folder = argv[4];
  etb_registry_options search = ETB_REGISTRY_OPTIONS_INIT;
  search.search_paths = &folder;
  search.search_path_count = 1;
  search.thread_count = 1;
  const etb::Registry registry(search);
  etb::ModuleOptions options;
  options.registry = &registry;
  const auto load = [&] {
    auto module = std::make_unique<etb::Module>(std::string(argv[1]), options);
    module->load();
    return module;
  };
  const Ones ones(load()->get());
  if (std::strcmp(argv[5], "cpp") == 0)
    return measure(argc, argv, load, [&](auto& module) { module->execute({}, ones.values); });
  return measure(argc, argv, load, [&](auto& module) {
    etb_value output = ETB_VALUE_INIT;
    if (etb_module_call(module->get(), nullptr, ones.raw.data(), static_cast<uint32_t>(ones.raw.size()),
                        nullptr, &output, 1, nullptr) != ETB_OK)
      stop(etb_last_error());
  });
} catch (const std::exception& error) {
  stop(error.what());
}
