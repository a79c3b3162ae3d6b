// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/processors.hpp"

#include <fmt/format.h>

#include <charconv>

#include "tools/run/method_inputs.hpp"

namespace etb::bench {

Result<cpu_set_t> parse_processors(const std::string& text) {
  cpu_set_t out;
  CPU_ZERO(&out);
  for (const std::string& item : tools::split_commas(text)) {
    unsigned first = 0, last = 0;
    const char* const end = item.data() + item.size();
    auto [at, error] = std::from_chars(item.data(), end, first);
    last = first;
    if (error == std::errc() && at != end && *at == '-') {
      const auto second = std::from_chars(at + 1, end, last);
      at = second.ptr;
      error = second.ec;
    }
    if (error != std::errc() || at != end || last < first || last >= CPU_SETSIZE)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("--cpus '{}', expected a list such as 0,2-3", text));
    for (unsigned i = first; i <= last; ++i) CPU_SET(i, &out);
  }
  return out;
}

}  // namespace etb::bench
