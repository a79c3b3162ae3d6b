// SPDX-License-Identifier: Apache-2.0
// Runs a program with the official run time and a library that registers a backend.
// usage: peer BACKEND.so FILE.pte OUTPUT_FOLDER RUNS [INPUT...]
// An input is a .npy file, a number, true, false or none. Writes OUTPUT_FOLDER/0.npy, 1.npy, ... after the last run, and
// prints one JSON object with seconds of processor time of the process: user and system time of load, first run, and all others.
// A failed step ends with exit code 1 and its name.
#include <dlfcn.h>
#include <executorch/extension/module/module.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "arrays.hpp"

namespace {

using executorch::extension::Module;
using executorch::runtime::EValue;

struct Seconds {
  double user, system;
};

Seconds operator-(Seconds a, Seconds b) { return {a.user - b.user, a.system - b.system}; }

Seconds now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

int failed(const char* step, executorch::runtime::Error error) {
  std::fprintf(stderr, "%s: error 0x%x\n", step, static_cast<unsigned>(error));
  return 1;
}

int run(const char* file, const std::string& folder, int count, const std::vector<EValue>& inputs) {
  const Seconds begin = now();
  Module module(file, Module::LoadMode::Mmap);
  if (const auto error = module.load_forward(); error != executorch::runtime::Error::Ok)
    return failed("load", error);
  const Seconds loaded = now();
  const auto first_results = module.forward(inputs);
  if (!first_results.ok()) return failed("first run", first_results.error());
  std::vector<EValue> values = *first_results;
  const Seconds first = now();
  for (int i = 1; i < count; ++i) {
    const auto results = module.forward(inputs);
    if (!results.ok()) return failed("run", results.error());
    values = *results;
  }
  const Seconds end = now();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isTensor())
      peer::write_array(folder + "/" + std::to_string(i) + ".npy", values[i].toTensor());
  }
  const auto print = [](const char* name, Seconds seconds) {
    std::printf("\"%s\": {\"user\": %.6f, \"system\": %.6f}, ", name, seconds.user, seconds.system);
  };
  std::printf("{");
  print("load", loaded - begin);
  print("first_run", first - loaded);
  print("other_runs", end - first);
  std::printf("\"runs\": %d}\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: peer BACKEND.so FILE.pte OUTPUT_FOLDER RUNS [INPUT...]\n");
    return 2;
  }
  if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  try {
    std::vector<peer::Argument> arguments;
    std::vector<EValue> inputs;
    for (int i = 5; i < argc; ++i) {
      arguments.push_back(peer::read_argument(argv[i]));
      inputs.push_back(arguments.back().value);
    }
    return run(argv[2], argv[3], std::atoi(argv[4]), inputs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
