// SPDX-License-Identifier: Apache-2.0
// Tests that every kernel of the table checks the clock during long runs. Calls of PyTorch's samples are
// grown to millions of elements and run against a deadline. Time is the CPU time of this thread, so load on
// the machine does not count.
#include <gtest/gtest.h>

#include <ctime>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "host/kernels/portable.hpp"
#include "tests/opinfo/grown_case.hpp"

namespace etb::tests {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSlowness = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t kSlowness = 20;
#else
constexpr uint64_t kSlowness = 1;
#endif
#else
constexpr uint64_t kSlowness = 1;
#endif

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kDeadlineNs = 10 * kMs * kSlowness;  // from the start of a call
constexpr uint64_t kMostGapNs = 40 * kMs * kSlowness;   // between two clock checks; promised: 50 ms
constexpr uint64_t kShortNs = 15 * kMs * kSlowness;     // a shorter call need not check
constexpr int64_t kNbytes = 8 << 20;  // all given tensors together; 12 times that for the fastest kernels

// Kernels without a loop over elements.
const std::set<std::string> kConstantTime = {
    "aten::empty.out", "aten::empty_permuted.out", "aten::empty_strided.out",
    "aten::resize_",   "aten::scalar_tensor.out",  "dim_order_ops::_empty_dim_order.out"};

uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

// A clock that records the longest gap between reads.
struct Watch {
  uint64_t last_ns = 0, most_gap_ns = 0;
  int looks = 0;

  void look(uint64_t now) {
    most_gap_ns = std::max(most_gap_ns, now - last_ns);
    last_ns = now;
    ++looks;
  }
  host::PlatformHooks hooks() {
    return {this,
            [](void* self) {
              const uint64_t now = cpu_ns();
              static_cast<Watch*>(self)->look(now);
              return now;
            },
            nullptr};
  }
};

struct Outcome {
  etb_status status = ETB_OK;
  uint64_t total_ns = 0, most_gap_ns = 0;
  int looks = 0;
  std::string text;
};

// Returns cases for kernels whose samples do not grow: PyTorch's have rank 0, or sizes that only fit each
// other.
std::optional<Case> own_case(const std::string& name) {
  Case one;
  const auto tensor = [&one](host::Dtype dtype, host::Dynamism dynamism = host::Dynamism::kStatic) {
    one.tensors.push_back(
        std::make_unique<OwnedTensor>(dtype, std::vector<int64_t>{64}, std::vector<uint8_t>{0}, dynamism));
    return &one.tensors.back()->tensor();
  };
  const auto add = [&one](host::EValue value) {
    one.values.push_back(std::make_unique<host::EValue>(value));
    return one.values.back().get();
  };
  const auto list = [&](int64_t item) {
    one.lists.push_back(std::make_unique<std::vector<host::EValue*>>(1, add(host::EValue(item))));
    return add(host::EValue::int_list(*one.lists.back()));
  };
  host::Tensor* const self = tensor(host::Dtype::FLOAT32);
  host::Tensor* const out = tensor(host::Dtype::FLOAT32, host::Dynamism::kBounded);
  one.outputs.push_back({out, out, true});
  if (name == "aten::scatter.value_out") {  // self, dim, index, value, out
    one.args = {add(host::EValue(self)), add(host::EValue(int64_t{0})),
                add(host::EValue(tensor(host::Dtype::INT64))), add(host::EValue(2.5)),
                add(host::EValue(out))};
    return one;
  }
  if (name == "aten::as_strided_copy.out") {  // self, size, stride, storage_offset, out
    one.args = {add(host::EValue(self)), list(64), list(1), add(host::EValue(int64_t{0})),
                add(host::EValue(out))};
    return one;
  }
  return std::nullopt;
}

class KernelDeadlines : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(host::add_portable_kernels(registry_), ETB_OK); }

  const host::Kernel* find(const std::string& op, const Case& one) const {
    const size_t dot = op.find('.');
    return registry_.find(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1),
                          one.args.data(), one.args.size());
  }

  Outcome run(const host::Kernel& kernel, GrownCase& grown, uint64_t deadline_ns) {
    Outcome outcome;
    etb_error error = ETB_ERROR_INIT;
    host::KernelContext context(scratch_.bytes(), registry_.vector_table(), &error);
    Watch watch;
    const host::PlatformHooks hooks = watch.hooks();
    const uint64_t begin = watch.last_ns = cpu_ns();
    host::RunLimits limits;
    limits.deadline_ns = begin + deadline_ns;
    context.set_stop_check(host::StopCheck(limits, hooks));
    outcome.status = call_kernel(context, kernel, grown.args().data(), grown.args().size());
    outcome.looks = watch.looks;
    const uint64_t end = cpu_ns();
    watch.look(end);
    outcome.most_gap_ns = watch.most_gap_ns;
    outcome.total_ns = end - begin;
    outcome.text = error.text;
    return outcome;
  }

  // Returns the largest factor that keeps tensors within `most` bytes; 0 if the kernel rejects this growth.
  int64_t largest_factor(const host::Kernel& kernel, const Case& one, const Growth& growth, int64_t most) {
    if (grown_nbytes(one, growth, 3) > most) return 0;
    GrownCase small(one, growth, 3);
    if (run(kernel, small, 1000 * kMs * kSlowness).status != ETB_OK) return 0;
    int64_t factor = 3;
    while (factor < most && grown_nbytes(one, growth, factor * 2) <= most) factor *= 2;
    return factor;
  }

  // Runs a case as large as possible. Returns false if the kernel rejects this growth.
  bool run_large(const host::Kernel& kernel, const Case& one, const Growth& growth, Outcome& out) {
    for (const int64_t most : {kNbytes, 12 * kNbytes}) {
      int64_t factor = largest_factor(kernel, one, growth, most);
      if (factor == 0) return false;
      for (; factor >= 3; factor /= 4) {
        GrownCase large(one, growth, factor);
        out = run(kernel, large, kDeadlineNs);
        if (out.status == ETB_OK || out.status == ETB_DEADLINE_EXCEEDED) break;
      }
      if (factor < 3) return false;
      if (out.looks > 0) return true;
    }
    return true;
  }

  host::KernelRegistry registry_;
  LazyMemory scratch_{size_t{1} << 29};
};

TEST_F(KernelDeadlines, HoldInsideEveryKernelOfTheTable) {
  constexpr int kGrowths = 3;  // growths that a kernel accepted, for each of at most kCases cases
  constexpr size_t kCases = 40;
  std::set<std::string> names;
  registry_.for_each([&](const host::Kernel& kernel) { names.insert(kernel.name); });
  uint64_t worst_ns = 0;
  int stopped_count = 0;
  for (const std::string& name : names) {
    std::string file = name;
    for (size_t at; (at = file.find("::")) != std::string::npos;) file.replace(at, 2, "__");
    auto cases = read_case_file(std::string(ETB_CASES) + "/" + file + ".cases");
    ASSERT_TRUE(cases) << cases.error().message;
    if (auto own = own_case(name)) cases->cases.insert(cases->cases.begin(), std::move(*own));
    int accepted = 0;
    uint64_t longest_ns = 0;
    bool is_stopped = false;
    for (size_t i = 0; i < std::min(kCases, cases->cases.size()) && accepted < kGrowths; ++i) {
      const Case& one = cases->cases[i];
      const host::Kernel* const kernel = find(name, one);
      ASSERT_NE(kernel, nullptr) << name;
      for (const Growth& growth : list_growths(one)) {
        Outcome outcome;
        if (accepted == kGrowths || !run_large(*kernel, one, growth, outcome)) continue;
        accepted += outcome.looks > 0 ? 1 : 0;
        // A busy machine only adds to a gap (page faults count as CPU time of the thread), so the least of some tries is the kernel's.
        for (int tries = 0; tries < 3 && outcome.most_gap_ns >= kMostGapNs; ++tries) {
          Outcome again;
          if (run_large(*kernel, one, growth, again))
            outcome.most_gap_ns = std::min(outcome.most_gap_ns, again.most_gap_ns);
        }
        longest_ns = std::max(longest_ns, outcome.total_ns);
        worst_ns = std::max(worst_ns, outcome.most_gap_ns);
        is_stopped |= outcome.status == ETB_DEADLINE_EXCEEDED;
        const std::string where = name + " case " + std::to_string(i) + ", " + growth.to_text() + ": " +
                                  std::to_string(outcome.total_ns / 1000) + " us of CPU, " +
                                  std::to_string(outcome.looks) + " looks, longest gap " +
                                  std::to_string(outcome.most_gap_ns / 1000) + " us";
        EXPECT_LT(outcome.most_gap_ns, kMostGapNs) << where;
        EXPECT_TRUE(outcome.looks > 0 || outcome.total_ns < kShortNs) << where;
      }
    }
    stopped_count += is_stopped ? 1 : 0;
    if (kConstantTime.contains(name)) {
      EXPECT_LT(longest_ns, kShortNs) << name << " runs long; take it out of kConstantTime";
    } else {
      EXPECT_GT(accepted, 0) << name << ": looks at no clock however it grows; the longest call took "
                             << std::to_string(longest_ns / 1000) << " us";
    }
  }
  std::printf("%zu kernels, %d ended inside by the deadline; the longest gap was %llu us\n", names.size(),
              stopped_count, static_cast<unsigned long long>(worst_ns / 1000));
}

}  // namespace
}  // namespace etb::tests
