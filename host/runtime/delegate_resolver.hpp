// DelegateResolver: how a method gets the backends that its program names. The core knows delegates only through these two
// small classes; the registry implements them over the C ABI, a firmware over a static table.
#pragma once

#include <span>
#include <string_view>

#include "api/format/program_view.hpp"
#include "etb/delegate.h"
#include "host/runtime/data_loader.hpp"
#include "host/runtime/evalue.hpp"
#include "host/runtime/named_data.hpp"
#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

// Everything a delegate is made from.
struct DelegateRequest {
  std::string_view id;  // the name in the program, e.g. "XnnpackBackend"
  std::string_view method_name;
  format::DelegateView compile_specs;  // its compile_spec(i)
  DataBlock* payload;                  // move it out to keep it; else it ends with this call
  const NamedDataMap* named_data;      // lives as long as the delegate
  const PlatformHooks* platform;       // the same
  std::span<EValue* const> arguments;  // of its first call, tensors at their largest; none when never called
  std::span<const std::span<std::byte>> arenas;  // of the method, all that is readable; borrowed for the call
  bool may_move;  // the program moves values about: where a tensor lies now says nothing of later
  uint64_t max_scratch_bytes = UINT64_MAX;  // LoadLimits
};

// One call of a delegate.
struct DelegateRun {
  std::span<EValue* const> arguments;  // inputs, then outputs; only the delegate knows where outputs start
  RunLimits limits;
  const etb_event_sink* events;  // null: none wanted
  etb_error* error;
};

// Which arguments a delegate writes. The run time refuses calls in which they share memory with others.
struct DelegateOperands {
  uint32_t input_count = 0;  // arguments from here on are written; 0: it does not know, all may be
  // An entry an output: 1 + index of the input whose memory it may have, 0: none. Outputs without entry: none.
  std::span<const uint32_t> shared_inputs = {};
};

// One delegate made ready for one method. `execute` never runs twice at the same time.
class MethodDelegate {
 public:
  // Leaves tensors where they lie: sizes and elements of outputs are all that it changes.
  virtual etb_status execute(const DelegateRun& run) noexcept = 0;
  virtual DelegateOperands operands() const noexcept { return {}; }
  virtual void destroy() noexcept = 0;  // ends it; called once

 protected:
  MethodDelegate() noexcept = default;
  MethodDelegate(const MethodDelegate&) = default;
  MethodDelegate& operator=(const MethodDelegate&) = default;
  ~MethodDelegate() = default;
};

class DelegateResolver {
 public:
  // ETB_NOT_FOUND when nobody serves the id, with the places searched; any error ends load_method.
  virtual etb_status create(const DelegateRequest& request, MethodDelegate** out,
                            etb_error* error) noexcept = 0;

 protected:
  DelegateResolver() noexcept = default;
  DelegateResolver(const DelegateResolver&) = default;
  DelegateResolver& operator=(const DelegateResolver&) = default;
  ~DelegateResolver() = default;
};

}  // namespace etb::host
