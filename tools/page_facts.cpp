// SPDX-License-Identifier: Apache-2.0
#include "tools/page_facts.hpp"

#include <nlohmann/json.hpp>

#include "tools/version_text.hpp"

namespace etb::tools {

std::string program_version() {
  return "etbackend " + version_json()["version"].get<std::string>() + ", commit " + commit_text();
}

pages::Facts page_facts(const std::string& model, const Session& session) {
  return pages::facts_of_now(model, session.command_line, program_version());
}

}  // namespace etb::tools
