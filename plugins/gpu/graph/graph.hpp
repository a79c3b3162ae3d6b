// SPDX-License-Identifier: Apache-2.0
// The graph of a payload, shared by the GPU plugins: values, and nodes that compute them. Sizes of results are not stored.
// They follow from those of the inputs (graph/shapes.hpp), so no payload can state wrong ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace etb::gpu {

inline constexpr uint32_t kMaxRank = 6;
inline constexpr uint64_t kMaxNumel = uint64_t{1} << 29;  // elements of a value: byte offsets fit 32 bits
inline constexpr uint32_t kNoValue = UINT32_MAX;

// Name of the profiling event of a run on a device without time stamps, in the debug map and at run time.
inline constexpr const char* kRunEvent = "gpu.run";
// Name of a result in recordings, in the debug map and at run time.
inline std::string result_name(uint32_t value) { return "gpu.value " + std::to_string(value); }

enum class DataType : uint8_t { kFloat32 = 0, kInt32 = 1, kInt64 = 2 };
constexpr uint32_t nbytes_of(DataType type) { return type == DataType::kInt64 ? 8 : 4; }

// Sizes of a value, outermost first.
struct Shape {
  uint32_t rank = 0;
  std::array<uint32_t, kMaxRank> sizes = {};

  uint64_t numel() const {
    uint64_t count = 1;
    for (uint32_t d = 0; d < rank; ++d) count *= sizes[d];
    return count;
  }
  // Product of the sizes of dimensions [from, to).
  uint32_t product(uint32_t from, uint32_t to) const {
    uint32_t count = 1;
    for (uint32_t d = from; d < to; ++d) count *= sizes[d];
    return count;
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

enum class ValueRole : uint8_t {
  kInput = 0,     // passed by the caller, in this order
  kConstant = 1,  // named data of the program
  kInline = 2,    // floats in the payload
  kResult = 3,    // computed by a node
};

// Elements of an input, output or constant in the host's memory. Numbers other than those of the value's type are floats on the device.
enum class HostNumbers : uint8_t {
  kSame,      // of the value's type
  kFloats,    // float32, float16 or float64
  kHalves,    // the same, most likely float16
  kIntegers,  // int32 or int64
  kInt8,
  kUint8,
  kBools,
  // Only in graphs of official files: an integer of rank 0. The value has one dimension of this size, and no element of it is copied,
  // so that sizes of other values can follow from it.
  kSize,
  // Likewise: int32 or int64, on the device the bits of int32. Only copied, so all of them are exact.
  kInt32Bits,
};

// Codes of a constant, one byte each in the program: number = (code - zero point) * scale.
struct Codes {
  uint32_t bits = 0;   // 8, or 4 for codes from -8 to 7; 0: the constant has floats
  uint32_t axis = 0;   // dimension whose elements have scales of their own
  uint32_t group = 0;  // elements of a row [., group] with one scale; 0: the whole row
  // Values of floats: one number for all, or one for each element of the axis and group. kNoValue: zero points of 0.
  uint32_t scales = kNoValue, zero_points = kNoValue;
};

struct GpuValue {
  ValueRole role = ValueRole::kResult;
  DataType type = DataType::kFloat32;
  Shape shape = {};                // upper bound of an input; sizes of a constant; unused for a result
  std::string key = {};            // kConstant
  std::vector<float> floats = {};  // kInline
  // Numbers of inputs, results and constants. Payloads of our own have kSame, kHalves, kBools, and kIntegers of results.
  HostNumbers host = HostNumbers::kSame;
  bool is_step = false;  // a result that no node of the model has
  Codes codes = {};      // kConstant
  // Only in plans:
  uint32_t factors = kNoValue;  // value with the scales and zero points of codes that the device has
  bool has_halves = false;      // the device has float16, two in a word of 32 bits
  bool is_half = false;         // the device has float16, an element of 16 bits each (plan/half_storage.hpp)
  bool has_filters = false;     // the device has Packing::kFilters
};

// Bytes of an element in the memory of a device.
inline uint32_t element_nbytes(const GpuValue& value) { return value.is_half ? 2 : nbytes_of(value.type); }

enum class Operator : uint16_t {
#define ETB_GPU_OPERATOR(name, code, ...) k##name = code,
#include "plugins/gpu/graph/operators.def"
#undef ETB_GPU_OPERATOR
};

enum class UnaryFunction : int32_t {
#define ETB_GPU_UNARY(name, code, ...) k##name = code,
#define ETB_GPU_BINARY(name, code, ...)
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
};

enum class BinaryFunction : int32_t {
#define ETB_GPU_UNARY(name, code, ...)
#define ETB_GPU_BINARY(name, code, ...) k##name = code,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
};

// Positions of the integers and floats of a node, by operator.
namespace field {
enum Unary : uint32_t { kFunction = 0 };         // floats: the parameters
enum Binary : uint32_t { kBinaryFunction = 0 };  // float 0: alpha
enum Matmul : uint32_t { kTransposedB = 0 };     // inputs a, b, bias
enum MatmulFloat : uint32_t { kAlpha = 0, kBeta = 1, kMatmulLow = 2, kMatmulHigh = 3 };
enum Convolution : uint32_t { kStride = 0, kPadding = 2, kDilation = 4, kGroups = 6 };
enum ConvolutionFloat : uint32_t { kLow = 0, kHigh = 1 };
enum Pool : uint32_t {
  kIsMean = 0,
  kKernel = 1,
  kPoolStride = 3,
  kPoolPadding = 5,
  kPoolDilation = 7,
  kCeiling = 9,
  kCountsPadding = 10,
  kDivisor = 11,  // 0: the elements of the window
};
enum Softmax : uint32_t { kSoftmaxDim = 0, kIsLogarithm = 1 };
enum LayerNorm : uint32_t { kNormalizedRank = 0 };
enum Reduce : uint32_t { kReduction = 0, kDims = 1, kKeepsDims = 2 };  // kDims: a bit each
// kEndDim: with a second input, of which only this size is read: the end.
enum Slice : uint32_t { kSliceDim = 0, kStart = 1, kEnd = 2, kStep = 3, kEndDim = 4 };
enum Embedding : uint32_t { kFirstRow = 0 };  // index of the table's first row; absent: 0
enum Flip : uint32_t { kFlippedDims = 0 };    // a bit each
// kIsShared: 0: an index for each result; 1: indices of one dimension for all rows.
enum Gather : uint32_t { kGatherDim = 0, kIsShared = 1 };
enum Resize : uint32_t {
  kIsLinear = 0,
  kHeight = 1,
  kWidth = 2
};  // floats: scale and offset of rows, then of columns
// Inputs: the tensor, the values, and indices of one dimension.
enum IndexPut : uint32_t { kPutDim = 0 };
// Inputs: columns, bias, and the image whose sizes the columns have.
enum Fold : uint32_t {
  kFoldKernel = 0,
  kFoldStride = 2,
  kFoldPadding = 4,
  kFoldDilation = 6,
  kOutputPadding = 8
};
enum Select : uint32_t { kSelectDim = 0, kIndex = 1 };
}  // namespace field

// The integer of a reshape or expansion for a dimension: a size, or one of these.
inline constexpr int32_t kInferredSize =
    -1;  // reshape: what the other dimensions leave; expansion: the operand's
// kCopiedSize - (i * kMaxRank + d): the size of dimension d of input i. Only the sizes of later inputs are read.
inline constexpr int32_t kCopiedSize = -2;

// The last two are positions among the reduced elements: the first of those that are equal.
enum class Reduction : int32_t {
  kSum = 0,
  kMean = 1,
  kMaximum = 2,
  kMinimum = 3,
  kArgMaximum = 4,
  kArgMinimum = 5,
};

struct GpuNode {
  Operator op = Operator::kUnary;
  std::vector<uint32_t> inputs = {};
  uint32_t output = kNoValue;
  std::vector<int32_t> ints = {};
  std::vector<float> floats = {};
  int32_t debug_id = -1;  // of the exporter, for events; not in payloads of our own
  bool is_exact = false;  // only in plans: a product whose kernel adds what its sums lose
};

struct GpuGraph {
  std::vector<GpuValue> values;
  std::vector<GpuNode> nodes;                // in an order of execution
  std::vector<uint32_t> inputs;              // values of role kInput, in their order
  std::vector<uint32_t> outputs;             // results, each once
  int64_t integer_limit = int64_t{1} << 24;  // largest magnitude of integers that become floats
  bool has_smaller_bounds = false;           // a host may reserve for larger inputs than any run can have
  bool computes_halves = false;              // only in plans: HalfStorage::kArithmetic

  const GpuValue& value(uint32_t id) const { return values[id]; }
};

// Name of an operator, for messages.
const char* to_text(Operator op);

// Name of the profiling event of a node, in the debug map and at run time: "convolution #12", with the value it computes.
std::string event_name(const GpuNode& node);

}  // namespace etb::gpu
