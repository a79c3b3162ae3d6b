// SPDX-License-Identifier: Apache-2.0
// Lowers an official VulkanBackend payload to a graph of this plugin. How the file stores tensors (textures, layouts) is ignored: all
// are buffers, row-major. Numbers of all types are floats on the device, so integers have to be small enough to be exact there; the
// lowering follows the largest magnitude of each value and rejects what may be larger. Floats that become integers have one, too.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "etb/cpp/payload.hpp"
#include "plugins/gpu/official/file.hpp"
#include "plugins/gpu/official/payload.hpp"

namespace etb::gpu {

// Kinds of numbers whose rules differ.
enum class NumberKind : uint8_t { kFloat, kInteger, kBool };
NumberKind kind_of(ElementType type);

// As a float; beyond its range, an infinity.
float to_float(double number);

inline constexpr double kExactIntegers = 16777216.0;  // 2^24: floats are exact up to here

// A size that is known at run time: that of a dimension of a value of the graph, or one that is computed of such sizes (kNoValue).
struct RuntimeSize {
  uint32_t value = kNoValue, dim = 0;
};

struct LoweringOfFile {
  const VulkanFile& file;
  const NamedData& data;
  double input_limit = kExactIntegers;    // magnitude of integers that are passed
  bool is_too_large = false;              // a smaller limit may help
  uint64_t number_count = 0;              // of constants that became numbers
  std::set<int32_t> constants_read = {};  // those among them
  uint64_t distinct_count = 0;            // numbers of those, each once
  GpuGraph graph = {};
  std::vector<uint32_t> ids = {};               // by value of the file: that of the graph, or kNoValue
  std::map<uint32_t, uint32_t> constants = {};  // by value of the graph: that of the file
  std::map<uint32_t, RuntimeSize> sizes = {};   // by value of the file
  // By value of the graph: the largest magnitude of its numbers, NaN left aside. Infinite where it is not known.
  std::vector<double> magnitudes = {};

  Status count_numbers(int32_t constant, uint64_t count);
  // Makes a constant of the file, which is new, a value of the graph.
  Result<uint32_t> enter_constant(uint32_t value);
};

// One call, with its arguments by position.
class CallContext {
 public:
  CallContext(LoweringOfFile& state, const vulkan_schema::Call& call) : state_(state), call_(call) {}

  uint32_t argument_count() const { return call_.arguments()->size(); }
  std::string_view op() const { return call_.op()->string_view(); }
  bool is_null(uint32_t at) const;

  // Numbers and lists. A number of either type is accepted: the exporter stores 1 and 1.0 as one value.
  Result<double> number(uint32_t at) const;
  Result<int64_t> integer(uint32_t at) const;
  Result<bool> flag(uint32_t at) const;
  Result<std::vector<int64_t>> integers(uint32_t at) const;
  // Two integers; one integer is for both, an empty list means `missing`.
  Result<std::vector<int64_t>> pair(uint32_t at, const std::vector<int64_t>& missing) const;
  // A size or a list of them; items may be known only at run time.
  struct SizeItem {
    int64_t number = 0;
    std::optional<RuntimeSize> runtime = {};
  };
  Result<SizeItem> size(uint32_t at) const;
  Result<std::vector<SizeItem>> sizes(uint32_t at) const;
  Result<std::vector<double>> numbers(uint32_t at) const;
  Result<std::string_view> text(uint32_t at) const;
  // Returns a dimension counted from the front.
  Result<uint32_t> dim(uint32_t at, uint32_t rank) const;

  // Tensors: values of the graph. Each is computed, passed or a constant before this call.
  Result<uint32_t> tensor(uint32_t at);  // of any kind
  Result<uint32_t> floats(uint32_t at);  // floats only
  Result<std::vector<uint32_t>> tensors(uint32_t at);
  struct Item {
    uint32_t id;  // of the graph
    const FileTensor* tensor;
    uint32_t position;
  };
  // The only tensor of a list whose other items are nothing.
  Result<Item> only_item(uint32_t at);
  // The tensor as the file declares it; tensor() must have succeeded for this argument.
  const FileTensor& declared(uint32_t at) const { return *state_.file.tensor(id(at)); }
  NumberKind kind(uint32_t at) const { return kind_of(declared(at).type); }
  bool is_constant(uint32_t id) const;
  // The numbers of a constant, for weights that a rewrite changes.
  Result<std::vector<float>> constant_floats(uint32_t at);
  // The same numbers in other sizes.
  Result<uint32_t> reshaped_constant(uint32_t id, const Shape& shape);

  // Results.
  uint32_t result_count() const;
  // True if a call or the program reads a result.
  bool is_read(uint32_t index) const;
  Result<const FileTensor*> find_result(uint32_t index = 0) const;
  // The first result; the lowering has checked that it is a tensor.
  const FileTensor& result() const { return **find_result(); }
  // Adds a node whose result is a value of the graph.
  uint32_t add(Operator op, std::vector<uint32_t> inputs, std::vector<int32_t> ints = {},
               std::vector<float> floats = {});
  uint32_t add_unary(UnaryFunction function, uint32_t x, float p0 = 0, float p1 = 0) {
    return add(Operator::kUnary, {x}, {static_cast<int32_t>(function)}, {p0, p1});
  }
  uint32_t add_binary(BinaryFunction function, uint32_t x, uint32_t y, float p0 = 1) {
    return add(Operator::kBinary, {x, y}, {static_cast<int32_t>(function)}, {p0});
  }
  uint32_t add_number(double number) { return add_floats({to_float(number)}, {}); }
  uint32_t add_floats(std::vector<float> numbers, const Shape& shape);
  uint32_t add_reshape(uint32_t x, const Shape& shape);
  // Sizes that both have are kept, so they may be smaller in a run.
  uint32_t add_expand(uint32_t x, const Shape& from, const Shape& to);
  // Makes a value of the graph the result of arithmetic. `magnitude`: the largest; NaN if it is not known.
  Status define(uint32_t id, double magnitude, uint32_t index = 0);
  // Makes a value of the graph the result; it has numbers of one operand.
  Status define_moved(uint32_t id, uint32_t operand, uint32_t index = 0);
  // Makes integers that floats represent the result. They may be beyond 2^24; arithmetic on them is then rejected.
  Status define_exact(uint32_t id, double magnitude, uint32_t index = 0);
  // Makes floats the result, of which the largest magnitude is not known.
  Status define_floats(uint32_t id, uint32_t index = 0);
  // Makes the result a size that is known at run time.
  Status define_size(RuntimeSize size);
  // States the largest number that a size may be, if it is an integer that the program passes.
  void bound_size(RuntimeSize size, uint32_t bound);
  // Adds the inputs and integers of a reshape or expansion to these sizes.
  Result<uint32_t> add_sized(Operator op, uint32_t x, const std::vector<SizeItem>& sizes);
  Status check_same_kind(uint32_t at, uint32_t index = 0) const;
  double magnitude(uint32_t id) const { return state_.magnitudes[id]; }

 private:
  uint32_t id(uint32_t at) const { return static_cast<uint32_t>(call_.arguments()->Get(at)); }
  Result<uint32_t> enter(uint32_t value);
  Result<uint32_t> result_id(uint32_t index) const;
  const vulkan_schema::Value& value(uint32_t at) const { return state_.file.value(id(at)); }
  Result<SizeItem> size_of_value(uint32_t value) const;
  std::string where(uint32_t at) const { return "argument " + std::to_string(at); }

  LoweringOfFile& state_;
  const vulkan_schema::Call& call_;
};

}  // namespace etb::gpu
