// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/broken_function.hpp"

#include <cstdlib>
#include <string_view>

#include "etb/cpp/fail.hpp"

namespace faulty {
namespace {

std::string_view from_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

[[maybe_unused]] etb_error* error_among() { return nullptr; }
template <class First, class... Rest>
etb_error* error_among(First first, Rest... rest) {
  if constexpr (std::is_same_v<First, etb_error*>)
    return first;
  else
    return error_among(rest...);
}

template <class Function>
struct Broken;
template <class Result, class... Args>
struct Broken<Result(ETB_CALL*)(Args...)> {
  static Result ETB_CALL aborts(Args...) { std::abort(); }
  static Result ETB_CALL succeeds(Args...) { return Result(); }
  static Result ETB_CALL fails(Args... args) {
    if constexpr (std::is_same_v<Result, etb_status>)
      return etb::fail(error_among(args...), ETB_INTERNAL, "this function is broken");
    else
      return Result();
  }
};

template <class Function>
void break_one(const char* name, Function& function) {
  if (kFault != kBreakable || from_environment("ETB_BROKEN_FUNCTION") != name) return;
  const std::string_view by = from_environment("ETB_BROKEN_BY");
  function = by == "abort"     ? &Broken<Function>::aborts
             : by == "success" ? &Broken<Function>::succeeds
                               : &Broken<Function>::fails;
}

}  // namespace

void break_function(Tables& tables) {
#define ETB_REQUIRED(table, function) break_one(#table "." #function, tables.table.function);
#define ETB_OPTIONAL(table, function, cap) ETB_REQUIRED(table, function)
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
}

void break_extension(ExtensionTables& tables) {
#define ETB_EXTENSION_FUNCTION(table, function) break_one(#table "." #function, tables.table.function);
#include "tests/conformance/fault_plugin/extension_functions.def"
#undef ETB_EXTENSION_FUNCTION
}

}  // namespace faulty
