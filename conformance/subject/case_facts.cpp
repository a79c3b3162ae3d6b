// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/case_facts.hpp"

#include "conformance/subject/wire.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxTextBytes = 4096;  // limit of each text of a plugin

void write(WireWriter& out, const TensorData& tensor) {
  out.number(static_cast<uint64_t>(tensor.shape.dtype));
  out.numbers(tensor.shape.sizes);
  out.numbers(tensor.shape.dim_order);
  out.bytes(tensor.bytes);
}

TensorData read_tensor(WireReader& in) {
  TensorData out;
  out.shape.dtype = static_cast<etb_dtype>(in.number());
  out.shape.sizes = in.numbers<int64_t>();
  out.shape.dim_order = in.numbers<uint8_t>();
  out.bytes = in.bytes();
  return out;
}

// Approximate size, beside the bytes of tensors.
constexpr size_t kRoom = 2048;
size_t room_for(const std::vector<TensorData>& tensors) {
  size_t nbytes = 0;
  for (const TensorData& tensor : tensors) nbytes += tensor.bytes.size() + 256;
  return nbytes;
}

void write_text(WireWriter& out, std::string_view text) { out.text(text.substr(0, kMaxTextBytes)); }

void write(WireWriter& out, const Answers& answers) {
  out.number(static_cast<uint64_t>(answers.status));
  write_text(out, answers.error);
  out.number(answers.reasons.size());
  for (const auto& [node, reason] : answers.reasons) {
    out.number(node);
    write_text(out, reason);
  }
  out.number(answers.claims.size());
  for (const auto& [node, group] : answers.claims) {
    out.number(node);
    out.number(group);
  }
  out.flag(answers.has_own_regions);
}

Answers read_answers(WireReader& in) {
  Answers out;
  out.status = static_cast<etb_status>(in.number());
  out.error = in.text();
  for (size_t i = in.count(); i > 0; --i) {
    const auto node = static_cast<uint32_t>(in.number());
    out.reasons[node] = in.text();
  }
  for (size_t i = in.count(); i > 0; --i) {
    const auto node = static_cast<uint32_t>(in.number());
    out.claims[node] = static_cast<uint32_t>(in.number());
  }
  out.has_own_regions = in.flag();
  return out;
}

void write(WireWriter& out, const RunFacts& run) {
  out.number(static_cast<uint64_t>(run.status));
  write_text(out, run.error);
  out.number(run.outputs.size());
  for (const TensorData& output : run.outputs) write(out, output);
}

RunFacts read_run(WireReader& in) {
  RunFacts out;
  out.status = static_cast<etb_status>(in.number());
  out.error = in.text();
  for (size_t i = in.count(); i > 0; --i) out.outputs.push_back(read_tensor(in));
  return out;
}

}  // namespace

std::vector<std::byte> encode_case(const BuiltCase& built) {
  WireWriter out;
  const std::span<const uint8_t> image = built.image.span();
  size_t nbytes = image.size() + kRoom;
  for (const std::vector<TensorData>& inputs : built.runs) nbytes += room_for(inputs);
  out.reserve(nbytes);
  out.bytes({reinterpret_cast<const std::byte*>(image.data()), image.size()});
  out.number(built.runs.size());
  for (const std::vector<TensorData>& inputs : built.runs) {
    out.number(inputs.size());
    for (const TensorData& input : inputs) write(out, input);
  }
  return out.take();
}

Result<BuiltCase> decode_case(std::span<const std::byte> data) {
  WireReader in(data);
  BuiltCase out;
  const std::vector<std::byte> image = in.bytes();
  out.image = graph::ImageBytes({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  out.runs.resize(in.count());
  for (std::vector<TensorData>& inputs : out.runs)
    for (size_t i = in.count(); i > 0; --i) inputs.push_back(read_tensor(in));
  if (!in.is_complete()) return make_error(Code::INVALID_DATA, "a request that is no case");
  return out;
}

std::vector<std::byte> encode_facts(const CaseFacts& facts) {
  WireWriter out;
  size_t nbytes = kRoom;
  for (const std::array<RunFacts, 2>& run : facts.runs)
    for (const RunFacts& one : run) nbytes += room_for(one.outputs);
  out.reserve(nbytes);
  write_text(out, facts.open_error);
  write(out, facts.first);
  write(out, facts.second);
  out.number(facts.unlisted_ops.size());
  for (const std::string& op : facts.unlisted_ops) write_text(out, op);
  out.number(static_cast<uint64_t>(facts.dry_status));
  write_text(out, facts.dry_error);
  out.flag(facts.has_compiled);
  out.number(static_cast<uint64_t>(facts.compile_status));
  write_text(out, facts.compile_error);
  write_text(out, facts.create_error);
  out.number(facts.runs.size());
  for (const std::array<RunFacts, 2>& run : facts.runs)
    for (const RunFacts& one : run) write(out, one);
  write_text(out, facts.end_error);
  out.number(facts.breaches.size());
  for (const Breach& breach : facts.breaches) {
    out.flag(breach.is_of_plugin);
    for (const std::string& text : {breach.rule, breach.function, breach.text}) write_text(out, text);
  }
  return out.take();
}

std::optional<CaseFacts> decode_facts(std::span<const std::byte> data) {
  WireReader in(data);
  CaseFacts out;
  out.open_error = in.text();
  out.first = read_answers(in);
  out.second = read_answers(in);
  for (size_t i = in.count(); i > 0; --i) out.unlisted_ops.push_back(in.text());
  out.dry_status = static_cast<etb_status>(in.number());
  out.dry_error = in.text();
  out.has_compiled = in.flag();
  out.compile_status = static_cast<etb_status>(in.number());
  out.compile_error = in.text();
  out.create_error = in.text();
  out.runs.resize(in.count(6 * sizeof(uint64_t)));  // two statuses, texts and counts
  for (std::array<RunFacts, 2>& run : out.runs)
    for (RunFacts& one : run) one = read_run(in);
  out.end_error = in.text();
  for (size_t i = in.count(); i > 0; --i) {
    Breach& breach = out.breaches.emplace_back();
    breach.is_of_plugin = in.flag();
    for (std::string* text : {&breach.rule, &breach.function, &breach.text}) *text = in.text();
  }
  if (!in.is_complete()) return std::nullopt;
  return out;
}

}  // namespace etb::conformance
