// SPDX-License-Identifier: Apache-2.0
// Tests the executor and its plugin. The conformance suite tests the rest (tests/conformance).
#include "host/portable_backend/portable_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/format/graph_text.hpp"
#include "host/kernels/portable.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::host {
namespace {

constexpr const char* kSum = R"(etg 1
name "forward"
graph @forward {
  user %x: float32[2, 2]
  user %y: float32[2]
  %s: float32[2, 2] = aten.add.Tensor(self=%x, other=%y, alpha=2)
  %r: float32[2, 2] = aten.relu.default(self=%s)
  return %r
}
)";

Result<GraphExecutor> make(const graph::ImageBytes& image, const KernelRegistry& kernels,
                           Precision precision) {
  return GraphExecutor::make(image.span(), kernels,
                             {.precision = precision, .absolute = false, .read_constant = {}});
}

TEST(GraphExecutor, RunsNodesInOrderInBothPrecisions) {
  KernelRegistry kernels;
  ASSERT_EQ(add_portable_kernels(kernels), ETB_OK);
  const auto image = graph::parse_graph_text(kSum);
  ASSERT_TRUE(image) << image.error().message;
  const float x[] = {1, 2, -9, 4}, y[] = {0.5f, 1};
  const int64_t matrix[] = {2, 2}, row[] = {2};
  for (const Precision precision : {Precision::kAsStored, Precision::kFloat64}) {
    Result<GraphExecutor> executor = make(*image, kernels, precision);
    ASSERT_TRUE(executor) << executor.error().message;
    ASSERT_EQ(executor->input_count(), 2u);
    ASSERT_TRUE(executor->set_input(0, matrix, x, sizeof(x)));
    ASSERT_TRUE(executor->set_input(1, row, y, sizeof(y)));
    const Status ran = executor->run();
    ASSERT_TRUE(ran) << ran.error().message;
    const Tensor& out = executor->output(0);
    if (precision == Precision::kFloat64) {
      EXPECT_EQ(out.dtype(), Dtype::FLOAT64);
      EXPECT_THAT(std::vector<double>(out.data_as<double>(), out.data_as<double>() + 4),
                  testing::ElementsAre(2, 4, 0, 6));
    } else {
      EXPECT_THAT(std::vector<float>(out.data_as<float>(), out.data_as<float>() + 4),
                  testing::ElementsAre(2, 4, 0, 6));
    }
  }
}

TEST(GraphExecutor, NamesTheNodeThatItCannotRun) {
  KernelRegistry kernels;  // empty
  const auto image = graph::parse_graph_text(kSum);
  ASSERT_TRUE(image);
  const Result<GraphExecutor> executor = make(*image, kernels, Precision::kAsStored);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().code, Code::NOT_SUPPORTED);
  EXPECT_THAT(executor.error().message, testing::HasSubstr("aten.add.Tensor: no kernel"));
}

TEST(PortableBackend, ListsItsOpsAndNoneThatDependOnChance) {
  const etb_host host = {ETB_INIT_SIZE(etb_host),
                         0,
                         ETB_ABI_VERSION,
                         0,
                         "test",
                         "1.0.0",
                         "",
                         nullptr,
                         [](const etb_host*, const char*) -> const void* { return nullptr; },
                         nullptr};
  const etb_plugin_table* const table = etb_plugin_query_portable(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  ASSERT_NE(table, nullptr);
  std::vector<std::string> ops;
  const etb_op_sink sink = {ETB_INIT_SIZE(etb_op_sink), 0, &ops, [](void* ctx, const etb_op_capability* op) {
                              static_cast<std::vector<std::string>*>(ctx)->push_back(op->op);
                              return etb_status{ETB_OK};
                            }};
  etb_plugin* plugin = nullptr;
  ASSERT_EQ(table->init(&host, nullptr, 0, &plugin, nullptr), ETB_OK);
  ASSERT_EQ(table->aot->op_table(plugin, &sink, nullptr), ETB_OK);
  EXPECT_GT(ops.size(), 180u);
  EXPECT_THAT(ops, testing::Contains("aten.convolution.default"));
  EXPECT_THAT(ops, testing::Not(testing::Contains("aten.rand.default")));
  ASSERT_EQ(table->deinit(plugin, nullptr), ETB_OK);
}

}  // namespace
}  // namespace etb::host
