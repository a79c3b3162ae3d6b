// SPDX-License-Identifier: Apache-2.0
// cache: what the service cache/1 returns is checked by the plugin, too: no entry makes results wrong. Other checks give a
// plugin no cache, so none uses the user's.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "conformance/cases/values.hpp"
#include "conformance/checks/groups.hpp"
#include "etb/ext/cache.h"

namespace etb::conformance {
namespace {

enum class Damage { kNone, kCut, kEmpty, kNoise, kBit, kExchanged, kRefused };
struct DamageRow {
  Damage damage;
  const char* text;
};
constexpr DamageRow kDamages[] = {{Damage::kNone, "whole entries"},
                                  {Damage::kCut, "entries cut in half"},
                                  {Damage::kEmpty, "empty entries"},
                                  {Damage::kNoise, "noise for every key"},
                                  {Damage::kBit, "entries with one bit changed"},
                                  {Damage::kExchanged, "the entry of another key"},
                                  {Damage::kRefused, "errors, and no room"}};

// A cache in memory, part of a host that has no other services of its own.
class SuiteCache {
 public:
  explicit SuiteCache(Damage damage) : damage_(damage) {}
  SuiteCache(const SuiteCache&) = delete;
  SuiteCache& operator=(const SuiteCache&) = delete;

  const etb_host& host() const { return host_; }
  std::map<std::string, std::string> entries;
  size_t call_count = 0;

 private:
  static std::string text_of(etb_bytes bytes) {
    return bytes.nbytes == 0 ? "" : std::string(static_cast<const char*>(bytes.data), bytes.nbytes);
  }

  // Returns false if there is no entry.
  bool find(const std::string& key, std::string& out) const {
    if (damage_ == Damage::kNoise) {
      out.assign(4096, '\0');
      Random random(key);
      for (char& c : out) c = static_cast<char>(random.next());
      return true;
    }
    auto found = entries.find(key);
    if (found == entries.end()) return false;
    if (damage_ == Damage::kExchanged && ++found == entries.end()) found = entries.begin();
    out = found->second;
    if (damage_ == Damage::kCut) out.resize(out.size() / 2);
    if (damage_ == Damage::kEmpty) out.clear();
    if (damage_ == Damage::kBit && !out.empty()) out[out.size() / 2] ^= 4;
    return true;
  }

  static etb_status ETB_CALL get(void* ctx, etb_bytes key, etb_payload_view* out, etb_error*) {
    auto& self = *static_cast<SuiteCache*>(ctx);
    ++self.call_count;
    if (self.damage_ == Damage::kRefused) return ETB_ACCESS_FAILED;
    std::string value;
    if (!self.find(text_of(key), value)) return ETB_NOT_FOUND;
    // Memory of exactly this size, so that a read past its end is one. Freed by release, or with the process.
    auto* const copy = static_cast<char*>(std::aligned_alloc(16, (value.size() / 16 + 1) * 16));
    std::memcpy(copy, value.data(), value.size());
    out->data = value.empty() ? nullptr : copy;
    out->nbytes = value.size();
    out->alignment = 16;
    out->fd = -1;
    out->release_ctx = copy;
    out->release = [](void* memory) { std::free(memory); };
    return ETB_OK;
  }
  static etb_status ETB_CALL put(void* ctx, etb_bytes key, etb_bytes value, etb_error*) {
    auto& self = *static_cast<SuiteCache*>(ctx);
    ++self.call_count;
    if (self.damage_ == Damage::kRefused) return ETB_OUT_OF_RESOURCES;
    self.entries[text_of(key)] = text_of(value);
    return ETB_OK;
  }
  static const void* ETB_CALL find_service(const etb_host* host, const char* id) {
    return std::strcmp(id, ETB_SERVICE_CACHE) == 0 ? host->ctx : nullptr;
  }

  Damage damage_;
  etb_cache_service service_ = {ETB_INIT_SIZE(etb_cache_service), 0, this, get, put};
  etb_host host_ = [this] {
    etb_host made{};
    made.struct_size = ETB_INIT_SIZE(etb_host);
    made.abi_version = ETB_ABI_VERSION;
    made.ctx = &service_;
    made.get_service = find_service;
    return made;
  }();
};

// Runs claimed cases with the cache. Findings are those of the context.
void run_with(CheckContext& context, const SuiteCache& cache, const char* what) {
  SubjectOptions options = bare();
  options.application = &cache.host();
  context.each_session(options, 4, [&](ReadyCase& ready) {
    const RunResult result = ready.run();
    if (result.status != ETB_OK || !context.is_right(ready.item, result))
      context.fail(fmt::format("{}: with {} in cache/1 the run {}", ready.name(), what,
                               result.status != ETB_OK ? "fails" : "has wrong results"));
  });
}

bool write_text(int fd, const std::string& text) {
  const uint64_t nbytes = text.size();
  return ::write(fd, &nbytes, sizeof(nbytes)) == sizeof(nbytes) &&
         ::write(fd, text.data(), nbytes) == static_cast<ssize_t>(nbytes);
}

bool read_text(int fd, std::string& out) {
  uint64_t nbytes = 0;
  if (::read(fd, &nbytes, sizeof(nbytes)) != sizeof(nbytes)) return false;
  out.resize(nbytes);
  for (size_t at = 0; at < nbytes;) {
    const ssize_t count = ::read(fd, out.data() + at, nbytes - at);
    if (count <= 0) return false;
    at += static_cast<size_t>(count);
  }
  return true;
}

// Calls `body` in a process of its own, where the plugin is fresh: it may keep what it loaded until the process ends. The texts
// that it writes to the descriptor are passed to `read`.
bool in_process_of_its_own(CheckContext& context, const auto& body, const auto& read) {
  int answer[2];
  if (::pipe2(answer, O_CLOEXEC) != 0) {
    context.fail("the suite cannot create a pipe");
    return false;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(answer[0]);
    body(answer[1]);
    ::_exit(0);
  }
  ::close(answer[1]);
  std::string text;
  while (read_text(answer[0], text)) read(text);
  ::close(answer[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status);
}

void write_findings(CheckContext& context, int fd) {
  for (const Finding& finding : context.outcome().findings) (void)write_text(fd, finding.text);
}

void damaged_entries(CheckContext& context) {
  SuiteCache first(Damage::kNone);
  size_t call_count = 0;
  std::vector<std::string> texts;
  // Texts: the number of calls, then keys and values in turn.
  const bool is_whole = in_process_of_its_own(
      context,
      [&](int fd) {
        run_with(context, first, "no entries");
        (void)write_text(fd, std::to_string(first.call_count));
        for (const auto& [key, value] : first.entries) (void)(write_text(fd, key) && write_text(fd, value));
      },
      [&](const std::string& text) { texts.push_back(text); });
  if (!is_whole || texts.empty()) return context.fail("with an empty cache/1 the process of the plugin ends");
  call_count = static_cast<size_t>(std::strtoull(texts[0].c_str(), nullptr, 10));
  if (call_count == 0) return context.skip("the plugin does not use cache/1");
  for (const DamageRow& row : kDamages) {
    context.progress().at(row.text);
    context.progress().restart();
    SuiteCache cache(row.damage);
    for (size_t i = 1; i + 1 < texts.size(); i += 2) cache.entries[texts[i]] = texts[i + 1];
    const bool has_ended = in_process_of_its_own(
        context,
        [&](int fd) {
          run_with(context, cache, row.text);
          write_findings(context, fd);
        },
        [&](const std::string& text) { context.fail(text); });
    if (!has_ended) context.fail(fmt::format("with {} in cache/1 the process of the plugin ends", row.text));
    if (!context.outcome().findings.empty()) return;
  }
}

// Runs one case of each op, and layers with constants. An entry that one of them leaves in the cache must not serve another one.
void run_each_op(CheckContext& context, const SuiteCache& cache, const char* what) {
  constexpr size_t kOps = 48, kLayers = 8;
  SubjectOptions options = bare();
  options.application = &cache.host();
  const auto subject = context.open(options);
  if (!subject) return;
  std::vector<ClaimedCase> items = context.find_claimed_of_ops(*subject, "op.*", kOps);
  for (ClaimedCase& item : context.find_claimed_of_ops(*subject, "op.*.constant.*", kLayers))
    items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    context.progress().restart();
    context.progress().at(what);
    const RunResult result = ready.run();
    if (result.status != ETB_OK || !context.is_right(ready.item, result))
      context.fail(fmt::format("{}: {} the run {}", ready.name(), what,
                               result.status != ETB_OK ? "fails" : "has wrong results"));
  });
}

void entries_of_each_op(CheckContext& context) {
  SuiteCache cache(Damage::kNone);
  for (const char* what : {"while a cache/1 fills", "with a full cache/1"}) {
    std::vector<std::string> texts;
    context.progress().at(what);
    context.progress().restart();
    // Texts: how many are findings, those, then keys and values in turn.
    const bool has_ended = in_process_of_its_own(
        context,
        [&](int fd) {
          run_each_op(context, cache, what);
          (void)write_text(fd, std::to_string(context.outcome().findings.size()));
          write_findings(context, fd);
          for (const auto& [key, value] : cache.entries) (void)(write_text(fd, key) && write_text(fd, value));
        },
        [&](const std::string& text) { texts.push_back(text); });
    if (!has_ended || texts.empty())
      return context.fail(fmt::format("{} the process of the plugin ends", what));
    const size_t count = static_cast<size_t>(std::strtoull(texts[0].c_str(), nullptr, 10));
    for (size_t i = 1; i <= count && i < texts.size(); ++i) context.fail(texts[i]);
    if (count != 0) return;
    for (size_t i = 1; i + 1 < texts.size(); i += 2) cache.entries[texts[i]] = texts[i + 1];
    if (cache.entries.empty()) return context.skip("the plugin keeps nothing in cache/1");
  }
}

constexpr Check kChecks[] = {
    {"cache.entries-of-each-op", "What one op leaves in cache/1 is not taken for what another one needs.", "",
     entries_of_each_op},
    {"cache.damaged-entries", "Entries of cache/1 that are damaged, exchanged or refused change no result.",
     "", damaged_entries},
};

}  // namespace

std::span<const Check> cache_checks() { return kChecks; }

}  // namespace etb::conformance
