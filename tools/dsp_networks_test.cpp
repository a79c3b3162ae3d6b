// SPDX-License-Identifier: Apache-2.0
// Whole int8 networks on the DSP of plugins/dsp_stub, beside float kernels between dequantize and quantize, and beside XNNPACK's int8 layers.
//
// "Within one step" is a statement about a layer: from equal input codes, its codes differ by at most one. A difference of an earlier
// layer is another input code, which weights may enlarge. So results of whole networks may differ by more; the test prints how much.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>

#include "tools/testing/coded_network.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using conformance::Subject;
using conformance::TensorData;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";
constexpr uint32_t kSeeds = 6;
// Steps between results of whole networks. The largest that the test printed is 2 (2026-11-27): the device rounds each bias to a unit of
// the sums, a float layer does not, so about one of 2,000 codes differs in each layer.
constexpr int kWholeLimit = 4;

struct Network {
  const char* name;
  const char* archive;
  std::vector<int64_t> input;
  size_t layers;  // of codes, with the first quantize
};

// Differences between codes.
struct Differences {
  size_t elements = 0, different = 0;
  int largest = 0;

  void add(const Codes& a, const Codes& b) {
    ASSERT_EQ(a.size(), b.size());
    elements += a.size();
    for (size_t i = 0; i < a.size(); ++i) {
      const int distance = std::abs(a[i] - b[i]);
      different += distance != 0;
      largest = std::max(largest, distance);
    }
  }
};

// Uniform numbers that use the whole range of the input's codes.
TensorData draw_input(const std::vector<int64_t>& sizes, uint32_t seed) {
  std::mt19937 random(seed);
  TensorData out{{ETB_DTYPE_FLOAT32, sizes, {}}, {}};
  const auto count = static_cast<size_t>(out.shape.numel());
  std::vector<float> numbers(count);
  for (float& number : numbers) number = std::ldexp(static_cast<float>(random() >> 8), -22) - 2;
  out.bytes.resize(count * sizeof(float));
  std::memcpy(out.bytes.data(), numbers.data(), out.bytes.size());
  return out;
}

std::unique_ptr<Subject> open_or_null(const std::string& name) {
  const std::string manifest = std::string(ETB_PLUGIN_DIR) + "/" + name + ".json";
  if (!fs::exists(manifest)) return nullptr;
  auto subject = open_plugin(manifest);
  EXPECT_TRUE(subject) << subject.error().message;
  return subject ? std::move(*subject) : nullptr;
}

// Random codes of all values, for layers by themselves.
TensorList draw_codes(TensorList like, uint32_t seed) {
  std::mt19937 random(seed);
  for (TensorData& tensor : like)
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random() >> 24);
  return like;
}

// A peer computes each layer from the codes that the device had, and the whole network from the input.
class Peer {
 public:
  Peer(std::string name, const Network& network, Subject* subject)
      : name_(std::move(name)), network_(network) {
    for (const Cut cut : {Cut::kCut, Cut::kExposed}) {
      auto made = CodedNetwork::make(kFixtures + network.archive, cut, subject);
      if (!made) ADD_FAILURE() << name_ << ": " << made.error().message;
      if (made) (cut == Cut::kCut ? layers_ : whole_) = std::move(*made);
    }
  }

  // `codes`: the input and the codes that layers read. `found`: the results of the device's layers.
  void compare_layers(const TensorList& codes, std::span<const TensorData> found, uint32_t seed) {
    ASSERT_NE(layers_, nullptr);
    const auto results = layers_->run(codes);
    ASSERT_TRUE(results) << results.error().message;
    ASSERT_EQ(results->size(), found.size() + 1);
    for (size_t i = 0; i < found.size(); ++i) {
      Differences layer;
      layer.add(codes_of((*results)[i + 1]), codes_of(found[i]));
      EXPECT_LE(layer.largest, 1) << name_ << ", layer " << i << ", seed " << seed;
      by_layer_.add(codes_of((*results)[i + 1]), codes_of(found[i]));
    }
  }

  // `found`: the codes of a run of the whole network on the device.
  void compare_whole(const TensorData& input, std::span<const TensorData> found) {
    ASSERT_NE(whole_, nullptr);
    const auto results = whole_->run({input});
    ASSERT_TRUE(results) << results.error().message;
    ASSERT_EQ(results->size(), found.size() + 1);
    for (size_t i = 0; i < found.size(); ++i) inner_.add(codes_of((*results)[i + 1]), codes_of(found[i]));
    result_.add(codes_of(results->back()), codes_of(found.back()));
  }

  void print() const {
    std::printf("| %s | %s | %zu of %zu | %d | %zu of %zu | %d | %d |\n", network_.name, name_.c_str(),
                by_layer_.different, by_layer_.elements, by_layer_.largest, result_.different,
                result_.elements, result_.largest, inner_.largest);
  }
  const Differences& result() const { return result_; }
  size_t left_nodes() const { return layers_->compiled.left_nodes; }

 private:
  std::string name_;
  const Network& network_;
  std::unique_ptr<CodedNetwork> layers_, whole_;
  Differences by_layer_, result_, inner_;
};

class DspNetworks : public testing::TestWithParam<Network> {};

TEST_P(DspNetworks, AreOneRegionWithinAStepOfFloatAndXnnpack) {
  const Network& network = GetParam();
  const std::unique_ptr<Subject> dsp = open_or_null("dsp_stub"), xnnpack = open_or_null("xnnpack");
  ASSERT_NE(dsp, nullptr);
  const std::string archive = kFixtures + network.archive;
  auto whole = CodedNetwork::make(archive, Cut::kNone, dsp.get()),
       exposed = CodedNetwork::make(archive, Cut::kExposed, dsp.get()),
       layers =
           CodedNetwork::make(archive, Cut::kCut, dsp.get());  // a payload has up to 64 inputs and outputs
  ASSERT_TRUE(layers) << layers.error().message;
  for (const auto* made : {&whole, &exposed}) {
    ASSERT_TRUE(*made) << made->error().message;
    const conformance::CompiledNetwork& compiled = (**made)->compiled;
    EXPECT_EQ(compiled.faults, std::vector<std::string>());
    EXPECT_EQ(compiled.regions.size(), 1U);
    EXPECT_EQ(compiled.left_nodes, 2U) << "more than the first quantize and the last dequantize";
  }
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(std::make_unique<Peer>("float", network, nullptr));
  if (xnnpack != nullptr) peers.push_back(std::make_unique<Peer>("XNNPACK", network, xnnpack.get()));
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const TensorData input = draw_input(network.input, seed);
    const auto found = (*exposed)->run({input}), result = (*whole)->run({input});
    ASSERT_TRUE(found && result);
    EXPECT_EQ((*whole)->calls, 1U);
    ASSERT_EQ(found->size(), network.layers + 1);
    EXPECT_EQ(result->front().bytes, found->front().bytes) << "codes that are outputs change the result";
    const std::span<const TensorData> codes = std::span(*found).subspan(1);
    TensorList own = {input}, drawn = draw_codes({codes.begin(), codes.end()}, seed);
    own.insert(own.end(), codes.begin(), codes.end());
    drawn.insert(drawn.begin(), input);
    const auto of_drawn = (*layers)->run(drawn);
    ASSERT_TRUE(of_drawn) << of_drawn.error().message;
    for (const auto& peer : peers) {
      peer->compare_layers(own, codes, seed);
      peer->compare_layers(drawn, std::span(*of_drawn).subspan(1), seed);
      peer->compare_whole(input, codes);
    }
  }
  std::puts(
      "| network | peer | codes of layers, different | largest | results, different | largest | inner, "
      "largest |");
  for (const auto& peer : peers) {
    peer->print();
    EXPECT_LE(peer->result().largest, kWholeLimit);
  }
  if (xnnpack != nullptr) {
    EXPECT_EQ(peers.back()->left_nodes(), 0U) << "XNNPACK does not compute all layers";
  }
  EXPECT_TRUE(dsp->take_violations().empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, DspNetworks,
    testing::Values(Network{"digits", "dsp_networks/digits_q8.pt2", {1, 1, 8, 8}, 7},
                    Network{"ds_cnn", "ds_cnn/ds_cnn.pt2", {1, 1, 49, 10}, 12},
                    Network{"resnet", "dsp_networks/resnet_q8.pt2", {1, 3, 24, 24}, 15},
                    Network{"mobilenet_v2", "dsp_networks/mobilenet_v2_q8.pt2", {1, 3, 16, 16}, 35}),
    [](const auto& test) { return std::string(test.param.name); });

// The images that the network never saw (docs/examples/digits): a label and 64 pixels each.
TEST(DspDigits, AreClassifiedAsByFloatLayers) {
  const std::unique_ptr<Subject> dsp = open_or_null("dsp_stub");
  ASSERT_NE(dsp, nullptr);
  std::ifstream file(std::string(ETB_SOURCE_DIR) + "/docs/examples/digits/digits.bin", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.size(), 360U * 65);
  size_t right[2] = {};
  for (Subject* const subject : {static_cast<Subject*>(nullptr), dsp.get()}) {
    auto network = CodedNetwork::make(kFixtures + "dsp_networks/digits_q8.pt2", Cut::kNone, subject);
    ASSERT_TRUE(network) << network.error().message;
    for (size_t at = 0; at < bytes.size(); at += 65) {
      float pixels[64], scores[10];
      for (size_t i = 0; i < 64; ++i) pixels[i] = static_cast<float>(bytes[at + 1 + i]) / 16;
      TensorData image{{ETB_DTYPE_FLOAT32, {1, 1, 8, 8}, {}}, std::vector<std::byte>(sizeof(pixels))};
      std::memcpy(image.bytes.data(), pixels, sizeof(pixels));
      const auto found = (*network)->run({image});
      ASSERT_TRUE(found) << found.error().message;
      ASSERT_EQ(found->front().bytes.size(), sizeof(scores));
      std::memcpy(scores, found->front().bytes.data(), sizeof(scores));
      right[subject != nullptr] += std::max_element(scores, scores + 10) - scores == bytes[at];
    }
  }
  std::printf("right: %zu with float layers, %zu on the DSP, of 360\n", right[0], right[1]);
  EXPECT_GE(right[1], 350U);
  EXPECT_LE(right[0], right[1] + 1);
}

}  // namespace
}  // namespace etb::tools
