// SPDX-License-Identifier: Apache-2.0
// Names of the fastest kernels in the host's cache: one entry for each device and driver, operator, attributes and sizes. The host
// keys entries by the plugin's build, too, so another set of kernels reads none of them.
#pragma once

#include <map>
#include <optional>

#include "plugins/gpu/plan/kernel_candidates.hpp"
#include "plugins/gpu/run/device_facts.hpp"
#include "plugins/gpu/run/kernel_cache.hpp"

namespace etb::gpu {

class TunedKernels {
 public:
  TunedKernels(const Host& host, const DeviceFacts& device) : host_(host), cache_(host), device_(device) {}

  bool has_cache() const { return cache_.is_there(); }
  // The key of a node's answer. Nodes whose kernels take the same time have the same one: names and values play no part.
  format::Sha256 key_of(const ExecutionPlan& plan, uint32_t node,
                        std::span<const KernelCandidate> candidates) const;
  // Returns the index of the candidate that was stored. An entry with any other name is dropped and reported.
  std::optional<size_t> find(const format::Sha256& key, std::span<const KernelCandidate> candidates);
  // Stores the fastest candidate.
  void put(const format::Sha256& key, std::span<const KernelCandidate> candidates, size_t fastest);
  // Reports the fact "gpu.kernels-tuned", if any answer was found or measured. `replaced`: nodes with another kernel than the rule's.
  void report(uint32_t replaced) const;

 private:
  std::optional<size_t> read(const format::Sha256& key, std::span<const KernelCandidate> candidates) const;

  const Host& host_;
  KernelCache cache_;
  const DeviceFacts& device_;
  std::map<format::Sha256, std::optional<size_t>> known_;  // asked before: networks repeat layers
  uint32_t stored_ = 0, measured_ = 0;                     // answers, by their origin
};

}  // namespace etb::gpu
