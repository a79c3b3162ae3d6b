// SPDX-License-Identifier: Apache-2.0
// Runs method `forward` of x + y on two matrices [2, 3].      usage: run_program MODEL.pte
#include <cstdio>

#include "host/module/module.hpp"

static etb::Status run(const char* path) {
  ETB_ASSIGN(auto module, etb::host::Module::open(path));
  auto x = etb::host::OwnedTensor::make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto y = etb::host::OwnedTensor::make<float>({2, 3}, {10, 20, 30, 40, 50, 60});
  ETB_ASSIGN(const auto outputs, module.forward({x.value(), y.value()}));
  std::printf("output 0 ends with %g\n", outputs[0].tensor().data_as<float>()[5]);
  return {};
}

int main(int argc, char** argv) {
  const etb::Status status = run(argc == 2 ? argv[1] : "model.pte");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
