// SPDX-License-Identifier: Apache-2.0
// A program file (.pte) as a side: its outputs, and the tensors of its instructions.
#pragma once

#include <memory>
#include <string>

#include "api/format/etdump.hpp"
#include "tools/diff/search.hpp"

namespace etb::diff {

std::unique_ptr<Side> open_program(const std::string& path, const SideOptions& options);

// For a program whose outputs diverge: runs it again with all tensors of its instructions, compares the nodes between them
// with the other side, or node by node if that one knows only outputs, and adds what was found to the result. The model then
// has the program's tensors. Adds a note with the instruction of the first wrong output. Where several nodes remain, or the
// program's process ended, the plugins that it calls compile the model again, and their nodes are compared. A failure
// is a note: the result stays.
void locate_in_program(Model& model, const Comparison& comparison, SearchResult& result);

}  // namespace etb::diff
