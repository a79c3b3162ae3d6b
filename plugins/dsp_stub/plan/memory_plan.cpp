// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/plan/memory_plan.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace etb::dsp_stub {

namespace {

void set_lifetimes(Network& network) {
  const auto use = [&](uint32_t buffer, uint32_t layer) {
    if (buffer == kNoBuffer) return;
    Buffer& used = network.buffers[buffer];
    used.first_layer = std::min(used.first_layer, layer);
    used.last_layer = std::max(used.last_layer, layer);
  };
  for (uint32_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    for (const uint32_t input : layer.inputs) use(input, i);
    for (const Copy& copy : layer.copies) use(copy.from, i);
    use(layer.output, i);
  }
}

bool is_alive(const Buffer& buffer, uint32_t layer) {
  return buffer.first_layer <= layer && layer <= buffer.last_layer;
}

tl::unexpected<Error> does_not_fit(uint32_t layer, uint32_t tcm_bytes) {
  return make_error(Code::OUT_OF_RESOURCES,
                    "layer " + std::to_string(layer) + ": its smallest tile needs more than the " +
                        std::to_string(tcm_bytes) + " bytes of tightly coupled memory");
}

class MemoryPlanner {
 public:
  MemoryPlanner(Network& network, uint32_t tcm_bytes) : network_(network), tcm_bytes_(tcm_bytes) {}

  // Begins with every inner buffer in the TCM. Where a layer then has too little room to work, the largest
  // buffer alive moves to the arena.
  Result<MemoryPlan> plan() {
    set_lifetimes(network_);
    for (Buffer& buffer : network_.buffers)
      buffer.is_resident = buffer.kind == Buffer::Kind::kInner && buffer.first_layer != UINT32_MAX &&
                           buffer.nbytes <= tcm_bytes_;
    while (!place(true)) {
    }
    for (;;) {
      plan_ = {};
      const uint32_t tight = plan_layers();
      if (tight == UINT32_MAX) break;
      if (!evict_at(tight)) return does_not_fit(tight, tcm_bytes_);
      while (!place(true)) {
      }
    }
    place(false);
    return std::move(plan_);
  }

 private:
  // Offers the largest gap between the resident buffers. Returns the first layer that has too little room.
  uint32_t plan_layers() {
    for (uint32_t i = 0; i < network_.layers.size(); ++i) {
      const Layer& layer = network_.layers[i];
      const auto [offset, room] = largest_gap(i);
      const std::optional<Tiles> tiles = choose_tiles(network_, layer, room);
      if (!tiles) return i;
      // More room than a quarter is worth more than a resident buffer.
      if (room < tcm_bytes_ / 4 && has_resident(i)) {
        const std::optional<Tiles> free = choose_tiles(network_, layer, tcm_bytes_ / 4);
        if (free && free->work_bytes() > room) return i;
      }
      const uint64_t end = offset + tiles->work_bytes();
      plan_.tcm_bytes = std::max(plan_.tcm_bytes, static_cast<uint32_t>(end));
      plan_.layers.push_back({*tiles, offset});
    }
    for (const Buffer& buffer : network_.buffers)
      if (buffer.is_resident)
        plan_.tcm_bytes =
            std::max(plan_.tcm_bytes, static_cast<uint32_t>(buffer.offset + aligned(buffer.nbytes)));
    return UINT32_MAX;
  }

  bool has_resident(uint32_t layer) const {
    return std::any_of(network_.buffers.begin(), network_.buffers.end(),
                       [&](const Buffer& b) { return b.is_resident && is_alive(b, layer); });
  }

  std::pair<uint32_t, uint64_t> largest_gap(uint32_t layer) const {
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (const Buffer& buffer : network_.buffers)
      if (buffer.is_resident && is_alive(buffer, layer))
        taken.emplace_back(buffer.offset, buffer.offset + aligned(buffer.nbytes));
    taken.emplace_back(tcm_bytes_, tcm_bytes_);
    std::sort(taken.begin(), taken.end());
    uint64_t at = 0, best = 0, best_at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin > at && begin - at > best) best = begin - at, best_at = at;
      at = std::max(at, end);
    }
    return {static_cast<uint32_t>(best_at), best};
  }

  bool evict_at(uint32_t layer) {
    Buffer* largest = nullptr;
    for (Buffer& buffer : network_.buffers)
      if (buffer.is_resident && is_alive(buffer, layer) &&
          (largest == nullptr || buffer.nbytes > largest->nbytes))
        largest = &buffer;
    if (largest == nullptr) return false;
    largest->is_resident = false;
    return true;
  }

  // Places all buffers of the TCM, or all others in the arena, large ones first, each at the lowest offset
  // that is free in all its life. Returns false if one did not fit; it then moved to the arena.
  bool place(bool in_tcm) {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < network_.buffers.size(); ++i) {
      const Buffer& buffer = network_.buffers[i];
      if (buffer.kind == Buffer::Kind::kInner && buffer.first_layer != UINT32_MAX &&
          buffer.is_resident == in_tcm)
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return network_.buffers[a].nbytes > network_.buffers[b].nbytes;
    });
    std::vector<uint32_t> placed;
    for (const uint32_t index : order) {
      Buffer& buffer = network_.buffers[index];
      const uint64_t offset = lowest_offset(buffer, placed), end = offset + aligned(buffer.nbytes);
      if (in_tcm && end > tcm_bytes_) {
        buffer.is_resident = false;
        return false;
      }
      buffer.offset = static_cast<uint32_t>(offset);
      placed.push_back(index);
      if (!in_tcm) plan_.arena_bytes = std::max(plan_.arena_bytes, static_cast<uint32_t>(end));
    }
    return true;
  }

  uint64_t lowest_offset(const Buffer& buffer, const std::vector<uint32_t>& placed) const {
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (const uint32_t index : placed) {
      const Buffer& other = network_.buffers[index];
      if (other.first_layer <= buffer.last_layer && buffer.first_layer <= other.last_layer)
        taken.emplace_back(other.offset, other.offset + aligned(other.nbytes));
    }
    std::sort(taken.begin(), taken.end());
    uint64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= at + aligned(buffer.nbytes)) break;
      at = std::max(at, end);
    }
    return at;
  }

  Network& network_;
  const uint32_t tcm_bytes_;
  MemoryPlan plan_;
};

}  // namespace

Status check_tiles(const Network& network, uint32_t tcm_bytes) {
  for (uint32_t i = 0; i < network.layers.size(); ++i)
    if (!choose_tiles(network, network.layers[i], tcm_bytes)) return does_not_fit(i, tcm_bytes);
  return {};
}

Result<MemoryPlan> plan_memory(Network& network, uint32_t tcm_bytes) {
  return MemoryPlanner(network, tcm_bytes).plan();
}

}  // namespace etb::dsp_stub
