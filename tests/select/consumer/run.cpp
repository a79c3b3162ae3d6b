// SPDX-License-Identifier: Apache-2.0
// Runs x + y with the kernels of this program, shows that other dtypes are refused, and loads a second program.
//
// usage: run_from_ops ADD.pte OTHER.pte
#include <cstdio>
#include <vector>

#include "host/kernels/portable.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"

namespace {

using namespace etb::host;

struct alignas(16) Block {
  std::byte bytes[16];
};
alignas(64) std::byte arena[1 << 16], scratch[1 << 16], state[1 << 16];

std::vector<Block> read(const char* path, size_t& nbytes) {
  std::vector<Block> out;
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return out;
  std::fseek(file, 0, SEEK_END);
  nbytes = static_cast<size_t>(std::ftell(file));
  std::rewind(file);
  out.resize(nbytes / sizeof(Block) + 1);
  if (std::fread(out.data(), 1, nbytes, file) != nbytes) nbytes = 0;
  std::fclose(file);
  return out;
}

etb_status load(const char* path, const KernelRegistry& kernels, std::vector<Block>& file, Program& program,
                Method& method, etb_error* error) {
  size_t nbytes = 0;
  file = read(path, nbytes);
  static BufferLoader loader({});
  loader.~BufferLoader();
  new (&loader) BufferLoader({file.data()->bytes, nbytes});
  ETB_CHECK(program.load(loader, error));
  MethodMeta meta;
  ETB_CHECK(program.find_method("forward", &meta, error));
  static BumpAllocator allocator;
  allocator = BumpAllocator(state);
  const std::span<std::byte> arenas[] = {arena};
  MethodOptions options;
  options.kernels = &kernels;
  return method.load(program, "forward", {&allocator, arenas, scratch}, options, error);
}

template <class T>
Tensor make(Dtype dtype, T* data, int64_t* sizes, int64_t* strides) {
  static const uint8_t order[] = {0, 1};
  return Tensor(dtype, 2, sizes, order, strides, data, 6 * sizeof(T));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  etb_error error = ETB_ERROR_INIT;
  KernelRegistry kernels;
  if (add_portable_kernels(kernels) != ETB_OK) return 1;
  int count = 0;
  kernels.for_each([&](const Kernel&) { ++count; });
  std::printf("%d kernels\n", count);

  std::vector<Block> file;
  Program program;
  Method method;
  if (load(argv[1], kernels, file, program, method, &error) != ETB_OK) return std::puts(error.text), 1;
  int64_t sizes[] = {2, 3}, strides[] = {3, 1};
  float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60}, sum[6];
  Tensor first = make(Dtype::FLOAT32, x, sizes, strides), second = make(Dtype::FLOAT32, y, sizes, strides);
  if (method.set_input(0, EValue(&first), &error) != ETB_OK ||
      method.set_input(1, EValue(&second), &error) != ETB_OK ||
      (method.output(0).tensor().data() == nullptr &&
       method.set_output_memory(0, std::as_writable_bytes(std::span(sum)), &error) != ETB_OK) ||
      method.execute(&error) != ETB_OK)
    return std::puts(error.text), 1;
  std::printf("output 0 ends with %g\n", method.output(0).tensor().data_as<const float>()[5]);
  method.unload();

  int64_t a[6] = {}, b[6] = {}, c[6] = {}, integers[] = {2, 3}, steps[] = {3, 1};
  Tensor left = make(Dtype::INT64, a, integers, steps), right = make(Dtype::INT64, b, integers, steps),
         result = make(Dtype::INT64, c, integers, steps);
  EValue values[] = {EValue(&left), EValue(&right), EValue(int64_t{1}), EValue(&result)};
  EValue* arguments[] = {&values[0], &values[1], &values[2], &values[3]};
  const Kernel* const add = kernels.find("aten::add", "out");
  if (add == nullptr) return std::puts("no kernel of add"), 1;
  KernelContext context(scratch, kernels.vector_table(), &error);
  const etb_status status = call_kernel(context, *add, arguments, 4);
  std::printf("add of int64: %d, %s\n", static_cast<int>(status), error.text);

  error = ETB_ERROR_INIT;
  Program other;
  Method other_method;
  std::vector<Block> other_file;
  const etb_status missing = load(argv[2], kernels, other_file, other, other_method, &error);
  std::printf("other program: %d, %s\n", static_cast<int>(missing), error.text);
  return 0;
}
