// SPDX-License-Identifier: Apache-2.0
// The portable kernels of this build for the compiler: it folds constants with them, and reads which ops
// exist.
#pragma once

#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"

namespace etb::tools {

passes::PipelineOptions portable_pipeline();

[[nodiscard]] Result<emit::HasKernel> portable_kernels();

}  // namespace etb::tools
