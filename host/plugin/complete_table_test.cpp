// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/complete_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using ::testing::HasSubstr;

std::string refusal(const etb_plugin_table& raw) {
  CompleteTable complete;
  const Status status = complete.assign(raw);
  return status ? "" : status.error().message;
}

TEST(CompleteTable, KeepsEveryFunctionOfAWholePlugin) {
  ToyPlugin toy;
  CompleteTable complete;
  ASSERT_TRUE(complete.assign(toy.plugin));
  const etb_plugin_table& table = complete.table();
  EXPECT_EQ(std::memcmp(table.device, &toy.device, sizeof(toy.device)), 0);
  EXPECT_EQ(std::memcmp(table.delegate, &toy.delegate, sizeof(toy.delegate)), 0);
  EXPECT_EQ(std::memcmp(table.aot, &toy.aot, sizeof(toy.aot)), 0);
  EXPECT_EQ(table.init, toy.plugin.init);
  EXPECT_EQ(table.ident, &toy.ident);
  EXPECT_NE(table.device, &toy.device) << "the tables are copies";
}

// proves: ABI-CALL-01
TEST(CompleteTable, PutsAStubWhereACapabilityBitIsClear) {
  ToyPlugin toy;
  toy.delegate.caps = 0;
  toy.delegate.cancel = nullptr;
  toy.plugin.caps = 0;
  CompleteTable complete;
  ASSERT_TRUE(complete.assign(toy.plugin));
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(complete.table().delegate->cancel(nullptr, &error), ETB_NOT_IMPLEMENTED);
  EXPECT_EQ(error.code, ETB_NOT_IMPLEMENTED);
  EXPECT_STREQ(error.text, "the plugin has no delegate.cancel");
  EXPECT_EQ(complete.table().delegate->execute_async(nullptr, nullptr, nullptr), ETB_NOT_IMPLEMENTED)
      << "a function without its bit is not offered, NULL or not";
  EXPECT_EQ(complete.table().get_extension(nullptr, ETB_OBJECT_PLUGIN, nullptr, "x/1"), nullptr);
}

// proves: ABI-CALL-01
TEST(CompleteTable, RefusesACapabilityBitWithoutItsFunction) {
  ToyPlugin toy;
  toy.delegate.cancel = nullptr;
  EXPECT_THAT(refusal(toy.plugin), HasSubstr("ETB_DELEGATE_CAP_CANCEL is set but delegate.cancel is NULL"));
}

// proves: ABI-CALL-02
TEST(CompleteTable, NamesTheRequiredFunctionThatIsMissing){
#define ETB_OPTIONAL(table, function, cap)
#define ETB_REQUIRED(name, function)                                                     \
  {                                                                                      \
    ToyPlugin toy;                                                                       \
    toy.name.function = nullptr;                                                         \
    EXPECT_EQ(refusal(toy.plugin), "required function " #name "." #function " is NULL"); \
  }
#include "host/plugin/table_functions.def"
#undef ETB_OPTIONAL
#undef ETB_REQUIRED
}

TEST(CompleteTable, RefusesAProfileWithoutItsTables) {
  ToyPlugin toy;
  toy.plugin.delegate = nullptr;
  EXPECT_THAT(refusal(toy.plugin), HasSubstr("profile runtime"));
  ToyPlugin no_aot;
  no_aot.plugin.aot = nullptr;
  EXPECT_THAT(refusal(no_aot.plugin), HasSubstr("profile aot"));
  no_aot.ident.profiles = ETB_PROFILE_RUNTIME;
  EXPECT_EQ(refusal(no_aot.plugin), "");
}

// proves: ABI-SIZE-02 ABI-TYPE-02
TEST(CompleteTable, RefusesSmallTablesAndUnknownFlags) {
  ToyPlugin small;
  small.delegate.struct_size = ETB_SIZE_THROUGH(etb_delegate_table, execute);
  EXPECT_THAT(refusal(small.plugin), HasSubstr("delegate table: struct_size"));
  ToyPlugin flags;
  flags.device.flags = 4;
  EXPECT_THAT(refusal(flags.plugin), HasSubstr("device table: unknown flags 4"));
  ToyPlugin reserved;
  reserved.delegate.reserved = 1;
  EXPECT_THAT(refusal(reserved.plugin), HasSubstr("delegate table: reserved field is 1"));
}

// proves: ABI-SIZE-02 ABI-VER-03
TEST(CompleteTable, LeavesOutTheTailOfANewerMinorVersion) {
  struct Longer {
    etb_delegate_table known;
    void* later[3];
  };
  ToyPlugin toy;
  Longer longer{toy.delegate, {&toy, &toy, &toy}};
  longer.known.struct_size = sizeof(longer);
  longer.known.caps |= 0x100;
  toy.plugin.delegate = &longer.known;
  CompleteTable complete;
  ASSERT_TRUE(complete.assign(toy.plugin));
  EXPECT_EQ(complete.table().delegate->struct_size, sizeof(etb_delegate_table));
  EXPECT_EQ(complete.table().delegate->caps, ETB_DELEGATE_CAPS_KNOWN);
}

// proves: ABI-LAYER-02
TEST(CompleteTable, ALayerOffersOnlyWhatTheNextTableOffers) {
  ToyPlugin plugin;
  plugin.ident.profiles = ETB_PROFILE_RUNTIME;
  plugin.plugin.aot = nullptr;
  plugin.delegate.caps = ETB_DELEGATE_CAP_CANCEL;
  CompleteTable next;
  ASSERT_TRUE(next.assign(plugin.plugin));
  ToyPlugin layer;
  CompleteTable complete;
  ASSERT_TRUE(complete.assign_layer(layer.plugin, next.table()));
  EXPECT_EQ(complete.table().aot, nullptr);
  EXPECT_EQ(complete.table().delegate->caps, ETB_DELEGATE_CAP_CANCEL);
  EXPECT_EQ(complete.table().ident, &plugin.ident);
  EXPECT_EQ(complete.table().delegate->context_reserve(nullptr, nullptr, 0, nullptr), ETB_NOT_IMPLEMENTED);
}

// proves: ABI-LAYER-02
TEST(CompleteTable, HolesOfALayerWithoutInitAreTheNextTables) {
  ToyPlugin plugin;
  CompleteTable next;
  ASSERT_TRUE(next.assign(plugin.plugin));
  etb_delegate_table delegate{};
  delegate.struct_size = sizeof(delegate);
  delegate.query = [](etb_delegate*, etb_delegate_info*, etb_error*) -> etb_status {
    return ETB_UNAVAILABLE;
  };
  etb_plugin_table layer{};
  layer.struct_size = sizeof(layer);
  layer.delegate = &delegate;
  CompleteTable complete;
  ASSERT_TRUE(complete.assign_layer(layer, next.table()));
  EXPECT_EQ(complete.table().init, plugin.plugin.init);
  EXPECT_EQ(complete.table().device, next.table().device);
  EXPECT_EQ(complete.table().delegate->execute, plugin.delegate.execute);
  EXPECT_EQ(complete.table().delegate->cancel, plugin.delegate.cancel);
  EXPECT_EQ(complete.table().delegate->query(nullptr, nullptr, nullptr), ETB_UNAVAILABLE);
}

// proves: ABI-LAYER-02 ABI-CALL-02
TEST(CompleteTable, RefusesALayerThatWrapsHandlesButNotEveryFunction) {
  ToyPlugin plugin;
  CompleteTable next;
  ASSERT_TRUE(next.assign(plugin.plugin));
  ToyPlugin layer;
  layer.delegate.destroy = nullptr;
  CompleteTable complete;
  const Status status = complete.assign_layer(layer.plugin, next.table());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "required function delegate.destroy is NULL");
}

}  // namespace
}  // namespace etb::host
