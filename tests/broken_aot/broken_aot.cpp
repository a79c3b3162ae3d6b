// SPDX-License-Identifier: Apache-2.0
// A plugin whose ahead-of-time half has one defect at a time. The environment variable ETB_BROKEN_AOT selects
// the defect, so that one library serves all rows of the table in tools/broken_aot_test.cpp. Its payloads run
// nothing.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "etb/cpp/plugin.hpp"

namespace {

std::string_view way() {
  const char* const text = std::getenv("ETB_BROKEN_AOT");
  return text == nullptr ? "" : text;
}

struct Broken;

class NoDelegate {
 public:
  static etb::Result<NoDelegate> make(const Broken&, etb::CreateArgs&) {
    return etb::make_error(etb::Code::INVALID_DATA, "runs nothing");
  }
  etb::DelegateInfo info() const { return {.input_count = 0, .output_count = 0}; }
  etb::Status execute(const etb::Run&) const { return {}; }
};

struct Broken {
  using Delegate = NoDelegate;

  static constexpr etb::OptionRow kOptions[] = {
      etb::i64_option("most_nodes", 1000, 0, 1000, ETB_OBJECT_PLUGIN, "Claims no method with more nodes.")};
  static constexpr etb::OpRow kOps[] = {{.op = "aten.addmm.default"}};

  etb::Status partition(const etb::Graph& graph, const etb::CompileRequest& request,
                        const etb::PartitionSink& sink) const {
    const uint32_t first = graph.c().first_node_id, count = graph.node_count();
    std::vector<uint32_t> ids(count);
    std::iota(ids.begin(), ids.end(), first);
    if (way() == "crash_in_partition") std::raise(SIGSEGV);
    if (way() == "exit_in_partition") std::exit(0);
    if (way() == "hang_in_partition")
      for (;;) ::pause();
    if (way() == "fail_in_partition") return etb::make_error(etb::Code::INTERNAL, "no idea");
    if (way() == "unknown_node") ids.push_back(first + count + 1000);
    if (way() == "overlap") ids.push_back(first);
    if (way() == "unanswered") ids.pop_back();
    if (way() == "no_reason") return sink.reject(ids, etb::Claim::no("", ""));
    if (way() == "cyclic_region") return claim_both_ends(ids, sink);
    if (count > request.options().get_i64("most_nodes"))
      return sink.reject(ids, etb::Claim::no("com.example.option", "more nodes than the option allows"));
    if (request.target().name() == "absent")
      return sink.reject(ids, etb::Claim::no("com.example.target", "no device of this name"));
    return sink.claim(ids, etb::Claim::yes());
  }

  etb::Result<etb::Artifact> compile(const etb::Region& region) const {
    if (way() == "wait_in_compile") return wait(region);
    if (way() == "crash_in_compile") std::raise(SIGABRT);
    if (way() == "exit_in_compile") ::_exit(0);
    if (way() == "hang_in_compile") {
      make_ready();
      for (;;) ::pause();
    }
    if (way() == "throw_in_compile") throw 7;
    if (way() == "refuse_in_compile") return etb::make_error(etb::Code::NOT_SUPPORTED, "changed its mind");
    etb::Artifact artifact;
    artifact.payload.resize(4, std::byte{7});
    if (way() == "other_bytes_of_a_key") {
      artifact.named_blobs.push_back({.key = "k", .value = {std::byte{1}}});
      artifact.named_blobs.push_back({.key = "k", .value = {std::byte{2}}});
    }
    if (way() == "unknown_constant") artifact.named_blobs.push_back({.key = "k", .constant_key = "nobody's"});
    if (way() == "odd_alignment") artifact.named_blobs.push_back({.key = "k", .alignment = 3});
    return artifact;
  }

  // Not a defect: a region fits into the target's memory, and the estimate is the target's.
  etb::Status dry_check(const etb::Graph& graph, const etb::CompileRequest& request) const {
    ETB_ASSIGN(const int64_t most, request.target().get_i64("region_nodes", 1000));
    if (graph.node_count() <= most) return {};
    return etb::make_error(etb::Code::NOT_SUPPORTED, std::to_string(graph.node_count()) +
                                                         " nodes, the target takes " + std::to_string(most));
  }
  etb::Result<etb::Estimate> estimate(const etb::Graph& graph, const etb::CompileRequest& request) const {
    ETB_ASSIGN(const int64_t node_ns, request.target().get_i64("node_ns", 0));
    return etb::Estimate{.latency_ns = static_cast<double>(node_ns * graph.node_count()),
                         .moved_bytes = 2048};
  }

  // Makes the file that a test waits for.
  static void make_ready() {
    if (const char* const ready = std::getenv("ETB_BROKEN_AOT_READY"))
      if (std::FILE* const file = std::fopen(ready, "w")) std::fclose(file);
  }

  // Not a defect: a long compilation that stops when it is asked to.
  static etb::Result<etb::Artifact> wait(const etb::Region& region) {
    region.report(0.25, "waiting");
    make_ready();
    while (!region.is_cancelled()) ::usleep(1000);
    return etb::make_error(etb::Code::CANCELLED, "stopped on request");
  }

  etb::Verdict check_payload(const etb_payload_check&) const {
    if (way() == "wrong_payload") return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "not of this plugin"};
    return {ETB_VERDICT_OPTIMAL, 0, ""};
  }

 private:
  // Claims the first and the last node as one region. All nodes between would have to run in the middle of
  // it.
  static etb::Status claim_both_ends(const std::vector<uint32_t>& ids, const etb::PartitionSink& sink) {
    etb::Claim whole = etb::Claim::yes();
    whole.flags = ETB_CLAIM_WHOLE_GROUP;
    const uint32_t ends[] = {ids.front(), ids.back()};
    ETB_TRY(sink.claim(ends, whole, 1));
    return sink.reject({ids.data() + 1, ids.size() - 2}, etb::Claim::no("op", "between"));
  }
};

}  // namespace

ETB_DEFINE_PLUGIN(Broken, "com.example.broken-aot", "Example Inc.", "0.1.0")
