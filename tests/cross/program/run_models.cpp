// SPDX-License-Identifier: Apache-2.0
// Runs programs on portable kernels and on the linked driver of dsp_stub, and compares their outputs with files.
//
// usage: run_models MODELS.txt      lines: PROGRAM TOLERANCE INPUTS... -> OUTPUTS..., paths in the folder of the list
//
// The tolerance is that of float outputs, at the scale of the output; integers are equal.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "etb_static_plugins.h"
#include "host/kernels/portable.hpp"
#include "host/loaders/buffer_loader.hpp"
#include "host/runtime/method.hpp"
#include "host/static_delegates/static_delegates.hpp"
#include "npy_array.hpp"

namespace {

using namespace etb::host;

constexpr size_t kMemoryBytes = size_t{96} << 20, kScratchBytes = size_t{64} << 20;

struct Run {
  std::string program;
  double tolerance = 0;
  std::vector<std::string> inputs, outputs;
};

std::vector<Run> read_list(const std::string& path) {
  std::vector<Run> runs;
  std::ifstream list(path);
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    Run run;
    words >> run.program >> run.tolerance;
    bool is_output = false;
    for (std::string word; words >> word;) {
      if (word == "->")
        is_output = true;
      else
        (is_output ? run.outputs : run.inputs).push_back(word);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

double element(Dtype dtype, const std::byte* data, size_t index) {
  const auto load = [&](auto value) {
    std::memcpy(&value, data + index * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  switch (dtype) {
    case Dtype::FLOAT32:
      return load(float{});
    case Dtype::FLOAT64:
      return load(double{});
    case Dtype::INT64:
      return load(int64_t{});
    case Dtype::INT32:
      return load(int32_t{});
    case Dtype::INT16:
      return load(int16_t{});
    case Dtype::INT8:
      return load(int8_t{});
    default:
      return load(uint8_t{});
  }
}

bool is_real(Dtype dtype) { return dtype == Dtype::FLOAT32 || dtype == Dtype::FLOAT64; }

// Returns the largest difference at the scale of the output, or infinity.
double distance(const Tensor& got, const cross::NpyArray& wanted) {
  if (got.dtype() != wanted.dtype() ||
      !std::equal(got.sizes().begin(), got.sizes().end(), wanted.sizes().begin(), wanted.sizes().end()))
    return INFINITY;
  // A complex number is two floats.
  const bool is_complex = got.dtype() == Dtype::COMPLEX64;
  const Dtype dtype = is_complex ? Dtype::FLOAT32 : got.dtype();
  const size_t count = static_cast<size_t>(got.numel()) * (is_complex ? 2 : 1);
  double worst = 0, scale = 1;
  for (size_t i = 0; i < count; ++i) {
    const double a = element(dtype, static_cast<const std::byte*>(got.data()), i);
    const double b = element(dtype, wanted.data().data(), i);
    if (std::isnan(b) != std::isnan(a)) return INFINITY;
    if (std::isnan(a) || a == b) continue;
    worst = std::max(worst, std::abs(a - b));
    if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
  }
  return is_real(dtype) ? worst / scale : worst == 0 ? 0 : INFINITY;
}

struct Memory {
  std::vector<std::byte> state = std::vector<std::byte>(kMemoryBytes),
                         scratch = std::vector<std::byte>(kScratchBytes);
};

std::span<std::byte> aligned(std::span<std::byte> bytes) {
  const size_t past = reinterpret_cast<uintptr_t>(bytes.data()) % 64;
  return bytes.subspan((64 - past) % 64);
}

etb_status run_one(const Run& run, const std::string& folder, const KernelRegistry& kernels, Memory& memory,
                   double& out_distance, etb_error* error) {
  cross::FileBytes file(folder + run.program);
  if (file.is_empty()) return etb::fail(error, ETB_NOT_FOUND, "cannot read %s", run.program.c_str());
  BufferLoader loader(file.bytes());
  Program program;
  ETB_CHECK(program.load(loader, error));
  MethodMeta meta;
  ETB_CHECK(program.find_method("forward", &meta, error));
  BumpAllocator allocator(aligned(memory.state));
  std::vector<std::span<std::byte>> arenas;
  for (uint32_t i = 0; i < meta.arena_count(); ++i) {
    auto* const begin = static_cast<std::byte*>(allocator.allocate(meta.arena_nbytes(i), 64));
    if (begin == nullptr) return etb::fail(error, ETB_OUT_OF_MEMORY, "no memory for arena %u", i);
    arenas.emplace_back(begin, meta.arena_nbytes(i));
  }
  StaticDelegates delegates(etb_static_plugins, allocator);
  MethodOptions options;
  options.kernels = &kernels;
  options.delegates = &delegates;
  Method method;
  ETB_CHECK(method.load(program, "forward", {&allocator, arenas, aligned(memory.scratch)}, options, error));
  if (method.input_count() != run.inputs.size() || method.output_count() != run.outputs.size())
    return etb::fail(error, ETB_INCOMPATIBLE, "%u inputs and %u outputs", method.input_count(),
                     method.output_count());
  for (uint32_t i = 0; i < method.input_count(); ++i) {
    auto array = cross::NpyArray::read(folder + run.inputs[i]);
    if (!array) return etb::fail(error, ETB_INVALID_DATA, "cannot read %s", run.inputs[i].c_str());
    Tensor tensor = array->tensor();
    ETB_CHECK(method.set_input(i, EValue(&tensor), error));
  }
  ETB_CHECK(method.execute(error));
  for (uint32_t i = 0; i < method.output_count(); ++i) {
    const auto wanted = cross::NpyArray::read(folder + run.outputs[i]);
    if (!wanted || !method.output(i).is_tensor())
      return etb::fail(error, ETB_INVALID_DATA, "cannot compare %s", run.outputs[i].c_str());
    out_distance = std::max(out_distance, distance(method.output(i).tensor(), *wanted));
  }
  return ETB_OK;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: run_models MODELS.txt"), 2;
  const std::string list = argv[1], folder = list.substr(0, list.rfind('/') + 1);
  KernelRegistry kernels;
  if (add_portable_kernels(kernels) != ETB_OK) return 1;
  Memory memory;
  int failed = 0, right = 0;
  for (const Run& run : read_list(list)) {
    etb_error error = ETB_ERROR_INIT;
    double worst = 0;
    const etb_status status = run_one(run, folder, kernels, memory, worst, &error);
    const bool is_right = status == ETB_OK && worst <= run.tolerance;
    ++(is_right ? right : failed);
    if (status != ETB_OK)
      std::printf("FAILED %s: error %d: %s\n", run.program.c_str(), static_cast<int>(status), error.text);
    else
      std::printf("%s %s: largest difference %g\n", is_right ? "right" : "FAILED", run.program.c_str(),
                  worst);
  }
  std::printf("%d right, %d failed\n", right, failed);
  return failed == 0 && right != 0 ? 0 : 1;
}
