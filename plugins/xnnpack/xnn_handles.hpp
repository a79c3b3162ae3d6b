// SPDX-License-Identifier: Apache-2.0
// One owning type per XNNPACK handle.
#pragma once

#include <pthreadpool.h>
#include <xnnpack.h>

#include <memory>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::xnnpack {

template <auto Destroy>
struct Deleter {
  template <class T>
  void operator()(T* handle) const noexcept {
    Destroy(handle);
  }
};

using SubgraphHandle = std::unique_ptr<xnn_subgraph, Deleter<xnn_delete_subgraph>>;
using RuntimeHandle = std::unique_ptr<xnn_runtime, Deleter<xnn_delete_runtime>>;
using WorkspaceHandle = std::unique_ptr<xnn_workspace, Deleter<xnn_release_workspace>>;
using ThreadPoolHandle = std::unique_ptr<pthreadpool, Deleter<pthreadpool_destroy>>;

// Converts an XNNPACK status. `what` names the object for the error text.
inline Status from_xnn(xnn_status status, const std::string& what) {
  switch (status) {
    case xnn_status_success:
      return {};
    case xnn_status_out_of_memory:
      return make_error(Code::OUT_OF_MEMORY, what + ": XNNPACK has no memory");
    case xnn_status_unsupported_parameter:
      return make_error(Code::INCOMPATIBLE, what + ": a parameter that this XNNPACK does not support");
    case xnn_status_unsupported_hardware:
      return make_error(Code::UNAVAILABLE, what + ": this processor lacks what XNNPACK needs");
    case xnn_status_invalid_parameter:
      return make_error(Code::INVALID_DATA, what + ": XNNPACK refuses a parameter");
    default:
      return make_error(Code::INTERNAL, what + ": XNNPACK status " + std::to_string(status));
  }
}

}  // namespace etb::xnnpack
