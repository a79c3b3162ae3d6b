// A fault found in a file of a vendor or an administrator, and text from such files made fit to print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etb::host {

struct Fault {
  std::string path;     // JSON path of the field, "$" for the document: "libraries[0].path"
  std::string message;  // what was found, what was expected
};

// "libraries[0].path: found '../x.so', expected ...". One line.
std::string to_text(const Fault& fault);

// All faults, joined by "; ".
std::string to_text(const std::vector<Fault>& faults);

// At most about max_nbytes of it, with everything that could drive a terminal escaped: hostile text is printed too.
std::string made_printable(std::string_view text, size_t max_nbytes = 4096);

// The same in quotes and short, for values in messages.
std::string in_quotes(std::string_view text);

// Whether text is valid UTF-8 without control characters and without marks that reorder what a reader sees.
bool is_printable(std::string_view text);

}  // namespace etb::host
