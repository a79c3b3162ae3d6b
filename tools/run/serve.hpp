// `etbackend run --serve`: one JSON request a line in, one JSON answer a line out; the method stays loaded between them.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "host/module/module.hpp"

namespace etb::tools {

// Until the input ends. A request that fails is answered with {"error": ...} and the next one is read.
[[nodiscard]] Status serve(host::Module& module, const std::string& method, std::istream& in,
                           std::ostream& out);

}  // namespace etb::tools
