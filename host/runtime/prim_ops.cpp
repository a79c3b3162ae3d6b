// SPDX-License-Identifier: Apache-2.0
// The core's own ops: arithmetic on sizes and numbers, sizes of tensors, and views that share memory.
// Programs use them between kernels. Each result is a value and replaces the last argument.
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "etb/cpp/fail.hpp"
#include "host/runtime/float16.hpp"
#include "host/runtime/kernel_arguments.hpp"
#include "host/runtime/method_state.hpp"
#include "ops/executorch_prim/add.hpp"
#include "ops/executorch_prim/neg.hpp"
#include "ops/executorch_prim/sym_ite.hpp"
#include "ops/sym_numel.hpp"
#include "ops/sym_size.hpp"

#if defined(ETB_SELECTED_KERNELS)
#include ETB_SELECTED_KERNELS
#endif

namespace etb::host {

namespace {

// True for an op that the run time keeps: all, or those that the list of etb_add_runtime() names.
constexpr bool is_kept([[maybe_unused]] std::string_view op) noexcept {
#if defined(ETB_SELECTED_CORE_OPS)
  for (const std::string_view selected : {ETB_SELECTED_CORE_OPS})
    if (selected == op) return true;
  return false;
#else
  return true;
#endif
}

// The arguments of an op have the names of its row in api/ops/schemas.txt. Ops with equal names share a view.
using OneNumber = ops::executorch_prim::neg_Scalar<KernelArguments>;
using TwoNumbers = ops::executorch_prim::add_Scalar<KernelArguments>;
using Condition = ops::executorch_prim::sym_ite_Scalar<KernelArguments>;
using OneTensor = ops::sym_numel_default<KernelArguments>;
using TensorDim = ops::sym_size_int<KernelArguments>;

template <class Arguments>
Arguments prim_arguments_of(etb_status (*)(KernelContext&, Arguments, EValue&));

// Runs an op that returns a value. Programs store it in the value after the arguments, which may be one of them.
template <auto kFunction>
etb_status run_prim(KernelContext& context, EValue** values) {
  using Arguments = decltype(prim_arguments_of(kFunction));
  return kFunction(context, Arguments(values), *values[Arguments::kArgumentCount]);
}

bool is_real(const EValue& a, const EValue& b) noexcept { return a.is_double() || b.is_double(); }

// ---- Two numbers to one. Integers wrap as in two's complement; PyTorch's sizes never become that large.

int64_t wrap(uint64_t value) noexcept { return static_cast<int64_t>(value); }

enum class BinaryOp { kAdd, kSub, kMul, kMax, kMin, kEq, kGt, kLt, kGe, kLe };

EValue calculate(BinaryOp op, double a, double b) noexcept {
  return EValue(op == BinaryOp::kAdd ? a + b : op == BinaryOp::kSub ? a - b : a * b);
}
EValue calculate(BinaryOp op, uint64_t a, uint64_t b) noexcept {
  return EValue(wrap(op == BinaryOp::kAdd ? a + b : op == BinaryOp::kSub ? a - b : a * b));
}

// One function for all ops, because the size of the core is limited.
__attribute__((noinline)) etb_status binary(BinaryOp op, EValue** values) noexcept {
  const TwoNumbers args(values);
  EValue& out = *values[TwoNumbers::kArgumentCount];
  const bool is_double = is_real(args.a(), args.b());
  const EValue a = is_double ? EValue(args.a().to_double()) : EValue(args.a().to_int());
  const EValue b = is_double ? EValue(args.b().to_double()) : EValue(args.b().to_int());
  // All three are false for a NaN.
  const bool is_less = is_double ? a.to_double() < b.to_double() : a.to_int() < b.to_int();
  const bool is_greater = is_double ? a.to_double() > b.to_double() : a.to_int() > b.to_int();
  const bool is_equal = is_double ? a.to_double() == b.to_double() : a.to_int() == b.to_int();
  if (op <= BinaryOp::kMul) {
    out = is_double ? calculate(op, a.to_double(), b.to_double())
                    : calculate(op, static_cast<uint64_t>(a.to_int()), static_cast<uint64_t>(b.to_int()));
  } else if (op <= BinaryOp::kMin) {
    out = (op == BinaryOp::kMax ? is_less : is_greater) ? b : a;
  } else {
    const bool needs_less = op == BinaryOp::kLt || op == BinaryOp::kLe;
    const bool needs_greater = op == BinaryOp::kGt || op == BinaryOp::kGe;
    const bool takes_equal = op == BinaryOp::kEq || op == BinaryOp::kGe || op == BinaryOp::kLe;
    out = EValue((needs_less && is_less) || (needs_greater && is_greater) || (takes_equal && is_equal));
  }
  return ETB_OK;
}

template <BinaryOp op>
etb_status run_binary(KernelContext&, EValue** values) {
  return binary(op, values);
}

int64_t negated(int64_t value) noexcept { return wrap(uint64_t{0} - static_cast<uint64_t>(value)); }

// Python's //: rounds toward minus infinity.
etb_status floor_divide(KernelContext& context, TwoNumbers args, EValue& out) {
  const EValue a = args.a();
  const EValue b = args.b();
  if (is_real(a, b)) {
    out = EValue(std::floor(a.to_double() / b.to_double()));
    return ETB_OK;
  }
  const int64_t x = a.to_int();
  const int64_t y = b.to_int();
  if (y == 0) return context.fail(ETB_INVALID_ARGUMENT, "division of %" PRId64 " by zero", x);
  if (y == -1) return out = EValue(negated(x)), ETB_OK;  // INT64_MIN / -1 does not fit
  const int64_t quotient = x / y;
  out = EValue(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
  return ETB_OK;
}

// Python's %: the sign of the divisor.
etb_status modulo(KernelContext& context, TwoNumbers args, EValue& out) {
  const EValue a = args.a();
  const EValue b = args.b();
  if (is_real(a, b)) {
    const double y = b.to_double();
    double rest = std::fmod(a.to_double(), y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    out = EValue(rest);
    return ETB_OK;
  }
  const int64_t x = a.to_int();
  const int64_t y = b.to_int();
  if (y == 0) return context.fail(ETB_INVALID_ARGUMENT, "%" PRId64 " modulo zero", x);
  if (y == -1) return out = EValue(int64_t{0}), ETB_OK;
  const int64_t rest = x % y;
  out = EValue(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
  return ETB_OK;
}

etb_status true_divide(KernelContext& context, TwoNumbers args, EValue& out) {
  const double divisor = args.b().to_double();
  if (divisor == 0) return context.fail(ETB_INVALID_ARGUMENT, "division by zero");
  out = EValue(args.a().to_double() / divisor);
  return ETB_OK;
}

// ---- One number to one

etb_status negate(KernelContext&, OneNumber args, EValue& out) {
  const EValue a = args.a();
  out = a.is_double() ? EValue(-a.to_double()) : EValue(negated(a.to_int()));
  return ETB_OK;
}

etb_status logical_not(KernelContext&, OneNumber args, EValue& out) {
  const EValue a = args.a();
  out = EValue(a.is_double() ? a.to_double() == 0 : a.to_int() == 0);
  return ETB_OK;
}

etb_status widen(KernelContext&, OneNumber args, EValue& out) {
  out = EValue(args.a().to_double());
  return ETB_OK;
}

// Converts a double to an int. Fails when it does not fit.
etb_status put_int(KernelContext& context, double value, EValue& out) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(value >= -kLimit && value < kLimit))
    return context.fail(ETB_INVALID_ARGUMENT, "%g is no 64-bit integer", value);
  out = EValue(static_cast<int64_t>(value));
  return ETB_OK;
}

template <double (*Round)(double)>
etb_status to_int(KernelContext& context, OneNumber args, EValue& out) {
  const EValue a = args.a();
  if (!a.is_double()) return out = EValue(a.to_int()), ETB_OK;
  return put_int(context, Round(a.to_double()), out);
}

double round_up(double value) { return std::ceil(value); }
double round_to_zero(double value) { return std::trunc(value); }
double round_half_even(double value) { return std::nearbyint(value); }

// b ? t : f
etb_status select(KernelContext&, Condition args, EValue& out) {
  const EValue condition = args.b();
  const bool is_true = condition.is_double() ? condition.to_double() != 0 : condition.to_int() != 0;
  const EValue chosen = is_true ? args.t() : args.f();
  out = chosen;
  return ETB_OK;
}

// ---- Reading tensors

// Returns the dim that `dim` names, or -1 with an error.
int find_dim(KernelContext& context, TensorDim args) noexcept {
  const int rank = args.self().rank();
  const int64_t given = args.dim();
  const int64_t dim = given < 0 ? given + rank : given;
  if (dim >= 0 && dim < rank) return static_cast<int>(dim);
  context.fail(ETB_INVALID_ARGUMENT, "dimension %" PRId64 " of a tensor of rank %d", given, rank);
  return -1;
}

etb_status size_of(KernelContext& context, TensorDim args, EValue& out) {
  const int dim = find_dim(context, args);
  if (dim < 0) return ETB_INVALID_ARGUMENT;
  out = EValue(args.self().size(dim));
  return ETB_OK;
}

etb_status stride_of(KernelContext& context, TensorDim args, EValue& out) {
  const int dim = find_dim(context, args);
  if (dim < 0) return ETB_INVALID_ARGUMENT;
  out = EValue(args.self().stride(dim));
  return ETB_OK;
}

// Always 0: tensors of a program start at the start of their memory.
etb_status storage_offset_of(KernelContext&, OneTensor, EValue& out) {
  out = EValue(int64_t{0});
  return ETB_OK;
}

etb_status numel_of(KernelContext&, OneTensor args, EValue& out) {
  out = EValue(args.self().numel());
  return ETB_OK;
}

template <class T>
T first_element(const Tensor& tensor) noexcept {
  T value;
  std::memcpy(&value, tensor.data(), sizeof(T));
  return value;
}

// Returns the bits of an integer element in the low bytes.
uint64_t integer_bits(const Tensor& tensor, size_t nbytes) noexcept {
  switch (nbytes) {
    case 1:
      return first_element<uint8_t>(tensor);
    case 2:
      return first_element<uint16_t>(tensor);
    case 4:
      return first_element<uint32_t>(tensor);
    default:
      return first_element<uint64_t>(tensor);
  }
}

etb_status item_of(KernelContext& context, OneTensor args, EValue& out) {
  const Tensor& tensor = args.self();
  if (tensor.numel() != 1) {
    return context.fail(ETB_INVALID_ARGUMENT, "a tensor of %" PRId64 " elements, expected one",
                        tensor.numel());
  }
  const Dtype dtype = tensor.dtype();
  if (is_bool(dtype)) {
    out = EValue(first_element<uint8_t>(tensor) != 0);
  } else if (is_integer(dtype) && dtype != Dtype::UINT64) {
    const size_t nbytes = element_nbytes(dtype);
    const uint64_t bits = integer_bits(tensor, nbytes);
    const auto shift = static_cast<unsigned>(64 - 8 * nbytes);
    out = EValue(is_unsigned_integer(dtype) ? wrap(bits) : wrap(bits << shift) >> shift);
  } else if (dtype == Dtype::FLOAT32) {
    out = EValue(double{first_element<float>(tensor)});
  } else if (dtype == Dtype::FLOAT64) {
    out = EValue(first_element<double>(tensor));
  } else if (dtype == Dtype::FLOAT16) {
    out = EValue(double{to_float(first_element<Half>(tensor))});
  } else if (dtype == Dtype::BFLOAT16) {
    out = EValue(double{to_float(first_element<BFloat16>(tensor))});
  } else {
    return context.fail(ETB_NOT_SUPPORTED, "dtype %s as one number", to_text(dtype));
  }
  return ETB_OK;
}

// ---- Sharing memory and growing tensors

// The two ops below exist only in programs, so api/ops has no row of them.
struct ViewArguments : KernelArguments {
  static constexpr uint32_t kArgumentCount = 2;
  using KernelArguments::KernelArguments;
  Tensor& self() const { return read_written_tensor(0); }
  IntList size() const { return read_int_list(1, 0); }
};
struct CopyIndexArguments : KernelArguments {
  using KernelArguments::KernelArguments;
  Tensor& copy_to() const { return read_written_tensor(0); }
  const Tensor& copy_from() const { return read_tensor(1); }
  int64_t index() const { return read_int(2); }
};

// Fills the open size of -1.
etb_status view_sizes(KernelContext& context, int64_t numel, std::span<int64_t> sizes) {
  ops::Numbers numbers;
  size_t index = 0;
  if (ops::fill_open_size(numbers, numel, sizes, &index) == ops::ReshapeError::kNone) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%" PRId64 " elements do not fill size %zu", numel, index);
}

// Makes `result` a view of the memory of `self` with other sizes.
etb_status share_view(KernelContext& context, ViewArguments args, EValue& result) {
  const IntList wanted = args.size();
  if (!result.is_tensor())
    return context.fail(ETB_INVALID_TYPE, "argument 2 is %s, expected tensor", to_text(result.tag()));
  Tensor &self = args.self(), &out = result.tensor();
  if (wanted.size() != static_cast<size_t>(out.rank()) || self.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu sizes of %s for a view of rank %d and %s", wanted.size(),
                        to_text(self.dtype()), out.rank(), to_text(out.dtype()));
  }
  if (!self.is_contiguous())
    return context.fail(ETB_NOT_SUPPORTED, "a view of a tensor that is not contiguous");
  int64_t sizes[kMaxRank];
  for (size_t i = 0; i < wanted.size(); ++i) sizes[i] = wanted[i];
  ETB_CHECK(view_sizes(context, self.numel(), {sizes, wanted.size()}));
  Tensor changed = out;  // shares the arrays of sizes, but not data
  changed.set_data(self.data(), self.capacity_bytes());
  if (const etb_status status = changed.resize({sizes, wanted.size()}); status != ETB_OK) {
    return context.fail(status, "the view is larger than planned");
  }
  if (self.is_read_only()) changed.set_read_only();
  out = changed;
  return ETB_OK;
}

// Writes `source` at destination[index] and cuts the destination after it. Loops collect their results with
// it.
etb_status copy_index(KernelContext& context, CopyIndexArguments args) {
  Tensor& destination = args.copy_to();
  const Tensor& source = args.copy_from();
  const int64_t index = args.index();
  if (index < 0 || index == std::numeric_limits<int64_t>::max()) {
    return context.fail(ETB_INVALID_ARGUMENT, "index %" PRId64, index);
  }
  if (destination.rank() != source.rank() + 1 || destination.dtype() != source.dtype() ||
      !source.is_contiguous() || !destination.is_contiguous() || destination.is_read_only()) {
    return context.fail(
        ETB_INVALID_ARGUMENT, "%s of rank %d into %s of rank %d, expected one rank less, contiguous",
        to_text(source.dtype()), source.rank(), to_text(destination.dtype()), destination.rank());
  }
  int64_t sizes[kMaxRank + 1];
  sizes[0] = index + 1;
  for (int dim = 0; dim < source.rank(); ++dim) {
    sizes[dim + 1] = source.size(dim);
    if (source.size(dim) != destination.size(dim + 1)) {
      return context.fail(ETB_INVALID_ARGUMENT, "dimension %d: %" PRId64 ", expected %" PRId64, dim,
                          source.size(dim), destination.size(dim + 1));
    }
  }
  if (const auto status = destination.resize({sizes, static_cast<size_t>(destination.rank())});
      status != ETB_OK) {
    return context.fail(status, "index %" PRId64 " is beyond the planned size", index);
  }
  if (source.nbytes() == 0) return ETB_OK;
  const uint64_t offset = static_cast<uint64_t>(index) * source.nbytes();
  std::memmove(static_cast<std::byte*>(destination.data()) + offset, source.data(), source.nbytes());
  return ETB_OK;
}

constexpr const char* kView = "executorch_prim::et_view.default";
#define ETB_PRIM(name, letters, function) Kernel("executorch_prim::" name, letters, function)
constexpr Kernel kAllOps[] = {
    Kernel("aten::sym_size.int", "Tix", run_prim<size_of>),
    Kernel("aten::sym_numel", "Tx", run_prim<numel_of>),
    Kernel("aten::sym_stride.int", "Tix", run_prim<stride_of>),
    Kernel("aten::sym_storage_offset", "Tx", run_prim<storage_offset_of>),
    Kernel("aten::_local_scalar_dense", "Tx", run_prim<item_of>),
    ETB_PRIM("add.Scalar", "SSx", run_binary<BinaryOp::kAdd>),
    ETB_PRIM("sub.Scalar", "SSx", run_binary<BinaryOp::kSub>),
    ETB_PRIM("mul.Scalar", "SSx", run_binary<BinaryOp::kMul>),
    ETB_PRIM("floordiv.Scalar", "SSx", run_prim<floor_divide>),
    ETB_PRIM("floordiv.int", "SSx", run_prim<floor_divide>),
    ETB_PRIM("truediv.Scalar", "SSx", run_prim<true_divide>),
    ETB_PRIM("mod.Scalar", "SSx", run_prim<modulo>),
    ETB_PRIM("mod.int", "SSx", run_prim<modulo>),
    ETB_PRIM("eq.Scalar", "SSx", run_binary<BinaryOp::kEq>),
    ETB_PRIM("gt.Scalar", "SSx", run_binary<BinaryOp::kGt>),
    ETB_PRIM("lt.Scalar", "SSx", run_binary<BinaryOp::kLt>),
    ETB_PRIM("ge.Scalar", "SSx", run_binary<BinaryOp::kGe>),
    ETB_PRIM("le.Scalar", "SSx", run_binary<BinaryOp::kLe>),
    ETB_PRIM("neg.Scalar", "Sx", run_prim<negate>),
    ETB_PRIM("sym_max.Scalar", "SSx", run_binary<BinaryOp::kMax>),
    ETB_PRIM("sym_min.Scalar", "SSx", run_binary<BinaryOp::kMin>),
    ETB_PRIM("sym_float.Scalar", "Sx", run_prim<widen>),
    ETB_PRIM("sym_int.Scalar", "Sx", run_prim<to_int<round_to_zero>>),
    ETB_PRIM("sym_not.Scalar", "Sx", run_prim<logical_not>),
    ETB_PRIM("sym_ite.Scalar", "SSSx", run_prim<select>),
    ETB_PRIM("ceil.Scalar", "Sx", run_prim<to_int<round_up>>),
    ETB_PRIM("round.Scalar", "Sx", run_prim<to_int<round_half_even>>),
    ETB_PRIM("trunc.Scalar", "Sx", run_prim<to_int<round_to_zero>>),
    Kernel(kView, "TIx", run_prim<share_view>),
    ETB_PRIM("et_copy_index.tensor", "TTi", run_kernel<copy_index>),
};
#undef ETB_PRIM

#if defined(ETB_SELECTED_CORE_OPS)
constexpr size_t kKeptCount = [] {
  size_t count = 0;
  for (const Kernel& kernel : kAllOps) count += is_kept(kernel.name) ? 1 : 0;
  return count;
}();

template <size_t... kIndices>
constexpr std::array<Kernel, sizeof...(kIndices)> keep_ops(std::index_sequence<kIndices...>) {
  constexpr auto kPlaces = [] {
    std::array<size_t, kKeptCount + 1> places{};  // one more, because an array of none is a special case
    size_t count = 0;
    for (size_t i = 0; i < std::size(kAllOps); ++i)
      if (is_kept(kAllOps[i].name)) places[count++] = i;
    return places;
  }();
  return {kAllOps[kPlaces[kIndices]]...};
}
constexpr std::array<Kernel, kKeptCount> kPrimOps = keep_ops(std::make_index_sequence<kKeptCount>());
#else
constexpr const auto& kPrimOps = kAllOps;
#endif

}  // namespace

const Kernel* find_prim_op(std::string_view name, std::string_view overload) noexcept {
  for (const Kernel& kernel : kPrimOps) {
    const std::string_view full = kernel.name;
    const bool matches = overload.empty()
                             ? full == name
                             : full.size() == name.size() + 1 + overload.size() && full.starts_with(name) &&
                                   full[name.size()] == '.' && full.ends_with(overload);
    if (matches) return &kernel;
  }
  return nullptr;
}

bool is_prim_op(const Kernel& kernel) noexcept {
  return &kernel >= std::data(kPrimOps) && &kernel < std::data(kPrimOps) + std::size(kPrimOps);
}

bool is_view_op([[maybe_unused]] const Kernel& kernel) noexcept {
  if constexpr (is_kept(kView)) return kernel.function == &run_prim<share_view>;
  return false;
}

}  // namespace etb::host
