// A fault found in a file of a vendor or an administrator, and text from such files made fit to print.
#pragma once

#include <string>
#include <vector>

#include "api/format/printable_text.hpp"

namespace etb::host {

struct Fault {
  std::string path;     // JSON path of the field, "$" for the document: "libraries[0].path"
  std::string message;  // what was found, what was expected
};

// "libraries[0].path: found '../x.so', expected ...". One line.
std::string to_text(const Fault& fault);

// All faults, joined by "; ".
std::string to_text(const std::vector<Fault>& faults);

// The escaping function that all of the product shares, under this folder's name.
using format::in_quotes;
using format::is_printable;
using format::made_printable;

}  // namespace etb::host
