// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/kernel_source.hpp"

namespace etb::opencl {

namespace {

struct File {
  std::string_view text;
  bool has_functions;  // calls those of functions.glsl
};

#include "opencl_kernels.inc"  // kText_NAME and kFile_NAME, by the build

struct Row {
  const File* file;
  const char* macros;
  const char* half_macros;  // for the device's own numbers of float16 beside the others
};
#define ETB_HALF_FUNCTION_0(formula) ""
#define ETB_HALF_FUNCTION_1(formula) " HALF_FUNCTION=half_" #formula
// In the order of gpu::Kernel.
constexpr Row kRows[] = {
#define ETB_GPU_UNARY(name, code, formula, parameters, halves) \
  {&kFile_unary, "FUNCTION=" #formula, ETB_HALF_FUNCTION_##halves(formula)},
#define ETB_GPU_BINARY(name, code, formula, halves)                                       \
  {&kFile_binary, "BROADCAST=0 FUNCTION=" #formula, ETB_HALF_FUNCTION_##halves(formula)}, \
      {&kFile_binary, "BROADCAST=1 FUNCTION=" #formula, ETB_HALF_FUNCTION_##halves(formula)},
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, file, bindings, macros, ...) {&kFile_##file, macros, ""},
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

}  // namespace

KernelSource kernel_source(const gpu::KernelVariant& variant) {
  const auto& [kernel, chain, halves] = variant;
  const Row& row = kRows[gpu::index_of(kernel)];
  const bool computes_halves = (halves & gpu::kArithmeticBit) != 0;
  KernelSource made;
  made.texts = {kText_kernel, kText_numbers};
  if (row.file->has_functions) {
    // Contraction would change results of the formulas.
    made.texts.insert(made.texts.end(), {"#pragma OPENCL FP_CONTRACT OFF\n", kText_functions});
    if (computes_halves) made.texts.push_back(kText_half_functions);
    made.texts.push_back("#pragma OPENCL FP_CONTRACT ON\n");
  }
  made.texts.push_back(row.file->text);
  made.macros = std::string("KERNEL_NAME=") + gpu::kKernelNames[gpu::index_of(kernel)] + " " + row.macros;
  if (made.macros.back() == ' ') made.macros.pop_back();
  if (halves != 0) made.macros += " HALVES=" + std::to_string(halves);
  if (computes_halves) made.macros += std::string(" HALF_ARITHMETIC=1") + row.half_macros;
  for (uint32_t i = 0; gpu::is_chain(kernel) && i < gpu::kMaxChainSteps; ++i) {
    const std::string number = std::to_string(i);
    made.macros += " STEP_" + number + "=" + std::to_string(chain.steps[i]) + "u function_" + number + "=" +
                   chain.function(i);
    if (computes_halves) made.macros += " half_function_" + number + "=" + chain.half_function(i);
  }
  made.macros.insert(0, " -D");
  for (size_t at = made.macros.find(' ', 1); at != std::string::npos; at = made.macros.find(' ', at + 3))
    made.macros.insert(at + 1, "-D");
  return made;
}

}  // namespace etb::opencl
