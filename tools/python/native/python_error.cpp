// SPDX-License-Identifier: Apache-2.0
#include "python_error.hpp"

#include <nanobind/stl/string.h>

#include <string>

namespace etb::python {
namespace {

namespace nb = nanobind;

// "not-found" for NOT_FOUND.
std::string slug_of(std::string name) {
  for (char& letter : name)
    letter =
        letter == '_' ? '-' : static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  return name;
}

std::string reason_of(etb_status status) {
  switch (status) {
#define ETB_STATUS(name, value, text) \
  case value:                         \
    return "status." + slug_of(#name);
#include "etb/status.def"
#undef ETB_STATUS
    default:
      return "status." + std::to_string(status);
  }
}

}  // namespace

nb::object text_of(std::string_view bytes, const char* errors) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors));
}

void raise_error(etb_status status, std::string_view reason, std::string_view text) {
  static constexpr std::string_view kHint = "\nhint: ";
  const size_t hint = text.rfind(kHint);
  const std::string_view message = text.substr(0, hint);
  const std::string_view advice = hint == std::string_view::npos ? "" : text.substr(hint + kHint.size());
  const nb::object type = nb::module_::import_("etbackend.errors").attr("Error");
  const nb::object made =
      type(text_of(message), nb::arg("reason") = reason.empty() ? reason_of(status) : std::string(reason),
           nb::arg("hint") = text_of(advice), nb::arg("code") = status);
  PyErr_SetObject(type.ptr(), made.ptr());
  throw nb::python_error();
}

void raise_error(etb_status status, const etb_error& error) {
  // error.text holds the first 511 bytes; the library has the rest, unless a plugin wrote the error directly.
  const std::string_view brief = error.text;
  const std::string_view whole = etb_last_error();
  const bool is_longer =
      whole.size() > brief.size() && whole.substr(0, brief.size() / 2) == brief.substr(0, brief.size() / 2);
  raise_error(status, error.reason, is_longer ? whole : brief);
}

}  // namespace etb::python
