// One payload made ready on XNNPACK, and one run of it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/arena.hpp"
#include "plugins/xnnpack/crew.hpp"
#include "plugins/xnnpack/operator_events.hpp"
#include "plugins/xnnpack/subgraph.hpp"

namespace etb::xnnpack {

class XnnpackPlugin;
class XnnpackContext;

// Weights are packed once: every further context, and every delegate of the plugin with the same weights, finds them.
class XnnpackDelegate {
 public:
  using Context = XnnpackContext;

  static Result<XnnpackDelegate> make(const XnnpackPlugin& plugin, CreateArgs& args);

  DelegateInfo info() const;
  void describe_io(etb_io_req& req) const;

 private:
  friend class XnnpackContext;

  // A runtime and the threads that it was made for.
  struct Engine {
    std::unique_ptr<Crew> crew;  // NULL: it runs on the calling thread, or on the plugin's own threads
    Runtime runtime;             // its memory goes before the crew
  };

  // Behind one pointer, so that a delegate can move while its contexts know where its parts are.
  struct Parts {
    Parts() = default;
    ~Parts();
    Payload bytes;  // constants of old payloads lie in it
    format::XnnPayload payload;
    Constants constants;
    Subgraph subgraph;
    std::unique_ptr<PackedWeights> weights;
    std::shared_ptr<Arena> arena;  // of all contexts that may share one, NULL: each has its own
    const XnnpackPlugin* plugin = nullptr;
    bool is_small = false;  // not worth waking a thread
    std::mutex mutex;       // guards weights while a context packs, and `first`
    Engine first;           // made by make, to find out early whether all is well; the first context takes it
  };

  static Result<Engine> make_engine(Parts& parts, uint32_t flags);

  std::unique_ptr<Parts> parts_;
};

class XnnpackContext {
 public:
  explicit XnnpackContext(const XnnpackDelegate& delegate) : parts_(*delegate.parts_) {}
  ~XnnpackContext();

  Status execute(const Run& run);

 private:
  struct Slot {
    std::vector<size_t> sizes;  // as XNNPACK last heard them
    etb_dtype dtype;
    uint32_t
        index_nbytes;  // bytes of an index that XNNPACK writes where the tensor has 64-bit ones; 0: not an index
  };

  Status prepare(uint32_t flags);
  Status invoke(const Run& run);
  Status reshape_inputs(const Run& run);
  Status resize_outputs(const Run& run);
  Status set_up(const Run& run);

  XnnpackDelegate::Parts& parts_;
  XnnpackDelegate::Engine engine_;
  std::optional<OperatorEvents> events_;  // of a runtime that is profiled
  std::vector<Slot> inputs_, outputs_;
  std::vector<xnn_external_value> externals_;
  bool is_reshaped_ = false;  // sizes changed since the last set-up
};

}  // namespace etb::xnnpack
