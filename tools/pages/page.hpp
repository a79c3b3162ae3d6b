// SPDX-License-Identifier: Apache-2.0
// Makes a page (HTML) from a document (docs/pages.md): one file that loads nothing from elsewhere. The document is data in
// the page, and the scripts of web/ draw it, so no text of a file becomes markup.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace etb::pages {

std::string make_page(const nlohmann::ordered_json& document);

}  // namespace etb::pages
