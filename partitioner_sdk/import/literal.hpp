// SPDX-License-Identifier: Apache-2.0
// Reads arguments of the archive's JSON that are literals: numbers, texts, lists of them, and codes.
#pragma once

#include <string_view>

#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Reads the member of an argument's union, whose key is the kind. Fails for content that the kind cannot have.
using LiteralReader = Result<ir::Argument> (*)(Json);

// Returns the reader of arguments of a kind ("as_ints"), null if they refer to values or graphs.
LiteralReader find_literal_reader(std::string_view kind);

}  // namespace etb::pt2
