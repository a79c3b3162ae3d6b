// For tests and benchmarks of the core: a program in memory, its method, and all memory it needs, in three lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/format/program_builder.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"

namespace etb::host {

struct MethodWorld {
  explicit MethodWorld(std::vector<std::byte> bytes) : file(std::move(bytes)), loader(file) {}
  explicit MethodWorld(const format::ProgramSpec& spec) : MethodWorld(format::build_program(spec)) {}
  MethodWorld(const MethodWorld&) = delete;
  MethodWorld& operator=(const MethodWorld&) = delete;

  etb_status load_program() { return program.load(loader, &error); }

  // Brings exactly the memory that the method's meta asks for.
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

}  // namespace etb::host
