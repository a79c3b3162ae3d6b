// SPDX-License-Identifier: Apache-2.0
// cap: promises over time. Claims, tables and options are asked for again at the end and in other processes.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kSample = 700;  // cases asked, among those whose op and dtype the op table lists

uint64_t mix(uint64_t hash, const std::string& text) { return hash * 31 + hash_text(text); }

uint64_t hash_of(const Answers& answers) {
  uint64_t hash = mix(5, std::to_string(answers.status));
  for (const auto& [node, group] : answers.claims) hash = mix(hash, fmt::format("{} in {}", node, group));
  for (const auto& [node, reason] : answers.reasons) hash = mix(hash, fmt::format("{}: {}", node, reason));
  return hash;
}

// Everything that the plugin promises, by name: claims of a sample, op rows, ops to preserve, options,
// devices. `reversed`: asked for from the last to the first.
using Promises = std::vector<std::pair<std::string, uint64_t>>;

void add_tables(Subject& subject, Promises& out) {
  uint64_t rows = 3, preserved = 3, options = 3, devices = 3;
  etb_error error = ETB_ERROR_INIT;
  const etb_op_sink op_sink = {
      ETB_INIT_SIZE(etb_op_sink), 0, &rows, [](void* ctx, const etb_op_capability* op) {
        auto& hash = *static_cast<uint64_t*>(ctx);
        hash = mix(hash, fmt::format("{} {} {} {} {} {}", op->op, op->flags, op->min_rank, op->max_rank,
                                     op->layouts, op->constraint != nullptr ? op->constraint : ""));
        for (uint32_t i = 0; i < op->dtype_count; ++i) hash = mix(hash, std::to_string(op->dtypes[i]));
        for (uint32_t i = 0; i < op->quant_scheme_count; ++i) hash = mix(hash, op->quant_schemes[i]);
        return etb_status{ETB_OK};
      }};
  const etb_text_sink text_sink = {ETB_INIT_SIZE(etb_text_sink), 0, &preserved,
                                   [](void* ctx, const char* text) {
                                     auto& hash = *static_cast<uint64_t*>(ctx);
                                     hash = mix(hash, text);
                                     return etb_status{ETB_OK};
                                   }};
  (void)subject.table().aot->op_table(subject.handle(), &op_sink, &error);
  (void)subject.table().aot->preserve_ops(subject.handle(), &text_sink, &error);
  (void)subject.context().each_option([&](const etb_option_schema& schema) {
    options = mix(options, fmt::format("{} {} {} {} {} {}", schema.key, schema.type, schema.minimum,
                                       schema.maximum, schema.scopes, schema.mutable_when));
    for (uint32_t i = 0; i < schema.choice_count; ++i) options = mix(options, schema.choices[i]);
  });
  (void)subject.context().each_device([&](const etb_device_info& info) {
    devices = mix(devices, std::string(reinterpret_cast<const char*>(info.uuid), sizeof(info.uuid)));
    devices = mix(devices, fmt::format("{} {}", info.kind, info.name));
  });
  out.emplace_back("the op table", rows);
  out.emplace_back("the ops to preserve", preserved);
  out.emplace_back("the options", options);
  out.emplace_back("the devices", devices);
}

Promises promises_of(Subject& subject, bool is_reversed) {
  Promises out;
  const auto& cases = all_cases();
  std::vector<const Case*> listed, sample;
  for (const Case& item : cases)
    if (subject.lists(item)) listed.push_back(&item);
  const size_t step = std::max<size_t>(listed.size() / kSample, 1);
  for (size_t i = 0; i < listed.size(); i += step) sample.push_back(listed[i]);
  if (is_reversed) std::reverse(sample.begin(), sample.end());
  for (const Case* item : sample)
    if (const Result<BuiltCase> built = item->build(item->name))
      out.emplace_back("the claim of " + item->name, hash_of(partition(subject, built->image)));
  if (is_reversed) std::reverse(out.begin(), out.end());
  add_tables(subject, out);
  return out;
}

void expect_equal(CheckContext& context, const Promises& first, const Promises& second, const char* when) {
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    if (first[i] != second[i]) return context.fail(fmt::format("{} is another one {}", first[i].first, when));
  if (first.size() != second.size())
    context.fail(fmt::format("{} cases cannot be asked for {}", "some", when));
}

// Uses the plugin in between as an application does: runs, failures, options, devices.
void use(CheckContext& context, Subject& subject) {
  for (const ClaimedCase& item : context.find_claimed(subject, 40)) {
    const Result<std::unique_ptr<CaseSession>> session = CaseSession::make(subject, item.built, item.payload);
    if (!session) continue;
    for (int i = 0; i < context.repeats(30, 40); ++i) (void)(*session)->run(item.built.runs[0]);
    (void)(*session)->run_damaged(item.built.runs[0], Damage::kRank);
    (void)compile(subject, item.built.image);
  }
  (void)subject.context().each_device([](const etb_device_info&) {});
}

void same_at_the_end(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  const Promises first = promises_of(*subject, false);
  context.progress().at("use of the plugin");
  use(context, *subject);
  context.progress().restart();
  context.progress().at("the same questions again");
  expect_equal(context, first, promises_of(*subject, true), "after the plugin was used");
  const auto fresh = context.open(bare());
  if (fresh) expect_equal(context, first, promises_of(*fresh, false), "in a later instance");
}

// A process that differs: its environment, directory, order and time.
struct Surroundings {
  const char* text;
  bool is_reversed;
  void (*enter)();
};

void enter_other_country() {
  for (const auto& [name, value] :
       {std::pair{"LANG", "tr_TR.UTF-8"}, std::pair{"LC_ALL", "de_DE.UTF-8"},
        std::pair{"TZ", "Asia/Kathmandu"}, std::pair{"HOME", "/nowhere"}, std::pair{"USER", "nobody"},
        std::pair{"OMP_NUM_THREADS", "3"}, std::pair{"DISPLAY", ":7"}})
    ::setenv(name, value, 1);
  (void)!::chdir("/");
  ::usleep(1100000);  // another second
}

// Other devices make other claims: variables by which users choose drivers and devices are the same in each process.
bool chooses_a_driver(std::string_view variable) {
  constexpr std::string_view kPrefixes[] = {"VK_",  "OCL_",  "POCL_", "MESA_", "GALLIUM_", "CUDA_", "NVIDIA_",
                                            "HIP_", "ROCR_", "HSA_",  "ZE_",   "ONEAPI_",  "SYCL_", "LD_"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

void enter_bare_process() {
  std::vector<std::string> names;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at)
    if (const std::string_view text = *at; !chooses_a_driver(text))
      names.emplace_back(text.substr(0, text.find('=')));
  for (const std::string& name : names) ::unsetenv(name.c_str());
  (void)!::chdir("/proc");
  ::setpriority(PRIO_PROCESS, 0, 5);
}

// Returns the hash of each promise in a forked process that opens the plugin itself; empty if it fails.
Promises promises_elsewhere(CheckContext& context, const Surroundings& surroundings) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    surroundings.enter();
    const auto subject = context.open(bare());
    const Promises found = subject ? promises_of(*subject, surroundings.is_reversed) : Promises{};
    for (const auto& [name, hash] : found) (void)!::write(ends[1], &hash, sizeof(hash));
    ::_exit(0);
  }
  ::close(ends[1]);
  Promises out;
  uint64_t hash = 0;
  while (::read(ends[0], &hash, sizeof(hash)) == sizeof(hash)) out.emplace_back("", hash);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status)) out.clear();
  return out;
}

void same_elsewhere(CheckContext& context) {
  constexpr Surroundings kOthers[] = {
      {"in a process of another language, directory and time", false, enter_other_country},
      {"in a process without an environment (but for variables of drivers), in another order", true,
       enter_bare_process}};
  std::vector<Promises> elsewhere;
  for (const Surroundings& other : kOthers) {
    context.progress().at(other.text);
    elsewhere.push_back(promises_elsewhere(context, other));
    context.progress().restart();
  }
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  const Promises here = promises_of(*subject, false);
  for (size_t i = 0; i < elsewhere.size(); ++i) {
    if (elsewhere[i].size() != here.size()) {
      context.fail(fmt::format("the plugin does not answer {}", kOthers[i].text));
      continue;
    }
    for (size_t k = 0; k < here.size(); ++k) elsewhere[i][k].first = here[k].first;
    expect_equal(context, here, elsewhere[i], kOthers[i].text);
  }
}

constexpr Check kChecks[] = {
    {"cap.same-at-the-end", "Claims, op table, options and devices are the same after the plugin was used.",
     "ABI-AOT-02", same_at_the_end},
    {"cap.same-elsewhere",
     "They are the same in other processes: another time, language, directory, environment and order.",
     "ABI-AOT-02", same_elsewhere},
};

}  // namespace

std::span<const Check> promise_checks() { return kChecks; }

}  // namespace etb::conformance
