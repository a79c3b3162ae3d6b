// SPDX-License-Identifier: Apache-2.0
// aten::index and index_put: elements picked by several index tensors, which broadcast together.
//
// Adjacent indexed dims are replaced where they are; if other dims are between them, the broadcast dims come first. A mask
// (bool) is one index tensor a dim: the positions of its true elements.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/index.hpp"
#include "ops/index_put.hpp"

namespace etb::host {
namespace {

// How self is indexed: for each of its dims either free (null) or a column of indices with strides along the broadcast dims.
class Indexing {
 public:
  etb_status read(KernelContext& context, const Tensor& self, std::span<EValue* const> list) {
    self_ = &self;
    for (const EValue* item : list) {
      const Tensor* tensor = item == nullptr || item->is_none() ? nullptr : &item->tensor();
      const bool is_mask = tensor != nullptr && (is_bool(tensor->dtype()) || tensor->dtype() == Dtype::UINT8);
      if (is_mask) {
        ETB_CHECK(add_mask(context, *tensor));
        continue;
      }
      if (count_ == self.rank())
        return context.fail(ETB_INVALID_ARGUMENT, "more indices than the %d dims of self", self.rank());
      if (tensor != nullptr) {
        ETB_CHECK(expect_index(context, *tensor));
        columns_[count_] = {tensor, nullptr};
      }
      ++count_;
    }
    return broadcast(context);
  }

  // The result's sizes: free dims and, in place of the indexed ones, the broadcast sizes.
  size_t fill_sizes(int64_t* out_sizes) const {
    size_t rank = 0;
    for (int dim = 0; dim < self_->rank() + 1; ++dim) {
      if (dim == first_) {
        for (int i = 0; i < broadcast_rank_; ++i) out_sizes[rank++] = broadcast_[i];
      }
      if (dim < self_->rank() && !is_indexed(dim)) out_sizes[rank++] = self_->size(dim);
    }
    return rank;
  }

  bool fits() const {
    int free_count = 0;
    for (int dim = 0; dim < self_->rank(); ++dim) free_count += is_indexed(dim) ? 0 : 1;
    return free_count + broadcast_rank_ <= kMaxRank;
  }

  // Elements of the result that follow each other in self with one step: those of the last free dims.
  struct Run {
    int64_t offset;    // where the first one is in self
    int64_t position;  // where it is in the result, in row-major order
    int64_t count;
    int64_t stride;  // from one to the next in self
  };
  // Calls visit(run) for the result's elements in row-major order; the first error ends the walk.
  template <class Visit>
  etb_status for_each_run(KernelContext& context, Visit visit) const {
    int64_t sizes[kMaxRank], indices[kMaxRank] = {};
    auto rank = static_cast<int>(fill_sizes(sizes));
    int64_t count = 0;
    if (!count_elements({sizes, static_cast<size_t>(rank)}, &count)) {
      return context.fail(ETB_INVALID_ARGUMENT, "the indices pick too many elements: %s",
                          SizesText({sizes, static_cast<size_t>(rank)}).text);
    }
    Run run = {0, 0, 1, 1};
    rank -= merge_free_dims(&run);
    for (; run.position < count; run.position += run.count) {
      if (context.should_stop(1)) return context.stopped();
      ETB_CHECK(locate(context, indices, &run.offset));
      ETB_CHECK(visit(run));
      for (int i = rank - 1; i >= 0 && ++indices[i] == sizes[i]; --i) indices[i] = 0;
    }
    return ETB_OK;
  }

 private:
  struct Column {
    const Tensor* tensor = nullptr;   // indices, broadcast from the right
    const int64_t* masked = nullptr;  // or the positions of a mask's true elements along one dim
  };
  bool is_indexed(int dim) const {
    return columns_[dim].tensor != nullptr || columns_[dim].masked != nullptr;
  }

  etb_status add_mask(KernelContext& context, const Tensor& mask) {
    if (count_ + mask.rank() > self_->rank())
      return context.fail(ETB_INVALID_ARGUMENT, "a mask has more dims than self");
    for (int dim = 0; dim < mask.rank(); ++dim) {
      if (mask.size(dim) != self_->size(count_ + dim)) {
        return context.fail(ETB_INVALID_ARGUMENT, "a mask of %s for self %s", SizesText(mask.sizes()).text,
                            SizesText(self_->sizes()).text);
      }
    }
    int64_t true_count = 0;
    const etb_status counted = for_each_piece(context, mask.numel(), [&](int64_t begin, int64_t length) {
      for (int64_t i = begin; i < begin + length; ++i) true_count += mask.data_as<uint8_t>()[i] != 0 ? 1 : 0;
    });
    if (counted != ETB_OK) return counted;
    if (mask.rank() == 0) {
      // A rank-0 mask adds a dim of size 0 or 1 and indexes none.
      extra_size_ = true_count;
      has_extra_ = true;
      extra_first_ = count_;
      return ETB_OK;
    }
    int64_t* positions[kMaxRank];
    for (int dim = 0; dim < mask.rank(); ++dim) {
      positions[dim] = context.allocate_array<int64_t>(std::max<int64_t>(true_count, 1));
      if (positions[dim] == nullptr)
        return context.fail_scratch(static_cast<uint64_t>(true_count) * 8 *
                                    static_cast<uint64_t>(mask.rank()));
      columns_[count_ + dim] = {nullptr, positions[dim]};
    }
    int64_t at = 0;
    const etb_status filled = for_each_element(context, mask, [&](int64_t position, int64_t offset) {
      if (mask.data_as<uint8_t>()[offset] == 0) return static_cast<etb_status>(ETB_OK);
      if (at == true_count) return static_cast<etb_status>(ETB_INVALID_STATE);
      for (int dim = mask.rank() - 1; dim >= 0; --dim) {
        positions[dim][at] = position % mask.size(dim);
        position /= mask.size(dim);
      }
      ++at;
      return static_cast<etb_status>(ETB_OK);
    });
    if (context.stop_check().is_stopped()) return context.stopped();
    if (filled != ETB_OK || at != true_count)
      return context.fail(ETB_INVALID_STATE, "a mask changed while it was read");
    if (mask_size_ >= 0 && mask_size_ != true_count && mask_size_ != 1 && true_count != 1) {
      return context.fail(ETB_INVALID_ARGUMENT, "masks with %lld and %lld true elements",
                          static_cast<long long>(mask_size_), static_cast<long long>(true_count));
    }
    mask_counts_[count_] = true_count;
    for (int dim = 0; dim < mask.rank(); ++dim) mask_counts_[count_ + dim] = true_count;
    mask_size_ = mask_size_ < 0 || mask_size_ == 1 ? true_count : mask_size_;
    count_ += mask.rank();
    return ETB_OK;
  }

  etb_status broadcast(KernelContext& context) {
    const auto merge = [&](std::span<const int64_t> sizes) {
      const int rank = static_cast<int>(sizes.size());
      if (rank > broadcast_rank_) {
        const int added = rank - broadcast_rank_;
        for (int i = rank - 1; i >= 0; --i) broadcast_[i] = i < added ? 1 : broadcast_[i - added];
        broadcast_rank_ = rank;
      }
      return ops::broadcast_into(ops::Numbers(), sizes, broadcast_, static_cast<size_t>(broadcast_rank_));
    };
    bool is_adjacent = true;
    int last = -1;
    first_ = self_->rank() + 1;
    for (int dim = 0; dim < count_; ++dim) {
      if (!is_indexed(dim)) continue;
      const Column& column = columns_[dim];
      if (!merge(column.tensor != nullptr ? column.tensor->sizes()
                                          : std::span<const int64_t>(&mask_counts_[dim], 1))) {
        return context.fail(ETB_INVALID_ARGUMENT, "the indices do not broadcast together");
      }
      is_adjacent = is_adjacent && (last < 0 || dim == last + 1);
      first_ = std::min(first_, dim);
      last = dim;
    }
    if (has_extra_) {
      if (!merge({&extra_size_, 1}))
        return context.fail(ETB_INVALID_ARGUMENT, "the indices do not broadcast together");
      first_ = std::min(first_, extra_first_);
    }
    if (!is_adjacent) first_ = 0;
    if (!fits()) return context.fail(ETB_NOT_SUPPORTED, "the result has more than %d dims", kMaxRank);
    return ETB_OK;
  }

  // Makes one run of the free dims behind all indexed ones, as far as they have one stride. Returns their number.
  int merge_free_dims(Run* run) const {
    int merged = 0;
    for (int dim = self_->rank() - 1; dim >= 0 && !is_indexed(dim); --dim, ++merged) {
      if (dim < first_ && first_ <= self_->rank()) break;  // broadcast dims come behind this one
      if (self_->size(dim) == 1) continue;
      if (run->count == 1) run->stride = self_->stride(dim);
      if (self_->stride(dim) != run->stride * run->count) break;
      run->count *= self_->size(dim);
    }
    return merged;
  }

  etb_status locate(KernelContext& context, const int64_t* indices, int64_t* out_offset) const {
    // Where in `indices` the broadcast dims begin: behind the free dims before `first_`.
    int free_before = 0;
    for (int dim = 0; dim < first_ && dim < self_->rank(); ++dim) free_before += is_indexed(dim) ? 0 : 1;
    const int64_t* broadcast_indices = indices + free_before;
    int64_t offset = 0;
    int at = 0;
    for (int dim = 0; dim < self_->rank(); ++dim) {
      if (!is_indexed(dim)) {
        offset += indices[at < free_before ? at : at + broadcast_rank_] * self_->stride(dim);
        ++at;
        continue;
      }
      int64_t index = read_index(columns_[dim], mask_counts_[dim], broadcast_indices);
      const int64_t size = self_->size(dim);
      if (index < -size || index >= size) return fail_index(context, index, size);
      offset += (index < 0 ? index + size : index) * self_->stride(dim);
    }
    *out_offset = offset;
    return ETB_OK;
  }

  int64_t read_index(const Column& column, int64_t masked_count, const int64_t* broadcast_indices) const {
    if (column.masked != nullptr)
      return column.masked[masked_count == 1 ? 0 : broadcast_indices[broadcast_rank_ - 1]];
    const Tensor& tensor = *column.tensor;
    int64_t offset = 0;
    for (int i = 0; i < tensor.rank(); ++i) {
      if (tensor.size(i) != 1)
        offset += broadcast_indices[broadcast_rank_ - tensor.rank() + i] * tensor.stride(i);
    }
    return index_at(tensor, offset);
  }

  const Tensor* self_ = nullptr;
  Column columns_[kMaxRank + 1] = {};
  int64_t mask_counts_[kMaxRank + 1] = {};
  int count_ = 0;
  int64_t broadcast_[kMaxRank] = {};
  int broadcast_rank_ = 0, first_ = 0;
  int64_t mask_size_ = -1, extra_size_ = 0;
  int extra_first_ = 0;
  bool has_extra_ = false;
};

// Elements of one run, in the order of a result's row-major positions.
template <class Visit>
etb_status for_each_piece_of(KernelContext& context, const Indexing::Run& run, Visit visit) {
  return for_each_piece(context, run.count, [&](int64_t begin, int64_t length) {
    visit(run.offset + begin * run.stride, run.position + begin, length);
  });
}

etb_status index_out(KernelContext& context, ops::index_Tensor_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  Indexing indexing;
  ETB_CHECK(indexing.read(context, self, args.indices()));
  int64_t sizes[kMaxRank];
  const size_t rank = indexing.fill_sizes(sizes);
  ETB_CHECK(resize_output(context, out, {sizes, rank}));
  ETB_CHECK(expect_same_dtype(context, self, out));
  const bool is_dense = out.is_contiguous();
  const size_t nbytes = element_nbytes(self.dtype());
  return indexing.for_each_run(context, [&](const Indexing::Run& run) {
    return for_each_piece_of(context, run, [&](int64_t offset, int64_t position, int64_t length) {
      if (is_dense && run.stride == 1) {
        std::memcpy(element_at(out, position), element_at(self, offset),
                    static_cast<size_t>(length) * nbytes);
        return;
      }
      for (int64_t i = 0; i < length; ++i)
        copy_element(self, offset + i * run.stride, out,
                     is_dense ? position + i : row_major_offset(out, position + i));
    });
  });
}

// Values that are broadcast to the sizes of what they are put into.
class PutValues {
 public:
  PutValues(const Tensor& values, std::span<const int64_t> sizes) : values_(values), sizes_(sizes) {
    const bool has_all_sizes =
        std::equal(sizes.begin(), sizes.end(), values.sizes().begin(), values.sizes().end());
    if (values.numel() == 1) step_ = 0;
    if (has_all_sizes && values.is_contiguous()) step_ = 1;
  }

  bool fits() const {
    const size_t rank = sizes_.size(), own = values_.sizes().size();
    if (own > rank) return false;
    for (size_t i = 0; i < own; ++i)
      if (values_.sizes()[i] != 1 && values_.sizes()[i] != sizes_[rank - own + i]) return false;
    return true;
  }
  // The step between the values of all elements in row-major order; -1 if there is no such step.
  int64_t step() const { return step_; }
  int64_t offset(int64_t position) const {
    if (step_ >= 0) return position * step_;
    int64_t offset = 0;
    const int rank = static_cast<int>(sizes_.size());
    for (int i = rank - 1; i >= 0; --i) {
      const int own = i - (rank - values_.rank());
      if (own >= 0 && values_.size(own) != 1) offset += position % sizes_[i] * values_.stride(own);
      position /= sizes_[i];
    }
    return offset;
  }

 private:
  const Tensor& values_;
  std::span<const int64_t> sizes_;
  int64_t step_ = -1;
};

template <class T>
T wrapping_sum(T x, T y) {
  if constexpr (kComputeOf<T> == Compute::kInt64) {
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  } else {
    return x + y;
  }
}

// Adds in the computing type, a part of a run at a time.
template <class T>
etb_status add_values(KernelContext& context, const Indexing& indexing, const Tensor& values,
                      const PutValues& placed, Tensor& out) {
  const auto load = vector_table(context).conversions->load;
  const auto store = vector_table(context).conversions->store[static_cast<int>(out.dtype())];
  const int dtype = static_cast<int>(out.dtype()), compute = static_cast<int>(kComputeOf<T>);
  constexpr int64_t kPart = 256;
  const bool is_own = out.dtype() == kDtypeOf<T> && placed.step() == 1;
  return indexing.for_each_run(context, [&](const Indexing::Run& run) {
    T sums[kPart], added[kPart];
    return for_each_piece_of(context, run, [&](int64_t offset, int64_t position, int64_t length) {
      if constexpr (kComputeOf<T> != Compute::kInt64) {
        if (is_own && run.stride == 1) {
          const T one = 1;
          vector_table(context).linear<T>().add_rows(
              out.data_as<T>() + offset, values.data_as<T>() + position, 0, 1, length, &one, 0, one);
          return;
        }
      }
      int64_t count = 0;
      for (int64_t begin = 0; begin < length; begin += count) {
        count = std::min(placed.step() < 0 ? 1 : kPart, length - begin);
        char* const to = element_at(out, offset + begin * run.stride);
        load[dtype][compute](sums, to, run.stride, count);
        load[dtype][compute](added, element_at(values, placed.offset(position + begin)), placed.step(),
                             count);
        for (int64_t i = 0; i < count; ++i) sums[i] = wrapping_sum(sums[i], added[i]);
        store[compute](to, sums, run.stride, count);
      }
    });
  });
}

etb_status put(KernelContext& context, std::span<EValue* const> list, const Tensor& values, bool accumulates,
               Tensor& out) {
  Indexing indexing;
  ETB_CHECK(indexing.read(context, out, list));
  ETB_CHECK(expect_same_dtype(context, values, out));
  int64_t sizes[kMaxRank];
  const std::span<const int64_t> all{sizes, indexing.fill_sizes(sizes)};
  const PutValues placed(values, all);
  if (!placed.fits()) {
    return context.fail(ETB_INVALID_ARGUMENT, "values of %s for %s", SizesText(values.sizes()).text,
                        SizesText(all).text);
  }
  // Indices are checked before anything changes, so that an error leaves an in-place target whole.
  ETB_CHECK(indexing.for_each_run(context, [](const Indexing::Run&) { return etb_status(ETB_OK); }));
  if (accumulates) {
    if (!is_arithmetic(out.dtype()))
      return context.fail(ETB_INVALID_TYPE, "the output is %s", to_text(out.dtype()));
    return with_compute(out.dtype(), [&](auto type) {
      return add_values<decltype(type)>(context, indexing, values, placed, out);
    });
  }
  const size_t nbytes = element_nbytes(out.dtype());
  return indexing.for_each_run(context, [&](const Indexing::Run& run) {
    return for_each_piece_of(context, run, [&](int64_t offset, int64_t position, int64_t length) {
      if (placed.step() == 1 && run.stride == 1) {
        std::memcpy(element_at(out, offset), element_at(values, position),
                    static_cast<size_t>(length) * nbytes);
        return;
      }
      for (int64_t i = 0; i < length; ++i)
        copy_element(values, placed.offset(position + i), out, offset + i * run.stride);
    });
  });
}

etb_status index_put_out(KernelContext& context, ops::index_put_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  ETB_CHECK(resize_output(context, out, self.sizes()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  ETB_CHECK(copy_tensor(context, self, out));
  return put(context, args.indices(), args.values(), args.accumulate(), out);
}

etb_status index_put_in_place(KernelContext& context, ops::index_put_in_place_default<KernelArguments> args) {
  return put(context, args.indices(), args.values(), args.accumulate(), args.self());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::index_Tensor_out, index_out>(),
    kernel_row<ops::index_put_out, index_put_out>(),
    kernel_row<ops::index_put_in_place_default, index_put_in_place>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(index, kRows);

}  // namespace etb::host
