// SPDX-License-Identifier: Apache-2.0
// The core's own ops: arithmetic on sizes and numbers, sizes of tensors, and views that share memory.
// Programs use them between kernels. Each result is a value and replaces the last argument.
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "etb/cpp/fail.hpp"
#include "host/runtime/float16.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

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
__attribute__((noinline)) etb_status binary(BinaryOp op, EValue** args) noexcept {
  const bool is_double = is_real(*args[0], *args[1]);
  const EValue a = is_double ? EValue(args[0]->to_double()) : EValue(args[0]->to_int());
  const EValue b = is_double ? EValue(args[1]->to_double()) : EValue(args[1]->to_int());
  // All three are false for a NaN.
  const bool is_less = is_double ? a.to_double() < b.to_double() : a.to_int() < b.to_int();
  const bool is_greater = is_double ? a.to_double() > b.to_double() : a.to_int() > b.to_int();
  const bool is_equal = is_double ? a.to_double() == b.to_double() : a.to_int() == b.to_int();
  EValue& out = *args[2];
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
etb_status binary(KernelContext&, EValue** args) {
  return binary(op, args);
}

int64_t negated(int64_t value) noexcept { return wrap(uint64_t{0} - static_cast<uint64_t>(value)); }

// Python's //: rounds toward minus infinity.
etb_status floor_divide(KernelContext& context, EValue** args) {
  const EValue a = *args[0];
  const EValue b = *args[1];
  if (is_real(a, b)) {
    *args[2] = EValue(std::floor(a.to_double() / b.to_double()));
    return ETB_OK;
  }
  const int64_t x = a.to_int();
  const int64_t y = b.to_int();
  if (y == 0) return context.fail(ETB_INVALID_ARGUMENT, "division of %" PRId64 " by zero", x);
  if (y == -1) return *args[2] = EValue(negated(x)), ETB_OK;  // INT64_MIN / -1 does not fit
  const int64_t quotient = x / y;
  *args[2] = EValue(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
  return ETB_OK;
}

// Python's %: the sign of the divisor.
etb_status modulo(KernelContext& context, EValue** args) {
  const EValue a = *args[0];
  const EValue b = *args[1];
  if (is_real(a, b)) {
    const double y = b.to_double();
    double rest = std::fmod(a.to_double(), y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    *args[2] = EValue(rest);
    return ETB_OK;
  }
  const int64_t x = a.to_int();
  const int64_t y = b.to_int();
  if (y == 0) return context.fail(ETB_INVALID_ARGUMENT, "%" PRId64 " modulo zero", x);
  if (y == -1) return *args[2] = EValue(int64_t{0}), ETB_OK;
  const int64_t rest = x % y;
  *args[2] = EValue(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
  return ETB_OK;
}

etb_status true_divide(KernelContext& context, EValue** args) {
  const double divisor = args[1]->to_double();
  if (divisor == 0) return context.fail(ETB_INVALID_ARGUMENT, "division by zero");
  *args[2] = EValue(args[0]->to_double() / divisor);
  return ETB_OK;
}

// ---- One number to one

etb_status negate(KernelContext&, EValue** args) {
  const EValue a = *args[0];
  *args[1] = a.is_double() ? EValue(-a.to_double()) : EValue(negated(a.to_int()));
  return ETB_OK;
}

etb_status logical_not(KernelContext&, EValue** args) {
  const EValue a = *args[0];
  *args[1] = EValue(a.is_double() ? a.to_double() == 0 : a.to_int() == 0);
  return ETB_OK;
}

etb_status widen(KernelContext&, EValue** args) {
  *args[1] = EValue(args[0]->to_double());
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
etb_status to_int(KernelContext& context, EValue** args) {
  const EValue a = *args[0];
  if (!a.is_double()) return *args[1] = EValue(a.to_int()), ETB_OK;
  return put_int(context, Round(a.to_double()), *args[1]);
}

double round_up(double value) { return std::ceil(value); }
double round_to_zero(double value) { return std::trunc(value); }
double round_half_even(double value) { return std::nearbyint(value); }

// condition ? a : b
etb_status select(KernelContext&, EValue** args) {
  const EValue condition = *args[0];
  const bool is_true = condition.is_double() ? condition.to_double() != 0 : condition.to_int() != 0;
  const EValue chosen = is_true ? *args[1] : *args[2];
  *args[3] = chosen;
  return ETB_OK;
}

// ---- Reading tensors

// Returns the dim that argument 1 names, or -1 with an error.
int find_dim(KernelContext& context, EValue** args) noexcept {
  const int rank = args[0]->tensor().rank();
  const int64_t given = args[1]->to_int();
  const int64_t dim = given < 0 ? given + rank : given;
  if (dim >= 0 && dim < rank) return static_cast<int>(dim);
  context.fail(ETB_INVALID_ARGUMENT, "dimension %" PRId64 " of a tensor of rank %d", given, rank);
  return -1;
}

etb_status size_of(KernelContext& context, EValue** args) {
  const int dim = find_dim(context, args);
  if (dim < 0) return ETB_INVALID_ARGUMENT;
  *args[2] = EValue(args[0]->tensor().size(dim));
  return ETB_OK;
}

etb_status stride_of(KernelContext& context, EValue** args) {
  const int dim = find_dim(context, args);
  if (dim < 0) return ETB_INVALID_ARGUMENT;
  *args[2] = EValue(args[0]->tensor().stride(dim));
  return ETB_OK;
}

// Always 0: tensors of a program start at the start of their memory.
etb_status storage_offset_of(KernelContext&, EValue** args) {
  *args[1] = EValue(int64_t{0});
  return ETB_OK;
}

etb_status numel_of(KernelContext&, EValue** args) {
  *args[1] = EValue(args[0]->tensor().numel());
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

etb_status item_of(KernelContext& context, EValue** args) {
  const Tensor& tensor = args[0]->tensor();
  if (tensor.numel() != 1) {
    return context.fail(ETB_INVALID_ARGUMENT, "a tensor of %" PRId64 " elements, expected one",
                        tensor.numel());
  }
  const Dtype dtype = tensor.dtype();
  EValue& out = *args[1];
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

// Computes the sizes of a view, with at most one -1 inferred.
etb_status view_sizes(KernelContext& context, const Tensor& self, const IntList& wanted, int64_t* sizes) {
  int64_t known = 1;
  size_t inferred = wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    sizes[i] = wanted[i];
    if (sizes[i] == -1 && inferred == wanted.size()) {
      inferred = i;
    } else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      return context.fail(ETB_INVALID_ARGUMENT, "size %" PRId64 " of dimension %zu", sizes[i], i);
    }
  }
  if (inferred != wanted.size()) {
    if (known == 0 || self.numel() % known != 0) {
      return context.fail(ETB_INVALID_ARGUMENT, "%" PRId64 " elements do not divide into %" PRId64,
                          self.numel(), known);
    }
    sizes[inferred] = self.numel() / known;
    known = self.numel();
  }
  if (known == self.numel()) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "a view of %" PRId64 " elements on %" PRId64, known,
                      self.numel());
}

// Makes `out` a view of the memory of `self` with other sizes.
etb_status share_view(KernelContext& context, EValue** args) {
  Tensor& self = args[0]->tensor();
  const IntList wanted = args[1]->ints();
  if (!args[2]->is_tensor())
    return context.fail(ETB_INVALID_TYPE, "argument 2 is %s, expected tensor", to_text(args[2]->tag()));
  Tensor& out = args[2]->tensor();
  if (wanted.size() != static_cast<size_t>(out.rank()) || self.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu sizes of %s for a view of rank %d and %s", wanted.size(),
                        to_text(self.dtype()), out.rank(), to_text(out.dtype()));
  }
  if (!self.is_contiguous())
    return context.fail(ETB_NOT_SUPPORTED, "a view of a tensor that is not contiguous");
  int64_t sizes[kMaxRank];
  ETB_CHECK(view_sizes(context, self, wanted, sizes));
  Tensor changed = out;  // shares the arrays of sizes, but not data
  changed.set_data(self.data(), self.capacity_bytes());
  if (const etb_status status = changed.resize({sizes, wanted.size()}); status != ETB_OK) {
    return context.fail(status, "the view's sizes are beyond what was planned");
  }
  if (self.is_read_only()) changed.set_read_only();
  out = changed;
  return ETB_OK;
}

// Writes `source` at destination[index] and cuts the destination after it. Loops collect their results with
// it.
etb_status copy_index(KernelContext& context, EValue** args) {
  Tensor& destination = args[0]->tensor();
  const Tensor& source = args[1]->tensor();
  const int64_t index = args[2]->to_int();
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

#define ETB_PRIM(name, letters, function) Kernel("executorch_prim::" name, letters, function)
constexpr Kernel kPrimOps[] = {
    Kernel("aten::sym_size.int", "Tix", &size_of),
    Kernel("aten::sym_numel", "Tx", &numel_of),
    Kernel("aten::sym_stride.int", "Tix", &stride_of),
    Kernel("aten::sym_storage_offset", "Tx", &storage_offset_of),
    Kernel("aten::_local_scalar_dense", "Tx", &item_of),
    ETB_PRIM("add.Scalar", "SSx", &binary<BinaryOp::kAdd>),
    ETB_PRIM("sub.Scalar", "SSx", &binary<BinaryOp::kSub>),
    ETB_PRIM("mul.Scalar", "SSx", &binary<BinaryOp::kMul>),
    ETB_PRIM("floordiv.Scalar", "SSx", &floor_divide),
    ETB_PRIM("floordiv.int", "SSx", &floor_divide),
    ETB_PRIM("truediv.Scalar", "SSx", &true_divide),
    ETB_PRIM("mod.Scalar", "SSx", &modulo),
    ETB_PRIM("mod.int", "SSx", &modulo),
    ETB_PRIM("eq.Scalar", "SSx", &binary<BinaryOp::kEq>),
    ETB_PRIM("gt.Scalar", "SSx", &binary<BinaryOp::kGt>),
    ETB_PRIM("lt.Scalar", "SSx", &binary<BinaryOp::kLt>),
    ETB_PRIM("ge.Scalar", "SSx", &binary<BinaryOp::kGe>),
    ETB_PRIM("le.Scalar", "SSx", &binary<BinaryOp::kLe>),
    ETB_PRIM("neg.Scalar", "Sx", &negate),
    ETB_PRIM("sym_max.Scalar", "SSx", &binary<BinaryOp::kMax>),
    ETB_PRIM("sym_min.Scalar", "SSx", &binary<BinaryOp::kMin>),
    ETB_PRIM("sym_float.Scalar", "Sx", &widen),
    ETB_PRIM("sym_int.Scalar", "Sx", &to_int<round_to_zero>),
    ETB_PRIM("sym_not.Scalar", "Sx", &logical_not),
    ETB_PRIM("sym_ite.Scalar", "SSSx", &select),
    ETB_PRIM("ceil.Scalar", "Sx", &to_int<round_up>),
    ETB_PRIM("round.Scalar", "Sx", &to_int<round_half_even>),
    ETB_PRIM("trunc.Scalar", "Sx", &to_int<round_to_zero>),
    ETB_PRIM("et_view.default", "TIx", &share_view),
    ETB_PRIM("et_copy_index.tensor", "TTi", &copy_index),
};
#undef ETB_PRIM

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
  return &kernel >= std::begin(kPrimOps) && &kernel < std::end(kPrimOps);
}

bool is_view_op(const Kernel& kernel) noexcept { return kernel.function == &share_view; }

}  // namespace etb::host
