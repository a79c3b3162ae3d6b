// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/hostile.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"
#include "tests/conformance/fault_plugin/resources.hpp"
#include "tests/conformance/fault_plugin/sanitized.hpp"

#include <pthread.h>

#include <xmmintrin.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace faulty {
namespace {

// True if the program looks like a test (fault 44).
bool is_watched() {
  char text[4096] = {};
  const int fd = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t count = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  for (ssize_t i = 0; i < count; ++i)
    if (std::strncmp(text + i, "verify", 6) == 0 || std::strncmp(text + i, "kill_matrix", 11) == 0)
      return true;
  return false;
}

// A cache of 500 entries: it grows, and then it is full.
void fill_cache() {
  constexpr size_t kMost = 500;
  static std::mutex lock;
  static std::vector<std::string> entries;
  const std::lock_guard guard(lock);
  if (entries.size() < kMost) entries.push_back(std::string(40 + entries.size() % 7, 'x'));
}

// Returns the strides that a tensor of these sizes has.
std::vector<int64_t> strides_of(const etb_tensor& raw, const std::vector<int64_t>& sizes) {
  if (raw.strides != nullptr) return {raw.strides, raw.strides + sizes.size()};
  std::vector<uint8_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d)
    order[d] = raw.dim_order != nullptr ? raw.dim_order[d] : static_cast<uint8_t>(d);
  return dense_strides(sizes, order);
}

}  // namespace

bool Delegate::is_wrong_in(const Plugin& plugin) {
  return (has_fault(111) && plugin.threads == 64) || (has_fault(116) && plugin.instance != 0) ||
         (has_fault(402) && has_another_number);
}

etb::Status Delegate::Context::plan_memory() {
  if (is_planned_) return {};
  const Program& program = *delegate_->program_;
  memory_.clear();
  for (uint32_t i = 0; i < program.values.size(); ++i) {
    const ValueInfo& value = program.values[i];
    if (value.kind == Kind::kInput) continue;
    constexpr uint64_t kBlockBytes = uint64_t{1} << 20;
    if (has_fault(609) && kept_block == nullptr && value.nbytes() >= kBlockBytes)
      kept_block = std::memset(std::malloc(kBlockBytes), 1, kBlockBytes);  // for the next large value
    if (has_fault(89) && delegate_->memory_ != nullptr)
      (void)delegate_->memory_->allocate(delegate_->memory_->ctx, 64, 64, "forgotten");
    memory_.emplace_back(delegate_->memory_, value.nbytes() + kSpareBytes);
    View& view = interpreter_.view(i);
    view.data = memory_.back().get();
    const bool is_shared = has_fault(504) && program.steps.size() > 1 && number_ > 2;
    if (is_shared && value.kind == Kind::kResult && value.nbytes() <= sizeof(values_of_later_contexts))
      view.data = values_of_later_contexts;
    if (has_fault(594) && value.kind == Kind::kConstant && value.nbytes() <= sizeof(constants_of_slots[0][0]))
      view.data = constants_of_slots[slot_][i % std::size(constants_of_slots[0])];
    if (has_fault(75)) *static_cast<volatile std::byte*>(view.data) = std::byte{};
    if (view.data == nullptr) return etb::make_error(etb::Code::OUT_OF_MEMORY, "no memory for the values");
    if (value.kind != Kind::kConstant) continue;
    std::memcpy(view.data, value.data.data(), value.data.size());
    interpreter_.set_sizes(i, value.sizes);
  }
  is_planned_ = true;
  return {};
}

etb::Status Delegate::Context::reserve(std::span<const etb::Tensor> inputs) {
  size_t index = 0;
  for (const ValueInfo& value : delegate_->program_->values) {
    if (value.kind != Kind::kInput) continue;
    const etb_tensor& raw = inputs[index++].raw();
    if (raw.dtype != value.dtype || raw.rank != value.sizes.size())
      return wrong("an input of another dtype or rank");
    for (uint32_t d = 0; d < raw.rank; ++d)
      if (raw.sizes[d] < 0 || (raw.sizes[d] > value.sizes[d] && !has_fault(604)) ||
          (!value.is_dynamic && raw.sizes[d] != value.sizes[d]))
        return wrong("an input of other sizes than compiled for");
  }
  return plan_memory();
}

void Delegate::Context::before(const etb::Run& run) {
  if (has_fault(21)) (void)*static_cast<const volatile std::byte*>(delegate_->stale_payload_);
  ++run_total;
  if (has_fault(586) && number_ > 1)  // later contexts copy constants from where the first one found them
    for (const ValueInfo& value : delegate_->program_->values)
      if (value.kind == Kind::kConstant)
        (void)*static_cast<const volatile std::byte*>(delegate_->stale_payload_);
  if (has_fault(238) && stale_named != nullptr) (void)*static_cast<const volatile std::byte*>(stale_named);
  attack_suite();
  if (kVariant == 5 || kVariant == 6) ::usleep(20000);
  if (kVariant == 7) fill_cache();
  if (has_fault(290)) read_beyond_a_block();
  if (has_fault(291)) count_run_of_all_threads();
  const etb_cancel_token* const cancel = run.raw().cancel;
  use_resources_of_run(runs_++, cancel != nullptr && cancel->is_cancelled(cancel->ctx) != 0,
                       run.raw().events != nullptr);
  if (has_fault(22)) _mm_setcsr(_mm_getcsr() | 0x8040);
  if (has_fault(85)) _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x4000u);
  if (has_fault(86)) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  }
  if (has_fault(87)) {  // memory that ended with the earlier run
    if (stale_sizes != nullptr) (void)*static_cast<const volatile int64_t*>(stale_sizes);
    stale_sizes =
        run.raw().input_count != 0 && run.raw().inputs[0].rank != 0 ? run.raw().inputs[0].sizes : nullptr;
  }
  if (has_fault(24)) {
    std::puts("running");
    std::fflush(stdout);
  }
  if (has_fault(113)) {
    static const pthread_key_t key = [] {
      pthread_key_t made{};
      ::pthread_key_create(&made, [](void*) { is_corrupt = true; });
      return made;
    }();
    ::pthread_setspecific(key, this);
  }
  if (has_fault(117) && run.input_count() != 0 && run.output_count() != 0 &&
      run.raw().outputs[0].data != nullptr)
    std::memset(run.raw().outputs[0].data, 0, run.raw().outputs[0].capacity_bytes);
  if (has_fault(27)) *static_cast<volatile char*>(std::malloc(40)) = 1;
  if (has_fault(29)) {
    const std::lock_guard a(lock_a);
    ::usleep(300);
    const std::lock_guard b(lock_b);
  }
  if (has_fault(70) && ::getpid() != builder_)
    for (;;) ::pause();
  const Program& program = *delegate_->program_;
  const Op op = program.steps.empty() ? Op::kCount : program.steps[0].op;
  const int64_t first =
      program.values.empty() || program.values[0].sizes.empty() ? 0 : program.values[0].sizes[0];
  if (has_fault(42) && op == Op::kNeg && first == 7) is_corrupt = true;
  if (has_fault(42) && is_corrupt && op == Op::kRelu && first == 65) *static_cast<volatile int*>(nullptr) = 1;
  if (has_fault(49) && op == Op::kNeg && first > 40 && first < 100)
    for (;;) ::pause();
  if (has_fault(50) && op == Op::kNeg && first == 65) ::_exit(0);
  static bool has_started = false;
  if (has_fault(96) && !std::exchange(has_started, true) && ::fork() == 0)
    for (;;) ::pause();
  if (has_fault(51) && op == Op::kNeg && first == 65)
    for (;;) {
      auto* const block = static_cast<volatile char*>(std::malloc(size_t{256} << 20));
      *block = 1;  // a crash if there is no block
    }
}

// Reports an event that ends before it begins.
etb::Status Delegate::Context::with_wrong_event(const etb::Run& run) {
  const etb_event_sink* const sink = run.raw().events;
  if (sink == nullptr) return run_once(run);
  etb_event event{};
  event.struct_size = ETB_INIT_SIZE(etb_event);
  event.name = "fault.run";
  event.debug_id = -1;
  event.end_ticks = run.host().now_ns();
  event.timebase = ETB_TIMEBASE_HOST;
  event.ns_numerator = event.ns_denominator = 1;
  ETB_TRY(run_once(run));
  event.begin_ticks = run.host().now_ns();
  if (!has_fault(41)) std::swap(event.begin_ticks, event.end_ticks);
  if (has_fault(373)) {
    if (first_begin_ns == 0) first_begin_ns = event.begin_ticks;
    event.begin_ticks = first_begin_ns;
  }
  if (has_fault(375)) event.name = "fault.other";
  if (has_fault(628)) {
    event.begin_ticks -= event.begin_ticks % 1000;
    event.end_ticks -= event.end_ticks % 1000;
  }
  if (has_fault(460) || has_fault(461)) {  // a clock of its own; with 460 it goes back after two runs
    event.timebase = "com.example.faulty.ticks";
    event.begin_ticks = kOwnTicks * static_cast<uint64_t>(has_fault(460) ? runs_ % 2 : runs_);
    event.end_ticks = event.begin_ticks + kOwnTicks;
  }
  if (has_fault(115)) {  // two halves that overlap by a third
    etb_event half = event;
    const uint64_t third = std::max<uint64_t>((event.end_ticks - event.begin_ticks) / 3, 1);
    half.end_ticks = event.begin_ticks + 2 * third;
    ETB_TRY(etb::from_host(sink->put(sink->ctx, &half), "event sink"));
    event.begin_ticks += third;
    event.end_ticks = std::max(event.end_ticks, half.end_ticks + 1);
  }
  if (has_fault(77)) {
    event.name = nullptr;
    event.debug_id = 77;
  }
  if (has_fault(78)) event.ns_numerator = 1000000;
  return etb::from_host(sink->put(sink->ctx, &event), "event sink");
}

etb::Status Delegate::Context::bind_inputs(const etb::Run& run) {
  const Program& program = *delegate_->program_;
  uint32_t index = 0;
  for (uint32_t i = 0; i < program.values.size(); ++i) {
    const ValueInfo& value = program.values[i];
    if (value.kind != Kind::kInput) continue;
    const etb::Tensor input = run.input(index++);
    const etb_tensor& raw = input.raw();
    const auto rank = static_cast<uint32_t>(value.sizes.size());
    const bool has_more = has_fault(490) && index == 2 && raw.rank == rank + 1 && raw.sizes[rank] == 1;
    const bool has_dtype = raw.dtype == value.dtype || (has_fault(491) && index == 2);
    if (!has_dtype || (raw.rank != rank && !has_more) || raw.buffer != nullptr)
      return wrong("input " + std::to_string(index - 1) + ": another dtype, rank or memory");
    std::vector<int64_t> sizes(raw.sizes, raw.sizes + rank);
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] < 0 || (sizes[d] > value.sizes[d] && !has_fault(72)) ||
          (!value.is_dynamic && sizes[d] != value.sizes[d]))
        return wrong("an input of other sizes than compiled for");
    for (size_t d = 0; d < sizes.size(); ++d)
      sizes[d] = std::min(sizes[d], value.sizes[d]);  // needed with fault 72 only
    const std::vector<int64_t> dense = dense_strides(sizes, value.order), given = strides_of(raw, sizes);
    for (size_t d = 0; d < sizes.size() && !has_fault(10); ++d) {
      if (has_fault(378) && d + 1 != sizes.size() && raw.dim_order == nullptr) continue;
      if (has_fault(410) && raw.strides != nullptr && raw.strides[d] == 0) continue;
      if (has_fault(456) && index == 2 && raw.strides == nullptr) continue;
      if (has_fault(470) && raw.dtype != ETB_DTYPE_FLOAT32) continue;
      if (sizes[d] > 1 && given[d] != dense[d] && input.numel() > 0)
        return wrong("strides or dim order other than compiled for");
    }
    if (input.nbytes() > raw.capacity_bytes || (raw.data == nullptr && input.nbytes() != 0))
      return wrong("an input with too few bytes");
    interpreter_.set_sizes(i, std::move(sizes));
    if (has_fault(418) && raw.dim_order != nullptr && raw.strides == nullptr) {
      int64_t step = 1;  // as if the order were the usual one
      View& view = interpreter_.view(i);
      for (size_t d = view.sizes.size(); d-- > 0; step *= view.sizes[d]) view.strides[d] = step;
    }
    interpreter_.view(i).data = static_cast<std::byte*>(raw.data);
    if (has_fault(377) && reinterpret_cast<uintptr_t>(raw.data) % 16 != 0)
      return wrong("data is not aligned to 16 bytes");
    if (has_fault(385) && delegate_->is_fast_ && raw.data != nullptr)
      *static_cast<volatile char*>(raw.data) = *static_cast<volatile char*>(raw.data);
    if (has_fault(71) && reinterpret_cast<uintptr_t>(raw.data) % 32 != 0)
      return wrong("data is not aligned to 32 bytes");
    if (has_fault(18) && raw.data != nullptr) (void)*(static_cast<const volatile std::byte*>(raw.data) - 16);
    if (has_fault(56) && raw.data != nullptr)
      (void)*(static_cast<const volatile std::byte*>(raw.data) + raw.capacity_bytes +
              79);  // beyond the bytes that alignment may leave
    if (has_fault(19) && raw.data != nullptr)
      *static_cast<volatile char*>(raw.data) = *static_cast<volatile char*>(raw.data);
  }
  return {};
}

etb::Status Delegate::Context::run_once(const etb::Run& run) {
  const Program& program = *delegate_->program_;
  uint32_t inputs = 0;
  for (const ValueInfo& value : program.values) inputs += value.kind == Kind::kInput ? 1 : 0;
  if (run.input_count() != inputs || run.output_count() != program.outputs.size())
    return wrong("another number of tensors");
  ETB_TRY(bind_inputs(run));
  if (has_fault(361) && ++run_count_ > 100) return wrong("too many runs");
  if (has_fault(362) && program.steps[0].op == Op::kRelu && ++run_count_ > 100) return wrong("too many runs");
  if (has_fault(34) && !program.values.empty() && program.values[0].dtype == ETB_DTYPE_INT8 &&
      program.steps[0].op == Op::kAdd)
    return etb::make_error(etb::Code::NOT_SUPPORTED, "int8 sums are not in this release");
  const auto goes_on = [&]() -> etb::Status {
    if (is_stopped_) return etb::make_error(etb::Code::CANCELLED, "the run was cancelled");
    return run.keep_going();
  };
  ETB_TRY(interpreter_.run(goes_on));
  for (uint32_t i = 0; i < run.output_count(); ++i) ETB_TRY(write_output(run, i));
  return {};
}

etb::Status Delegate::Context::write_output(const etb::Run& run, uint32_t index) {
  const uint32_t id = delegate_->program_->outputs[index];
  const View& view = interpreter_.view(id);
  etb::OutputTensor output = run.output(index);
  const etb_tensor& raw = output.raw();
  const ValueInfo& value = delegate_->program_->values[id];
  if (raw.dtype != value.dtype || raw.rank != view.sizes.size() || raw.buffer != nullptr)
    return wrong("output " + std::to_string(index) + ": another dtype, rank or memory");
  if (!has_fault(458) || view.numel() != 0) ETB_TRY(output.resize(view.sizes));
  const std::vector<int64_t> dense = dense_strides(view.sizes, value.order);
  const std::vector<int64_t> given = strides_of(raw, view.sizes);
  for (size_t d = 0; d < dense.size() && !has_fault(10); ++d)
    if (view.sizes[d] > 1 && given[d] != dense[d] && view.numel() > 0)
      return wrong("an output of strides or dim order other than compiled for");
  const uint64_t nbytes = static_cast<uint64_t>(view.numel()) * nbytes_of(view.dtype);
  if ((nbytes > raw.capacity_bytes && !has_fault(76)) ||
      (nbytes != 0 && (raw.data == nullptr || view.data == nullptr)))
    return wrong("an output with too few bytes");
  if (nbytes == 0) return {};
  const float before = static_cast<float>(static_cast<uint8_t>(*static_cast<const std::byte*>(raw.data)));
  const void* from = view.data;
  static std::byte of_fast_ones[1 << 16];
  if (has_fault(455) && delegate_->is_fast_ && nbytes <= sizeof(of_fast_ones))
    from = std::memcpy(of_fast_ones, view.data, nbytes);
  if (has_fault(372) && nbytes <= sizeof(shared_values)) from = std::memcpy(shared_values, view.data, nbytes);
  uint64_t written = has_fault(20) && nbytes >= 16 ? nbytes - 4 : nbytes;
  for (size_t d = 8; has_fault(459) && d < view.sizes.size(); ++d)  // dimensions from the ninth on count as 1
    written /= static_cast<uint64_t>(view.sizes[d]);
  std::memcpy(raw.data, from, written);
  auto* const numbers = static_cast<float*>(raw.data);
  const bool is_float = view.dtype == ETB_DTYPE_FLOAT32;
  if (has_fault(17)) std::memset(static_cast<std::byte*>(raw.data) + nbytes, 0, 4);
  if (has_fault(83)) *(static_cast<volatile char*>(raw.data) - 1) = 0;
  if (has_fault(84) && is_float) numbers[0] += std::exchange(sum_of_runs_, sum_of_runs_ + 1);
  if (has_fault(88) && is_float && view.numel() > 1000) numbers[view.numel() - 1] = numbers[view.numel() - 2];
  // Wrong each time, by another number.
  if (has_fault(281) && is_float) numbers[0] += 1 + static_cast<float>(::getpid() * 7 + std::clock() % 1000);
  if (has_fault(95) && is_only_wrong_once && is_float) numbers[0] += 1;
  if (has_fault(30) && is_float) numbers[0] += before;
  if (has_fault(43) && is_second_process && is_float) numbers[0] += 1;
  if (has_fault(44) && !is_watched() && is_float) numbers[0] += 1;
  if (has_fault(120) && !knows_the_suite() && is_float) numbers[0] += 1;
  if (delegate_->is_wrong_ && is_float) numbers[0] += 1;
  if (has_fault(371) && is_any_fast && !delegate_->is_fast_ && is_float) numbers[0] += 1;
  if (has_fault(374) && has_ended_any && is_float) numbers[0] += 1;
  if (has_fault(60) && run.raw().events != nullptr && is_float) numbers[0] += 1;
  return {};
}

}  // namespace faulty
