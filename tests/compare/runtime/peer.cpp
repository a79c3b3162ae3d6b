// SPDX-License-Identifier: Apache-2.0
// The official runtime's side of the comparison, with the libraries of its wheel.
// usage: peer FILE.pte [LOADS] [SECONDS] [THREADS] [FIRST.pte]
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <memory>

#include "measure.hpp"

// The wheel has these in its libraries but not in its headers.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace {

using executorch::extension::Module;

// Ones for every input.
class Ones {
 public:
  const std::vector<executorch::runtime::EValue>& of(Module& module) {
    if (tensors_.empty()) make(module);
    return values_;
  }

 private:
  void make(Module& module) {
    const auto meta = module.method_meta("forward");
    for (size_t i = 0; i < meta->num_inputs(); ++i) {
      const auto info = meta->input_tensor_meta(i);
      auto& bytes = memory_.emplace_back(info->nbytes());
      if (info->scalar_type() == executorch::aten::ScalarType::Float)
        std::fill_n(reinterpret_cast<float*>(bytes.data()), info->nbytes() / 4, 1.0F);
      if (info->scalar_type() == executorch::aten::ScalarType::Long)
        std::fill_n(reinterpret_cast<int64_t*>(bytes.data()), info->nbytes() / 8, 1);
      std::vector<executorch::aten::SizesType> sizes(info->sizes().begin(), info->sizes().end());
      tensors_.push_back(
          executorch::extension::from_blob(bytes.data(), std::move(sizes), info->scalar_type()));
      values_.emplace_back(*tensors_.back());
    }
  }

  std::vector<std::vector<char>> memory_;
  std::vector<executorch::extension::TensorPtr> tensors_;
  std::vector<executorch::runtime::EValue> values_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 4) {
    const auto count = static_cast<uint32_t>(std::atoi(argv[4]));
    if (!executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(count)) return 1;
  }
  const char* file = argv[1];
  const auto load = [&] {
    auto module = std::make_unique<Module>(file, Module::LoadMode::Mmap);
    if (const auto error = module->load_method("forward"); error != executorch::runtime::Error::Ok) {
      std::fprintf(stderr, "load_method: 0x%x\n", static_cast<unsigned>(error));
      std::exit(1);
    }
    return module;
  };
  if (argc > 5) {  // one-time work of the process is done with another program
    file = argv[5];
    (void)load();
    file = argv[1];
  }
  Ones ones;
  return measure(argc, argv, load, [&](std::unique_ptr<Module>& module) {
    if (!module->forward(ones.of(*module)).ok()) {
      std::fprintf(stderr, "forward failed\n");
      std::exit(1);
    }
  });
}
