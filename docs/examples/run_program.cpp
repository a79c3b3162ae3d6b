// Runs method `forward` of a program on a vector of ones.      usage: run_program MODEL.pte
#include <cstdio>

#include "host/module/module.hpp"

static etb::Status run(const char* path) {
  ETB_ASSIGN(auto module, etb::host::Module::open(path));
  ETB_ASSIGN(const auto meta, module.method_meta("forward"));
  for (uint32_t i = 0; i < meta.input_count(); ++i) {
    const auto spec = meta.input(i).as_tensor();
    etb::host::OwnedTensor input(etb::host::Dtype::FLOAT32,
                                 std::vector<int64_t>(spec.sizes.begin(), spec.sizes.end()));
    for (int64_t k = 0; k < input.tensor().numel(); ++k) input.tensor().data_as<float>()[k] = 1;
    ETB_TRY(module.set_input("forward", i, input.value()));
  }
  ETB_ASSIGN(const auto outputs, module.execute("forward"));
  std::printf("output 0 begins with %g\n", outputs[0].tensor().data_as<float>()[0]);
  return {};
}

int main(int argc, char** argv) {
  const etb::Status status =
      argc == 2 ? run(argv[1]) : etb::make_error(etb::Code::INVALID_ARGUMENT, "usage: run_program MODEL.pte");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
