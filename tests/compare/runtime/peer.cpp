// The official runtime's side of the comparison, on the libraries that its wheel ships.      usage: peer FILE.pte [LOADS] [SECONDS] [THREADS]
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <memory>

#include "measure.hpp"

// The wheel has these in its libraries and not in its headers.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace {

using executorch::extension::Module;

// Module copies only the pointers of its inputs, so they live here.
std::vector<std::vector<char>> memory;

void set_ones(Module& module) {
  const auto meta = module.method_meta("forward");
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    memory.emplace_back(info->nbytes());
    auto* data = memory.back().data();
    if (info->scalar_type() == executorch::aten::ScalarType::Float)
      std::fill_n(reinterpret_cast<float*>(data), info->nbytes() / 4, 1.0F);
    if (info->scalar_type() == executorch::aten::ScalarType::Long)
      std::fill_n(reinterpret_cast<int64_t*>(data), info->nbytes() / 8, 1);
    std::vector<executorch::aten::SizesType> sizes(info->sizes().begin(), info->sizes().end());
    auto tensor = executorch::extension::from_blob(data, std::move(sizes), info->scalar_type());
    if (module.set_input("forward", tensor, i) != executorch::runtime::Error::Ok) std::exit(1);
    static std::vector<executorch::extension::TensorPtr> keep;
    keep.push_back(tensor);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 4) {
    const auto count = static_cast<uint32_t>(std::atoi(argv[4]));
    if (!executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(count)) return 1;
  }
  const auto load = [&] {
    auto module = std::make_unique<Module>(argv[1], Module::LoadMode::Mmap);
    if (const auto error = module->load_method("forward"); error != executorch::runtime::Error::Ok) {
      std::fprintf(stderr, "load_method: 0x%x\n", static_cast<unsigned>(error));
      std::exit(1);
    }
    return module;
  };
  bool is_set = false;
  return measure(argc, argv, load, [&](std::unique_ptr<Module>& module) {
    if (!is_set) set_ones(*module);
    is_set = true;
    if (!module->forward().ok()) {
      std::fprintf(stderr, "forward failed\n");
      std::exit(1);
    }
  });
}
