// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/tuned_kernels.hpp"

#include <string_view>

namespace etb::gpu {

namespace {

class Key {
 public:
  explicit Key(std::string_view kind) { add(kind); }
  void add(std::string_view text) {
    add(static_cast<uint32_t>(text.size()));
    sum_.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  void add(uint32_t number) {
    const uint8_t bytes[4] = {static_cast<uint8_t>(number), static_cast<uint8_t>(number >> 8),
                              static_cast<uint8_t>(number >> 16), static_cast<uint8_t>(number >> 24)};
    sum_.add(bytes);
  }
  void add(const Shape& shape) {
    add(shape.rank);
    for (uint32_t d = 0; d < shape.rank; ++d) add(shape.sizes[d]);
  }
  void add(std::span<const uint8_t> bytes) { sum_.add(bytes); }
  format::Sha256 finish() { return sum_.finish(); }

 private:
  format::Sha256Sum sum_;
};

const char* name_of(const KernelCandidate& candidate) {
  return kKernelNames[index_of(candidate.dispatch.kernel)];
}

etb_option number_field(const char* key, uint32_t number) {
  etb_option field{};
  field.struct_size = ETB_INIT_SIZE(etb_option);
  field.key = key;
  field.type = ETB_OPTION_I64;
  field.i64 = number;
  return field;
}

}  // namespace

format::Sha256 TunedKernels::key_of(const ExecutionPlan& plan, uint32_t index,
                                    std::span<const KernelCandidate> candidates) const {
  const GpuNode& node = plan.graph.nodes[index];
  Key key("fastest kernel 1");
  key.add(device_.fingerprint);
  key.add(std::string_view(device_.name));  // of processors: the fingerprint is that of the driver
  key.add(static_cast<uint32_t>(node.op));
  for (const int32_t number : node.ints) key.add(static_cast<uint32_t>(number));
  for (const uint32_t input : node.inputs) {
    const GpuValue& value = plan.graph.value(input);
    key.add(plan.bounds[input]);
    key.add(value.factors == kNoValue ? 0 : value.codes.bits);
    key.add(value.codes.group);
    key.add((value.has_halves ? 1u : 0u) | (value.has_filters ? 2u : 0u) | (value.is_half ? 4u : 0u) |
            (plan.graph.value(node.output).is_half ? 8u : 0u) | (plan.graph.computes_halves ? 16u : 0u));
  }
  key.add(plan.bounds[node.output]);
  for (const KernelCandidate& each : candidates) key.add(std::string_view(name_of(each)));
  return key.finish();
}

std::optional<size_t> TunedKernels::read(const format::Sha256& key,
                                         std::span<const KernelCandidate> candidates) const {
  const auto entry = cache_.find(key);
  if (!entry) return std::nullopt;
  const std::span<const std::byte> bytes = entry->bytes();
  const std::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    if (name == name_of(candidates[i])) return i;
  cache_.report_dropped("a kernel that cannot compute the node");
  return std::nullopt;
}

std::optional<size_t> TunedKernels::find(const format::Sha256& key,
                                         std::span<const KernelCandidate> candidates) {
  const auto [known, is_new] = known_.try_emplace(key);
  if (!is_new) return known->second;
  known->second = read(key, candidates);
  if (known->second) ++stored_;
  return known->second;
}

void TunedKernels::put(const format::Sha256& key, std::span<const KernelCandidate> candidates,
                       size_t fastest) {
  known_[key] = fastest;
  ++measured_;
  const std::string_view name = name_of(candidates[fastest]);
  cache_.put(key, std::as_bytes(std::span(name.data(), name.size())));
}

void TunedKernels::report(uint32_t replaced) const {
  if (stored_ + measured_ == 0) return;
  const etb_option fields[] = {number_field("stored", stored_), number_field("measured", measured_),
                               number_field("replaced", replaced)};
  host_.report("gpu.kernels-tuned", fields);
}

}  // namespace etb::gpu
