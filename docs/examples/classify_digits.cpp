// SPDX-License-Identifier: Apache-2.0
// Classifies the shipped test set (docs/examples/digits/digits.bin) and says how many it got right, and what ran the program's
// delegates.      usage: classify_digits PROGRAM.pte TESTSET.bin
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "etb/cpp/module.hpp"

namespace {

constexpr size_t kPixelCount = 64;
constexpr size_t kRecordNbytes = 1 + kPixelCount;  // a label, then the pixels, 0 to 16
constexpr size_t kClassCount = 10;

// Returns the digit that the model recognises in an image.
int64_t classify(etb::Module& module, const uint8_t* pixels) {
  std::vector<float> image(kPixelCount);
  std::transform(pixels, pixels + kPixelCount, image.begin(),
                 [](uint8_t pixel) { return static_cast<float>(pixel) / 16; });
  const auto outputs = module.forward(etb::Value({1, 1, 8, 8}, image));
  const std::span<const float> scores = outputs[0].data<float>();
  if (scores.size() != kClassCount) throw std::runtime_error("the program does not give 10 scores");
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

void run(const char* program, const char* test_set) {
  std::ifstream in(test_set, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* const records = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t count = bytes.size() / kRecordNbytes;
  if (count == 0) throw std::runtime_error(std::string("no images in ") + test_set);

  etb::Module module(program);  // finds the plugins of the folders that docs/registry.md lists
  module.load();
  for (const auto& [backend, plugin] : module.decisions())
    std::printf("%s runs on %s\n", backend.c_str(), plugin.c_str());

  size_t right = 0;
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < count; ++i)
    if (classify(module, records + i * kRecordNbytes + 1) == records[i * kRecordNbytes]) ++right;
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  std::printf("%zu of %zu digits right (%.1f %%), %.0f us each\n", right, count,
              100.0 * static_cast<double>(right) / static_cast<double>(count),
              spent.count() / static_cast<double>(count));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("usage: classify_digits PROGRAM.pte TESTSET.bin");
  run(argv[1], argv[2]);
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
