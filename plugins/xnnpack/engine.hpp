// SPDX-License-Identifier: Apache-2.0
// An XNNPACK runtime: created from a payload, run with the tensors of a call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/arena.hpp"
#include "plugins/xnnpack/crew.hpp"
#include "plugins/xnnpack/operator_events.hpp"
#include "plugins/xnnpack/payload/shapes.hpp"
#include "plugins/xnnpack/subgraph.hpp"

namespace etb::xnnpack {

// An input or output of a payload.
struct Port {
  uint32_t external_id;
  etb_dtype dtype;
  XnnShape shape;  // currently planned; at first the payload's own sizes
};

struct Ports {
  // Errors: NOT_SUPPORTED for an element type that tensors do not have.
  [[nodiscard]] static Result<Ports> make(const XnnPayload& payload);
  std::vector<Port> inputs, outputs;

  // True if no output has elements.
  bool is_empty() const;
  // Copies the sizes of inputs, and the output sizes that follow from them.
  void take(const XnnPayload& payload, const std::vector<XnnShape>& shapes);
};

// Inputs of Engine::make. They outlive the engine, except where noted.
struct Ingredients {
  const XnnPayload& payload;                 // used by make() only
  std::span<const std::byte> payload_bytes;  // source of `payload`
  const NamedData& named_data;
  PackedWeights& weights;
  const etb_parallel_service* parallel;  // the host's threads, NULL if none
  pthreadpool_t own_threads;             // if XNNPACK cannot use the host's; NULL if none
};

// [serial:engine]; not movable.
class Engine {
 public:
  // `flags` are XNNPACK's runtime flags.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> make(const Ingredients& ingredients,
                                                            std::shared_ptr<Arena> arena, uint32_t flags);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Arena& arena() const { return *arena_; }
  const std::shared_ptr<Arena>& shared_arena() const { return arena_; }
  bool is_profiled() const { return events_.has_value(); }
  // The caller must hold the arena's lock.
  [[nodiscard]] Status run(const Run& run);

 private:
  Engine(std::shared_ptr<Arena> arena, const Ingredients& ingredients)
      : arena_(std::move(arena)), weights_(ingredients.weights), payload_bytes_(ingredients.payload_bytes) {}
  static Result<std::unique_ptr<Engine>> try_make(const Ingredients& ingredients,
                                                  std::shared_ptr<Arena> arena, uint32_t flags,
                                                  bool releases);
  Result<bool> read_input_shapes(const Run& run);
  Status infer_shapes();
  Status resize_outputs(const Run& run) const;
  Status plan();
  Status set_up(const Run& run);
  Status invoke(const Run& run);

  std::shared_ptr<Arena> arena_;
  PackedWeights& weights_;
  std::span<const std::byte> payload_bytes_;
  Constants constants_;
  std::unique_ptr<Crew> crew_;  // NULL: runs on the calling thread, or on the plugin's own threads
  Runtime runtime_;             // destroyed before the members it reads
  std::optional<OperatorEvents> events_;
  Ports ports_;
  std::vector<XnnShape> wanted_;  // shapes of this run's inputs
  std::vector<xnn_external_value> externals_;
  bool is_planned_ = false;  // memory in the arena is planned for the sizes of `ports_`
  bool is_set_up_ = false;   // true once the addresses of `externals_` are set, too
};

}  // namespace etb::xnnpack
