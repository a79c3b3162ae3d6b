// SPDX-License-Identifier: Apache-2.0
// NodeGenerator: appends nodes of every operator with operands and integers that suit each other, so that a fuzz target reaches
// plans and kernels.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/testing/mutator/random_numbers.hpp"

namespace etb::gpu {

class NodeGenerator {
 public:
  // Both live as long as the generator.
  NodeGenerator(RandomNumbers& random, GpuGraph& graph);

  // Appends a node whose operands are values of the graph, or new inputs and constants. Its result becomes an output.
  void append(Operator op);
  // Likewise for any operator.
  void append();

  // Makes the numbers of an input or constant others: their dtype, codes, or their place.
  void change_numbers(uint32_t value);

 private:
  struct Row {
    Operator op;
    uint32_t (NodeGenerator::*append)();
  };
  static const Row kRows[];

  uint32_t append_unary();
  uint32_t append_binary();
  uint32_t append_matmul();
  uint32_t append_convolution();
  uint32_t append_pool();
  uint32_t append_adaptive_pool();
  uint32_t append_softmax();
  uint32_t append_layer_norm();
  uint32_t append_batch_norm();
  uint32_t append_reduce();
  uint32_t append_permute();
  uint32_t append_reshape();
  uint32_t append_expand();
  uint32_t append_slice();
  uint32_t append_select();
  uint32_t append_cat();
  uint32_t append_pad();
  uint32_t append_embedding();
  uint32_t append_where();
  uint32_t append_flip();
  uint32_t append_gather();
  uint32_t append_resize();
  uint32_t append_fold();
  uint32_t append_index_put();

  // Values, by their index. Each may be new.
  uint32_t any();                                   // floats of any rank
  uint32_t of_rank(uint32_t least, uint32_t most);  // floats
  uint32_t of_shape(Shape shape);                   // floats of these sizes
  uint32_t input(Shape shape);
  uint32_t constant(Shape shape);
  uint32_t indices(Shape shape);
  uint32_t node(Operator op, std::vector<uint32_t> inputs, std::vector<int32_t> ints,
                std::vector<float> floats = {});

  // Returns an integer of each range, both ends included.
  std::vector<int32_t> integers(std::initializer_list<std::pair<int32_t, int32_t>> ranges);
  void infer();
  const Shape& shape(uint32_t value) const { return shapes_[value]; }
  int32_t dim_of(uint32_t value);
  Shape random_shape(uint32_t rank);
  float number();

  RandomNumbers& random_;
  GpuGraph& graph_;
  std::vector<Shape> shapes_;  // by value; of a value without a valid node any
};

}  // namespace etb::gpu
