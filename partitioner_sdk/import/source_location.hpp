// Where a node comes from in the user's Python, from the metadata that the exporter kept.
#pragma once

#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Of the frames of the stack trace the innermost that is not PyTorch's own; of the module stack the innermost.
ir::Source read_source(Json metadata);

}  // namespace etb::pt2
