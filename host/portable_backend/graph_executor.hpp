// SPDX-License-Identifier: Apache-2.0
// GraphExecutor: runs the method of a graph image node by node on kernels, without any plugin.
//
// It is the executor of the portable backend (portable_backend.cpp) and, with Precision::kFloat64, the
// reference of the conformance suite. Floating inputs and constants are then converted to float64, and every
// node runs in float64 if its kernel can.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/graph_view.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

enum class Precision {
  kAsStored,    // the dtypes of the image
  kFloat64,     // every floating tensor is float64
  kAllFloat64,  // integers too, for ops that compute reals from them
};

// Returns the bytes of a constant outside the image by its key. Not set: there are none.
using ConstantBytes = std::function<Result<std::span<const std::byte>>(const char* key)>;

// Called after each node, in the order of the image, with the tensors that it wrote; `node` is its id in the image. It
// may change their elements before another node reads them. An error ends the run.
using NodeHook = std::function<Status(std::string_view op, uint32_t node, std::span<Tensor* const> results)>;

struct ExecutorOptions {
  Precision precision = Precision::kAsStored;
  bool absolute = false;        // converted inputs and constants are replaced by their absolute values
  ConstantBytes read_constant;  // called during make only; its result is copied
};

// A tensor of one run. Its elements are dense in the dim order of the image's spec.
struct RunTensor {
  std::vector<int64_t> sizes;
  std::span<std::byte> data;
};

class GraphExecutor {
 public:
  // Rejects (Code::NOT_SUPPORTED, with the node) graphs that it cannot run: control flow, symbolic
  // numbers, ops without a kernel, results without an upper bound. `image` was verified. `image` and
  // `kernels` outlive the executor.
  [[nodiscard]] static Result<GraphExecutor> make(std::span<const uint8_t> image,
                                                  const KernelRegistry& kernels,
                                                  const ExecutorOptions& options = {});
  GraphExecutor(GraphExecutor&&) noexcept;
  GraphExecutor& operator=(GraphExecutor&&) noexcept;
  ~GraphExecutor();

  // The graph's inputs that are not constants, in order, and its outputs.
  uint32_t input_count() const noexcept;
  uint32_t output_count() const noexcept;
  // Bytes of its values between nodes, its constants and its scratch memory, which may still grow.
  uint64_t memory_bytes() const noexcept;
  // Specs of the image. With kFloat64 the data is FLOAT64 where the spec has a floating dtype.
  const etb_graph_spec& input_spec(uint32_t index) const noexcept;
  const etb_graph_spec& output_spec(uint32_t index) const noexcept;

  // Sets an input's data and sizes. The data must be valid during run.
  [[nodiscard]] Status set_input(uint32_t index, std::span<const int64_t> sizes, const void* data,
                                 uint64_t nbytes);
  // Returns the reason of `check` when it stops the run. `after_node` may be empty.
  [[nodiscard]] Status run(const StopCheck& check = {}, const NodeHook& after_node = {});
  // Returns the tensor of an output, valid until the next run.
  const Tensor& output(uint32_t index) const noexcept;

 private:
  struct Impl;
  explicit GraphExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Finds the registry name of the kernel for an edge op: "aten.add.Tensor" -> "aten::add", "out". Returns
// false when the op has no schema or no out variant.
bool find_out_name(std::string_view op, std::string& out_name, std::string& out_overload);

}  // namespace etb::host
