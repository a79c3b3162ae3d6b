// Small whole models that the official exporter lowered to XnnpackBackend (tests/fixtures/make_xnnpack_models.py), run through the plugin: every
// family in float, and quantised in every way that the exporter has. The validate layer stands between and has nothing to report of
// either side.
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

// ETB_XNNPACK_MODELS: another folder of such models, e.g. those of full size.
fs::path models_folder() {
  const char* given = std::getenv("ETB_XNNPACK_MODELS");
  return given != nullptr ? fs::path(given) : fs::path(ETB_SOURCE_DIR) / "tests/fixtures/xnnpack_models";
}
const fs::path kModels = models_folder();

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

// The largest difference as a part of the largest number.
double difference(const Array& found, const fs::path& expected_path) {
  const auto expected = read_npy(expected_path.string());
  EXPECT_TRUE(expected) << expected_path;
  if (!expected) return HUGE_VAL;
  const std::vector<double> a = numbers_of(found), b = numbers_of(*expected);
  EXPECT_EQ(a.size(), b.size());
  if (a.size() != b.size() || a.empty()) return HUGE_VAL;
  double largest = 0, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
    if (std::isnan(a[i])) return HUGE_VAL;
  }
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

TEST_P(XnnpackModels, GiveTheNumbersOfPyTorch) {
  host::ModuleOptions options;
  options.delegates = &delegates_;
  if (!fs::exists(kModels / "official" / (GetParam() + ".forward.0.out.0.npy"))) {
    expect_recorded_numbers(kModels, GetParam(), options);
  } else {
    // What the official lowering changed: rows quantised one by one where PyTorch quantises tensors, a number on the other side of a half and all
    // that follows from it, GELU for its approximation. A wrong scale, row or group is off by far more than a fiftieth.
    constexpr double kFromPyTorch = 0.02;
    // From the official runtime only the order of sums differs; float16 has 11 bits, and a sum that moves an int8 by one step moves what is made of it.
    constexpr double kFromOfficial = 0x1p-10;
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
        const Array found = to_row_major((*outputs)[i].tensor());
        EXPECT_LE(difference(found, call.outputs[i]), kFromPyTorch) << "output " << i;
        EXPECT_LE(difference(found, kModels / "official" / call.outputs[i].filename()), kFromOfficial)
            << "output " << i;
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
