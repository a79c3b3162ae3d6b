// Which nodes may write the state that they update instead of a copy of it.
#pragma once

#include <set>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// index_put nodes of the method's graph, by one index, whose result is what a buffer holds after the run, and before which everything has read the buffer: a
// cache of keys is written in the rows that are new, not copied twice. A run that fails behind such a node leaves the new rows in the buffer,
// as PyTorch does.
std::set<const ir::Node*> find_in_place_updates(const ir::Module& module);

}  // namespace etb::emit
