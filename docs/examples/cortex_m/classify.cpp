// SPDX-License-Identifier: Apache-2.0
#include "classify.hpp"

#include "host/kernels/portable.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"
#if defined(WITH_PLUGINS)
#include "etb_static_plugins.h"
#include "host/static_delegates/static_delegates.hpp"
#endif

namespace {

using namespace etb::host;

constexpr size_t kMemoryBytes = 256 * 1024;
constexpr uint32_t kMaxArenas = 4;
alignas(64) std::byte memory[kMemoryBytes];

// The rest of `memory`, on a 64-byte boundary.
std::span<std::byte> rest_of(BumpAllocator& allocator) {
  auto* const begin = static_cast<std::byte*>(allocator.allocate(0, 64));
  if (begin == nullptr) return {};
  return {begin, static_cast<size_t>(memory + kMemoryBytes - begin)};
}

etb_status make_arenas(const MethodMeta& meta, BumpAllocator& allocator,
                       std::span<std::byte> (&arenas)[kMaxArenas], etb_error* error) {
  if (meta.arena_count() > kMaxArenas)
    return etb::fail(error, ETB_OUT_OF_RESOURCES, "%u arenas, expected at most %u", meta.arena_count(),
                     kMaxArenas);
  for (uint32_t i = 0; i < meta.arena_count(); ++i) {
    auto* const begin = static_cast<std::byte*>(allocator.allocate(meta.arena_nbytes(i), 16));
    if (begin == nullptr)
      return etb::fail(error, ETB_OUT_OF_MEMORY, "arena %u: %llu bytes, the firmware has %zu in all", i,
                       static_cast<unsigned long long>(meta.arena_nbytes(i)), kMemoryBytes);
    arenas[i] = {begin, static_cast<size_t>(meta.arena_nbytes(i))};
  }
  return ETB_OK;
}

etb_status run(Method& method, const float* input, uint64_t (*now)(), Result& out, etb_error* error) {
  int64_t sizes[] = {1, 1, 49, 10}, strides[] = {490, 490, 10, 1};
  const uint8_t dim_order[] = {0, 1, 2, 3};
  Tensor tensor(Dtype::FLOAT32, 4, sizes, dim_order, strides, const_cast<float*>(input),
                kInputCount * sizeof(float));
  if (method.input_count() != 1 || method.output_count() != 1)
    return etb::fail(error, ETB_INCOMPATIBLE, "a model of %u inputs and %u outputs, expected 1 and 1",
                     method.input_count(), method.output_count());
  ETB_CHECK(method.set_input(0, EValue(&tensor), error));
  const uint64_t begin = now();
  ETB_CHECK(method.execute(error));
  out.ticks = now() - begin;
  const EValue& output = method.output(0);
  if (!output.is_tensor() || output.tensor().dtype() != Dtype::FLOAT32 ||
      output.tensor().numel() != kClassCount)
    return etb::fail(error, ETB_INCOMPATIBLE, "the output is no float32 tensor of %d elements", kClassCount);
  out.best = 0;
  for (int i = 0; i < kClassCount; ++i) {
    out.scores[i] = output.tensor().data_as<const float>()[i];
    if (out.scores[i] > out.scores[out.best]) out.best = i;
  }
  out.scratch_bytes = static_cast<uint32_t>(method.scratch_peak_bytes());
  return ETB_OK;
}

}  // namespace

etb_status classify(std::span<const std::byte> model, const float* input, bool runs, uint64_t (*now)(),
                    Result& out, etb_error* error) noexcept {
  BumpAllocator allocator(memory);
  BufferLoader loader(model);
  Program program;
  ETB_CHECK(program.load(loader, error));
  MethodMeta meta;
  ETB_CHECK(program.find_method("forward", &meta, error));
  std::span<std::byte> arenas[kMaxArenas];
  ETB_CHECK(make_arenas(meta, allocator, arenas, error));
  KernelRegistry kernels;
  ETB_CHECK(add_portable_kernels(kernels));
  MethodOptions options;
  options.kernels = &kernels;
#if defined(WITH_PLUGINS)
  StaticDelegates delegates(etb_static_plugins, allocator);
  options.delegates = &delegates;
#endif
  Method method;
  ETB_CHECK(method.load(program, "forward", {&allocator, {arenas, meta.arena_count()}, {}}, options, error));
  method.set_scratch(rest_of(allocator));
  out.model_bytes = static_cast<uint32_t>(kMemoryBytes - rest_of(allocator).size());
  return runs ? run(method, input, now, out, error) : ETB_OK;
}
