// SPDX-License-Identifier: Apache-2.0
#include "host/layers/fault/fault.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "etb/cpp/guard.hpp"
#include "etb/cpp/tensor.hpp"
#include "host/layers/fault/damage.hpp"
#include "host/services/clock.hpp"

namespace etb::host {
namespace {

using fault::Action;
using fault::Rule;

// True for calls that need the plugin's device.
bool needs_device(Function function) {
  switch (function) {
    case Function::device_open:
    case Function::device_query:
    case Function::delegate_create:
    case Function::delegate_context_create:
    case Function::delegate_context_reserve:
    case Function::delegate_execute:
    case Function::delegate_execute_async:
      return true;
    default:
      return false;
  }
}

etb_status fail_lost(etb_error* error) {
  const etb_status status = fail(error, ETB_UNAVAILABLE, "device lost (a fault of the fault layer)");
  if (etb::detail::can_write(error)) copy_text(error->reason, "fault.device-lost");
  return status;
}

template <class Call>
constexpr bool kIsRun = std::is_same_v<Call, calls::Execute>;

}  // namespace

Faults::Faults(fault::Rules rules, Print print)
    : rules_(std::move(rules)),
      counts_(rules_.rules.size()),
      print_(std::move(print)),
      service_{sizeof(LayerService), 0, this} {
  if (!rules_.has_seed) rules_.seed = fault::Random(now_ns()).next() % 1'000'000;
  if (!rules_.rules.empty())
    print_("fault: " + std::to_string(rules_.rules.size()) + (rules_.rules.size() == 1 ? " rule" : " rules") +
           ", seed " + std::to_string(rules_.seed) + "; seed=" + std::to_string(rules_.seed) +
           " repeats these faults");
}

Faults::~Faults() = default;

Layer Faults::layer() const noexcept { return {kName, &Wrapping<Faults>::table(), kServiceId, &service_}; }

std::vector<Faults::Planted> Faults::plan(Function function) {
  std::vector<Planted> planted;
  for (size_t i = 0; i < rules_.rules.size(); ++i) {
    const Rule& rule = rules_.rules[i];
    const bool is_here =
        std::any_of(rule.functions.begin(), rule.functions.end(),
                    [&](const std::string& pattern) { return fault::matches(pattern, to_text(function)); });
    if (!is_here) continue;
    const uint64_t count = ++counts_[i];
    if (!fault::is_due(rule, count)) continue;
    // From seed, rule and count, so that threads do not change each other's numbers.
    fault::Random random(rules_.seed * 0x9e3779b97f4a7c15 + i * 0x100000001b3 + count);
    if (rule.chance < 1 && random.unit() >= rule.chance) continue;
    planted.push_back({&rule, random.next()});
  }
  return planted;
}

void Faults::note(Function function, const WrappedObject<Faults>* object, const Rule& rule,
                  const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++fault_count_;
  const std::string where =
      object == nullptr ? "" : std::string(to_text(object->kind)) + " " + std::to_string(object->number);
  print_("fault: " + std::string(to_text(rule.action)) + " in " + to_text(function) + "(" + where + ")" +
         (what.empty() ? "" : ": " + what));
}

etb_status Faults::before(Function function, const WrappedObject<Faults>* object,
                          const std::vector<Planted>& faults, etb_error* error) {
  for (const auto& [rule, random] : faults) {
    if (rule->action != Action::DELAY) continue;
    note(function, object, *rule, std::to_string(rule->ms) + " ms");
    std::this_thread::sleep_for(std::chrono::milliseconds(rule->ms));
  }
  std::atomic<bool>* const is_lost = object == nullptr ? nullptr : object->data.is_lost.get();
  for (const auto& [rule, random] : faults) {
    switch (rule->action) {
      case Action::OUT_OF_MEMORY:
        note(function, object, *rule, "");
        return fail(error, ETB_OUT_OF_MEMORY, "no memory (a fault of the fault layer)");
      case Action::STATUS:
        note(function, object, *rule, to_text(static_cast<Code>(rule->status)));
        return rule->status == ETB_OK ? ETB_OK
                                      : fail(error, rule->status, "%s (a fault of the fault layer)",
                                             to_text(static_cast<Code>(rule->status)));
      case Action::DEVICE_LOST:
        note(function, object, *rule, "");
        if (is_lost != nullptr) *is_lost = true;
        return fail_lost(error);
      default:
        break;
    }
  }
  if (is_lost != nullptr && *is_lost && needs_device(function)) return fail_lost(error);
  return ETB_OK;
}

void Faults::damage_outputs(const etb_exec_args& args, const WrappedObject<Faults>& object,
                            const std::vector<Planted>& faults) {
  for (const auto& [rule, random] : faults) {
    if (rule->action != Action::FLIP_OUTPUT) continue;
    fault::Random numbers(random);
    for (uint64_t i = 0; i < rule->bits && args.output_count != 0; ++i) {
      const auto index = static_cast<uint32_t>(numbers.next() % args.output_count);
      const etb_tensor& output = *ETB_AT(etb_tensor, args.outputs, index);
      if (output.data == nullptr) continue;
      int64_t count = 1;
      for (uint32_t d = 0; d < output.rank; ++d) count *= output.sizes[d];
      const uint64_t bits = static_cast<uint64_t>(count) * dtype_bits(output.dtype);
      if (bits == 0 || bits / 8 > output.capacity_bytes) continue;
      const uint64_t bit = numbers.next() % bits;
      static_cast<uint8_t*>(output.data)[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      note(Function::delegate_execute, &object, *rule,
           "output " + std::to_string(index) + ", bit " + std::to_string(bit));
    }
  }
}

template <class Call, class Run>
etb_status Faults::on_call(WrappedObject<Faults>& object, Call& call, etb_error* error, Run&& run) {
  const std::vector<Planted> faults = plan(call.function);
  ETB_CHECK(before(call.function, &object, faults, error));
  const etb_status status = run(error);
  if constexpr (kIsRun<Call>)
    if (status == ETB_OK) damage_outputs(*call.args, object, faults);
  return status;
}

template <class Call, class Run>
etb_status Faults::on_end(WrappedObject<Faults>& object, Call& call, etb_error* error, Run&& run) {
  return on_call(object, call, error, run);
}

// Replaces the payload and the named data of a create call by damaged copies.
class PayloadDamage {
 public:
  explicit PayloadDamage(calls::Create& call) : call_(call), args_(copy_struct(*call.args)) {
    args_.struct_size = sizeof(args_);
  }

  // Returns what was done, "" if nothing.
  std::string apply(const Rule& rule, uint64_t random) {
    if (rule.action == Action::FLIP_DATA) {
      if (args_.named_data == nullptr) return "";
      args_.named_data = data().damage(*args_.named_data, rule.bits, random);
      call_.args = &args_;
      return std::to_string(rule.bits) + " bits of each value";
    }
    if (args_.payload == nullptr || args_.payload->data == nullptr || args_.payload->nbytes == 0) return "";
    const uint64_t nbytes = args_.payload->nbytes;
    const uint64_t cut = rule.action == Action::CUT_PAYLOAD
                             ? std::min(rule.bytes == 0 ? (nbytes + 1) / 2 : rule.bytes, nbytes)
                             : 0;
    etb_payload_view& view = data().payload;
    view = copy_struct(*args_.payload);
    view.struct_size = sizeof(view);
    const std::span<std::byte> copy = data().replace(view, nbytes - cut);
    args_.payload = &view;
    call_.args = &args_;
    if (cut != 0) return std::to_string(cut) + " of " + std::to_string(nbytes) + " bytes are missing";
    fault::flip_bits(copy, rule.bits, random);
    return std::to_string(rule.bits) + " bits of " + std::to_string(nbytes) + " bytes";
  }
  std::shared_ptr<fault::DamagedData> take() { return std::move(data_); }

 private:
  fault::DamagedData& data() {
    if (data_ == nullptr) data_ = std::make_shared<fault::DamagedData>();
    return *data_;
  }
  calls::Create& call_;
  etb_delegate_args args_;
  std::shared_ptr<fault::DamagedData> data_;
};

template <class Call, class Run>
etb_status Faults::on_make(WrappedObject<Faults>* object, Call& call, MadeObject<Faults>& made,
                           etb_error* error, Run&& run) {
  const std::vector<Planted> faults = plan(call.function);
  ETB_CHECK(before(call.function, object, faults, error));
  const auto finish = [&] {
    if (made.object == nullptr) return;
    made.object->data.is_lost =
        object == nullptr ? std::make_shared<std::atomic<bool>>(false) : object->data.is_lost;
  };
  if constexpr (std::is_same_v<Call, calls::Create>) {
    PayloadDamage damage(call);
    for (const auto& [rule, random] : faults)
      if (rule->action == Action::FLIP_PAYLOAD || rule->action == Action::CUT_PAYLOAD ||
          rule->action == Action::FLIP_DATA)
        if (const std::string what = damage.apply(*rule, random); !what.empty())
          note(call.function, object, *rule, what);
    const etb_status status = run(error);
    finish();
    if (made.object != nullptr) made.object->data.damaged = damage.take();
    return status;
  } else {
    const etb_status status = run(error);
    finish();
    return status;
  }
}

}  // namespace etb::host
