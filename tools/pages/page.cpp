// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/page.hpp"

#include <fmt/format.h>

#include <string_view>

#include "api/format/digest.hpp"
#include "api/format/page_text.hpp"

namespace etb::pages {
namespace {

struct PageFile {
  std::string_view language;  // "css" or "js"
  std::string_view name;
  std::string_view text;
};
constexpr PageFile kFiles[] = {
#define ETB_PAGE_FILE(language, name, text) {language, name, text},
#include "page_files.inc"
#undef ETB_PAGE_FILE
};

// Joins the files of a language. Lines that are comments stay: they name the licences.
std::string joined(std::string_view language) {
  std::string out = "\n";
  for (const PageFile& file : kFiles)
    if (file.language == language) out.append(file.text).append("\n");
  return out;
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? bytes[i + k] : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// A policy that names the digest of the one script and style: the browser runs no other, and loads nothing.
std::string digest_of(std::string_view text) {
  return "'sha256-" + base64(format::sha256({reinterpret_cast<const uint8_t*>(text.data()), text.size()})) +
         "'";
}

// Inside of a script element only "<" could end it.
std::string data_block(const nlohmann::ordered_json& document) {
  const std::string text = document.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string make_page(const nlohmann::ordered_json& document) {
  static const std::string style = joined("css"), script = joined("js");
  static const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
      digest_of(script), digest_of(style));
  const auto found = document.find("title");
  const std::string title =
      found != document.end() && found->is_string() ? found->get<std::string>() : "etbackend";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<noscript><p>This page is drawn by its own script, and scripts are off.</p></noscript>\n"
      "<script type=\"application/json\" "
      "id=\"document\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      policy, format::escape_page_text(title), style, data_block(document), script);
}

}  // namespace etb::pages
