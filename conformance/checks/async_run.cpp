// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/async_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace etb::conformance {
namespace {

bool are_equal(const std::vector<TensorData>& found, const std::vector<TensorData>& expected) {
  for (size_t k = 0; k < expected.size(); ++k)
    if (found[k].bytes != expected[k].bytes || found[k].shape.sizes != expected[k].shape.sizes) return false;
  return true;
}

etb_fence fence_of(const char* kind) {
  etb_fence out{};
  out.struct_size = ETB_INIT_SIZE(etb_fence);
  out.kind = kind;
  out.fd = -1;
  return out;
}

// The plugin may still use the run.
void leave(ReadyCase& ready, std::unique_ptr<AsyncRun>& run) {
  (void)run.release();
  ready.session.abandon();
}

}  // namespace

// ---- Signals

etb_fence Signals::fence(const PreparedRun& run) {
  run_ = &run;
  etb_fence out = fence_of("callback");
  out.handle = this;
  out.signal = [](void* handle, etb_status status) { static_cast<Signals*>(handle)->take(status); };
  return out;
}

bool Signals::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return count_ != 0; });
}

int Signals::count() {
  const std::lock_guard lock(mutex_);
  return count_;
}

etb_status Signals::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::vector<TensorData> Signals::outputs() {
  const std::lock_guard lock(mutex_);
  return outputs_;
}

uint64_t Signals::number() {
  const std::lock_guard lock(mutex_);
  return number_;
}

void Signals::take(etb_status status) {
  static std::atomic<uint64_t> signal_count{0};
  const std::lock_guard lock(mutex_);
  if (count_++ == 0) {
    number_ = ++signal_count;
    status_ = status;
    if (status == ETB_OK) outputs_ = run_->outputs();
  }
  changed_.notify_all();
}

// ---- Gate

Gate::Gate() {
  if (::pipe2(fds_, O_CLOEXEC | O_NONBLOCK) != 0) fds_[0] = fds_[1] = -1;
}

Gate::~Gate() {
  for (const int fd : fds_) (void)::close(fd);
}

etb_fence Gate::fence() const {
  etb_fence out = fence_of("sync-fd");
  out.fd = fds_[0];
  return out;
}

void Gate::open() { (void)!::write(fds_[1], "1", 1); }

// ---- AsyncRun

AsyncRun::AsyncRun(ReadyCase& ready, const std::vector<TensorData>& inputs, const RunOptions& options)
    : run(ready.session.prepare(inputs, options)) {
  for (Signals& each : signals) fences.push_back(each.fence(*run));
  run->args.signal = fences.data();
  run->args.signal_count = kFences;
}

void AsyncRun::start(ReadyCase& ready, etb_context* context) {
  started = ready.subject.table().delegate->execute_async(context, &run->args, &error);
}

bool has_async(CheckContext& context, Subject& subject) {
  if ((subject.table().delegate->caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) != 0) return true;
  context.skip("the plugin has no execute_async");
  return false;
}

bool expect_started(CheckContext& context, ReadyCase& ready, const AsyncRun& run) {
  if (run.started == ETB_OK) return true;
  if (run.started == ETB_NOT_SUPPORTED)
    context.skip(std::string("the plugin does not support the fences of this check: ") + run.error.text);
  else
    context.fail(fmt::format("{}: execute_async fails: {}", ready.name(), run.error.text));
  return false;
}

bool expect_signalled(CheckContext& context, ReadyCase& ready, std::unique_ptr<AsyncRun>& run) {
  for (Signals& each : run->signals)
    if (!each.wait(context.patience())) {
      context.fail(fmt::format("{}: a fence of a run that execute_async started was not signalled in {} s",
                               ready.name(), context.patience().count() / 1000));
      leave(ready, run);
      return false;
    }
  for (Signals& each : run->signals)
    if (each.count() != 1 || each.status() != run->signals[0].status()) {
      context.fail(ready.name() + ": the fences of one run were signalled twice, or with different statuses");
      leave(ready, run);
      return false;
    }
  return true;
}

bool expect_outputs(CheckContext& context, ReadyCase& ready, std::unique_ptr<AsyncRun>& run,
                    const std::vector<TensorData>& expected) {
  if (!expect_signalled(context, ready, run)) return false;
  if (const etb_status status = run->signals[0].status(); status != ETB_OK) {
    context.fail(fmt::format("{}: an asynchronous run ends with {}", ready.name(), status));
    return false;
  }
  for (Signals& each : run->signals)
    if (!are_equal(each.outputs(), expected)) {
      context.fail(ready.name() +
                   ": an asynchronous run has another result than execute when its fence is signalled");
      return false;
    }
  if (are_equal(run->run->outputs(), expected)) return true;
  context.fail(ready.name() + ": the outputs of an asynchronous run change after its fence was signalled");
  return false;
}

}  // namespace etb::conformance
