// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/attention_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/kernels/indexing.hpp"
#include "host/kernels/matrix.hpp"
#include "host/kernels/vector/table.hpp"

namespace etb::host {
namespace {

// Bounds one row, so that a row is one piece of work between two looks at the clock.
constexpr int64_t kLargestHead = 4096;

etb_status check_rows(KernelContext& context, const char* what, const AttentionRows& rows) {
  const Tensor& tensor = rows.tensor;
  if (tensor.rank() != 4)
    return context.fail(ETB_INVALID_ARGUMENT, "the %s has rank %d, expected 4", what, tensor.rank());
  if (rows.head_size() > kLargestHead) {
    return context.fail(ETB_NOT_SUPPORTED, "heads of %lld elements, expected at most %lld",
                        static_cast<long long>(rows.head_size()), static_cast<long long>(kLargestHead));
  }
  if (rows.scales == nullptr) {
    if (is_floating(tensor.dtype()) && tensor.dtype() != Dtype::FLOAT64) return ETB_OK;
    return context.fail(ETB_INVALID_TYPE, "the %s is %s, expected float32, float16 or bfloat16", what,
                        to_text(tensor.dtype()));
  }
  if (tensor.dtype() != Dtype::INT8 || !is_floating(rows.scales->dtype()) ||
      (rows.zero_points != nullptr && !is_integer(rows.zero_points->dtype()))) {
    return context.fail(ETB_INVALID_TYPE, "the %s is %s with scales of %s, expected int8 with floats", what,
                        to_text(tensor.dtype()), to_text(rows.scales->dtype()));
  }
  for (const Tensor* numbers : {rows.scales, rows.zero_points}) {
    if (numbers == nullptr) continue;
    bool is_matching = numbers->rank() == 4 && numbers->size(3) == 1;
    for (int dim = 0; dim < 3 && is_matching; ++dim) is_matching = numbers->size(dim) == tensor.size(dim);
    if (!is_matching) {
      return context.fail(ETB_INVALID_ARGUMENT, "scales or zero points %s of the %s %s, expected one a row",
                          SizesText(numbers->sizes()).text, what, SizesText(tensor.sizes()).text);
    }
  }
  return ETB_OK;
}

etb_status check_mask(KernelContext& context, const AttentionTask& task) {
  const Tensor& mask = *task.mask;
  if (task.is_causal)
    return context.fail(ETB_INVALID_ARGUMENT, "a mask and is_causal, expected at most one of them");
  if (mask.rank() != 2 || mask.size(0) != task.query.length() || mask.size(1) != task.key.length()) {
    return context.fail(ETB_INVALID_ARGUMENT, "a mask %s for %lld queries and %lld keys",
                        SizesText(mask.sizes()).text, static_cast<long long>(task.query.length()),
                        static_cast<long long>(task.key.length()));
  }
  if (is_floating(mask.dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the mask is %s, expected a float", to_text(mask.dtype()));
}

etb_status check_task(KernelContext& context, const AttentionTask& task, const Tensor& out) {
  const AttentionRows &query = task.query, &key = task.key, &value = task.value;
  ETB_CHECK(check_rows(context, "query", query));
  ETB_CHECK(check_rows(context, "key", key));
  ETB_CHECK(check_rows(context, "value", value));
  if (!is_floating(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected a float", to_text(out.dtype()));
  const bool is_matching = key.batch() == query.batch() && key.head_size() == query.head_size() &&
                           key.heads() > 0 && query.heads() % key.heads() == 0;
  const bool has_equal = std::equal(key.tensor.sizes().begin(), key.tensor.sizes().end(),
                                    value.tensor.sizes().begin(), value.tensor.sizes().end());
  if (!is_matching || !has_equal) {
    return context.fail(ETB_INVALID_ARGUMENT, "a query %s with keys %s and values %s",
                        SizesText(query.tensor.sizes()).text, SizesText(key.tensor.sizes()).text,
                        SizesText(value.tensor.sizes()).text);
  }
  if (task.scale && !std::isfinite(*task.scale))
    return context.fail(ETB_INVALID_ARGUMENT, "the scale is not finite");
  if (task.mask != nullptr) return check_mask(context, task);
  if (task.start < 0 || task.start > key.length() || query.length() > key.length() - task.start) {
    return context.fail(ETB_INVALID_ARGUMENT, "%lld queries from position %lld, but %lld keys",
                        static_cast<long long>(query.length()), static_cast<long long>(task.start),
                        static_cast<long long>(key.length()));
  }
  return ETB_OK;
}

// A block of queries that share a head of keys: row i is query i / group of head i % group of the group. Each tile of
// keys is read once for all of them. The running maximum and sum of each row make the softmax exact over all tiles.
class Attention {
 public:
  Attention(KernelContext& context, const AttentionTask& task, Tensor& out)
      : context_(context),
        table_(vector_table(context)),
        task_(task),
        out_(out),
        dim_(task.query.head_size()),
        group_(task.query.heads() / task.key.heads()),
        key_count_(task.mask != nullptr ? task.key.length() : task.start + task.query.length()) {
    scale_ = static_cast<float>(task.scale.value_or(1.0 / std::sqrt(static_cast<double>(dim_))));
    const int64_t row_count = task.query.length() * group_;
    block_rows_ = std::min(row_count, std::clamp<int64_t>((1 << 15) / dim_, 8, 128));
    tile_keys_ = std::min(key_count_, std::clamp<int64_t>((1 << 14) / dim_, 16, 256));
  }

  etb_status run() {
    ETB_CHECK(allocate());
    const int64_t row_count = task_.query.length() * group_;
    for (batch_ = 0; batch_ < task_.query.batch(); ++batch_) {
      for (head_ = 0; head_ < task_.key.heads(); ++head_) {
        for (int64_t begin = 0; begin < row_count; begin += block_rows_)
          ETB_CHECK(run_block(begin, std::min(block_rows_, row_count - begin)));
      }
    }
    return ETB_OK;
  }

 private:
  // Few rows multiply the keys in place; more rows pay for a transposed copy of the tile.
  static constexpr int64_t kFewRows = 8;

  etb_status allocate() {
    const int64_t tile = tile_keys_ * dim_, block = block_rows_ * dim_;
    const bool reads_keys = is_direct(task_.key), reads_values = is_direct(task_.value);
    const bool transposes = block_rows_ > kFewRows;
    const int64_t count = 2 * block + block_rows_ * tile_keys_ + 2 * block_rows_ + transposes * tile +
                          !reads_keys * tile + !reads_values * tile;
    float* all = context_.allocate_array<float>(count);
    if (all == nullptr) return context_.fail_scratch(static_cast<uint64_t>(count) * sizeof(float));
    const auto take = [&](int64_t size) { return std::exchange(all, all + size); };
    queries_ = take(block);
    sums_ = take(block);
    weights_ = take(block_rows_ * tile_keys_);
    largest_ = take(block_rows_);
    totals_ = take(block_rows_);
    if (transposes) transposed_ = take(tile);
    if (!reads_keys) key_copy_ = take(tile);
    if (!reads_values) value_copy_ = take(tile);
    return ETB_OK;
  }

  static bool is_direct(const AttentionRows& rows) {
    return rows.tensor.dtype() == Dtype::FLOAT32 && rows.tensor.stride(3) == 1;
  }

  int64_t offset(const AttentionRows& rows, const Tensor& tensor, int64_t head, int64_t position) const {
    return batch_ * tensor.stride(0) + head * tensor.stride(3 - rows.sequence_dim) +
           position * tensor.stride(rows.sequence_dim);
  }

  // Converts one row to float.
  void load_row(const AttentionRows& rows, int64_t head, int64_t position, float* to) const {
    const ConvertLoops& loops = *table_.conversions;
    const Tensor& tensor = rows.tensor;
    loops.load[static_cast<int>(tensor.dtype())][static_cast<int>(Compute::kFloat)](
        to, element_at(tensor, offset(rows, tensor, head, position)), tensor.stride(3), dim_);
    if (rows.scales == nullptr) return;
    const auto scale = load_element<float>(loops, *rows.scales, offset(rows, *rows.scales, head, position));
    const float zero =
        rows.zero_points == nullptr
            ? 0.0f
            : load_element<float>(loops, *rows.zero_points, offset(rows, *rows.zero_points, head, position));
    table_.float_rows->normalize(to, to, dim_, zero, scale, nullptr, nullptr);
  }

  // Rows [begin, begin + count) of this head as floats, `*out_stride` apart; null when the run has to stop.
  const float* load_tile(const AttentionRows& rows, int64_t begin, int64_t count, float* copy,
                         int64_t* out_stride) {
    *out_stride = dim_;
    if (copy == nullptr) {
      *out_stride = rows.tensor.stride(rows.sequence_dim);
      return rows.tensor.data_as<float>() + offset(rows, rows.tensor, head_, begin);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (context_.should_stop(dim_)) return nullptr;
      load_row(rows, head_, begin + i, copy + i * dim_);
    }
    return copy;
  }

  etb_status run_block(int64_t begin, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      if (context_.should_stop(dim_)) return context_.stopped();
      float* row = queries_ + i * dim_;
      load_row(task_.query, head_ * group_ + (begin + i) % group_, (begin + i) / group_, row);
      table_.float_rows->affine(row, row, dim_, scale_, 0.0f);
      largest_[i] = -INFINITY;
      totals_[i] = 0.0f;
    }
    const int64_t last = task_.start + (begin + rows - 1) / group_;
    const int64_t keys = task_.is_causal ? std::min(key_count_, last + 1) : key_count_;
    for (int64_t key = 0; key < keys; key += tile_keys_)
      ETB_CHECK(run_tile(begin, rows, key, std::min(tile_keys_, keys - key)));
    return store(begin, rows);
  }

  etb_status run_tile(int64_t begin, int64_t rows, int64_t key, int64_t count) {
    ETB_CHECK(score(rows, key, count));
    for (int64_t i = 0; i < rows; ++i) {
      if (context_.should_stop(count + dim_)) return context_.stopped();
      weigh(i, (begin + i) / group_, key, count);
    }
    int64_t stride = 0;
    const float* values = load_tile(task_.value, key, count, value_copy_, &stride);
    if (values == nullptr) return context_.stopped();
    return multiply(rows, dim_, count, weights_, tile_keys_, values, stride, sums_, dim_, key > 0);
  }

  // weights[i][j] = query i * key j
  etb_status score(int64_t rows, int64_t key, int64_t count) {
    int64_t stride = 0;
    const float* keys = load_tile(task_.key, key, count, key_copy_, &stride);
    if (keys == nullptr) return context_.stopped();
    const AttentionLoops& loops = *table_.attention;
    if (rows <= kFewRows) {
      for (int64_t i = 0; i < rows; ++i) {
        if (context_.should_stop(count * dim_ / 4 + 1)) return context_.stopped();
        loops.dots(weights_ + i * tile_keys_, queries_ + i * dim_, keys, stride, count, dim_);
      }
      return ETB_OK;
    }
    if (context_.should_stop(count * dim_)) return context_.stopped();
    loops.transpose(transposed_, count, keys, stride, count, dim_);
    return multiply(rows, count, dim_, queries_, dim_, transposed_, count, weights_, tile_keys_, false);
  }

  // Replaces the scores of row i by their exponentials, and brings earlier tiles to the same largest score.
  void weigh(int64_t i, int64_t query, int64_t key, int64_t count) {
    float* row = weights_ + i * tile_keys_;
    if (task_.mask != nullptr) add_mask(row, query, key, count);
    const int64_t seen =
        task_.is_causal ? std::clamp<int64_t>(task_.start + query + 1 - key, 0, count) : count;
    std::fill(row + seen, row + count, 0.0f);
    if (seen == 0) return;
    const float before = largest_[i], here = table_.float_rows->maximum(row, seen);
    // A NaN stays the largest.
    const float largest = here > before || std::isnan(here) ? here : before;
    if (largest == -INFINITY) return std::fill(row, row + seen, 0.0f);
    const float factor = std::exp(before - largest);
    if (key > 0 && factor != 1.0f) {
      float* sum = sums_ + i * dim_;
      table_.float_rows->affine(sum, sum, dim_, factor, 0.0f);
    }
    const double total = table_.attention->exponentials(row, seen, largest);
    totals_[i] = totals_[i] * factor + static_cast<float>(total);
    largest_[i] = largest;
  }

  void add_mask(float* row, int64_t query, int64_t key, int64_t count) const {
    const Tensor& mask = *task_.mask;
    float terms[256];
    for (int64_t begin = 0; begin < count; begin += 256) {
      const int64_t length = std::min<int64_t>(256, count - begin);
      table_.conversions->load[static_cast<int>(mask.dtype())][static_cast<int>(Compute::kFloat)](
          terms, element_at(mask, query * mask.stride(0) + (key + begin) * mask.stride(1)), mask.stride(1),
          length);
      for (int64_t j = 0; j < length; ++j) row[begin + j] += terms[j];
    }
  }

  // c [m, n] = a [m, k] * b [k, n], added to c if it `adds`.
  etb_status multiply(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_stride, const float* b,
                      int64_t b_stride, float* c, int64_t c_stride, bool adds) {
    GemmTask task = {};
    task.m = m;
    task.k = k;
    task.n = task.c_run = task.c_pitch = n;
    task.a = a;
    task.b = b;
    task.c = c;
    task.a_dtype = task.b_dtype = task.c_dtype = task.init_dtype = Dtype::FLOAT32;
    task.a_row_stride = a_stride;
    task.b_row_stride = b_stride;
    task.c_row_stride = task.init_row_stride = c_stride;
    task.a_column_stride = task.b_column_stride = task.c_column_stride = task.init_column_stride = 1;
    task.init = adds ? c : nullptr;
    KernelContext::Mark mark(context_);
    return run_gemm(context_, task, Compute::kFloat);
  }

  etb_status store(int64_t begin, int64_t rows) {
    const AttentionRows to{out_, task_.query.sequence_dim};
    for (int64_t i = 0; i < rows; ++i) {
      if (context_.should_stop(dim_)) return context_.stopped();
      float* row = sums_ + i * dim_;
      // A row that sees no key is 0 / 0.
      table_.float_rows->affine(row, row, dim_, 1.0f / totals_[i], 0.0f);
      if (totals_[i] == 0.0f) std::fill(row, row + dim_, NAN);
      const int64_t at = offset(to, out_, head_ * group_ + (begin + i) % group_, (begin + i) / group_);
      table_.conversions->store[static_cast<int>(out_.dtype())][static_cast<int>(Compute::kFloat)](
          element_at(out_, at), row, out_.stride(3), dim_);
    }
    return ETB_OK;
  }

  KernelContext& context_;
  const VectorTable& table_;
  const AttentionTask& task_;
  Tensor& out_;
  int64_t dim_, group_, key_count_, block_rows_ = 0, tile_keys_ = 0;
  float scale_ = 1;
  int64_t batch_ = 0, head_ = 0;                // of the keys
  float *queries_ = nullptr, *sums_ = nullptr;  // [block_rows, dim]
  float* weights_ = nullptr;                    // [block_rows, tile_keys]
  float *largest_ = nullptr, *totals_ = nullptr;
  float *transposed_ = nullptr, *key_copy_ = nullptr, *value_copy_ = nullptr;
};

}  // namespace

etb_status run_attention(KernelContext& context, const AttentionTask& task, Tensor& out) noexcept {
  ETB_CHECK(check_task(context, task, out));
  ETB_CHECK(resize_output(context, out, task.query.tensor.sizes()));
  if (out.numel() == 0) return ETB_OK;
  if (task.key.length() == 0) return context.fail(ETB_INVALID_ARGUMENT, "no keys, expected at least one");
  return Attention(context, task, out).run();
}

}  // namespace etb::host
