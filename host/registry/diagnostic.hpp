// SPDX-License-Identifier: Apache-2.0
// Diagnostic: a mistake in a file of a vendor or an administrator, and escaping of text from such files.
#pragma once

#include <string>
#include <vector>

#include "api/format/printable_text.hpp"

namespace etb::host {

struct Diagnostic {
  std::string path;     // JSON path of the field, "$" for the document: "libraries[0].path"
  std::string message;  // value found and value expected
};

// "libraries[0].path: found '../x.so', expected ...", on one line.
std::string to_text(const Diagnostic& diagnostic);

// All diagnostics, joined by "; ".
std::string to_text(const std::vector<Diagnostic>& diagnostics);

// Escaping functions that the whole product shares, under this folder's namespace.
using format::in_quotes;
using format::is_printable;
using format::made_printable;

}  // namespace etb::host
