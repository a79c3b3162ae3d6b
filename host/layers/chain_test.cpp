// SPDX-License-Identifier: Apache-2.0
#include "host/layers/chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/layers/start_plugin.hpp"
#include "host/plugin/delegate.hpp"
#include "host/testing/layer_fixture.hpp"

namespace etb::host {
namespace {

// A layer that wraps no handles and overrides one function.
etb_plugin_table query_only_layer(etb_delegate_table& delegate) {
  delegate = {};
  delegate.struct_size = sizeof(delegate);
  delegate.query = [](etb_delegate*, etb_delegate_info* info, etb_error*) -> etb_status {
    info->max_contexts = 7;
    return ETB_OK;
  };
  etb_plugin_table table{};
  table.struct_size = sizeof(table);
  table.delegate = &delegate;
  return table;
}

TEST(Chain, WithoutLayersIsThePlugin) {
  ToyPlugin toy;
  const Result<Chain> chain = Chain::make(toy.plugin, {});
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->table().init, toy.plugin.init);
  EXPECT_EQ(chain->link(), nullptr);
}

TEST(Chain, LinksEachLayerToTheNext) {
  ToyPlugin toy, inner, outer;
  const Layer layers[2] = {{"outer", &outer.plugin, nullptr, nullptr},
                           {"inner", &inner.plugin, nullptr, nullptr}};
  const Result<Chain> chain = Chain::make(toy.plugin, layers);
  ASSERT_TRUE(chain);
  const etb_layer_link* const outer_link = chain->link();
  ASSERT_NE(outer_link, nullptr);
  EXPECT_EQ(outer_link->next->ident, &toy.ident) << "the identity is the plugin's";
  const etb_layer_link* const inner_link = outer_link->rest;
  ASSERT_NE(inner_link, nullptr);
  EXPECT_EQ(inner_link->rest, nullptr);
}

// proves: ABI-LAYER-02
TEST(Chain, ALayerWithoutInitIsNotAskedWhereItStands) {
  etb_delegate_table delegate;
  const etb_plugin_table query_only = query_only_layer(delegate);
  const Layer layer{"query", &query_only, nullptr, nullptr};
  LayerFixture fixture(std::vector<Layer>{layer});
  ASSERT_EQ(fixture.start(), ETB_OK) << fixture.error.text;
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(fixture.delegates().query(fixture.delegate(), &info, nullptr), ETB_OK);
  EXPECT_EQ(info.max_contexts, 7u);
  EXPECT_EQ(fixture.execute(), ETB_OK);

  // A layer with init still finds its link when a layer without init is between it and the host.
  Validation validation;
  LayerFixture both(std::vector<Layer>{layer, validation.layer()});
  ASSERT_EQ(both.start(), ETB_OK) << both.error.text;
  EXPECT_EQ(both.execute(), ETB_OK);
  EXPECT_EQ(both.stop(), ETB_OK);
  EXPECT_EQ(validation.violation_count(), 0u);
}

TEST(Chain, NamesTheLayerThatCannotStandInIt) {
  ToyPlugin toy, layer;
  layer.delegate.create = nullptr;
  const Layer layers[1] = {{"broken", &layer.plugin, nullptr, nullptr}};
  const Result<Chain> chain = Chain::make(toy.plugin, layers);
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().message, "layer 'broken': required function delegate.create is NULL");
}

// proves: ABI-LAYER-01
TEST(StartPlugin, UsesALayerOnlyWhenItIsNamed) {
  setenv("ETBACKEND_LAYERS", "validate", 1);
  ToyPlugin toy;
  Validation validation;
  Result<PluginContext> plain = start_plugin(nullptr, toy.plugin, {});
  ASSERT_TRUE(plain);
  EXPECT_NE(plain->table().init, validation.layer().table->init);
  unsetenv("ETBACKEND_LAYERS");
}

TEST(StartPlugin, RunsThePluginBehindTwoLayersOfOneKind) {
  ToyPlugin toy;
  Validation outer, inner;
  const Layer layers[2] = {outer.layer(), inner.layer()};
  StartArgs args;
  args.layers = layers;
  {
    Result<PluginContext> plugin = start_plugin(nullptr, toy.plugin, args);
    ASSERT_TRUE(plugin) << plugin.error().message;
    uint8_t uuid[16] = {};
    ASSERT_TRUE(plugin->each_device([&](const etb_device_info& info) { std::copy_n(info.uuid, 16, uuid); }));
    Result<Device> device = plugin->open_device(uuid);
    ASSERT_TRUE(device) << device.error().message;
    LayerFixture fixture;  // used only for its arguments
    Result<Delegate> delegate = plugin->create_delegate(fixture.delegate_args, &*device);
    ASSERT_TRUE(delegate) << delegate.error().message;
    Result<Context> context = delegate->create_context();
    ASSERT_TRUE(context);
    ASSERT_TRUE(context->execute(fixture.run.args));
    EXPECT_THAT(fixture.run.out, ::testing::Each(2.0f));
  }
  for (const Violation& violation : outer.take()) ADD_FAILURE() << format_violation(violation);
  for (const Violation& violation : inner.take()) ADD_FAILURE() << format_violation(violation);
}

}  // namespace
}  // namespace etb::host
