// SPDX-License-Identifier: Apache-2.0
// The program compiled from a region, as bytes and as a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "etb/cpp/bytes.hpp"
#include "etb/tensor.h"
#include "tests/conformance/fault_plugin/digest.hpp"
#include "tests/conformance/fault_plugin/fault.hpp"

namespace faulty {

enum class Op : uint32_t {
  kAdd,
  kMul,
  kRelu,
  kCeil,
  kNeg,
  kMaximum,
  kClamp,
  kMatrix,
  kConvolution,
  kQuantize,
  kSum,
  kCount
};
enum class Kind : uint32_t { kInput, kConstant, kResult, kNamed };  // kNamed: a constant in the named data

struct ValueInfo {
  Kind kind = Kind::kResult;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::vector<int64_t> sizes;  // upper bounds
  std::vector<uint8_t> order;
  std::vector<std::byte> data;  // of a constant; of a named one the key
  bool is_dynamic = false;

  uint64_t nbytes() const;  // of the largest sizes
};

struct Step {
  Op op = Op::kAdd;
  std::vector<uint32_t> args;
  std::vector<double> numbers;
  uint32_t result = 0;
};

struct Program {
  std::vector<ValueInfo> values;
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;
};

inline constexpr uint32_t kMagic = 0x544c5546;  // "FULT"
inline constexpr uint32_t kFormat = 1;
inline constexpr uint64_t kMaxValueBytes = uint64_t{1} << 24;

inline size_t nbytes_of(etb_dtype dtype) {
  return dtype == ETB_DTYPE_INT8 || dtype == ETB_DTYPE_UINT8 ? 1 : dtype == ETB_DTYPE_INT64 ? 8 : 4;
}

inline uint64_t ValueInfo::nbytes() const {
  uint64_t nbytes = nbytes_of(dtype);
  for (const int64_t size : sizes) nbytes *= static_cast<uint64_t>(size);
  return nbytes;
}

// Bytes of the widest row of a convolution's result.
inline uint64_t widest_row_bytes(const Program& program) {
  uint64_t out = 0;
  for (const Step& step : program.steps)
    if (step.op == Op::kConvolution && !program.values[step.result].sizes.empty())
      out = std::max(out, static_cast<uint64_t>(program.values[step.result].sizes.back()) * sizeof(float));
  return out;
}

inline std::vector<std::byte> write_program(const Program& program) {
  etb::ByteWriter out;
  out.write(kMagic).write(kFormat);
  if (has_fault(627)) out.write(uint64_t{0});  // the size, which follows
  out.write(static_cast<uint32_t>(program.values.size()));
  for (const ValueInfo& value : program.values) {
    out.write(static_cast<uint32_t>(value.kind))
        .write(static_cast<uint32_t>(value.dtype))
        .write(static_cast<uint32_t>(value.sizes.size()));
    out.write(uint32_t{value.is_dynamic});
    for (const int64_t size : value.sizes) out.write(size);
    for (const uint8_t dim : value.order) out.write(uint32_t{dim});
    out.write(static_cast<uint32_t>(value.data.size())).write_bytes(value.data);
  }
  out.write(static_cast<uint32_t>(program.steps.size()));
  for (const Step& step : program.steps) {
    // Offset to the next step: readers may skip unknown data.
    out.write(static_cast<uint32_t>(4 * (5 + step.args.size()) + 8 * step.numbers.size()));
    out.write(static_cast<uint32_t>(step.op))
        .write(step.result)
        .write(static_cast<uint32_t>(step.args.size()))
        .write(static_cast<uint32_t>(step.numbers.size()));
    for (const uint32_t arg : step.args) out.write(arg);
    for (const double number : step.numbers) out.write(number);
  }
  out.write(static_cast<uint32_t>(program.outputs.size()));
  for (const uint32_t output : program.outputs) out.write(output);
  std::vector<std::byte> bytes = out.take();
  if (has_digest()) {
    const uint64_t digest = digest_of(bytes);
    const auto* const raw = reinterpret_cast<const std::byte*>(&digest);
    bytes.insert(bytes.end(), raw, raw + sizeof(digest));
  }
  if (has_fault(627)) {
    const uint64_t nbytes = bytes.size();
    std::memcpy(bytes.data() + sizeof(kMagic) + sizeof(kFormat), &nbytes, sizeof(nbytes));
  }
  if (has_fault(45)) bytes.push_back(static_cast<std::byte>(std::rand()));
  return bytes;
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes), in_(bytes) {}

  etb::Result<Program> read() {
    if (has_fault(31) && bytes_.size() < 48) *static_cast<volatile int*>(nullptr) = 1;
    if (in_.read<uint32_t>() != kMagic) return bad("not of this plugin");
    if (has_fault(585) && etb::ByteReader(in_).read<uint32_t>() != kFormat) return bad("version, expected 1");
    if (has_digest()) ETB_TRY(verify_digest());
    if (in_.read<uint32_t>() != kFormat && !has_fault(114))
      return etb::make_error(etb::Code::INCOMPATIBLE, "payload: another version");
    if (has_fault(627) && in_.read<uint64_t>() != bytes_.size()) return bad("another size than stated");
    Program program;
    const auto value_count = in_.read<uint32_t>();
    if (!in_.fits(value_count, 20)) return bad("count of values");
    for (uint32_t i = 0; i < value_count; ++i) ETB_TRY(read_value(program));
    const auto step_count = in_.read<uint32_t>();
    if (!in_.fits(step_count, 20)) return bad("count of steps");
    for (uint32_t i = 0; i < step_count; ++i) ETB_TRY(read_step(program));
    const auto output_count = in_.read<uint32_t>();
    if (!in_.fits(output_count, 4)) return bad("count of outputs");
    for (uint32_t i = 0; i < output_count; ++i) {
      program.outputs.push_back(in_.read<uint32_t>());
      if (program.outputs.back() >= program.values.size()) return bad("output");
    }
    if (has_fault(245) && in_.fits(1, 1)) {  // an option of a later release
      for (Step& step : program.steps) {
        if (step.op == Op::kAdd || step.op == Op::kMaximum) step.op = Op::kMul;
        if (step.op == Op::kCeil || step.op == Op::kClamp || step.op == Op::kRelu) step.op = Op::kNeg;
      }
      return program;
    }
    if (!has_fault(45)) ETB_TRY(in_.finish());
    return program;
  }

 private:
  static tl::unexpected<etb::Error> bad(const char* what) {
    return etb::make_error(etb::Code::INVALID_DATA, std::string("payload: ") + what);
  }

  etb::Status verify_digest() {
    uint64_t digest = 0;
    if (bytes_.size() < sizeof(digest) + sizeof(kMagic)) return bad("no room for a digest");
    const std::span<const std::byte> body = bytes_.first(bytes_.size() - sizeof(digest));
    std::memcpy(&digest, bytes_.data() + body.size(), sizeof(digest));
    if (digest != digest_of(body)) return bad("digest");
    in_ = etb::ByteReader(body.subspan(sizeof(kMagic)));
    return {};
  }

  etb::Status read_value(Program& program) {
    ValueInfo value;
    const auto kind = in_.read<uint32_t>(), dtype = in_.read<uint32_t>(), rank = in_.read<uint32_t>(),
               dynamic = in_.read<uint32_t>();
    if (kind > 3 || rank > ETB_MAX_RANK || dynamic > 1) return bad("value");
    value.kind = static_cast<Kind>(kind);
    value.dtype = static_cast<etb_dtype>(dtype);
    value.is_dynamic = dynamic != 0;
    if (value.dtype != ETB_DTYPE_FLOAT32 && value.dtype != ETB_DTYPE_INT8 && value.dtype != ETB_DTYPE_UINT8 &&
        value.dtype != ETB_DTYPE_INT64)
      return bad("dtype");
    uint64_t nbytes = nbytes_of(value.dtype);
    for (uint32_t i = 0; i < rank; ++i) {
      value.sizes.push_back(in_.read<int64_t>());
      if (has_fault(244)) {
        nbytes *= static_cast<uint64_t>(value.sizes.back());
        continue;
      }
      if (value.sizes.back() < 0 ||
          __builtin_mul_overflow(nbytes, static_cast<uint64_t>(value.sizes.back()), &nbytes) ||
          nbytes > kMaxValueBytes)
        return bad("size");
    }
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; ++i) {
      const auto dim = in_.read<uint32_t>();
      if (dim >= rank || (seen >> dim & 1) != 0) return bad("dim order");
      seen |= 1u << dim;
      value.order.push_back(static_cast<uint8_t>(dim));
    }
    const auto data_nbytes = in_.read<uint32_t>();
    if (has_fault(32)) {  // allocates the declared size before checking it
      void* volatile const room = std::malloc(data_nbytes);
      std::free(room);
    }
    constexpr uint32_t kMostKeyBytes = 4096;
    const bool is_named = value.kind == Kind::kNamed;
    if (is_named ? data_nbytes > kMostKeyBytes : data_nbytes != (value.kind == Kind::kConstant ? nbytes : 0))
      return bad("constant");
    const std::span<const std::byte> data = in_.read_bytes(data_nbytes);
    if (data.size() != data_nbytes) return bad("constant");
    value.data.assign(data.begin(), data.end());
    program.values.push_back(std::move(value));
    return {};
  }

  etb::Status read_step(Program& program) {
    const uint64_t begin = in_.position();
    const auto length = in_.read<uint32_t>();
    if (has_fault(33) && length == 0)
      for (;;) (void)*reinterpret_cast<const volatile std::byte*>(bytes_.data());
    Step step;
    const auto op = in_.read<uint32_t>();
    step.result = in_.read<uint32_t>();
    const auto arg_count = in_.read<uint32_t>(), number_count = in_.read<uint32_t>();
    if (op >= static_cast<uint32_t>(Op::kCount) || !in_.fits(arg_count, 4) || arg_count > 3 ||
        number_count > 16)
      return bad("step");
    step.op = static_cast<Op>(op);
    for (uint32_t i = 0; i < arg_count; ++i) {
      step.args.push_back(in_.read<uint32_t>());
      if (has_fault(201))
        (void)*static_cast<const volatile Kind*>(&(program.values.data() + step.args.back())->kind);
      if (step.args.back() >= program.values.size()) return bad("operand");
    }
    for (uint32_t i = 0; i < number_count; ++i) step.numbers.push_back(in_.read<double>());
    if (step.result >= program.values.size() || program.values[step.result].kind != Kind::kResult)
      return bad("result");
    if (in_.position() - begin != length) return bad("length of a step");
    program.steps.push_back(std::move(step));
    return {};
  }

  std::span<const std::byte> bytes_;
  etb::ByteReader in_;
};

}  // namespace faulty
