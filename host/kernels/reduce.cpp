// SPDX-License-Identifier: Apache-2.0
// aten::sum, mean, prod, any, amax, amin, max, min, argmax, argmin, var and var_mean.
//
// Sums of floats are added in blocks of float and on in double, so their error does not grow with the length; the result is rounded
// once. Integers are added in 64 bits and wrap.
#include <cmath>
#include <limits>

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"

namespace etb::host {
namespace {

constexpr int64_t kChunk = 2048;

// Stores one value of a computing type as element `index` of the result.
template <class T>
void store_result(const VectorTable& table, const Tensor& out, int64_t index, T value) {
  const int64_t offset = row_major_offset(out, index) * static_cast<int64_t>(element_nbytes(out.dtype()));
  table.conversions->store[static_cast<int>(out.dtype())][static_cast<int>(kComputeOf<T>)](
      out.data_as<char>() + offset, &value, 1, 1);
}

// Hands the current row to visit(values, count, position) in dense pieces of T, which are the same whether the run is watched or not:
// where a sum is cut shows in its last bit.
template <class T, class Visit>
void for_each_dense(KernelContext& context, const RowWalk& walk, Visit visit) {
  const VectorTable& table = vector_table(context);
  if (const T* values = walk.dense<T>(kDtypeOf<T>)) {
    constexpr int64_t kPiece = KernelContext::kPiece;
    if (walk.row_numel() <= kPiece)
      return visit(values, walk.row_numel(), int64_t{0});  // counted by reduce_rows
    for (int64_t begin = 0; begin < walk.row_numel(); begin += kPiece) {
      const int64_t count = std::min(kPiece, walk.row_numel() - begin);
      if (context.should_stop(count)) return;
      visit(values + begin, count, begin);
    }
    return;
  }
  alignas(64) T values[kChunk];
  for (int64_t begin = 0; begin < walk.row_numel() && !context.should_stop(kChunk); begin += kChunk) {
    const int64_t count = std::min(kChunk, walk.row_numel() - begin);
    walk.load(*table.conversions, kComputeOf<T>, values, begin, count);
    visit(static_cast<const T*>(values), count, begin);
  }
}

etb_status prepare(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                   Tensor& out) {
  if (!is_arithmetic(self.dtype()) || !is_arithmetic(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(self.dtype()), to_text(out.dtype()));
  }
  int64_t sizes[kMaxRank];
  const size_t rank = reduced_sizes(self, dims, keeps_dims, sizes);
  return resize_output(context, out, {sizes, rank});
}

// Calls reduce(context, walk, T{}) for every row and stores what it returns.
template <class Reduce>
etb_status reduce_rows(KernelContext& context, const Tensor& self, const DimSet& dims, Dtype computed_as,
                       Tensor& out, Reduce reduce) {
  const VectorTable& table = vector_table(context);
  RowWalk walk(self, dims);
  return with_compute(computed_as, [&](auto type) {
    for (int64_t row = 0; row < walk.row_count(); ++row, walk.advance()) {
      if (context.should_stop(1 + std::min(walk.row_numel(), KernelContext::kPiece)))
        return context.stopped();
      store_result(table, out, row, reduce(context, walk, type));
    }
    return context.stopped();
  });
}

template <class T>
constexpr bool kIsReal = kComputeOf<T> != Compute::kInt64;

struct Sum {
  template <class T>
  auto operator()(KernelContext& context, const RowWalk& walk, T) const {
    double real = 0.0;
    uint64_t integer = 0;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      if constexpr (kIsReal<T>) {
        real += vector_table(context).rows<T>().sum(x, count);
      } else {
        integer += static_cast<uint64_t>(vector_table(context).rows<T>().integer_sum(x, count));
      }
    });
    if constexpr (kIsReal<T>) {
      return real;
    } else {
      return static_cast<int64_t>(integer);
    }
  }
};

struct Mean {
  template <class T>
  double operator()(KernelContext& context, const RowWalk& walk, T type) const {
    return static_cast<double>(Sum()(context, walk, type)) / static_cast<double>(walk.row_numel());
  }
};

struct Product {
  template <class T>
  auto operator()(KernelContext& context, const RowWalk& walk, T) const {
    using Result = std::conditional_t<kIsReal<T>, double, int64_t>;
    using Factor = std::conditional_t<kIsReal<T>, double, uint64_t>;
    Factor product = 1;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      for (int64_t i = 0; i < count; ++i) product *= static_cast<Factor>(x[i]);
    });
    return static_cast<Result>(product);
  }
};

struct Any {
  template <class T>
  int64_t operator()(KernelContext& context, const RowWalk& walk, T) const {
    bool any = false;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      for (int64_t i = 0; i < count && !any; ++i) any = x[i] != 0;
    });
    return any ? 1 : 0;
  }
};

template <bool is_max>
struct Extreme {
  template <class T>
  T operator()(KernelContext& context, const RowWalk& walk, T) const {
    T best{};
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t begin) {
      const T one = is_max ? vector_table(context).rows<T>().maximum(x, count)
                           : vector_table(context).rows<T>().minimum(x, count);
      const bool is_better = is_max ? one > best : one < best;
      if (begin == 0 || is_better || one != one) best = best != best ? best : one;
    });
    return best;
  }
};

// The first position of the extreme value; a NaN counts as more extreme than anything.
template <bool is_max>
struct ArgExtreme {
  template <class T>
  int64_t operator()(KernelContext& context, const RowWalk& walk, T) const {
    T best{};
    int64_t position = 0;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t begin) {
      for (int64_t i = 0; i < count; ++i) {
        const bool is_better = is_max ? x[i] > best : x[i] < best;
        if (begin + i == 0 || (best == best && (is_better || x[i] != x[i])))
          best = x[i], position = begin + i;
      }
    });
    return position;
  }
};

// The dtype that a sum is computed as and, when no output says otherwise, stored as.
Dtype sum_dtype(const Tensor& self, const EValue& dtype) {
  if (!dtype.is_none() && is_known(dtype.to_int())) return static_cast<Dtype>(dtype.to_int());
  return is_floating(self.dtype()) ? self.dtype() : Dtype::INT64;
}

// sum of integers as floats is computed as floats: the wider of the two.
Dtype computing_dtype(const Tensor& self, Dtype result) {
  return is_floating(result) && result == Dtype::FLOAT64     ? Dtype::FLOAT64
         : is_floating(result) && !is_floating(self.dtype()) ? Dtype::FLOAT32
                                                             : promote_any(self.dtype(), result);
}

// sum(self, dim, keepdim, dtype, out)
etb_status sum_out(KernelContext& context, EValue** args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[4]->tensor();
  DimSet dims;
  if (const etb_status status = wrap_dims(context, *args[1], self.rank(), &dims); status != ETB_OK)
    return status;
  if (const etb_status status = prepare(context, self, dims, args[2]->to_bool(), out); status != ETB_OK)
    return status;
  return reduce_rows(context, self, dims, computing_dtype(self, sum_dtype(self, *args[3])), out, Sum());
}

etb_status mean(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                const EValue& dtype, Tensor& out) {
  if (const etb_status status = prepare(context, self, dims, keeps_dims, out); status != ETB_OK)
    return status;
  const Dtype result = dtype.is_none() ? out.dtype() : sum_dtype(self, dtype);
  if (!is_floating(result) || !is_floating(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "a mean of %s as %s, expected a float", to_text(self.dtype()),
                        to_text(result));
  }
  return reduce_rows(context, self, dims, computing_dtype(self, result), out, Mean());
}

// mean(self, dim, keepdim, dtype, out)
etb_status mean_out(KernelContext& context, EValue** args) {
  DimSet dims;
  if (const etb_status status = wrap_dims(context, *args[1], args[0]->tensor().rank(), &dims);
      status != ETB_OK)
    return status;
  return mean(context, args[0]->tensor(), dims, args[2]->to_bool(), *args[3], args[4]->tensor());
}

DimSet all_dims(const Tensor& self) {
  DimSet dims;
  for (int dim = 0; dim < self.rank(); ++dim) dims.set(static_cast<size_t>(dim));
  return dims;
}

// mean(self, dtype, out)
etb_status mean_dtype_out(KernelContext& context, EValue** args) {
  return mean(context, args[0]->tensor(), all_dims(args[0]->tensor()), false, *args[1], args[2]->tensor());
}

etb_status one_dim(KernelContext& context, const EValue& dim, const Tensor& self, DimSet* out_dims) {
  int wrapped = 0;
  if (const etb_status status = wrap_dim(context, dim.to_int(), self.rank(), &wrapped); status != ETB_OK)
    return status;
  out_dims->reset();
  if (self.rank() > 0) out_dims->set(static_cast<size_t>(wrapped));
  return ETB_OK;
}

etb_status product(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                   const EValue& dtype, Tensor& out) {
  if (const etb_status status = prepare(context, self, dims, keeps_dims, out); status != ETB_OK)
    return status;
  return reduce_rows(context, self, dims, computing_dtype(self, sum_dtype(self, dtype)), out, Product());
}

// prod(self, dtype, out)
etb_status prod_out(KernelContext& context, EValue** args) {
  return product(context, args[0]->tensor(), all_dims(args[0]->tensor()), false, *args[1], args[2]->tensor());
}

// prod(self, dim, keepdim, dtype, out)
etb_status prod_int_out(KernelContext& context, EValue** args) {
  DimSet dims;
  if (const etb_status status = one_dim(context, *args[1], args[0]->tensor(), &dims); status != ETB_OK)
    return status;
  return product(context, args[0]->tensor(), dims, args[2]->to_bool(), *args[3], args[4]->tensor());
}

etb_status any(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims, Tensor& out) {
  if (const etb_status status = prepare(context, self, dims, keeps_dims, out); status != ETB_OK)
    return status;
  return reduce_rows(context, self, dims, self.dtype(), out, Any());
}

// any(self, out)
etb_status any_all_out(KernelContext& context, EValue** args) {
  return any(context, args[0]->tensor(), all_dims(args[0]->tensor()), false, args[1]->tensor());
}

// any(self, dim, keepdim, out)
etb_status any_out(KernelContext& context, EValue** args) {
  DimSet dims;
  if (const etb_status status = one_dim(context, *args[1], args[0]->tensor(), &dims); status != ETB_OK)
    return status;
  return any(context, args[0]->tensor(), dims, args[2]->to_bool(), args[3]->tensor());
}

// any(self, dims, keepdim, out): an empty list means no dim.
etb_status any_dims_out(KernelContext& context, EValue** args) {
  DimSet dims;
  if (args[1]->is_none() || !args[1]->ints().empty()) {
    if (const etb_status status = wrap_dims(context, *args[1], args[0]->tensor().rank(), &dims);
        status != ETB_OK)
      return status;
  }
  return any(context, args[0]->tensor(), dims, args[2]->to_bool(), args[3]->tensor());
}

etb_status expect_elements(KernelContext& context, const Tensor& self, const DimSet& dims,
                           const Tensor& out) {
  if (out.numel() == 0 || RowWalk(self, dims).row_numel() > 0) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s has no elements to choose from",
                      SizesText(self.sizes()).text);
}

template <bool is_max>
etb_status extreme(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                   Tensor& out) {
  if (const etb_status status = prepare(context, self, dims, keeps_dims, out); status != ETB_OK)
    return status;
  if (const etb_status status = expect_elements(context, self, dims, out); status != ETB_OK) return status;
  return reduce_rows(context, self, dims, self.dtype(), out, Extreme<is_max>());
}

// amax(self, dim, keepdim, out)
template <bool is_max>
etb_status aextreme_out(KernelContext& context, EValue** args) {
  DimSet dims;
  if (const etb_status status = wrap_dims(context, *args[1], args[0]->tensor().rank(), &dims);
      status != ETB_OK)
    return status;
  return extreme<is_max>(context, args[0]->tensor(), dims, args[2]->to_bool(), args[3]->tensor());
}

// max(self, out)
template <bool is_max>
etb_status extreme_unary_out(KernelContext& context, EValue** args) {
  return extreme<is_max>(context, args[0]->tensor(), all_dims(args[0]->tensor()), false, args[1]->tensor());
}

template <bool is_max>
etb_status argument(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                    Tensor& out) {
  if (const etb_status status = prepare(context, self, dims, keeps_dims, out); status != ETB_OK)
    return status;
  if (const etb_status status = expect_elements(context, self, dims, out); status != ETB_OK) return status;
  return reduce_rows(context, self, dims, self.dtype(), out, ArgExtreme<is_max>());
}

// argmax(self, dim, keepdim, out)
template <bool is_max>
etb_status argument_out(KernelContext& context, EValue** args) {
  const Tensor& self = args[0]->tensor();
  DimSet dims = all_dims(self);
  if (!args[1]->is_none()) {
    if (const etb_status status = one_dim(context, *args[1], self, &dims); status != ETB_OK) return status;
  }
  return argument<is_max>(context, self, dims, args[2]->to_bool(), args[3]->tensor());
}

// max(self, dim, keepdim, values, indices)
template <bool is_max>
etb_status extreme_dim_out(KernelContext& context, EValue** args) {
  const Tensor& self = args[0]->tensor();
  DimSet dims;
  if (const etb_status status = one_dim(context, *args[1], self, &dims); status != ETB_OK) return status;
  if (const etb_status status = extreme<is_max>(context, self, dims, args[2]->to_bool(), args[3]->tensor());
      status != ETB_OK)
    return status;
  return argument<is_max>(context, self, dims, args[2]->to_bool(), args[4]->tensor());
}

struct Variance {
  double correction;
  template <class T>
  double operator()(KernelContext& context, const RowWalk& walk, T type) const {
    const double mean = Mean()(context, walk, type);
    double sum = 0.0;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      sum += vector_table(context).rows<T>().squared_deviations(x, count, mean);
    });
    const double divisor = static_cast<double>(walk.row_numel()) - correction;
    return sum / (divisor > 0.0 ? divisor : 0.0);
  }
};

etb_status variance(KernelContext& context, const Tensor& self, const EValue& dim, double correction,
                    bool keeps_dims, Tensor& out, Tensor* mean_out) {
  DimSet dims;
  if (const etb_status status = wrap_dims(context, dim, self.rank(), &dims); status != ETB_OK) return status;
  if (const etb_status status = prepare(context, self, dims, keeps_dims, out); status != ETB_OK)
    return status;
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected floats", to_text(self.dtype()),
                        to_text(out.dtype()));
  }
  if (const etb_status status = reduce_rows(context, self, dims, self.dtype(), out, Variance{correction});
      status != ETB_OK)
    return status;
  if (mean_out == nullptr) return ETB_OK;
  if (const etb_status status = prepare(context, self, dims, keeps_dims, *mean_out); status != ETB_OK)
    return status;
  if (!is_floating(mean_out->dtype()))
    return context.fail(ETB_INVALID_TYPE, "the mean is %s, expected a float", to_text(mean_out->dtype()));
  return reduce_rows(context, self, dims, self.dtype(), *mean_out, Mean());
}

// var(self, dim, unbiased, keepdim, out)
etb_status var_out(KernelContext& context, EValue** args) {
  return variance(context, args[0]->tensor(), *args[1], args[2]->to_bool() ? 1.0 : 0.0, args[3]->to_bool(),
                  args[4]->tensor(), nullptr);
}

double correction_of(const EValue& value) { return value.is_none() ? 1.0 : value.to_double(); }

// var(self, dim, correction, keepdim, out)
etb_status var_correction_out(KernelContext& context, EValue** args) {
  return variance(context, args[0]->tensor(), *args[1], correction_of(*args[2]), args[3]->to_bool(),
                  args[4]->tensor(), nullptr);
}

// var_mean(self, dim, correction, keepdim, var, mean)
etb_status var_mean_out(KernelContext& context, EValue** args) {
  return variance(context, args[0]->tensor(), *args[1], correction_of(*args[2]), args[3]->to_bool(),
                  args[4]->tensor(), &args[5]->tensor());
}

constexpr Kernel kRows[] = {
    {"aten::sum.IntList_out", "TjbnT!", sum_out},
    {"aten::mean.out", "TjbnT!", mean_out},
    {"aten::mean.dtype_out", "TnT!", mean_dtype_out},
    {"aten::prod.out", "TnT!", prod_out},
    {"aten::prod.int_out", "TibnT!", prod_int_out},
    {"aten::any.all_out", "TT!", any_all_out},
    {"aten::any.out", "TibT!", any_out},
    {"aten::any.dims_out", "TjbT!", any_dims_out},
    {"aten::amax.out", "TIbT!", aextreme_out<true>},
    {"aten::amin.out", "TIbT!", aextreme_out<false>},
    {"aten::max.unary_out", "TT!", extreme_unary_out<true>},
    {"aten::min.unary_out", "TT!", extreme_unary_out<false>},
    {"aten::max.dim_max", "TibT!T!", extreme_dim_out<true>},
    {"aten::min.dim_min", "TibT!T!", extreme_dim_out<false>},
    {"aten::argmax.out", "TnbT!", argument_out<true>},
    {"aten::argmin.out", "TnbT!", argument_out<false>},
    {"aten::var.out", "TjbbT!", var_out},
    {"aten::var.correction_out", "TjsbT!", var_correction_out},
    {"aten::var_mean.correction_out", "TjsbT!T!", var_mean_out},
};

}  // namespace

ETB_PUBLISH_KERNELS(reduce, kRows);

}  // namespace etb::host
