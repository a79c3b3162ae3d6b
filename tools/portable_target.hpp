// The portable kernels of this build, as the compiler uses them: to fold constants with, and to tell which ops there are.
#pragma once

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"

namespace etb::tools {

passes::PipelineOptions portable_pipeline();

[[nodiscard]] Result<emit::HasKernel> portable_kernels();

}  // namespace etb::tools
