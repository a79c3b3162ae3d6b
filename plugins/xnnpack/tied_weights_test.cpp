// SPDX-License-Identifier: Apache-2.0
// Tests weights that several nodes and delegates read: they are packed once.
#include "plugins/xnnpack/subgraph.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/payload_fixture.hpp"

namespace etb::xnnpack {
namespace {

constexpr uint32_t kWidth = 32;

// A weights cache that forwards XNNPACK's calls and counts packings.
class CountedCache {
 public:
  explicit CountedCache(PackedWeights& weights) : cache_(weights.provider()) {
    provider_.context = this;
    provider_.look_up = [](void* self, const xnn_weights_cache_look_up_key* key) {
      return asked(self)->look_up(asked(self)->context, key);
    };
    provider_.reserve_space = [](void* self, size_t nbytes) {
      ++static_cast<CountedCache*>(self)->pack_count_;
      return asked(self)->reserve_space(asked(self)->context, nbytes);
    };
    provider_.look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key* key, void* packed,
                                     size_t nbytes) {
      return asked(self)->look_up_or_insert(asked(self)->context, key, packed, nbytes);
    };
    provider_.is_finalized = [](void*) { return true; };
    provider_.offset_to_addr = [](void* self, size_t index) {
      return asked(self)->offset_to_addr(asked(self)->context, index);
    };
    provider_.delete_cache = [](void*) { return xnn_status_success; };
  }
  CountedCache(const CountedCache&) = delete;
  CountedCache& operator=(const CountedCache&) = delete;

  xnn_weights_cache_t provider() { return &provider_; }
  int pack_count() const { return pack_count_; }

 private:
  static xnn_weights_cache_t asked(void* self) { return static_cast<CountedCache*>(self)->cache_; }

  xnn_weights_cache_t cache_;
  xnn_weights_cache_provider provider_{};
  int pack_count_ = 0;
};

// `layer_count` layers in sequence, with the same named weights.
XnnPayload layers(uint32_t layer_count) {
  XnnPayload payload;
  payload.constants.resize(2);
  payload.constants[1].key = "weights";
  const auto add_value = [&](std::vector<uint32_t> sizes) {
    const auto id = static_cast<uint32_t>(payload.values.size());
    payload.values.push_back(value_of(id, std::move(sizes)));
    payload.value_of_id.push_back(id);
    return id;
  };
  uint32_t last = add_value({1, kWidth});
  payload.values[last].external_id = 0;
  payload.values[last].is_input = true;
  payload.input_ids = {last};
  for (uint32_t i = 0; i < layer_count; ++i) {
    const uint32_t filter = add_value({kWidth, kWidth});  // a separate value, as exporters write them
    payload.values[filter].constant_index = 1;
    const uint32_t product = add_value({1, kWidth});
    payload.nodes.push_back(node_of(XnnOperator::kFullyConnected, {last, filter, kXnnNoValue}, product));
    last = product;
  }
  payload.values[last].external_id = 1;
  payload.values[last].is_output = true;
  payload.output_ids = {last};
  return payload;
}

class XnnpackTiedWeights : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success); }

  // Returns how often XNNPACK packs for a delegate. `nbytes` receives the size of its copies.
  int pack_count(const XnnPayload& payload, PackedWeights& weights, uint64_t& nbytes) {
    const etb_named_data table = {
        ETB_INIT_SIZE(etb_named_data), 0, this,
        [](void* ctx, const char*, etb_payload_view* out, etb_error*) -> etb_status {
          const auto& self = *static_cast<XnnpackTiedWeights*>(ctx);
          point_at(*out, std::as_bytes(std::span(self.numbers_)));
          return ETB_OK;
        }};
    const NamedData named(&table);
    Constants constants;
    SubgraphBuilder builder(payload, named, constants, weights);
    CountedCache cache(weights);
    const auto subgraph = builder.build();
    EXPECT_TRUE(subgraph) << subgraph.error().message;
    if (!subgraph) return -1;
    xnn_runtime_t runtime = nullptr;
    EXPECT_EQ(xnn_create_runtime_v3(subgraph->get(), cache.provider(), nullptr, 0, &runtime),
              xnn_status_success);
    xnn_delete_runtime(runtime);
    weights.forget_names();
    nbytes = weights.nbytes();
    return cache.pack_count();
  }

  std::vector<float> numbers_ = std::vector<float>(kWidth * kWidth, 0.5f);
  PackedStore store_;
};

TEST_F(XnnpackTiedWeights, NodesOfADelegateShareThem) {
  PackedWeights one(store_, false), three(store_, false);
  uint64_t nbytes_of_one = 0, nbytes_of_three = 0;
  EXPECT_EQ(pack_count(layers(1), one, nbytes_of_one), 1);
  EXPECT_EQ(pack_count(layers(3), three, nbytes_of_three), 1);
  EXPECT_GE(nbytes_of_one, kWidth * kWidth * sizeof(float));
  EXPECT_EQ(nbytes_of_three, nbytes_of_one);
}

TEST_F(XnnpackTiedWeights, DelegatesShareThem) {
  PackedWeights first(store_, true), second(store_, true), alone(store_, false);
  uint64_t nbytes = 0;
  EXPECT_EQ(pack_count(layers(2), first, nbytes), 1);
  EXPECT_EQ(pack_count(layers(2), second, nbytes), 0);
  EXPECT_EQ(pack_count(layers(1), second, nbytes), 0);
  EXPECT_EQ(pack_count(layers(2), alone, nbytes), 1);
}

// Clamps do not change packed weights. Numbers that packing depends on do.
TEST_F(XnnpackTiedWeights, WhatIsPackedDifferentlyIsNotShared) {
  XnnPayload payload = layers(2);
  payload.nodes[0].is_clamped = true;
  payload.nodes[0].clamp_max = 6;
  PackedWeights clamped(store_, false), transposed(store_, false);
  uint64_t nbytes = 0;
  EXPECT_EQ(pack_count(payload, clamped, nbytes), 1);
  payload = layers(2);
  payload.nodes[0].flags = XNN_FLAG_TRANSPOSE_WEIGHTS;  // square weights, so only the packing changes
  EXPECT_EQ(pack_count(payload, transposed, nbytes), 2);
}

}  // namespace
}  // namespace etb::xnnpack
