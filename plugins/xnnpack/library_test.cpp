// SPDX-License-Identifier: Apache-2.0
// Tests the shared library with both halves, opened by a program that has only the ABI's headers. It compiles
// payloads that the static plugin runs, and runs payloads that the static plugin compiled. (tests/runtime
// loads it in a host without compiler.)
#include <dlfcn.h>

#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

class XnnpackLibrary : public XnnpackCompile {
 protected:
  void SetUp() override {
    XnnpackCompile::SetUp();
    library_ = dlopen(ETB_XNNPACK_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    const auto query = reinterpret_cast<etb_plugin_query_fn>(dlsym(library_, ETB_PLUGIN_QUERY_SYMBOL));
    ASSERT_NE(query, nullptr) << dlerror();
    shared_table_ = query(&host_, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_NE(shared_table_, nullptr);
    ASSERT_NE(shared_table_, table_) << "the static plugin answered";
    ASSERT_EQ(shared_table_->init(&host_, nullptr, 0, &shared_plugin_, &error_), ETB_OK) << error_.text;
  }
  void TearDown() override {
    EXPECT_EQ(shared_table_->deinit(shared_plugin_, &error_), ETB_OK) << error_.text;
    XnnpackCompile::TearDown();  // the library stays loaded, as the manifest asks: cpuinfo frees nothing
  }
  // Switches to the other plugin (static or shared) from here on.
  void swap_plugins() {
    std::swap(table_, shared_table_);
    std::swap(plugin_, shared_plugin_);
  }

  void* library_ = nullptr;
  const etb_plugin_table* shared_table_ = nullptr;
  etb_plugin* shared_plugin_ = nullptr;
};

TEST_F(XnnpackLibrary, MakesTheSamePayloadAsTheStaticPluginAndRunsIt) {
  Model model;
  const TestTensor weight = random_tensor({7, 5});
  const uint32_t x = model.input({3, 5}), w = model.constant(weight.sizes, weight.data);
  const uint32_t y = model.node("aten.linear.default", {arg(x, "input"), arg(w, "weight")}, {3, 7});
  model.output(model.node("aten.relu.default", {arg(y, "self")}, {3, 7}));
  TestTensor input = random_tensor({3, 5}), expected{{3, 7}, std::vector<float>(21)};
  for (size_t i = 0; i < 3; ++i)
    for (size_t o = 0; o < 7; ++o) {
      float sum = 0;
      for (size_t k = 0; k < 5; ++k) sum += input.data[i * 5 + k] * weight.data[o * 5 + k];
      expected.data[i * 7 + o] = std::max(0.0f, sum);
    }
  std::vector<std::vector<std::byte>> payloads;
  for (int half = 0; half < 2; ++half) {
    swap_plugins();
    Compiled made;
    ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
    payloads.push_back(made.payload);
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected);
  }
  EXPECT_EQ(payloads[0], payloads[1]);
}

}  // namespace
}  // namespace etb::xnnpack
