// SPDX-License-Identifier: Apache-2.0
// Arguments that a plugin keeps and reads after the call are reported, each of them.
#include <gtest/gtest.h>

#include <cstring>

#include "host/layers/validate/borrowed.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kGuardPages = ValidateOptions::Memory::GUARD_PAGES;

const volatile uint8_t* kept = nullptr;
void keep(const void* address) { kept = static_cast<const volatile uint8_t*>(address); }

class ValidateBorrowed : public ::testing::Test {
 protected:
  ValidateBorrowed() : fixture_(ValidateOptions{.memory = kGuardPages}) {
    kept = nullptr;
    text_.struct_size = nested_.struct_size = list_.struct_size = sizeof(etb_option);
    text_.key = "x-text";
    text_.type = ETB_OPTION_TEXT;
    text_.text = "value";
    nested_.type = ETB_OPTION_BYTES;
    nested_.bytes = {"bytes", 5};
    list_.key = "x-list";
    list_.type = ETB_OPTION_LIST;
    list_.items = &nested_;
    list_.item_count = 1;
    spec_.struct_size = sizeof(spec_);
    spec_.key = "spec";
    spec_.value = {"of a compiler", 13};
    target_.struct_size = sizeof(target_);
    target_.kind = target_.name = "";
    target_.attributes = &text_;
    target_.attribute_count = 1;
  }

  // Reads one byte as the plugin would, after the call.
  void expect_late_read(const char* what) {
    ASSERT_NE(kept, nullptr);
    EXPECT_THAT(fixture_.found(), IsEmpty());
    const uint8_t late = *kept;
    (void)late;
    EXPECT_THAT(fixture_.found(),
                ElementsAre(Report("ABI-OWN-01", Side::PLUGIN, std::string(what) + " after the call: read")));
  }

  LayerFixture fixture_;
  etb_option text_{}, nested_{}, list_{};
  etb_compile_spec spec_{};
  etb_target target_{};
};

// proves: ABI-OWN-01
TEST_F(ValidateBorrowed, OptionsOfInit) {
  fixture_.toy.plugin.init = [](const etb_host* host, const etb_option* options, uint64_t count,
                                etb_plugin** out, etb_error* error) {
    EXPECT_STREQ(options[0].text, "value");
    keep(options[0].text);
    return toy_tables().plugin.init(host, options, count, out, error);
  };
  ASSERT_EQ(fixture_.start(std::span(&text_, 1)), ETB_OK);
  expect_late_read("options");
}

// proves: ABI-OWN-01
TEST_F(ValidateBorrowed, ItemsOfOptionsOfContexts) {
  fixture_.toy.delegate.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t count,
                                            etb_context** out, etb_error* error) {
    EXPECT_EQ(std::memcmp(options[0].items[0].bytes.data, "bytes", 5), 0);
    keep(options[0].items[0].bytes.data);
    EXPECT_EQ(count, 1u);
    return toy_tables().delegate.context_create(delegate, nullptr, 0, out, error);
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  etb_context* context = nullptr;
  ASSERT_EQ(fixture_.delegates().context_create(fixture_.delegate(), &list_, 1, &context, nullptr), ETB_OK);
  expect_late_read("options");
  EXPECT_EQ(fixture_.delegates().context_destroy(context, nullptr), ETB_OK);
}

// proves: ABI-OWN-01
TEST_F(ValidateBorrowed, ValuesAndKeysOfOptions) {
  fixture_.toy.plugin.set_option = [](etb_plugin*, uint32_t, void*, const etb_option* option,
                                      etb_error*) -> etb_status {
    keep(option->key);
    return ETB_OK;
  };
  fixture_.toy.plugin.get_option = [](etb_plugin*, uint32_t, void*, const char* key,
                                      const etb_option_sink* sink, etb_error*) -> etb_status {
    keep(key);
    etb_option option{};
    option.struct_size = sizeof(option);
    option.key = key;
    option.type = ETB_OPTION_I64;
    return sink->put(sink->ctx, &option);
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  const etb_plugin_table& table = fixture_.table();
  ASSERT_EQ(table.set_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, &text_, nullptr), ETB_OK);
  expect_late_read("option");
  const etb_option_sink sink{sizeof(sink), 0, nullptr,
                             [](void*, const etb_option*) -> etb_status { return ETB_OK; }};
  ASSERT_EQ(table.get_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, "x", &sink, nullptr),
            ETB_OK);
  expect_late_read("key");
}

// proves: ABI-OWN-01
TEST_F(ValidateBorrowed, NamesOfDelegates) {
  fixture_.toy.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                    etb_error* error) {
    EXPECT_STREQ(args->specs[0].key, "spec");
    keep(args->backend_id);
    return toy_tables().delegate.create(plugin, args, out, error);
  };
  fixture_.delegate_args.specs = &spec_;
  fixture_.delegate_args.spec_count = 1;
  ASSERT_EQ(fixture_.start(), ETB_OK);
  fixture_.delegate();
  expect_late_read("args");
}

// proves: ABI-OWN-01
TEST_F(ValidateBorrowed, ImagesAndTargetsOfPartitions) {
  fixture_.toy.aot.dry_check = [](etb_plugin*, const etb_partition_args* args, etb_error*) -> etb_status {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(args->graph->image.data) % ETB_GRAPH_ALIGNMENT, 0u);
    keep(kept == nullptr ? args->graph->image.data : args->target->attributes[0].text);
    return ETB_OK;
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  const etb_graph_image image = fixture_.image().to_c();
  etb_partition_args args{};
  args.struct_size = sizeof(args);
  args.graph = &image;
  args.backend_id = kToyBackend;
  args.target = &target_;
  ASSERT_EQ(fixture_.table().aot->dry_check(fixture_.plugin, &args, nullptr), ETB_OK);
  expect_late_read("args");
  ASSERT_EQ(fixture_.table().aot->dry_check(fixture_.plugin, &args, nullptr), ETB_OK);
  expect_late_read("args");
}

// proves: ABI-OWN-01
TEST_F(ValidateBorrowed, StridesOfTensors) {
  fixture_.toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    EXPECT_EQ(args->inputs[0].strides[0], 1);
    keep(args->inputs[0].strides);
    etb_tensor packed = args->inputs[0];
    packed.strides = nullptr;
    etb_exec_args own = *args;
    own.inputs = &packed;
    return toy_tables().delegate.execute(context, &own, error);
  };
  const int64_t stride = 1;
  fixture_.run.input.strides = &stride;
  ASSERT_EQ(fixture_.start(), ETB_OK);
  ASSERT_EQ(fixture_.execute(), ETB_OK);
  expect_late_read("inputs");
}

// The distance between elements is the host's, also of a newer one (ABI-SIZE-04).
TEST(ArgumentCopier, KeepsLongerStructs) {
  struct Longer {
    etb_compile_spec spec;
    uint64_t more;
  };
  const Longer from[2] = {{{sizeof(Longer), 0, "a", {"12", 2}}, 7}, {{sizeof(Longer), 0, "bc", {}}, 8}};
  validate::ArgumentCopier measured;
  measured.specs(&from[0].spec, 2);
  std::vector<uint64_t> block(measured.nbytes() / 8 + 1);
  auto* const bytes = reinterpret_cast<uint8_t*>(block.data());
  validate::ArgumentCopier copier(bytes, bytes);
  const auto* const copy = reinterpret_cast<const Longer*>(copier.specs(&from[0].spec, 2));
  EXPECT_EQ(copier.nbytes(), measured.nbytes());
  ASSERT_EQ(copy[1].spec.struct_size, sizeof(Longer));
  EXPECT_STREQ(copy[1].spec.key, "bc");
  EXPECT_NE(copy[1].spec.key, from[1].spec.key);
  EXPECT_EQ(copy[1].more, 8u);
  EXPECT_EQ(copy[1].spec.value.data, nullptr);
  EXPECT_EQ(std::memcmp(copy[0].spec.value.data, "12", 2), 0);
}

}  // namespace
}  // namespace etb::host
