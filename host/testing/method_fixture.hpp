// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks of the core: a program in memory, its method, and all memory it needs, in three
// lines.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "api/testing/program_builder.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"

namespace etb::host {

struct MethodFixture {
  explicit MethodFixture(std::vector<std::byte> bytes) : file(std::move(bytes)), loader(file) {}
  explicit MethodFixture(const format::ProgramSpec& spec) : MethodFixture(format::build_program(spec)) {}
  MethodFixture(const MethodFixture&) = delete;
  MethodFixture& operator=(const MethodFixture&) = delete;

  etb_status load_program() { return program.load(loader, &error); }

  // Allocates exactly the memory that the method's meta asks for.
  etb_status load_method(const std::string& name = "forward") {
    MethodMeta meta;
    if (const etb_status status = program.find_method(name, &meta, &error); status != ETB_OK) return status;
    make_memory(meta);
    return method.load(program, name, {&state, arenas, scratch}, options, &error);
  }

  void make_memory(const MethodMeta& meta) {
    state_memory.assign(meta.state_nbytes(), std::byte{0xCD});
    state = BumpAllocator(state_memory);
    for (uint32_t i = 0; i < meta.arena_count(); ++i) {
      arena_memory.emplace_back(meta.arena_nbytes(i) + 16, std::byte{0});
      void* start = arena_memory.back().data();
      size_t space = arena_memory.back().size();
      std::align(16, meta.arena_nbytes(i), start, space);
      arenas.push_back({static_cast<std::byte*>(start), static_cast<size_t>(meta.arena_nbytes(i))});
    }
  }

  etb_status load() {
    const etb_status status = load_program();
    return status == ETB_OK ? load_method() : status;
  }

  std::vector<std::byte> file;
  BufferLoader loader;
  Program program;
  std::vector<std::byte> state_memory;
  std::vector<std::vector<std::byte>> arena_memory;
  std::vector<std::span<std::byte>> arenas;
  std::vector<std::byte> scratch = std::vector<std::byte>(4096);
  BumpAllocator state;
  MethodOptions options;
  etb_error error = ETB_ERROR_INIT;
  Method method;
};

// A float32 vector with its own storage, as an input.
struct FloatVector {
  explicit FloatVector(std::vector<float> items) : elements(std::move(items)) {
    const int64_t sizes[] = {static_cast<int64_t>(elements.size())};
    tensor = storage.make(Dtype::FLOAT32, sizes, elements.data(), elements.size() * sizeof(float));
  }
  FloatVector(const FloatVector&) = delete;
  FloatVector& operator=(const FloatVector&) = delete;
  EValue value() { return EValue(&tensor); }

  std::vector<float> elements;
  TensorStorage storage;
  Tensor tensor;
};

inline std::vector<float> floats(const EValue& value) {
  const Tensor& tensor = value.tensor();
  const auto* first = tensor.data_as<float>();
  return {first, first + tensor.numel()};
}

// x + y, element by element, for vectors of float32.
inline etb_status add_floats(KernelContext& context, EValue** args) {
  const Tensor& x = args[0]->tensor();
  const Tensor& y = args[1]->tensor();
  Tensor& out = args[3]->tensor();
  if (x.numel() != y.numel()) return context.fail(ETB_INVALID_ARGUMENT, "sizes differ");
  if (const etb_status status = out.resize(x.sizes()); status != ETB_OK)
    return context.fail(status, "out does not fit");
  for (int64_t i = 0; i < x.numel(); ++i)
    out.data_as<float>()[i] = x.data_as<float>()[i] + y.data_as<float>()[i];
  return ETB_OK;
}

inline constexpr Kernel kAddRows[] = {Kernel("aten::add.out", "T=T=ST!", &add_floats)};
inline const KernelRows kAddTable(kAddRows);

// A MethodFixture whose registry has only that kernel.
struct AddFixture : MethodFixture {
  template <class From>
  explicit AddFixture(const From& from) : MethodFixture(from) {
    if (registry.add(kAddTable) != ETB_OK) std::abort();
    options.kernels = &registry;
  }
  KernelRegistry registry;
};

// A planned float32 vector.
inline format::TensorSpec vector_spec(int32_t count, uint64_t offset) {
  format::TensorSpec tensor;
  tensor.sizes = {count};
  tensor.memory_id = 1;
  tensor.memory_offset = offset;
  return tensor;
}

}  // namespace etb::host
