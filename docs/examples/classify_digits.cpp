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

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"

namespace {

constexpr size_t kPixelCount = 64;
constexpr size_t kRecordNbytes = 1 + kPixelCount;  // a label, then the pixels, 0 to 16
constexpr size_t kClassCount = 10;

// Returns the digit that the model recognises in an image.
etb::Result<int64_t> classify(etb::host::Module& module, const uint8_t* pixels) {
  etb::host::OwnedTensor image(etb::host::Dtype::FLOAT32, std::vector<int64_t>{1, 1, 8, 8});
  std::transform(pixels, pixels + kPixelCount, image.tensor().data_as<float>(),
                 [](uint8_t pixel) { return static_cast<float>(pixel) / 16; });
  ETB_ASSIGN(const auto outputs, module.forward({image.value()}));
  const etb::host::Tensor& scores = outputs[0].tensor();
  if (scores.numel() != kClassCount || scores.dtype() != etb::host::Dtype::FLOAT32)
    return etb::make_error(etb::Code::INVALID_DATA, "the program does not give 10 float32 scores");
  const float* const first = scores.data_as<float>();
  return std::max_element(first, first + kClassCount) - first;
}

etb::Status run(const char* program, const char* test_set) {
  std::ifstream in(test_set, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* const records = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t count = bytes.size() / kRecordNbytes;
  if (count == 0) return etb::make_error(etb::Code::NOT_FOUND, std::string("no images in ") + test_set);

  etb::host::Registry registry;  // the folders that docs/registry.md lists, ETBACKEND_PATH among them
  etb::host::PluginDelegates delegates(registry);
  etb::host::ModuleOptions options;
  options.delegates = &delegates;
  ETB_ASSIGN(auto module, etb::host::Module::open(program, options));
  ETB_TRY(module.load_method("forward"));
  for (const auto& decision : delegates.decisions())
    std::printf("%s runs on %s (%s)\n", decision->name.c_str(), decision->winner()->id.c_str(),
                decision->rule.c_str());

  size_t right = 0;
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < count; ++i) {
    ETB_ASSIGN(const int64_t digit, classify(module, records + i * kRecordNbytes + 1));
    if (digit == records[i * kRecordNbytes]) ++right;
  }
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  std::printf("%zu of %zu digits right (%.1f %%), %.0f us each\n", right, count,
              100.0 * static_cast<double>(right) / static_cast<double>(count),
              spent.count() / static_cast<double>(count));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const etb::Status status = argc == 3 ? run(argv[1], argv[2])
                                       : etb::make_error(etb::Code::INVALID_ARGUMENT,
                                                         "usage: classify_digits PROGRAM.pte TESTSET.bin");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
