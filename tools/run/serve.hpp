// `etbackend run --serve`: one JSON request a line in, one JSON answer a line out; the method stays loaded between them.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "host/module/module.hpp"

namespace etb::tools {

// Until the input ends. A request that fails, or runs longer than timeout_ms (0: as long as it likes), is answered with
// {"error": ...} and the next one is read.
[[nodiscard]] Status serve(host::Module& module, const std::string& method, uint64_t timeout_ms,
                           std::istream& in, std::ostream& out);

}  // namespace etb::tools
