// SPDX-License-Identifier: Apache-2.0
// Tests that lowering reads the arguments of a node by name.
#include "plugins/xnnpack/compile/node_arguments.hpp"

#include "etb/cpp/compile.hpp"
#include "ops/cat.hpp"
#include "ops/gelu.hpp"
#include "ops/slice_copy.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

// A graph with one node, opened.
template <template <class> class View>
class OneNode {
 public:
  explicit OneNode(std::vector<ArgumentDesc> args) {
    x_ = model_.input({4, 5});
    for (ArgumentDesc& arg : args) args_.push_back(std::move(arg));
    model_.output(model_.node(View<NodeArguments>::kName, args_, {4, 5}));
    image_ = model_.image();
    view_.emplace(*graph::View::open(image_.span()));
    graph_.emplace(view_->method());
    node_.emplace(graph_->node(0));
  }
  View<NodeArguments> args() const { return {*node_, View<NodeArguments>::kArgumentNames}; }

 private:
  Model model_;
  uint32_t x_ = 0;
  std::vector<ArgumentDesc> args_;
  ImageBytes image_;
  std::optional<graph::View> view_;
  std::optional<Graph> graph_;
  std::optional<Node> node_;
};

TEST(XnnpackNodeArguments, AreFoundByName) {
  const OneNode<ops::slice_copy_Tensor> node(
      {graph::int_arg(-1, "dim"), graph::int_arg(2, "step"), arg(0, "self"), graph::none_arg("start")});
  const auto args = node.args();
  EXPECT_EQ(args.self().id().value(), 0u);
  EXPECT_EQ(args.dim().integer_or(0).value(), -1);
  EXPECT_EQ(args.dim().dim_or(0, 3).value(), 2u);
  EXPECT_EQ(args.step().integer_or(1).value(), 2);
  EXPECT_EQ(args.step().name(), "step");
}

TEST(XnnpackNodeArguments, AMissingOneAndNoneAreTheDefault) {
  const OneNode<ops::slice_copy_Tensor> node({arg(0, "self"), graph::none_arg("start")});
  EXPECT_FALSE(node.args().start().has_value());
  EXPECT_EQ(node.args().start().integer_or(7).value(), 7);
  EXPECT_EQ(node.args().step().integer_or(8).value(), 8);
  EXPECT_EQ(node.args().dim().dim_or(-1, 4).value(), 3u);
}

TEST(XnnpackNodeArguments, AnotherKindRejectsTheNode) {
  const OneNode<ops::slice_copy_Tensor> node(
      {graph::int_arg(1, "self"), arg(0, "start"), graph::string_arg("x", "step"), graph::int_arg(9, "dim")});
  const auto args = node.args();
  EXPECT_EQ(args.self().id().error().reason, "attribute");
  EXPECT_EQ(args.self().id().error().message, "self: no tensor");
  EXPECT_EQ(args.start().integer_or(0).error().reason, "dynamic");
  EXPECT_EQ(args.step().integer_or(0).error().reason, "attribute");
  EXPECT_EQ(args.dim().dim_or(0, 2).error().message, "dim: 9, rank is 2");
}

TEST(XnnpackNodeArguments, ListsAndWords) {
  const OneNode<ops::cat_default> node({graph::values_arg({0, 0}, "tensors"), graph::int_arg(1, "dim")});
  EXPECT_EQ(node.args().tensors().ids().value(), (std::vector<uint32_t>{0, 0}));
  // A single number is a list of one.
  EXPECT_EQ(NodeArguments::NumberList(node.args().dim()).integers().value(), (std::vector<int64_t>{1}));
  const OneNode<ops::gelu_default> gelu({arg(0, "self"), graph::string_arg("tanh", "approximate")});
  EXPECT_EQ(gelu.args().approximate().text(), "tanh");
}

}  // namespace
}  // namespace etb::xnnpack
