// SPDX-License-Identifier: Apache-2.0
// `etbackend run --serve`: reads one JSON request per line and writes one JSON answer per line. The method
// stays loaded.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "host/module/module.hpp"
#include "tools/run/limit_options.hpp"

namespace etb::tools {

// Serves until the input ends. If a request fails, or runs longer than its limit, answers
// {"error": ...} and reads the next one.
[[nodiscard]] Status serve(host::Module& module, const std::string& method, const LimitOptions& limits,
                           std::istream& in, std::ostream& out);

}  // namespace etb::tools
