// SPDX-License-Identifier: Apache-2.0
// llama::update_cache and update_cache_with_indices.
#include "host/kernels/cache_update.hpp"

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_loops.hpp"
#include "ops/llama/update_cache.hpp"
#include "ops/llama/update_cache_with_indices.hpp"

namespace etb::host {
namespace {

constexpr int kRank = 4, kSequence = 1;

etb_status check_sizes(KernelContext& context, const Tensor& value, const Tensor& cache) {
  bool is_matching = value.rank() == kRank && cache.rank() == kRank;
  for (int dim = 0; dim < kRank && is_matching; ++dim)
    is_matching = dim == kSequence || value.size(dim) == cache.size(dim);
  if (!is_matching) {
    return context.fail(ETB_INVALID_ARGUMENT, "a value %s for a cache %s", SizesText(value.sizes()).text,
                        SizesText(cache.sizes()).text);
  }
  if (value.dtype() == cache.dtype()) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "a value of %s for a cache of %s", to_text(value.dtype()),
                      to_text(cache.dtype()));
}

// `count` rows of one batch, or of all of them if batch is -1.
etb_status copy_rows(KernelContext& context, const Tensor& value, int64_t row, Tensor& cache,
                     int64_t position, int64_t batch, int64_t count) {
  const int64_t first = batch < 0 ? 0 : batch;
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(cache.dtype());
  copy.rank = kRank;
  for (int dim = 0; dim < kRank; ++dim) {
    copy.sizes[dim] = value.size(dim);
    copy.from_strides[dim] = value.stride(dim);
    copy.to_strides[dim] = cache.stride(dim);
  }
  copy.sizes[kSequence] = count;
  if (batch >= 0) copy.sizes[0] = 1;
  copy.from = element_at(value, first * value.stride(0) + row * value.stride(kSequence));
  copy.to = element_at(cache, first * cache.stride(0) + position * cache.stride(kSequence));
  return copy.run(context);
}

etb_status copy_to_indices(KernelContext& context, const Tensor& value, Tensor& cache,
                           const Tensor& indices) {
  ETB_CHECK(expect_index(context, indices));
  if (indices.rank() != 2 || indices.size(0) != value.size(0) || indices.size(1) != value.size(kSequence)) {
    return context.fail(ETB_INVALID_ARGUMENT, "indices %s for a value %s", SizesText(indices.sizes()).text,
                        SizesText(value.sizes()).text);
  }
  const int64_t count = value.size(kSequence), positions = cache.size(kSequence);
  const auto check = [&](int64_t, int64_t offset) {
    const int64_t at = index_at(indices, offset);
    if (at < 0 || at >= positions) return fail_index(context, at, positions);
    return static_cast<etb_status>(ETB_OK);
  };
  ETB_CHECK(for_each_element(context, indices, check));
  // The caller's memory may change in between.
  return for_each_element(context, indices, [&](int64_t i, int64_t offset) {
    const int64_t at = index_at(indices, offset);
    if (at < 0 || at >= positions) return fail_index(context, at, positions);
    return copy_rows(context, value, i % count, cache, at, i / count, 1);
  });
}

}  // namespace

etb_status update_cache(KernelContext& context, const Tensor& value, Tensor& cache, int64_t start,
                        const Tensor* indices) noexcept {
  ETB_CHECK(check_sizes(context, value, cache));
  if (indices != nullptr) return copy_to_indices(context, value, cache, *indices);
  const int64_t count = value.size(kSequence), positions = cache.size(kSequence);
  if (start < 0 || start > positions || count > positions - start) {
    return context.fail(ETB_INVALID_ARGUMENT, "%lld rows at position %lld of a cache of %lld positions",
                        static_cast<long long>(count), static_cast<long long>(start),
                        static_cast<long long>(positions));
  }
  return copy_rows(context, value, 0, cache, start, -1, count);
}

namespace {

// Both ops return one element that means nothing: programs use the cache.
etb_status clear_result(KernelContext& context, Tensor& out) {
  const int64_t sizes[] = {1};
  ETB_CHECK(resize_output(context, out, sizes));
  return clear_bytes(context, out.data(), element_nbytes(out.dtype()));
}

etb_status update_cache_out(KernelContext& context, ops::llama::update_cache_out<KernelArguments> args) {
  ETB_CHECK(update_cache(context, args.value(), args.cache(), args.start_pos(), nullptr));
  return clear_result(context, args.out());
}

etb_status update_cache_with_indices_out(KernelContext& context,
                                         ops::llama::update_cache_with_indices_out<KernelArguments> args) {
  ETB_CHECK(update_cache(context, args.value(), args.cache(), args.start_pos(), &args.indices()));
  return clear_result(context, args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::llama::update_cache_out, update_cache_out>(),
    kernel_row<ops::llama::update_cache_with_indices_out, update_cache_with_indices_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(cache_update, kRows);

}  // namespace etb::host
