// SPDX-License-Identifier: Apache-2.0
#include "tools/portable_target.hpp"

#include <memory>

#include "host/kernels/portable.hpp"
#include "tools/evaluate_constants.hpp"

namespace etb::tools {

passes::PipelineOptions portable_pipeline() {
  passes::PipelineOptions pipeline;
  pipeline.evaluate = evaluate_constants;
  return pipeline;
}

Result<emit::HasKernel> portable_kernels() {
  const auto kernels = std::make_shared<host::KernelRegistry>();
  if (host::add_portable_kernels(*kernels) != ETB_OK)
    return make_error(Code::INTERNAL, "portable kernels clash");
  return emit::HasKernel([kernels](std::string_view name, std::string_view overload) {
    return kernels->has_op(name, overload);
  });
}

}  // namespace etb::tools
