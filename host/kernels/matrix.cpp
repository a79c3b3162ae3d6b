// SPDX-License-Identifier: Apache-2.0
// aten::mm, bmm, addmm and linear.
#include "host/kernels/matrix.hpp"

#include <algorithm>
#include <atomic>

#include "host/kernels/kernel.hpp"
#include "ops/addmm.hpp"
#include "ops/bmm.hpp"
#include "ops/linear.hpp"
#include "ops/mm.hpp"

namespace etb::host {
namespace {

etb_status expect_rank(KernelContext& context, const char* what, const Tensor& tensor, int rank) {
  if (tensor.rank() == rank) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s has rank %d, expected %d", what, tensor.rank(), rank);
}

etb_status expect_dtypes(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& out) {
  if (a.dtype() != b.dtype() || !is_arithmetic(a.dtype()) || !can_store(a.dtype(), out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s times %s into %s", to_text(a.dtype()), to_text(b.dtype()),
                        to_text(out.dtype()));
  }
  return ETB_OK;
}

// Fills what is common to all: the matrices are the last two dims.
GemmTask make_task(const Tensor& a, const Tensor& b, const Tensor& out) {
  GemmTask task = {};
  const int row = a.rank() - 2, column = a.rank() - 1;
  task.m = a.size(row);
  task.k = a.size(column);
  task.n = out.size(out.rank() - 1);
  task.a = a.data();
  task.a_dtype = a.dtype();
  task.a_row_stride = a.stride(row);
  task.a_column_stride = a.stride(column);
  task.b = b.data();
  task.b_dtype = b.dtype();
  task.b_row_stride = b.stride(b.rank() - 2);
  task.b_column_stride = b.stride(b.rank() - 1);
  task.c = out.data();
  task.c_dtype = out.dtype();
  task.c_row_stride = out.stride(out.rank() - 2);
  task.c_column_stride = out.stride(out.rank() - 1);
  task.c_run = task.c_pitch = task.n > 0 ? task.n : 1;
  task.alpha = 1.0;
  task.beta = 1.0;
  return task;
}

etb_status run_task(KernelContext& context, GemmTask& task) {
  return run_gemm(context, task, compute_of(task.a_dtype));
}

etb_status multiply(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  const int64_t sizes[2] = {a.size(0), b.size(1)};
  if (a.size(1) != b.size(0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times %s", SizesText(a.sizes()).text,
                        SizesText(b.sizes()).text);
  }
  return resize_output(context, out, sizes);
}

etb_status mm_out(KernelContext& context, ops::mm_out<KernelArguments> args) {
  const Tensor &a = args.self(), &b = args.mat2();
  Tensor& out = args.out();
  ETB_CHECK(expect_rank(context, "self", a, 2));
  ETB_CHECK(expect_rank(context, "mat2", b, 2));
  ETB_CHECK(expect_dtypes(context, a, b, out));
  ETB_CHECK(multiply(context, a, b, out));
  GemmTask task = make_task(a, b, out);
  return run_task(context, task);
}

GemmFactor to_factor(const EValue& number) {
  return number.is_double() ? GemmFactor(number.to_double()) : GemmFactor(number.to_int());
}

etb_status addmm_out(KernelContext& context, ops::addmm_out<KernelArguments> args) {
  const Tensor &self = args.self(), &a = args.mat1(), &b = args.mat2();
  Tensor& out = args.out();
  ETB_CHECK(expect_rank(context, "mat1", a, 2));
  ETB_CHECK(expect_rank(context, "mat2", b, 2));
  ETB_CHECK(expect_dtypes(context, a, b, out));
  if (self.dtype() != a.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "self is %s, expected %s", to_text(self.dtype()),
                        to_text(a.dtype()));
  }
  ETB_CHECK(multiply(context, a, b, out));
  GemmTask task = make_task(a, b, out);
  task.alpha = to_factor(args.alpha());
  task.beta = to_factor(args.beta());
  if (self.rank() > 2)
    return context.fail(ETB_INVALID_ARGUMENT, "self has rank %d, expected at most 2", self.rank());
  for (int dim = 0; dim < self.rank(); ++dim) {
    const int out_dim = dim + 2 - self.rank();
    if (self.size(dim) != 1 && self.size(dim) != out.size(out_dim)) {
      return context.fail(ETB_INVALID_ARGUMENT, "self %s does not broadcast to %s",
                          SizesText(self.sizes()).text, SizesText(out.sizes()).text);
    }
    const int64_t stride = self.size(dim) == 1 ? 0 : self.stride(dim);
    (out_dim == 0 ? task.init_row_stride : task.init_column_stride) = stride;
  }
  if (task.beta.real != 0.0) {  // with beta 0 nothing of self counts, NaN included
    task.init = self.data();
    task.init_dtype = self.dtype();
  }
  return run_task(context, task);
}

etb_status bmm_out(KernelContext& context, ops::bmm_out<KernelArguments> args) {
  const Tensor &a = args.self(), &b = args.mat2();
  Tensor& out = args.out();
  ETB_CHECK(expect_rank(context, "self", a, 3));
  ETB_CHECK(expect_rank(context, "mat2", b, 3));
  ETB_CHECK(expect_dtypes(context, a, b, out));
  if (a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times %s", SizesText(a.sizes()).text,
                        SizesText(b.sizes()).text);
  }
  const int64_t sizes[3] = {a.size(0), a.size(1), b.size(2)};
  ETB_CHECK(resize_output(context, out, sizes));
  if (out.numel() == 0) return ETB_OK;
  for (int64_t batch = 0; batch < a.size(0); ++batch) {
    GemmTask task = make_task(a, b, out);
    const auto skip = [batch](const Tensor& tensor) {
      return tensor.data_as<char>() +
             batch * tensor.stride(0) * static_cast<int64_t>(element_nbytes(tensor.dtype()));
    };
    if (a.numel() != 0) task.a = skip(a);
    if (b.numel() != 0) task.b = skip(b);
    if (out.numel() != 0) task.c = skip(out);
    KernelContext::Mark mark(context);
    ETB_CHECK(run_task(context, task));
  }
  return ETB_OK;
}

// linear(input, weight [n, k] or [k], bias, out [..., n] or [...])
etb_status linear_out(KernelContext& context, ops::linear_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight();
  Tensor& out = args.out();
  const int rank = input.rank(), weight_rank = weight.rank();
  ETB_CHECK(expect_dtypes(context, input, weight, out));
  if (rank == 0 || weight_rank < 1 || weight_rank > 2 ||
      input.size(rank - 1) != weight.size(weight_rank - 1)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s times the transpose of %s", SizesText(input.sizes()).text,
                        SizesText(weight.sizes()).text);
  }
  int64_t sizes[kMaxRank];
  std::copy(input.sizes().begin(), input.sizes().end(), sizes);
  sizes[rank - 1] = weight_rank == 2 ? weight.size(0) : 1;
  const size_t out_rank = static_cast<size_t>(weight_rank == 2 ? rank : rank - 1);
  ETB_CHECK(resize_output(context, out, {sizes, out_rank}));
  if (!input.is_contiguous() || !out.is_contiguous()) {
    return context.fail(ETB_NOT_SUPPORTED, "input and output must be contiguous");
  }
  GemmTask task = {};
  task.n = sizes[rank - 1];
  task.k = input.size(rank - 1);
  task.m = task.n == 0 ? 0 : out.numel() / task.n;
  task.a = input.data();
  task.a_dtype = input.dtype();
  task.a_row_stride = task.k;
  task.a_column_stride = 1;
  task.b = weight.data();
  task.b_dtype = weight.dtype();
  task.b_row_stride = weight.stride(weight_rank - 1);
  task.b_column_stride = weight_rank == 2 ? weight.stride(0) : 0;
  task.c = out.data();
  task.c_dtype = out.dtype();
  task.c_row_stride = task.n;
  task.c_column_stride = 1;
  task.c_run = task.c_pitch = task.n > 0 ? task.n : 1;
  task.alpha = task.beta = 1.0;
  if (args.bias() != nullptr) {
    const Tensor& bias = *args.bias();
    if (bias.numel() != task.n || bias.rank() > 1 || !is_arithmetic(bias.dtype())) {
      return context.fail(ETB_INVALID_ARGUMENT, "bias has sizes %s, expected [%lld]",
                          SizesText(bias.sizes()).text, static_cast<long long>(task.n));
    }
    task.init = bias.data();
    task.init_dtype = bias.dtype();
    task.init_column_stride = bias.rank();
  }
  return run_task(context, task);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::mm_out, mm_out>(),
    kernel_row<ops::addmm_out, addmm_out>(),
    kernel_row<ops::bmm_out, bmm_out>(),
    kernel_row<ops::linear_out, linear_out>(),
};

}  // namespace

uint64_t gemm_scratch_nbytes(const GemmTask& task, Compute compute) noexcept {
  constexpr int64_t kMostRows = 12,
                    kMostColumns = 32;  // columns of a tile, in float; wider types have narrower tiles
  constexpr uint64_t kMostPanels = (512 << 10);  // more does not stay in the L2 cache
  const auto value_nbytes = static_cast<uint64_t>(compute == Compute::kFloat ? 4 : 8);
  const uint64_t row_nbytes = static_cast<uint64_t>(task.k) * value_nbytes;
  const uint64_t panel_nbytes = row_nbytes * kMostColumns;
  const auto panel_count = static_cast<uint64_t>((task.n + kMostColumns - 1) / kMostColumns);
  const uint64_t all = panel_nbytes * panel_count;
  return row_nbytes * kMostRows + 128 +
         (all < kMostPanels            ? all
          : panel_nbytes > kMostPanels ? panel_nbytes
                                       : kMostPanels);
}

namespace {

constexpr int kMostParts = 64;

const void* skip(const void* data, Dtype dtype, int64_t count) {
  return data == nullptr
             ? nullptr
             : static_cast<const char*>(data) + count * static_cast<int64_t>(element_nbytes(dtype));
}

GemmTask columns_of(const GemmTask& task, int64_t begin, int64_t end) {
  GemmTask part = task;
  part.n = part.c_run = part.c_pitch = end - begin;
  part.b = skip(task.b, task.b_dtype, begin * task.b_column_stride);
  part.c = const_cast<void*>(skip(task.c, task.c_dtype, begin * task.c_column_stride));
  part.init = skip(task.init, task.init_dtype, begin * task.init_column_stride);
  return part;
}

GemmTask rows_of(const GemmTask& task, int64_t begin, int64_t end) {
  GemmTask part = task;
  part.m = end - begin;
  part.a = skip(task.a, task.a_dtype, begin * task.a_row_stride);
  part.c = const_cast<void*>(skip(task.c, task.c_dtype, begin * task.c_row_stride));
  part.init = skip(task.init, task.init_dtype, begin * task.init_row_stride);
  return part;
}

constexpr int64_t kMostVector = 1 << 18;  // a longer row would not ask for a stop in time

// A product with a vector, whose other factor is stored row by row: a dot product for each element of the result.
struct Dots {
  const void *rows, *vector;
  int64_t row_stride, count;
  const void* init;
  int64_t init_stride;
};

// True if a task is that: one column, or one row with a transposed B. A task that adds to its own result is none, because the
// products overwrite it.
bool read_dots(const GemmTask& task, Dots* out_dots) {
  if (task.a_column_stride != 1 || task.b_row_stride != 1 || task.init == task.c) return false;
  if (task.n == 1 && task.c_row_stride == 1) {
    *out_dots = {task.a, task.b, task.a_row_stride, task.m, task.init, task.init_row_stride};
    return true;
  }
  if (task.m != 1) return false;
  *out_dots = {task.b, task.a, task.b_column_stride, task.n, task.init, task.init_column_stride};
  return true;
}

template <class T>
void run_dots(const LinearLoops<T>& loops, const GemmTask& task, const Dots& dots, StopCheck& check) {
  const auto* rows = static_cast<const T*>(dots.rows);
  const auto* init = static_cast<const T*>(dots.init);
  auto* out = static_cast<T*>(task.c);
  const int64_t piece = std::max<int64_t>(4, kMostVector / task.k / 4 * 4);
  for (int64_t begin = 0; begin < dots.count; begin += piece) {
    const int64_t count = std::min(piece, dots.count - begin);
    if (check.should_stop(1 + count * task.k / 4)) return;
    loops.dot_rows(out + begin, rows + begin * dots.row_stride, dots.row_stride, count, task.k,
                   static_cast<const T*>(dots.vector));
    for (int64_t i = begin; init != nullptr && i < begin + count; ++i) out[i] += init[i * dots.init_stride];
  }
}

// One row times a B whose rows are dense, as a linear layer of one token has it: a sum of B's rows.
template <class T>
void add_rows(const LinearLoops<T>& loops, const GemmTask& task, StopCheck& check) {
  const auto* init = static_cast<const T*>(task.init);
  auto* out = static_cast<T*>(task.c);
  for (int64_t j = 0; j < task.n; ++j) out[j] = init == nullptr ? T(0) : init[j * task.init_column_stride];
  const int64_t piece = std::max<int64_t>(4, kMostVector / task.n / 4 * 4);
  for (int64_t l = 0; l < task.k; l += piece) {
    const int64_t count = std::min(piece, task.k - l);
    if (check.should_stop(1 + count * task.n / 4)) return;
    loops.add_rows(out, static_cast<const T*>(task.b) + l * task.b_row_stride, task.b_row_stride, count,
                   task.n, static_cast<const T*>(task.a) + l * task.a_column_stride, task.a_column_stride,
                   T(1));
  }
}

// Runs a product with a vector; false if it is none, or its dtypes differ or have to be converted.
template <class T>
bool run_with_vector(const LinearLoops<T>& loops, const GemmTask& task, StopCheck& check) {
  Dots dots;
  if (read_dots(task, &dots)) return run_dots<T>(loops, task, dots, check), true;
  if (task.m != 1 || task.b_column_stride != 1) return false;
  return add_rows<T>(loops, task, check), true;
}
bool run_with_vector(const VectorTable& table, const GemmTask& task, StopCheck& check) {
  const bool has_one_dtype = task.a_dtype == task.b_dtype && task.b_dtype == task.c_dtype &&
                             (task.init == nullptr || task.init_dtype == task.c_dtype);
  const bool is_scaled = task.alpha.real != 1.0 || task.beta.real != 1.0;
  if (!has_one_dtype || is_scaled || task.a_offsets != nullptr || task.b_offsets != nullptr ||
      task.c_column_stride != 1 || task.c_run < task.n || task.k < 2 || task.k > kMostVector ||
      task.n > kMostVector)
    return false;
  if (task.c_dtype == Dtype::FLOAT32) return run_with_vector<float>(table.linear<float>(), task, check);
  return task.c_dtype == Dtype::FLOAT64 && run_with_vector<double>(table.linear<double>(), task, check);
}

// Parts of one product that threads compute side by side; every element is summed as in the whole product, so results are the same.
struct Parts {
  GemmTask tasks[kMostParts];
  int count = 1;
  const VectorTable* table;
  GemmLoop loop;
  StopCheck check;  // each part counts its work in a copy
  std::atomic<uint64_t> missing_nbytes{0};

  static void run(void* self, int64_t index) {
    auto& parts = *static_cast<Parts*>(self);
    StopCheck check = parts.check;
    GemmTask task = parts.tasks[index];
    if (run_with_vector(*parts.table, task, check)) return;
    task.stop = stop_hook(check);
    const uint64_t missing = parts.loop(task);
    if (missing != 0) parts.missing_nbytes = missing;
  }
};

// Columns are split where C is a plain matrix, because every part packs what it needs of B; else rows.
void split(const GemmTask& task, int thread_count, Parts& parts) {
  constexpr double kLeastWork = 1 << 18;  // multiplications worth waking a thread for
  const double work = static_cast<double>(task.m) * static_cast<double>(task.n) * static_cast<double>(task.k);
  const bool is_plain = task.c_run >= task.n && task.c_pitch >= task.n;
  const int64_t tile = is_plain ? 32 : 12, size = is_plain ? task.n : task.m;
  const int64_t tiles = (size + tile - 1) / tile;
  const auto most = static_cast<int64_t>(std::min(work / kLeastWork, double{kMostParts}));
  const int64_t count = std::max<int64_t>(1, std::min({most, tiles, int64_t{thread_count}}));
  const int64_t step = (tiles + count - 1) / count * tile;
  parts.count = 0;
  for (int64_t begin = 0; begin < size; begin += step) {
    const int64_t end = std::min(begin + step, size);
    parts.tasks[parts.count++] = is_plain ? columns_of(task, begin, end) : rows_of(task, begin, end);
  }
}

// Runs on all threads if there is scratch for all parts; else only wishes for it.
bool run_parts(KernelContext& context, const GemmTask& task, Compute compute, etb_status* out_status) {
  const ParallelFor* parallel = context.parallel();
  if (parallel == nullptr || parallel->thread_count < 2) return false;
  Parts parts;
  split(task, parallel->thread_count, parts);
  if (parts.count < 2) return false;
  uint64_t wanted = 64;
  for (int i = 0; i < parts.count; ++i) wanted += gemm_scratch_nbytes(parts.tasks[i], compute) + 64;
  context.wish_for(wanted);
  if (context.scratch_left_bytes() < wanted) return false;
  for (int i = 0; i < parts.count; ++i) {
    parts.tasks[i].scratch_nbytes = gemm_scratch_nbytes(parts.tasks[i], compute);
    parts.tasks[i].scratch = context.allocate(parts.tasks[i].scratch_nbytes);
    if (parts.tasks[i].scratch == nullptr) return false;
  }
  parts.table = &vector_table(context);
  parts.loop = parts.table->matrices->gemm[static_cast<int>(compute)];
  parts.check = context.stop_check();
  parallel->run(parallel->self, parts.count, &Parts::run, &parts);
  // The parts' copies are gone; this one looks for itself.
  if (context.should_stop(StopCheck::kPeriod)) return *out_status = context.stopped(), true;
  *out_status = parts.missing_nbytes == 0 ? ETB_OK : context.fail_scratch(parts.missing_nbytes);
  return true;
}

}  // namespace

etb_status run_gemm(KernelContext& context, GemmTask& task, Compute compute) noexcept {
  if (task.m == 0 || task.n == 0) return ETB_OK;
  // The work of the smallest product, and of a product that does not check for a stop itself.
  const double work = static_cast<double>(task.m) * static_cast<double>(task.n) * static_cast<double>(task.k);
  if (context.should_stop(32 + static_cast<int64_t>(std::min(work, 1.0 * (1 << 18)) / 32)))
    return context.stopped();
  etb_status status = ETB_OK;
  if (run_parts(context, task, compute, &status)) return status;
  if (run_with_vector(vector_table(context), task, context.stop_check())) return context.stopped();
  const uint64_t wanted = gemm_scratch_nbytes(task, compute);
  context.wish_for(wanted);
  const uint64_t left = context.scratch_left_bytes() & ~uint64_t{63};
  task.scratch_nbytes = wanted + 64 <= left ? wanted : left < 64 ? 0 : left - 64;  // 64 for the alignment
  task.scratch = context.allocate(task.scratch_nbytes);
  task.stop = stop_hook(context.stop_check());
  const uint64_t missing = vector_table(context).matrices->gemm[static_cast<int>(compute)](task);
  return missing == 0 ? context.stopped() : context.fail_scratch(missing);
}

ETB_PUBLISH_KERNELS(matrix, kRows);

}  // namespace etb::host
