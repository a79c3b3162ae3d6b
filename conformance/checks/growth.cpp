// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/process_facts.hpp"
#include "conformance/subject/sanitizer.hpp"

namespace etb::conformance {
namespace {

constexpr int kWarmUpWindows = 4;
constexpr int kWindows = 8;
constexpr int kSamplesOfAWindow = 3;
// The passes that confirm are longer: a cache of a few thousand entries is full at their end.
constexpr int kTimesLonger = 4;
constexpr int kConfirmations = 2;
// A busy machine makes few repetitions in its time. A suspicion waits for so many, or for so long.
constexpr size_t kLeastRepetitions = 1000;
constexpr double kMostMsOfRepetitions = 5000;

// A growth by so many objects of a kind that the system limits is no cache. At the limit it would stop.
constexpr size_t kMostObjects = 256;

struct Account {
  std::string_view what;
  size_t (*count)();
  bool is_limited = false;
};
// The first one costs little, and is read after every repetition.
constexpr Account kAccounts[] = {
    {"heap bytes", heap_bytes},
    {"mappings", mapping_count},
    {"mapped bytes", mapping_bytes},
    {"locked bytes", locked_bytes},
    {"open descriptors", open_descriptor_count, true},
    {"threads", thread_count, true},
    {"child processes", child_count, true},
    {"temporary files", temporary_file_count, true},
};
constexpr std::string_view kDeviceBytes = "device bytes";
constexpr size_t kDevice = std::size(kAccounts);  // the last account
constexpr size_t kAccountCount = kDevice + 1;
using Values = std::array<size_t, kAccountCount>;

class Growth {
 public:
  Growth(size_t count, const std::function<void(size_t)>& body, const GrowthLimits& limits)
      : body_(body), limits_(limits), count_(count) {
    if (!has_sanitizer()) take_freed_blocks();
    for (size_t account = 0; account < kAccountCount; ++account) before_[account] = value_of(account);
    fit_to_budget();
  }

  std::string find(const char* what) {
    // A few repetitions show nothing.
    constexpr double kMostTimesOfBudget = 10;
    if (ms_ * static_cast<double>(window_) * (kWarmUpWindows + kWindows) >
        kMostTimesOfBudget * limits_.budget_ms)
      return "";
    for (int i = 0; i < kWarmUpWindows; ++i)
      if (const std::string many = find_many(run_window(window_), what); !many.empty()) return many;
    std::vector<Values> first = run_windows(window_);
    for (size_t account = 0; account < kAccountCount; ++account) {
      if (!is_compared(account) || !rises(first, account)) continue;
      const std::vector<Values> last = confirm(account);
      if (last.empty()) continue;
      const double grown = static_cast<double>(last.back()[account] - last.front()[account]) /
                           (static_cast<double>(longer_window()) * (kWindows - 1));
      return fmt::format("{}: {:.3g} more for each {}, in {} of them, and still growing", name_of(account),
                         grown, what, done_);
    }
    return limits_.has_octaves ? find_doubling(what) : "";
  }

 private:
  static std::string_view name_of(size_t account) {
    return account == kDevice ? kDeviceBytes : kAccounts[account].what;
  }
  bool is_compared(size_t account) const {
    return limits_.account.empty() || limits_.account == name_of(account);
  }
  size_t value_of(size_t account) const {
    if (account != kDevice) return kAccounts[account].count();
    return limits_.device_bytes ? limits_.device_bytes() : 0;
  }

  std::string find_many(const Values& now, const char* what) const {
    for (size_t account = 0; account < kDevice; ++account)
      if (is_compared(account) && kAccounts[account].is_limited &&
          now[account] > before_[account] + kMostObjects)
        return fmt::format("{}: {} more after {} repetitions of a {}", kAccounts[account].what,
                           now[account] - before_[account], done_, what);
    return "";
  }

  // Measures one repetition, then selects how many items and repetitions fit.
  void fit_to_budget() {
    const uint64_t begin = monotonic_ns();
    size_t tried = 0;
    while (tried < count_ && (tried == 0 || elapsed_ms(begin) < limits_.budget_ms / 8)) repeat(tried++);
    ms_ = std::max(elapsed_ms(begin) / static_cast<double>(tried), 1e-4);
    constexpr double kAllWindows = kWarmUpWindows + kWindows;
    const double affordable = limits_.budget_ms / (kAllWindows * ms_);
    constexpr size_t kLeastRounds = 2;
    count_ = std::clamp<size_t>(static_cast<size_t>(affordable) / kLeastRounds, 1, count_);
    const auto wanted = static_cast<size_t>(std::min<double>(limits_.window, affordable));
    // Whole rounds over the items, so that each window has the same repetitions.
    window_ = count_ * std::max(kLeastRounds, (wanted + count_ - 1) / count_);
  }

  // Returns the windows of the last pass, or none if the account stops growing. Once is too few: drivers with
  // threads of their own allocate for them at any time.
  std::vector<Values> confirm(size_t account) {
    std::vector<Values> windows;
    const uint64_t begin = monotonic_ns();
    while (done_ < kLeastRepetitions && elapsed_ms(begin) < kMostMsOfRepetitions) repeat(done_ % count_);
    for (int i = 0; i < kConfirmations; ++i) {
      windows = run_windows(longer_window());
      if (!rises(windows, account)) return {};
    }
    return windows;
  }

  static double elapsed_ms(uint64_t begin_ns) { return static_cast<double>(monotonic_ns() - begin_ns) / 1e6; }

  size_t longer_window() const {
    const bool is_slow = ms_ * static_cast<double>(window_) * kWindows * kTimesLonger > 4 * limits_.budget_ms;
    return is_slow ? window_ : window_ * kTimesLonger;
  }

  void repeat(size_t index) {
    body_(index);
    ++done_;
  }

  Values run_window(size_t length) {
    Values least;
    least.fill(SIZE_MAX);
    const size_t piece = std::max<size_t>(length / kSamplesOfAWindow, 1);
    for (size_t i = 0; i < length; ++i) {
      repeat(i % count_);
      least[0] = std::min(least[0], kAccounts[0].count());
      if ((i + 1) % piece != 0) continue;
      for (size_t account = 1; account < kAccountCount; ++account)
        least[account] = std::min(least[account], value_of(account));
    }
    return least;
  }

  std::vector<Values> run_windows(size_t length) {
    std::vector<Values> out;
    out.reserve(kWindows);
    for (int i = 0; i < kWindows; ++i) out.push_back(run_window(length));
    return out;
  }

  static bool rises(const std::vector<Values>& windows, size_t account) {
    for (size_t i = 1; i < windows.size(); ++i)
      if (windows[i][account] <= windows[i - 1][account]) return false;
    return true;
  }

  // A vector of all runs grows at 1024, 2048, 4096 of them, and not in between: growth that doubles with the
  // number of repetitions.
  std::string find_doubling(const char* what) {
    constexpr int kOctaves = 3;
    constexpr double kLeastRatio = 1.3;
    // A repetition takes several times as long on a busy machine, and is then no slow one.
    constexpr double kMostTimesOfBudget = 6;
    const size_t begin = done_;
    if (ms_ * static_cast<double>(begin << kOctaves) > kMostTimesOfBudget * limits_.budget_ms) return "";
    size_t before = run_window(count_)[0];
    double last = 0;
    for (int octave = 1; octave <= kOctaves; ++octave) {
      while (done_ < begin << octave) repeat(done_ % count_);
      const size_t now = run_window(count_)[0];
      const double grown = static_cast<double>(now) - static_cast<double>(before);
      if (grown <= 0 || grown < last * kLeastRatio) return "";
      last = grown;
      before = now;
    }
    // The smallest element of such a vector has a byte. Less is scatter that happened to rise three times.
    if (last < static_cast<double>(begin << (kOctaves - 1))) return "";
    return fmt::format(
        "heap bytes: {:.0f} more for {} repetitions of a {}, and twice as many for twice as many", last,
        begin << (kOctaves - 1), what);
  }

  const std::function<void(size_t)>& body_;
  const GrowthLimits& limits_;
  size_t count_;
  Values before_{};
  size_t window_ = 0;
  size_t done_ = 0;
  double ms_ = 0;
};

}  // namespace

std::string find_growth(size_t count, const std::function<void(size_t)>& body, const char* what,
                        const GrowthLimits& limits) {
  return count == 0 ? "" : Growth(count, body, limits).find(what);
}

void expect_no_growth(CheckContext& context, size_t count, const std::function<void(size_t)>& body,
                      const char* what, const GrowthLimits& limits) {
  context.progress().at(what);
  if (const std::string grown = find_growth(count, body, what, limits); !grown.empty()) context.fail(grown);
}

}  // namespace etb::conformance
