// One payload made ready on XNNPACK, and one run of it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "etb/cpp/plugin.hpp"
#include "plugins/xnnpack/engine.hpp"

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

  // Who shares the memory between nodes.
  enum class Sharing {
    kNone,        // nobody
    kConcurrent,  // engines that do not run at the same time
    kSerial,      // all, and they run one at a time
  };

  // Behind one pointer, so that a delegate can move while its contexts know where its parts are.
  struct Parts {
    Parts(const XnnpackPlugin& the_plugin, Payload payload, NamedData data, bool shares_weights);

    // Another one of the same payload.
    [[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(std::shared_ptr<Arena> arena, uint32_t flags);
    [[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const format::XnnPayload& payload,
                                                              std::shared_ptr<Arena> arena, uint32_t flags);
    [[nodiscard]] Result<std::shared_ptr<Arena>> find_arena() const;

    const XnnpackPlugin& plugin;
    Payload bytes;  // constants of old payloads lie in it
    NamedData named_data;
    PackedWeights weights;
    Sharing sharing = Sharing::kConcurrent;
    uint32_t input_count = 0, output_count = 0;
    std::vector<bool> is_output_reread;
    bool is_small = false;  // not worth waking a thread
    std::mutex mutex;       // held while an engine is made; guards `first`
    std::unique_ptr<Engine>
        first;  // made by make, to find out early whether all is well; the first context takes it
  };

  std::unique_ptr<Parts> parts_;
};

class XnnpackContext {
 public:
  explicit XnnpackContext(const XnnpackDelegate& delegate);

  Status execute(const Run& run);

 private:
  struct Held {
    std::unique_ptr<Engine>* engine;
    std::unique_lock<std::mutex> running;
  };

  Result<Held> hold_engine();
  Result<Held> add_engine();

  XnnpackDelegate::Parts& parts_;
  // One at first; more where other delegates were running in the memory of the first when this one had to.
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace etb::xnnpack
