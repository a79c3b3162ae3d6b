// SPDX-License-Identifier: Apache-2.0
// Tests small whole models that the official exporter lowered to XnnpackBackend
// (tests/fixtures/make_xnnpack_models.py), in the plugin: every family in float, and quantised in every way
// that the exporter supports. The validate layer must report no violation.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "host/delegates/plugin_delegates.hpp"
#include "host/layers/validate/validation.hpp"
#include "host/runtime/float16.hpp"
#include "tests/runtime/recorded_calls.hpp"

namespace etb::tools {
namespace {

// ETB_XNNPACK_MODELS: a folder of such models at full size.
const char* const kGivenModels = std::getenv("ETB_XNNPACK_MODELS");
const bool kIsFullSize = kGivenModels != nullptr;
const fs::path kModels =
    kIsFullSize ? fs::path(kGivenModels) : fs::path(ETB_SOURCE_DIR) / "tests/fixtures/xnnpack_models";

std::vector<double> numbers_of(const Array& array) {
  std::vector<double> out;
  if (array.dtype == host::Dtype::FLOAT16) {
    for (size_t i = 0; i + 1 < array.bytes.size(); i += 2) {
      host::Half half;
      std::memcpy(&half, array.bytes.data() + i, sizeof(half));
      out.push_back(host::to_float(half));
    }
    return out;
  }
  EXPECT_EQ(array.dtype, host::Dtype::FLOAT32);
  for (size_t i = 0; i + 3 < array.bytes.size(); i += 4) {
    float number;
    std::memcpy(&number, array.bytes.data() + i, sizeof(number));
    out.push_back(number);
  }
  return out;
}

std::vector<double> numbers_at(const fs::path& path) {
  const auto array = read_npy(path.string());
  EXPECT_TRUE(array) << path;
  return array ? numbers_of(*array) : std::vector<double>();
}

// Returns the largest difference divided by the largest number.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  if (a.size() != b.size() || a.empty()) return HUGE_VAL;
  double largest = 0, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
    if (std::isnan(a[i])) return HUGE_VAL;
  }
  EXPECT_NE(largest, 0) << "a model that gives nothing but zeros says nothing";
  return worst / largest;
}

host::RegistryOptions build_tree(const host::Validation& validation) {
  host::RegistryOptions options;
  options.layers = {validation.layer()};
  options.application_paths = {ETB_PLUGIN_DIR};
  options.admin_path = "";
  options.environment = {};
  return options;
}

class XnnpackModels : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    for (const host::Violation& violation : validation_.take()) ADD_FAILURE() << format_violation(violation);
  }

  host::Validation validation_{host::ValidateOptions{}};
  host::Registry registry_{build_tree(validation_)};
  host::PluginDelegates delegates_{registry_};
};

// Changes by the official lowering: rows quantised separately where PyTorch quantises tensors, different
// roundings of ties, an approximation of GELU. A wrong scale, row or group is off by far more than a
// fiftieth.
constexpr double kFromPyTorch = 0.02;
// Only the order of sums differs from the official runtime. float16 has 11 bits, and a sum that changes one
// int8 step changes later results.
constexpr double kFromOfficial = 0x1p-10;
// Only the order of sums differs, in floats of networks this deep.
constexpr double kFloatFromPyTorch = 0x1p-16;

void compare(const std::vector<double>& found, const fs::path& expected_path, const fs::path& official_path) {
  const std::vector<double> expected = numbers_at(expected_path);
  const double from_pytorch = difference(found, expected);
  if (!fs::exists(official_path)) {
    EXPECT_LE(from_pytorch, kFloatFromPyTorch);
    return;
  }
  const std::vector<double> official = numbers_at(official_path);
  // In many layers of random weights one step causes others. The official runtime is off from PyTorch by a
  // tenth (in float16 completely); our error must not be larger.
  if (kIsFullSize) {
    EXPECT_LE(from_pytorch, 1.5 * difference(official, expected) + kFromOfficial);
    return;
  }
  EXPECT_LE(from_pytorch, kFromPyTorch);
  EXPECT_LE(difference(found, official), kFromOfficial);
}

TEST_P(XnnpackModels, GiveTheNumbersOfPyTorch) {
  host::ModuleOptions options;
  options.delegates = &delegates_;
  if (!kIsFullSize && !fs::exists(kModels / "official" / (GetParam() + ".forward.0.out.0.npy"))) {
    expect_recorded_numbers(kModels, GetParam(), options);
  } else {
    auto module = host::Module::open((kModels / (GetParam() + ".pte")).string(), options);
    ASSERT_TRUE(module) << module.error().message;
    const Status loaded = module->load_method("forward");
    ASSERT_TRUE(loaded) << loaded.error().message;
    MethodInputs inputs(*module->method_meta("forward"));
    for (const auto& [key, call] : calls_of(kModels, GetParam())) {
      for (uint32_t i = 0; i < inputs.count(); ++i) {
        const Status set = inputs.set_text(i, call.inputs[i].string());
        ASSERT_TRUE(set) << set.error().message;
      }
      const auto outputs = module->execute("forward", inputs.values());
      ASSERT_TRUE(outputs) << outputs.error().message;
      ASSERT_EQ(outputs->size(), call.outputs.size());
      for (size_t i = 0; i < outputs->size(); ++i) {
        SCOPED_TRACE("output " + std::to_string(i));
        compare(numbers_of(to_row_major((*outputs)[i].tensor())), call.outputs[i],
                kModels / "official" / call.outputs[i].filename());
      }
    }
  }
  ASSERT_FALSE(delegates_.decisions().empty());
  for (const auto& decision : delegates_.decisions()) {
    ASSERT_NE(decision->winner(), nullptr);
    EXPECT_EQ(decision->winner()->id, "org.etbackend.xnnpack");
  }
}

std::vector<std::string> model_names() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kModels))
    if (entry.path().extension() == ".pte") names.insert(entry.path().stem().string());
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Official, XnnpackModels, testing::ValuesIn(model_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace etb::tools
