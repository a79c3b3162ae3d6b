// SPDX-License-Identifier: Apache-2.0
// The circumstances that pages state: file, date, host, command, version.
#pragma once

#include <string>

#include "tools/command.hpp"
#include "tools/pages/document.hpp"

namespace etb::tools {

pages::Facts page_facts(const std::string& model, const Session& session);

// "etbackend 0.9.0, commit 1234abcd".
std::string program_version();

}  // namespace etb::tools
