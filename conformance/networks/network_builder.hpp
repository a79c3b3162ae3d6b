// SPDX-License-Identifier: Apache-2.0
// Builds a network as torch.export writes it: ATen ops, parameters, sizes that may be symbols. Weights are
// random numbers of a seed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/cases/values.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::conformance {

// The batch of a network: a number, or a symbol with a range.
struct Batch {
  int64_t size = 1;  // the bound, if the batch is dynamic
  bool is_dynamic = false;
};

// How the values of an input are made. Integers are from low to high, both included.
struct NetworkInput {
  ir::Dtype dtype = ir::Dtype::FLOAT32;
  ir::Dims sizes;
  Domain domain;
};

class NetworkBuilder {
 public:
  // Equal names give equal weights for every batch.
  NetworkBuilder(std::string_view name, const Batch& batch);

  ir::Dim batch() const { return batch_; }
  ir::Dim times_batch(int64_t factor) { return module_.symbols.mul(batch_, factor); }
  Random& random() { return random_; }

  ir::ValueId input(const ir::Dims& sizes, const Domain& domain = {-1, 1},
                    ir::Dtype dtype = ir::Dtype::FLOAT32);
  // Parameters: random numbers within +-`bound`; or around `center`.
  ir::ValueId weight(const std::vector<int64_t>& sizes, double bound, double center = 0);
  // Codes from `low` to `high` for int8.
  ir::ValueId codes(const std::vector<int64_t>& sizes, ir::Dtype dtype, int64_t low, int64_t high);
  // A parameter with these elements.
  ir::ValueId constant(ir::Dtype dtype, const std::vector<int64_t>& sizes,
                       const std::vector<double>& elements);

  // Adds a node with one result, whose type the compiler infers. Arguments are complete, in schema order.
  ir::ValueId node(const char* op, std::vector<ir::Argument> args);
  std::vector<ir::ValueId> nodes(const char* op, std::vector<ir::Argument> args);
  // The same for ops that the compiler does not infer: the result has these sizes.
  ir::ValueId node_of(const char* op, std::vector<ir::Argument> args, ir::Dtype dtype, const ir::Dims& sizes);
  using Type = std::pair<ir::Dtype, ir::Dims>;
  std::vector<ir::ValueId> nodes_of(const char* op, std::vector<ir::Argument> args,
                                    const std::vector<Type>& results);
  void output(ir::ValueId value);

  const ir::Dims& sizes(ir::ValueId value) const { return module_.main().values[value].spec.sizes; }
  ir::Dtype dtype(ir::ValueId value) const { return module_.main().values[value].spec.dtype; }

  // Returns the module, or the first error.
  [[nodiscard]] Result<ir::Module> take();
  const std::vector<NetworkInput>& inputs() const { return inputs_; }

 private:
  std::vector<ir::ValueId> add(const char* op, std::vector<ir::Argument> args,
                               std::vector<ir::TensorSpec> specs);
  ir::ValueId parameter(ir::Dtype dtype, const std::vector<int64_t>& sizes, std::vector<std::byte> bytes);

  ir::Module module_;
  ir::Dim batch_;
  Random random_;
  std::vector<NetworkInput> inputs_;
  std::vector<std::pair<ir::ValueId, uint32_t>> parameters_;  // value and constant
  std::vector<ir::ValueId> outputs_;
  Status failure_;
};

// ---- Layers that several networks have.

ir::ValueId linear(NetworkBuilder& net, ir::ValueId x, int64_t in, int64_t out, bool has_bias = true);
struct ConvolutionShape {
  int64_t in = 1, out = 1, kernel = 3, stride = 1, padding = 1, groups = 1, dilation = 1;
};
ir::ValueId convolution(NetworkBuilder& net, ir::ValueId x, const ConvolutionShape& shape);
ir::ValueId batch_norm(NetworkBuilder& net, ir::ValueId x, int64_t channels);
ir::ValueId layer_norm(NetworkBuilder& net, ir::ValueId x, int64_t size);
ir::ValueId unary(NetworkBuilder& net, const char* op, ir::ValueId x);
ir::ValueId add(NetworkBuilder& net, ir::ValueId a, ir::ValueId b);
ir::ValueId mul(NetworkBuilder& net, ir::ValueId a, ir::ValueId b);
ir::ValueId softmax(NetworkBuilder& net, ir::ValueId x, int64_t dim);
ir::ValueId view(NetworkBuilder& net, ir::ValueId x, const ir::Dims& sizes);
ir::ValueId permute(NetworkBuilder& net, ir::ValueId x, const std::vector<int64_t>& dims);
ir::ValueId cat(NetworkBuilder& net, const std::vector<ir::ValueId>& values, int64_t dim);
// From `begin` to `end` in steps of one.
ir::ValueId slice(NetworkBuilder& net, ir::ValueId x, int64_t dim, int64_t begin, int64_t end);

}  // namespace etb::conformance
