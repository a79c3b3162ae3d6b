// SPDX-License-Identifier: Apache-2.0
// Runs every kernel on numbers and shapes that no sample has: the smallest and largest of each dtype, infinities,
// NaN, arguments of these kinds, and tensors of other sizes, without elements, of rank 0. A kernel returns a status and leaves its inputs alone. The sanitizer builds also
// detect overflow of integers and conversions of numbers that the target type lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>

#include "host/kernels/portable.hpp"
#include "tests/opinfo/case_file.hpp"

namespace etb::tests {
namespace {

constexpr uint64_t kSeed = 20261122;
constexpr int kRounds = 8;              // each case is run so often, with other numbers
constexpr uint64_t kMostNs = 50000000;  // of one call: an argument may ask for years

class Extremes {
 public:
  explicit Extremes(uint64_t seed) : random_(seed) {}

  void change(host::Tensor& tensor) {
    if (tensor.numel() == 0 || !is_chosen(2)) return;
    const size_t nbytes = element_nbytes(tensor.dtype());
    auto* bytes = static_cast<uint8_t*>(tensor.data());
    for (int64_t i = 0; i < tensor.numel(); ++i, bytes += nbytes)
      if (is_chosen(2)) store(tensor.dtype(), bytes);
  }
  void change(host::EValue& value) {
    if (!is_chosen(4)) return;
    if (value.is_int())
      value = host::EValue(integer<int64_t>());
    else if (value.is_double())
      value = host::EValue(real<double>());
    else if (value.is_bool())
      value = host::EValue(is_chosen(2));
  }

 private:
  bool is_chosen(uint64_t one_in) { return random_() % one_in == 0; }

  template <class T>
  T integer() {
    using Limits = std::numeric_limits<T>;
    const T some[] = {Limits::min(), Limits::max(), static_cast<T>(Limits::max() / 2 + 1),
                      T(0),          T(1),          static_cast<T>(-1)};
    return some[random_() % std::size(some)];
  }
  template <class T>
  T real() {
    using Limits = std::numeric_limits<T>;
    const T some[] = {Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::max(),
                      Limits::lowest(),
                      Limits::denorm_min(),
                      T(0),
                      T(-0.0),
                      T(9.3e18),
                      T(-9.3e18)};
    return some[random_() % std::size(some)];
  }
  template <class T>
  static void put(uint8_t* to, T value) {
    std::memcpy(to, &value, sizeof(value));
  }

  void store(host::Dtype dtype, uint8_t* to) {
    constexpr uint16_t kHalves[] = {0x7c00, 0xfc00, 0x7e00, 0x7bff, 0xfbff, 1, 0x8000};
    constexpr uint16_t kBfloats[] = {0x7f80, 0xff80, 0x7fc0, 0x7f7f, 0xff7f, 1, 0x8000};
    switch (dtype) {
      case host::Dtype::UINT8:
        return put(to, integer<uint8_t>());
      case host::Dtype::INT8:
        return put(to, integer<int8_t>());
      case host::Dtype::INT16:
        return put(to, integer<int16_t>());
      case host::Dtype::INT32:
        return put(to, integer<int32_t>());
      case host::Dtype::INT64:
        return put(to, integer<int64_t>());
      case host::Dtype::FLOAT16:
        return put(to, kHalves[random_() % std::size(kHalves)]);
      case host::Dtype::BFLOAT16:
        return put(to, kBfloats[random_() % std::size(kBfloats)]);
      case host::Dtype::FLOAT32:
        return put(to, real<float>());
      case host::Dtype::FLOAT64:
        return put(to, real<double>());
      default:
        return;
    }
  }

  std::mt19937_64 random_;
};

uint64_t now_ns(void*) {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

void run(const host::KernelRegistry& registry, const std::string& op, Case& one) {
  const size_t dot = op.find('.');
  const host::Kernel* kernel =
      registry.find(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1), one.args.data(),
                    one.args.size());
  if (kernel == nullptr) return;
  std::vector<std::vector<uint8_t>> before;
  for (const OwnedTensor* input : one.inputs) before.push_back(input->bytes());
  static std::vector<std::byte> scratch(4 << 20);
  etb_error error = ETB_ERROR_INIT;
  host::KernelContext context(scratch, registry.vector_table(), &error);
  const host::PlatformHooks hooks{nullptr, now_ns, nullptr};
  host::RunLimits limits;
  limits.deadline_ns = now_ns(nullptr) + kMostNs;
  context.set_stop_check(host::StopCheck(limits, hooks));
  (void)call_kernel(context, *kernel, one.args.data(), one.args.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i], one.inputs[i]->bytes()) << "input " << i;
}

// A tensor without elements has no memory.
class ShapedTensor {
 public:
  ShapedTensor(host::Dtype dtype, const std::vector<int64_t>& sizes, std::mt19937_64& random) {
    size_t nbytes = element_nbytes(dtype);
    for (const int64_t size : sizes) nbytes *= static_cast<size_t>(size);
    if (nbytes != 0) memory_ = std::make_unique<uint8_t[]>(nbytes);
    tensor_ = storage_.make(dtype, sizes, memory_.get(), nbytes, {}, host::Dynamism::kStatic);
    // The low byte of integers is 0 or 1, so that indices are often in range.
    for (size_t i = 0; i < nbytes; i += element_nbytes(dtype)) memory_[i] = random() % 2;
  }
  host::Tensor& tensor() { return tensor_; }

 private:
  host::TensorStorage storage_;
  std::unique_ptr<uint8_t[]> memory_;
  host::Tensor tensor_;
};

std::vector<int64_t> other_sizes(const host::Tensor& tensor, std::mt19937_64& random) {
  std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
  switch (random() % 4) {
    case 0:
      sizes.clear();
      break;
    case 1:
      if (sizes.size() < 4) sizes.insert(sizes.begin(), static_cast<int64_t>(random() % 3));
      break;
    case 2:
      if (!sizes.empty()) sizes.pop_back();
      break;
    default:
      break;
  }
  for (int64_t& size : sizes)
    if (random() % 3 == 0) size = static_cast<int64_t>(random() % 3);
  return sizes;
}

class ExtremeValues : public testing::TestWithParam<std::string> {};

TEST_P(ExtremeValues, LeaveInputsAlone) {
  host::KernelRegistry registry;
  ASSERT_EQ(host::add_portable_kernels(registry), ETB_OK);
  for (int round = 0; round < kRounds; ++round) {
    auto file = read_case_file(std::string(ETB_CASES) + "/" + GetParam());
    ASSERT_TRUE(file) << file.error().message;
    for (size_t i = 0; i < file->cases.size(); ++i) {
      Case& one = file->cases[i];
      SCOPED_TRACE(file->op + " case " + std::to_string(i) + " of round " + std::to_string(round) +
                   ", seed " + std::to_string(kSeed));
      Extremes extremes(kSeed + static_cast<uint64_t>(round) * 1000 + i);
      for (const OwnedTensor* input : one.inputs) extremes.change(const_cast<OwnedTensor*>(input)->tensor());
      for (const auto& value : one.values) extremes.change(*value);
      run(registry, file->op, one);
    }
  }
}

TEST_P(ExtremeValues, OtherShapesAreRejectedOrComputed) {
  host::KernelRegistry registry;
  ASSERT_EQ(host::add_portable_kernels(registry), ETB_OK);
  for (int round = 0; round < kRounds; ++round) {
    auto file = read_case_file(std::string(ETB_CASES) + "/" + GetParam());
    ASSERT_TRUE(file) << file.error().message;
    for (size_t i = 0; i < file->cases.size(); ++i) {
      Case& one = file->cases[i];
      SCOPED_TRACE(file->op + " case " + std::to_string(i) + " of round " + std::to_string(round) +
                   ", seed " + std::to_string(kSeed));
      std::mt19937_64 random(kSeed + static_cast<uint64_t>(round) * 1000 + i);
      std::vector<std::unique_ptr<ShapedTensor>> shaped;
      for (const auto& value : one.values) {
        const auto is_same = [&](const OwnedTensor* input) { return &input->tensor() == &value->tensor(); };
        if (!value->is_tensor() || std::none_of(one.inputs.begin(), one.inputs.end(), is_same)) continue;
        if (random() % 2 == 0) continue;
        const host::Tensor& tensor = value->tensor();
        shaped.push_back(std::make_unique<ShapedTensor>(tensor.dtype(), other_sizes(tensor, random), random));
        *value = host::EValue(&shaped.back()->tensor());
      }
      run(registry, file->op, one);
    }
  }
}

std::vector<std::string> case_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(ETB_CASES))
    if (entry.path().extension() == ".cases") out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Ops, ExtremeValues, testing::ValuesIn(case_files()), [](const auto& test) {
  std::string name = test.param;
  for (char& letter : name)
    if (!isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
});

}  // namespace
}  // namespace etb::tests
