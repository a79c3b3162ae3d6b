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

using namespace etb::host;

// Without objects of these classes the linker leaves out the code of tracing and of delegates.
struct Tracer final : EventTracer {
  void on_event(const Event& event) noexcept override { file[0] = static_cast<std::byte>(event.kind); }
};
struct Resolver final : DelegateResolver {
  etb_status create(const DelegateRequest&, MethodDelegate**, etb_error*) noexcept override {
    return ETB_NOT_FOUND;
  }
};

}  // namespace

int main(int argc, char** argv) {
  Tracer tracer;
  Resolver resolver;
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
  options.tracer = &tracer;
  options.delegates = &resolver;
  Method method;
  if (method.load(program, argv[0], {&state, arenas, memory}, options, &error) != ETB_OK) return 1;
  if (method.set_input(0, EValue(int64_t{argc}), &error) != ETB_OK) return 1;
  if (method.set_output_memory(0, memory, &error) != ETB_OK || method.step(&error) != ETB_OK) return 1;
  RunLimits limits;
  limits.deadline_ns = static_cast<uint64_t>(argc);
  return method.execute(&error, limits) == ETB_OK ? static_cast<int>(method.scratch_peak_bytes()) : 1;
}
