// SPDX-License-Identifier: Apache-2.0
// Ahead-of-time calls with all their arguments; they return answers as values.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "conformance/subject/loans.hpp"
#include "conformance/subject/subject.hpp"

namespace etb::conformance {

struct Answers {
  etb_status status = ETB_OK;
  std::string error;
  std::map<uint32_t, std::string> reasons;  // keys: rejected nodes; values: "dtype: text"
  std::map<uint32_t, uint32_t> claims;      // keys: claimed nodes; values: their groups
  std::map<uint32_t, double> costs;         // cost_ns by claimed node
  uint32_t node_count = 0;
  int call_count = 0;  // calls of the sink
  int failing_call = 0;
  bool has_own_regions = false;  // some claim requests a separate payload

  // True if the graph may be compiled as one region.
  bool is_whole_claim() const {
    return status == ETB_OK && reasons.empty() && claims.size() == node_count &&
           (!has_own_regions || node_count == 1);
  }
  friend bool operator==(const Answers& a, const Answers& b) {
    return a.status == b.status && a.reasons == b.reasons && a.claims == b.claims && a.costs == b.costs;
  }
};

// Arguments that the ahead-of-time functions have in common.
struct AotOptions {
  const etb_target* target = nullptr;
  std::vector<etb_option> options = {};
  int failing_call =
      0;  // the call of the host's sink, writer or reader that returns kStop, counted from 1; 0: none
};

// Status of a call of the host that fails.
constexpr etb_status kStop = ETB_OUT_OF_RESOURCES;

Answers partition(Subject& subject, const graph::ImageBytes& image, const AotOptions& options = {});

// Calls the plugin's dry check. Returns NOT_IMPLEMENTED if it has none.
etb_status dry_check(Subject& subject, const graph::ImageBytes& image, std::string& out_error,
                     const AotOptions& options = {});
// Likewise the estimate.
etb_status estimate(Subject& subject, const graph::ImageBytes& image, etb_estimate& out,
                    const AotOptions& options = {});

// True if all but the confidence is equal.
inline bool is_equal(const etb_estimate& a, const etb_estimate& b) {
  return a.latency_ns == b.latency_ns && a.moved_bytes == b.moved_bytes && a.peak_bytes == b.peak_bytes &&
         a.energy_nj == b.energy_nj;
}

// An entry of the debug map.
struct DebugEntry {
  int64_t id = -1;
  std::string name;
  std::vector<uint32_t> handles;
};

struct Payload {
  std::vector<std::byte> bytes;
  std::map<std::string, std::vector<std::byte>> named;
  std::map<std::string, uint64_t> named_alignments;  // as the plugin asked for them
  std::vector<std::pair<std::string, std::vector<std::byte>>> specs;
  std::vector<uint32_t> debug_handles;
  std::vector<int64_t> debug_ids;
  std::vector<DebugEntry> debug_map;
  std::vector<std::string> named_keys;  // keys that the artifact lists
  uint32_t format_version = 0;
  uint64_t resident_bytes = 0, scratch_bytes = 0;  // as the artifact states them
  friend bool operator==(const Payload& a, const Payload& b) {
    return a.bytes == b.bytes && a.named == b.named && a.specs == b.specs;
  }
};

// The token of an application that does not cancel.
inline constexpr etb_cancel_token kNeverCancelled = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr,
                                                     [](void*) { return uint32_t{0}; }};

struct CompileOptions {
  std::vector<std::pair<std::string, std::string>> specs;
  const etb_cancel_token* cancel = nullptr;  // NULL: one that says no
  const etb_progress* progress = nullptr;
  AotOptions aot = {};
  Loans loans = {};  // loans of constants
  // Changes what the reader of constants returns; false: there is no such constant.
  std::function<bool(std::vector<std::byte>& bytes)> change_constant = {};
  // Bytes of constants that the image has outside of itself, by their key.
  const std::map<std::string, std::vector<std::byte>>* outside_constants = nullptr;
};

// Result of compiling one region into one payload.
struct Compiled {
  etb_status status = ETB_OK;
  std::string error;
  Payload payload;
  int call_count = 0;       // calls of the sink, the writer and the reader
  std::string failed_call;  // "write", "" if none failed
};
Compiled compile(Subject& subject, const graph::ImageBytes& image, const CompileOptions& options = {});

}  // namespace etb::conformance
