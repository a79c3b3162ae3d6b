// SPDX-License-Identifier: Apache-2.0
// The smallest firmware: reaches everything that the core offers, so that the linker keeps it and drops the
// rest. With ETB_WITH_KERNELS also the kernels of a run time (tests/select/sizes.sh).
#if defined(ETB_WITH_KERNELS)
#include "host/kernels/portable.hpp"
#endif
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"

namespace {

alignas(64) std::byte memory[1 << 16];
alignas(16) std::byte file[64];

}  // namespace

int main(int argc, char** argv) {
  using namespace etb::host;
  BufferLoader loader(file);
  Program program;
  DataFile data;
  etb_error error = ETB_ERROR_INIT;
  if (program.load(loader, &error) != ETB_OK || data.load(loader, &error) != ETB_OK) return 1;
  const DataFile* files[] = {&data};
  BumpAllocator state(memory);
  const std::span<std::byte> arenas[] = {memory};
  KernelRegistry kernels;
#if defined(ETB_WITH_KERNELS)
  if (add_portable_kernels(kernels) != ETB_OK) return 1;
#endif
  MethodOptions options;
  options.kernels = &kernels;
  options.data_files = files;
  Method method;
  if (method.load(program, argv[0], {&state, arenas, memory}, options, &error) != ETB_OK) return 1;
  if (method.set_input(0, EValue(int64_t{argc}), &error) != ETB_OK) return 1;
  if (method.set_output_memory(0, memory, &error) != ETB_OK || method.step(&error) != ETB_OK) return 1;
  return method.execute(&error) == ETB_OK ? static_cast<int>(method.scratch_peak_bytes()) : 1;
}
