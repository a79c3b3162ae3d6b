// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/grouping.hpp"

#include <algorithm>
#include <unordered_map>

namespace etb::partition {

namespace {

// The graph with each fixed region or unit contracted to one vertex.
class Contraction {
 public:
  Contraction(const Dag& dag, const std::vector<uint32_t>& fixed, const ClaimSet& claims)
      : vertex_(dag.node_count()) {
    std::unordered_map<uint64_t, uint32_t> shared;  // vertex of a fixed region, or of a unit
    for (uint32_t node = 0; node < dag.node_count(); ++node) {
      const uint32_t unit = claims.unit[node];
      const bool is_fixed = fixed[node] != kNoRegion;
      if (!is_fixed && unit >= ClaimSet::kFree) {
        vertex_[node] = add({unit == ClaimSet::kFree, false, std::nullopt});
        continue;
      }
      const uint64_t key = is_fixed ? fixed[node] : (uint64_t{1} << 32) + unit;
      const auto [place, is_new] = shared.emplace(key, 0);
      if (is_new) {
        place->second =
            is_fixed ? add({false, false, std::nullopt}) : add({true, claims.is_own_region[unit], unit});
      }
      vertex_[node] = place->second;
    }
    link(dag);
  }

  struct Vertex {
    bool is_taken = false;
    bool is_own_region = false;
    std::optional<uint32_t> unit;
  };

  uint32_t vertex_of(uint32_t node) const { return vertex_[node]; }
  const std::vector<Vertex>& vertices() const { return vertices_; }
  std::vector<uint32_t> wait_counts() const { return wait_counts_; }
  template <class Visit>
  void for_each_next(uint32_t vertex, Visit visit) const {
    for (uint32_t i = first_[vertex]; i < first_[vertex + 1]; ++i) visit(next_[i]);
  }

 private:
  uint32_t add(Vertex vertex) {
    vertices_.push_back(vertex);
    return static_cast<uint32_t>(vertices_.size() - 1);
  }

  // Stores edges in one array, with those of a vertex adjacent.
  void link(const Dag& dag) {
    first_.assign(vertices_.size() + 1, 0);
    wait_counts_.assign(vertices_.size(), 0);
    for (const Dag::Edge& edge : dag.edges())
      if (vertex_[edge.from] != vertex_[edge.to]) ++first_[vertex_[edge.from] + 1];
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    next_.resize(first_.back());
    std::vector<uint32_t> at(first_.begin(), first_.end() - 1);
    for (const Dag::Edge& edge : dag.edges()) {
      const uint32_t from = vertex_[edge.from], to = vertex_[edge.to];
      if (from == to) continue;
      next_[at[from]++] = to;
      ++wait_counts_[to];
    }
  }

  std::vector<uint32_t> vertex_;  // by node
  std::vector<Vertex> vertices_;
  std::vector<uint32_t> first_, next_, wait_counts_;
};

// Simulates the order of execution.
class Rounds {
 public:
  explicit Rounds(const Contraction& graph)
      : graph_(graph), wait_counts_(graph.wait_counts()), region_(graph.vertices().size(), kNoRegion) {
    for (uint32_t v = 0; v < wait_counts_.size(); ++v)
      if (wait_counts_[v] == 0) make_ready(v);
  }

  void run() {
    while (!others_.empty() || !own_.empty() || !taken_.empty()) {
      // A unit that is a separate region may run at any time before others: it is a separate call.
      while (!others_.empty() || !own_.empty()) {
        if (!others_.empty()) {
          take(others_);
        } else {
          region_[own_.back()] = region_count_++;
          take(own_);
        }
      }
      if (taken_.empty()) break;
      while (!taken_.empty()) {
        region_[taken_.back()] = region_count_;
        take(taken_);
      }
      ++region_count_;
    }
  }

  bool is_complete() const { return done_count_ == region_.size(); }
  // Finds a unit on a cycle. Each waiting vertex waits for another waiting one, so following them back leads
  // into a cycle. The graph had none, so contracting a unit created it.
  std::optional<uint32_t> find_cyclic_unit() const {
    std::vector<uint32_t> before(wait_counts_.size(), kNoRegion);
    uint32_t at = 0;
    for (uint32_t v = 0; v < wait_counts_.size(); ++v) {
      if (wait_counts_[v] == 0) continue;
      at = v;
      graph_.for_each_next(v, [&](uint32_t next) { before[next] = v; });
    }
    for (size_t i = 0; i < wait_counts_.size(); ++i) at = before[at];
    for (size_t i = 0; i < wait_counts_.size(); ++i, at = before[at])
      if (graph_.vertices()[at].unit) return graph_.vertices()[at].unit;
    return std::nullopt;
  }
  uint32_t region_of(uint32_t vertex) const { return region_[vertex]; }
  uint32_t region_count() const { return region_count_; }
  uint64_t step_count() const { return step_count_; }

 private:
  void make_ready(uint32_t vertex) {
    const Contraction::Vertex& what = graph_.vertices()[vertex];
    (!what.is_taken ? others_ : what.is_own_region ? own_ : taken_).push_back(vertex);
  }

  void take(std::vector<uint32_t>& from) {
    const uint32_t vertex = from.back();
    from.pop_back();
    ++done_count_;
    ++step_count_;
    graph_.for_each_next(vertex, [&](uint32_t next) {
      ++step_count_;
      if (--wait_counts_[next] == 0) make_ready(next);
    });
  }

  const Contraction& graph_;
  std::vector<uint32_t> wait_counts_;
  std::vector<uint32_t> region_;
  std::vector<uint32_t> others_, own_, taken_;  // ready
  uint32_t region_count_ = 0;
  uint64_t done_count_ = 0;
  uint64_t step_count_ = 0;
};

}  // namespace

Grouping group(const Dag& dag, const std::vector<uint32_t>& fixed, const ClaimSet& claims) {
  const Contraction graph(dag, fixed, claims);
  Rounds rounds(graph);
  rounds.run();
  Grouping out;
  out.step_count = rounds.step_count();
  if (!rounds.is_complete()) {
    out.cyclic_unit = rounds.find_cyclic_unit();
    return out;
  }
  out.region_count = rounds.region_count();
  out.region.resize(dag.node_count());
  for (uint32_t node = 0; node < dag.node_count(); ++node) {
    const bool is_taken = graph.vertices()[graph.vertex_of(node)].is_taken;
    out.region[node] = is_taken ? rounds.region_of(graph.vertex_of(node)) : kNoRegion;
  }
  return out;
}

}  // namespace etb::partition
