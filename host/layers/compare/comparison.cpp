// SPDX-License-Identifier: Apache-2.0
#include "host/layers/compare/comparison.hpp"

#include <fmt/format.h>

#include "host/layers/compare/other_objects.hpp"

namespace etb::host {

Comparison::Comparison(ComparisonOptions options)
    : options_(std::move(options)), service_{sizeof(LayerService), 0, this} {}

Comparison::~Comparison() = default;

Layer Comparison::layer() const noexcept {
  return {kName, &Wrapping<Comparison>::table(), kServiceId, &service_};
}

std::vector<ComparedOutput> Comparison::outputs() const {
  const std::lock_guard lock(mutex_);
  std::vector<ComparedOutput> out;
  for (const auto& [key, output] : outputs_) out.push_back(output);
  return out;
}

std::vector<std::string> Comparison::notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [text, count] : notes_)
    out.push_back(count == 1 ? text : fmt::format("{} ({} times)", text, count));
  return out;
}

bool Comparison::has_differences() const {
  const std::lock_guard lock(mutex_);
  return has_differences_;
}

Result<const PluginContext*> Comparison::alternative() {
  const std::lock_guard lock(mutex_);
  if (!alternative_) alternative_ = options_.open();
  if (!*alternative_) return tl::make_unexpected(alternative_->error());
  return (*alternative_)->get();
}

const SourceGraph* Comparison::next_graph(std::span<const std::byte> payload) {
  if (!options_.graphs) return nullptr;
  const format::Sha256 digest = payload_digest(payload);
  const std::lock_guard lock(mutex_);
  return options_.graphs->find(digest, delegate_counts_[digest]++);
}

void Comparison::note(const std::string& text, bool is_difference) {
  const std::lock_guard lock(mutex_);
  ++notes_[text];
  has_differences_ = has_differences_ || is_difference;
}

void Comparison::add(uint64_t delegate, const std::string& method, uint32_t output, const OutputNode& node,
                     uint64_t run, const OutputDistance& distance) {
  const std::lock_guard lock(mutex_);
  ComparedOutput& all = outputs_[{delegate, output}];
  if (all.run_count == 0) {
    all.delegate = delegate;
    all.method = method;
    all.output = output;
    all.node = node;
  }
  ++all.run_count;
  if (distance.differing_count == 0) return;
  if (all.differing_count == 0 || (distance.beyond_count != 0 && all.beyond_count == 0)) {
    all.first = distance;
    all.first_run = run;
  }
  ++all.differing_count;
  all.max_abs = std::max(all.max_abs, distance.max_abs);
  all.max_rel = std::max(all.max_rel, distance.max_rel);
  if (distance.beyond_count == 0) return;
  ++all.beyond_count;
  has_differences_ = true;
}

template <class Call, class Run>
etb_status Comparison::on_call(WrappedObject<Comparison>& object, Call& call, etb_error* error, Run&& run) {
  if constexpr (std::is_same_v<Call, calls::Execute>) {
    const std::shared_ptr<compare::OtherContext> other = object.data.context;
    if (other == nullptr) return run(error);
    other->begin(*call.args);
    const etb_status status = run(error);
    other->finish(*call.args, status);
    return status;
  } else if constexpr (std::is_same_v<Call, calls::QueryDelegate>) {
    // The host plans memory by this answer, so the alternative's memory belongs to it.
    const etb_status status = run(error);
    if (status == ETB_OK && object.data.delegate != nullptr) object.data.delegate->add_memory(*call.info);
    return status;
  } else {
    if constexpr (std::is_same_v<Call, calls::ExecuteAsync>)
      note("asynchronous runs are not compared", false);
    return run(error);
  }
}

// The alternative's object ends first, because it may use named data of the plugin's.
template <class Call, class Run>
etb_status Comparison::on_end(WrappedObject<Comparison>& object, Call& call, etb_error* error, Run&& run) {
  (void)call;
  if constexpr (std::is_same_v<Call, calls::ContextDestroy>)
    if (object.data.context != nullptr) object.data.context->destroy();
  if constexpr (std::is_same_v<Call, calls::Destroy>)
    if (object.data.delegate != nullptr && object.data.delegate.use_count() == 1)
      object.data.delegate->destroy();
  return run(error);
}

template <class Call, class Run>
etb_status Comparison::on_make(WrappedObject<Comparison>* object, Call& call, MadeObject<Comparison>& made,
                               etb_error* error, Run&& run) {
  if constexpr (std::is_same_v<Call, calls::Create>) {
    auto other = std::make_shared<compare::OtherDelegate>(*this, *call.args);
    const etb_status status = run(error);
    if (status != ETB_OK) return status;
    if (const Status created = other->create(made.number); !created) {
      note(fmt::format("delegate {} is not compared: {}: {}", made.number, options_.name,
                       created.error().message),
           false);
      return status;
    }
    made.object->data.delegate = std::move(other);
    return status;
  } else if constexpr (std::is_same_v<Call, calls::ContextCreate>) {
    const etb_status status = run(error);
    if (status != ETB_OK || object->data.delegate == nullptr) return status;
    auto other = std::make_shared<compare::OtherContext>(*this, object->data.delegate);
    if (const Status created = other->create(); !created) {
      note(fmt::format("context {} is not compared: {}: {}", made.number, options_.name,
                       created.error().message),
           false);
      return status;
    }
    made.object->data.context = std::move(other);
    return status;
  } else {
    return run(error);
  }
}

std::string describe_output(const ComparedOutput& output) {
  std::string text =
      fmt::format("delegate {} ({}), output {}", output.delegate, output.method, output.output);
  if (!output.node.name.empty()) text += fmt::format(" '{}'", output.node.name);
  if (!output.node.op.empty()) text += " of " + output.node.op;
  if (output.node.debug_handle != 0) text += fmt::format(", debug handle {}", output.node.debug_handle);
  if (!output.node.source.empty()) text += ", " + output.node.source;
  const char* const runs = output.run_count == 1 ? "run" : "runs";
  if (output.differing_count == 0) return fmt::format("{}: equal in {} {}", text, output.run_count, runs);
  return fmt::format("{}: {} of {} {}{}, at most {:.4g} ({:.3g} relative); first in run {}: {}", text,
                     output.differing_count, output.run_count,
                     output.run_count == 1 ? "run differs" : "runs differ",
                     output.beyond_count == 0 ? " within the tolerance" : "", output.max_abs, output.max_rel,
                     output.first_run, describe_distance(output.first));
}

}  // namespace etb::host
