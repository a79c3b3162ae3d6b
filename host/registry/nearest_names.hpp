// "Did you mean": the names that differ least from one that was not found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etb::host {

// At most max_count of `names`, nearest first; none that shares hardly anything with `wanted`.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       size_t max_count = 3);

}  // namespace etb::host
