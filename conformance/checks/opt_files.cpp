// SPDX-License-Identifier: Apache-2.0
// opt: options that name a folder, where a plugin keeps files for later. With any bytes in them, and any limits that other
// options set, results are right.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "api/format/output_file.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

namespace fs = std::filesystem;

// A folder for the time of a check.
class Folder {
 public:
  Folder() {
    std::error_code failed;
    std::string pattern = (fs::temp_directory_path(failed) / "options-XXXXXX").string();
    if (!failed && ::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code failed;
    if (!path_.empty()) fs::remove_all(path_, failed);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    std::error_code failed;
    for (const auto& entry : fs::recursive_directory_iterator(path_, failed))
      if (entry.is_regular_file(failed)) out.push_back(entry.path());
    return out;
  }

 private:
  std::string path_;
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool names_folder(const OptionFacts& facts) {
  if (facts.type != ETB_OPTION_TEXT || !facts.choices.empty() || !facts.has(ETB_OBJECT_DELEGATE))
    return false;
  for (const char* word : {"path", "folder", "dir"})
    if (facts.key.find(word) != std::string::npos) return true;
  return false;
}

// The least and the largest number of an option that a folder's files may meet: limits of bytes, of age.
std::vector<etb_option> limits_of(const OptionFacts& facts) {
  if (facts.type != ETB_OPTION_I64) return ordinary_values(facts);
  constexpr double kMost = 9e18;  // within the integers of 64 bits
  std::vector<etb_option> out;
  for (const double end : {facts.minimum, facts.minimum + 100, facts.maximum}) {
    if (end < -kMost || end > facts.maximum) continue;
    etb_option& option = out.emplace_back(make_option(facts.key.c_str(), ETB_OPTION_I64));
    option.i64 = end > kMost ? INT64_MAX : static_cast<int64_t>(end);
  }
  return out;
}

// Creates a delegate with the options and runs it.
void use(CheckContext& context, Subject& subject, const ClaimedCase& item,
         const std::vector<etb_option>& options, const std::string& when) {
  context.progress().at(when.c_str());
  context.progress().restart();
  const auto session = CaseSession::make(subject, item.built, item.payload, options);
  if (!session)
    return context.fail(
        fmt::format("{}: {}: create fails: {}", item.item->name, when, session.error().message));
  const RunResult result = (*session)->run(item.built.runs[0]);
  if (result.status != ETB_OK || !context.is_right(item, result))
    context.fail(fmt::format("{}: {}: a run {}", item.item->name, when,
                             result.status != ETB_OK ? "fails" : "has a wrong result"));
}

// Each file with a part that has other bytes, cut, or empty; a plugin must not trust what another process wrote.
void damage_files(CheckContext& context, Subject& subject, const ClaimedCase& item, const etb_option& option,
                  const Folder& folder) {
  constexpr size_t kParts = 12;
  for (const fs::path& file : folder.files()) {
    const std::string whole = read_file(file);
    for (size_t part = 0; part < kParts + 2 && context.outcome().findings.empty(); ++part) {
      std::string bytes = whole;
      if (part == kParts) bytes.resize(whole.size() / 2);
      if (part == kParts + 1) bytes.clear();
      const size_t from = whole.size() * part / kParts;
      for (size_t at = from; part < kParts && at < whole.size() * (part + 1) / kParts; at += 3)
        bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
      (void)format::write_file(file.string(), std::string_view(bytes));
      use(context, subject, item, {option}, "with a damaged file in its folder");
    }
    (void)format::write_file(file.string(), std::string_view(whole));
  }
}

void files_are_not_trusted(CheckContext& context) {
  constexpr size_t kAgain = 4;
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<OptionFacts> options = options_of(*subject, context);
  size_t count = 0;
  for (const OptionFacts& facts : options) {
    if (!names_folder(facts)) continue;
    ++count;
    for (const char* pattern : {"model.*", "op.linear.*_w*", "op.convolution.*_w*"})
      for (const ClaimedCase& item : context.find_claimed_like(*subject, pattern, 2)) {
        const Folder folder;
        etb_option option = make_option(facts.key.c_str(), ETB_OPTION_TEXT);
        option.text = folder.path().c_str();
        use(context, *subject, item, {option}, "with an empty folder");
        use(context, *subject, item, {option}, "with its folder again");
        const size_t descriptors = open_descriptor_count();
        for (size_t i = 0; i < kAgain; ++i) use(context, *subject, item, {option}, "with its folder again");
        if (const size_t now = open_descriptor_count(); now >= descriptors + kAgain)
          context.fail(fmt::format("{}: {} delegates with a folder leave {} open descriptors",
                                   item.item->name, kAgain, now - descriptors));
        damage_files(context, *subject, item, option, folder);
        for (const OptionFacts& other : options) {
          if (other.key == facts.key || !other.has(ETB_OBJECT_DELEGATE)) continue;
          for (const etb_option& limit : limits_of(other)) {
            const Folder empty;
            option.text = empty.path().c_str();
            use(context, *subject, item, {option, limit},
                fmt::format("with {} and {}", facts.key, to_text(limit)));
          }
        }
        if (!context.outcome().findings.empty()) return;
      }
  }
  if (count == 0) context.skip("the plugin has no option that names a folder");
}

constexpr Check kChecks[] = {
    {"opt.files-are-not-trusted",
     "With an option that names a folder results stay right, also with damaged files in it and any limit.",
     "ABI-OPT-02", files_are_not_trusted},
};

}  // namespace

std::span<const Check> option_file_checks() { return kChecks; }

}  // namespace etb::conformance
