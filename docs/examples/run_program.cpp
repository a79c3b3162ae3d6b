// SPDX-License-Identifier: Apache-2.0
// Runs method `forward` of x + y on two matrices [2, 3].      usage: run_program MODEL.pte
#include <cstdio>

#include "etb/cpp/module.hpp"

int main(int argc, char** argv) try {
  etb::Module module(argc == 2 ? argv[1] : "model.pte");
  const auto outputs = module.forward(etb::Value({2, 3}, {1.F, 2.F, 3.F, 4.F, 5.F, 6.F}),
                                      etb::Value({2, 3}, {10.F, 20.F, 30.F, 40.F, 50.F, 60.F}));
  for (const auto& [backend, plugin] : module.decisions())
    std::printf("%s runs on %s\n", backend.c_str(), plugin.c_str());
  std::printf("output 0 ends with %g\n", outputs[0].data<float>()[5]);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
