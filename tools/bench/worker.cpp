// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/worker.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tools/bench/processors.hpp"
#include "tools/bench/profile.hpp"
#include "tools/run/timing.hpp"

namespace etb::bench {
namespace {

using Json = nlohmann::json;

std::string to_message(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

std::string to_message(const Error& error) {
  return to_message(Json{{"code", static_cast<int>(error.code)}, {"error", error.message}});
}

// Parses an answer. The other process runs code of plugins, so that its bytes may be anything.
Result<Json> parse(const Result<std::string>& answer) {
  if (!answer) return tl::make_unexpected(answer.error());
  Json json = Json::parse(*answer, nullptr, false);
  if (!json.is_object()) return make_error(Code::INTERNAL, "its process sent an unreadable answer");
  if (json.contains("error"))
    return make_error(static_cast<Code>(json.value("code", static_cast<int>(Code::INTERNAL))),
                      json.value("error", ""));
  return json;
}

uint64_t resident_nbytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
  return 0;
}

// For this process and all threads that it starts.
Status set_scheduling(const Options& options) {
  if (options.priority && ::setpriority(PRIO_PROCESS, 0, *options.priority) != 0)
    return make_error(Code::ACCESS_FAILED,
                      fmt::format("cannot set the priority to {}: {}\nhint: values below 0 need a privilege",
                                  *options.priority, std::generic_category().message(errno)));
  if (options.numa_node) ETB_TRY(run_on_node(*options.numa_node));
  if (options.cpus.empty()) return {};
  return run_on(options.cpus);
}

uint64_t peak_growth(uint64_t before) {
  const uint64_t peak = static_cast<uint64_t>(tools::peak_rss_kb()) << 10;
  return peak > before ? peak - before : 0;
}

Json start_answer(const Subject& subject, uint64_t before) {
  const Start& times = subject.times();
  Json delegates = Json::array();
  for (const DelegateUse& use : subject.delegates())
    delegates.push_back(
        {{"id", use.id}, {"plugin", use.plugin}, {"version", use.version}, {"count", use.count}});
  return {{"load_us", times.load_us},   {"init_us", times.init_us},
          {"first_us", times.first_us}, {"memory", peak_growth(before)},
          {"method", subject.method()}, {"delegates", std::move(delegates)},
          {"notes", subject.notes()},   {"counts_user_only", subject.counters().is_user_only()}};
}

// Answers "COUNT SETTLING" until the channel closes.
void serve_runs(Channel& channel, Subject& subject, uint64_t before) {
  while (const auto question = channel.receive()) {
    char* end = nullptr;
    const auto count = static_cast<uint32_t>(std::strtoul(question->c_str(), &end, 10));
    const auto settling = static_cast<uint32_t>(std::strtoul(end, nullptr, 10));
    const Result<Turn> turn = subject.run(count, settling);
    const bool is_sent = channel.send(turn ? to_message(Json{{"us", turn->wall_us},
                                                             {"cpu_us", turn->cpu_us},
                                                             {"elapsed_us", turn->elapsed_us},
                                                             {"counts", turn->counts},
                                                             {"memory", peak_growth(before)}})
                                           : to_message(turn.error()));
    if (!is_sent) return;
  }
}

// Starts a process whose exceptions become its answer. They must not unwind into the caller's copy of the
// parent's stack.
Result<Child> start_child(const std::function<void(Channel&)>& body) {
  return Child::start([&body](Channel& channel) {
    try {
      body(channel);
    } catch (const std::bad_alloc&) {
      channel.send(to_message(Error{Code::OUT_OF_MEMORY, "out of memory", {}, 0}));
    } catch (const std::exception& error) {
      channel.send(to_message(Error{Code::INTERNAL, error.what(), {}, 0}));
    }
  });
}

Result<std::unique_ptr<Subject>> start_subject(const Setup& setup, host::EventTracer* tracer) {
  ETB_TRY(set_scheduling(setup.options));
  return Subject::start(setup, tracer);
}

}  // namespace

Result<Worker> Worker::start(const Setup& setup, const std::atomic<bool>& interrupted,
                             VariantResult& result) {
  constexpr uint64_t kStartGraceMs = 60000;  // to load a program from a slow disk
  const uint64_t timeout_ms = setup.options.limits.timeout_ms;
  ETB_ASSIGN(
      Child child, start_child([&setup](Channel& channel) {
        const uint64_t before = resident_nbytes();
        const auto subject = start_subject(setup, nullptr);
        channel.send(subject ? to_message(start_answer(**subject, before)) : to_message(subject.error()));
        if (subject) serve_runs(channel, **subject, before);
      }));
  const std::chrono::milliseconds timeout(timeout_ms == 0 ? 0 : timeout_ms + kStartGraceMs);
  ETB_ASSIGN(const Json answer, parse(child.ask("", interrupted, timeout)));
  result.starts.push_back(
      {answer.value("load_us", 0.0), answer.value("init_us", 0.0), answer.value("first_us", 0.0)});
  result.memory_nbytes = std::max(result.memory_nbytes, answer.value("memory", uint64_t{0}));
  result.method = answer.value("method", "");
  result.notes = answer.value("notes", std::vector<std::string>{});
  result.counts_user_only = answer.value("counts_user_only", false);
  result.delegates.clear();
  for (const Json& use : answer.value("delegates", Json::array()))
    result.delegates.push_back(
        {use.value("id", ""), use.value("plugin", ""), use.value("version", ""), use.value("count", 0u)});
  return Worker(std::move(child), interrupted, timeout_ms);
}

Result<Turn> Worker::run(uint32_t count, uint32_t settling, VariantResult* grows) {
  // Backends that do not end at the deadline of a run are ended with their process.
  constexpr uint64_t kGraceMs = 5000;
  const uint64_t timeout_ms = timeout_ms_ == 0 ? 0 : timeout_ms_ * (uint64_t{count} + settling) + kGraceMs;
  ETB_ASSIGN(const Json answer, parse(child_.ask(fmt::format("{} {}", count, settling), *interrupted_,
                                                 std::chrono::milliseconds(timeout_ms))));
  if (grows != nullptr)
    grows->memory_nbytes = std::max(grows->memory_nbytes, answer.value("memory", uint64_t{0}));
  Turn turn;
  turn.wall_us = answer.value("us", std::vector<double>{});
  turn.cpu_us = answer.value("cpu_us", 0.0);
  turn.elapsed_us = answer.value("elapsed_us", 0.0);
  turn.counts = answer.value("counts", std::vector<double>{});
  return turn;
}

Result<std::vector<ProfileRow>> profile(const Setup& setup, uint32_t runs,
                                        const std::atomic<bool>& interrupted) {
  const auto body = [&](Channel& channel) {
    Profile tracer;
    const auto work = [&]() -> Result<Json> {
      ETB_ASSIGN(const auto subject, start_subject(setup, &tracer));
      ETB_TRY(subject->run(0, std::max(setup.options.warmup, 1u)));
      tracer.clear();
      ETB_TRY(subject->run(runs, 0));
      Json rows = Json::array();
      for (const ProfileRow& row : tracer.rows())
        rows.push_back({row.name, row.kind, row.calls, row.us, row.share});
      return Json{{"rows", std::move(rows)}};
    };
    const Result<Json> found = work();
    channel.send(found ? to_message(*found) : to_message(found.error()));
  };
  ETB_ASSIGN(Child child, start_child(body));
  ETB_ASSIGN(const Json answer, parse(child.ask("", interrupted)));
  std::vector<ProfileRow> out;
  for (const Json& row : answer.value("rows", Json::array()))
    out.push_back({row.at(0).get<std::string>(), row.at(1).get<std::string>(), row.at(2).get<double>(),
                   row.at(3).get<double>(), row.at(4).get<double>()});
  return out;
}

Status run_apart(const std::function<Status()>& job, const std::atomic<bool>& interrupted) {
  ETB_ASSIGN(Child child, start_child([&job](Channel& channel) {
               const Status status = job();
               channel.send(status ? to_message(Json::object()) : to_message(status.error()));
             }));
  const Result<Json> answer = parse(child.ask("", interrupted));
  if (!answer) return tl::make_unexpected(answer.error());
  return {};
}

}  // namespace etb::bench
