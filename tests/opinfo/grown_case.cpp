// SPDX-License-Identifier: Apache-2.0
#include "tests/opinfo/grown_case.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace etb::tests {
namespace {

using host::EValue;
using host::Tag;
using host::Tensor;

constexpr size_t kOutputNbytes = size_t{1} << 29;
constexpr size_t kBehind = 64;  // kernels may read whole vectors

bool is_output(const Case& one, const Tensor& tensor) {
  return std::any_of(one.outputs.begin(), one.outputs.end(),
                     [&](const Case::Output& output) { return output.actual == &tensor; });
}

// Visits every tensor and number among the arguments.
template <class OnTensor, class OnNumber>
void visit_leaves(const Case& one, OnTensor on_tensor, OnNumber on_number) {
  const auto leaf = [&](const EValue& value) {
    if (value.is_tensor()) on_tensor(value.tensor());
    if (value.is_int()) on_number(value.to_int());
    if (value.is_double() &&
        value.to_double() == static_cast<double>(static_cast<int64_t>(value.to_double())))
      on_number(static_cast<int64_t>(value.to_double()));
  };
  for (const EValue* value : one.args) {
    if (value->tag() < Tag::kIntList) {
      leaf(*value);
      continue;
    }
    for (const EValue* item : value->values())
      if (item != nullptr) leaf(*item);
  }
}

// Returns the grown sizes of a tensor. An output without elements keeps its sizes, because its capacity
// counts.
std::vector<int64_t> grown_sizes(const Tensor& from, bool is_written, const Growth& growth, int max_rank,
                                 int64_t factor) {
  std::vector<int64_t> sizes(from.sizes().begin(), from.sizes().end());
  if (is_written && from.numel() == 0) return sizes;
  for (int dim = 0; dim < from.rank(); ++dim) {
    int64_t& size = sizes[static_cast<size_t>(dim)];
    const bool grows = growth.where == Growth::Where::kLastDim    ? dim == from.rank() - 1
                       : growth.where == Growth::Where::kFirstDim ? dim == 0 && from.rank() == max_rank
                                                                  : size == growth.value;
    if (grows) size *= factor;
  }
  return sizes;
}

int largest_rank(const Case& one) {
  int rank = 0;
  visit_leaves(
      one, [&](const Tensor& tensor) { rank = std::max(rank, tensor.rank()); }, [](int64_t) {});
  return rank;
}

}  // namespace

int64_t grown_nbytes(const Case& one, const Growth& growth, int64_t factor) {
  const int rank = largest_rank(one);
  int64_t total = 0;
  visit_leaves(
      one,
      [&](const Tensor& tensor) {
        auto nbytes = static_cast<int64_t>(host::element_nbytes(tensor.dtype()));
        for (const int64_t size : grown_sizes(tensor, is_output(one, tensor), growth, rank, factor)) {
          if (__builtin_mul_overflow(nbytes, size, &nbytes)) nbytes = INT64_MAX;
        }
        if (__builtin_add_overflow(total, nbytes, &total)) total = INT64_MAX;
      },
      [](int64_t) {});
  return total;
}

LazyMemory::LazyMemory(size_t nbytes)
    : data_(
          mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
      nbytes_(nbytes) {
  if (data_ == MAP_FAILED) std::abort();
}

std::string Growth::to_text() const {
  switch (where) {
    case Where::kFirstDim:
      return "first dim";
    case Where::kLastDim:
      return "last dim";
    case Where::kEqualSizes:
      return "sizes of " + std::to_string(value);
    default:
      return "sizes and numbers of " + std::to_string(value);
  }
}

std::vector<Growth> list_growths(const Case& one) {
  std::set<int64_t> sizes, numbers;
  visit_leaves(
      one,
      [&](const Tensor& tensor) {
        if (is_output(one, tensor)) return;
        for (const int64_t size : tensor.sizes()) sizes.insert(size);
      },
      [&](int64_t number) { numbers.insert(number); });
  numbers.insert(sizes.begin(), sizes.end());
  std::vector<Growth> growths = {{Growth::Where::kLastDim, 0}, {Growth::Where::kFirstDim, 0}};
  for (const int64_t size : sizes) {
    if (size > 0) growths.push_back({Growth::Where::kEqualSizes, size});
  }
  for (const int64_t number : numbers) {
    if (number > 0) growths.push_back({Growth::Where::kEqualSizesAndNumbers, number});
  }
  return growths;
}

GrownCase::GrownCase(const Case& one, const Growth& growth, int64_t factor)
    : one_(one), growth_(growth), factor_(factor), max_rank_(largest_rank(one)) {
  for (const EValue* value : one.args) args_.push_back(grow(*value));
}

EValue* GrownCase::make(EValue value) { return values_.emplace_back(std::make_unique<EValue>(value)).get(); }

int64_t GrownCase::grow_number(int64_t number) const {
  return growth_.where == Growth::Where::kEqualSizesAndNumbers && number == growth_.value ? number * factor_
                                                                                          : number;
}

EValue* GrownCase::grow(const EValue& value) {
  switch (value.tag()) {
    case Tag::kTensor:
      return grow_tensor(value.tensor());
    case Tag::kInt:
      return make(EValue(grow_number(value.to_int())));
    case Tag::kDouble: {
      const auto number = static_cast<int64_t>(value.to_double());
      if (static_cast<double>(number) != value.to_double()) return make(value);
      return make(EValue(static_cast<double>(grow_number(number))));
    }
    case Tag::kIntList:
    case Tag::kTensorList:
    case Tag::kOptionalTensorList: {
      auto& items = *lists_.emplace_back(std::make_unique<std::vector<EValue*>>());
      for (const EValue* item : value.values()) items.push_back(item == nullptr ? nullptr : grow(*item));
      return make(value.tag() == Tag::kIntList      ? EValue::int_list(items)
                  : value.tag() == Tag::kTensorList ? EValue::tensor_list(items)
                                                    : EValue::optional_tensor_list(items));
    }
    default:
      return make(value);
  }
}

EValue* GrownCase::grow_tensor(const Tensor& from) {
  const bool is_written = is_output(one_, from);
  const std::vector<int64_t> sizes = grown_sizes(from, is_written, growth_, max_rank_, factor_);
  // Sizes of an output may be beyond any memory: its kernel is stopped, or rejects them.
  uint64_t nbytes = host::element_nbytes(from.dtype());
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(nbytes, static_cast<uint64_t>(size), &nbytes)) nbytes = kOutputNbytes;
  if (is_written) nbytes = std::min<uint64_t>(nbytes, kOutputNbytes);
  const LazyMemory& memory =
      *memory_.emplace_back(std::make_unique<LazyMemory>((is_written ? kOutputNbytes : nbytes) + kBehind));
  auto* bytes = memory.bytes().data();
  const size_t known = std::min(nbytes, static_cast<size_t>(from.nbytes()));
  if (known != 0) {
    std::memcpy(bytes, from.data(), known);
    for (size_t done = known; done < nbytes; done *= 2)
      std::memcpy(bytes + done, bytes, std::min(done, nbytes - done));
  }
  storages_.push_back(std::make_unique<host::TensorStorage>());
  const std::vector<uint8_t> order(from.dim_order().begin(), from.dim_order().end());
  tensors_.push_back(std::make_unique<Tensor>(
      storages_.back()->make(from.dtype(), sizes, bytes, is_written ? kOutputNbytes : nbytes, order,
                             is_written ? host::Dynamism::kBounded : host::Dynamism::kStatic)));
  return make(EValue(tensors_.back().get()));
}

}  // namespace etb::tests
