// Runs the method of a graph image node by node on kernels: the meaning of an image, without any plugin.
//
// The same executor is the portable reference backend (portable_backend.cpp) and, with Precision::kFloat64, the reference of the
// conformance suite: floating inputs and constants are widened to float64 and every node runs in float64 where its kernel can.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/graph_view.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

enum class Precision {
  kAsStored,    // the dtypes that the image says
  kFloat64,     // every floating tensor is float64
  kAllFloat64,  // integers too, for ops that compute reals of them
};

// Bytes of a constant by its key, for constants outside the image; empty when there are none.
using ConstantBytes = std::function<Result<std::span<const std::byte>>(const char* key)>;

struct ExecutorOptions {
  Precision precision = Precision::kAsStored;
  bool absolute = false;        // of widened tensors: inputs and constants by their absolute values
  ConstantBytes read_constant;  // called during make only; what it returns is copied
};

// A tensor of one run. Elements lie dense in the dim order of the image's spec.
struct RunTensor {
  std::vector<int64_t> sizes;
  std::span<std::byte> data;
};

class GraphExecutor {
 public:
  // Refuses (Code::NOT_SUPPORTED, naming the node) what it cannot run: control flow, symbolic numbers, ops without a kernel, results
  // without an upper bound. `image` was verified and outlives the executor; `kernels` too.
  [[nodiscard]] static Result<GraphExecutor> make(std::span<const uint8_t> image,
                                                  const KernelRegistry& kernels,
                                                  const ExecutorOptions& options = {});
  GraphExecutor(GraphExecutor&&) noexcept;
  GraphExecutor& operator=(GraphExecutor&&) noexcept;
  ~GraphExecutor();

  // What a run is given and gives: the graph's inputs that are no constants, in order, and its outputs.
  uint32_t input_count() const noexcept;
  uint32_t output_count() const noexcept;
  // As the image says; with kFloat64 the dtype of data is FLOAT64 where this says a floating one.
  const etb_graph_spec& input_spec(uint32_t index) const noexcept;
  const etb_graph_spec& output_spec(uint32_t index) const noexcept;

  // Points an input at data of these sizes, valid during run.
  [[nodiscard]] Status set_input(uint32_t index, std::span<const int64_t> sizes, const void* data,
                                 uint64_t nbytes);
  // Ends with the check's reason when it says stop.
  [[nodiscard]] Status run(const StopCheck& check = {});
  // The tensor of an output, valid until the next run.
  const Tensor& output(uint32_t index) const noexcept;

 private:
  struct Impl;
  explicit GraphExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The registry name of the kernel that carries out an edge op: "aten.add.Tensor" -> "aten::add", "out". False when the op has no schema or
// no out variant.
bool find_out_name(std::string_view op, std::string& out_name, std::string& out_overload);

}  // namespace etb::host
