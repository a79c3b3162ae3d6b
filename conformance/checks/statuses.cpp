// SPDX-License-Identifier: Apache-2.0
// err: refused calls return the status that the headers name, and their text says which option, tensor, node or compile spec
// is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

// ---- options

constexpr const char* kUnknownKey = "no-plugin-has-this-option";

// Options that the function of a scope must refuse.
std::vector<etb_option> refused_options(const std::vector<OptionFacts>& described, uint32_t scope) {
  std::vector<etb_option> out = {make_option(kUnknownKey, ETB_OPTION_I64)};
  for (const OptionFacts& facts : described) {
    if (!facts.has(scope) || facts.key == kLoseDevice) continue;
    for (const etb_option& option : excluded_values(facts)) out.push_back(option);
  }
  return out;
}

// A call that accepts the option is the finding of another check.
void expect_invalid(CheckContext& context, const char* function, const etb_option& option,
                    etb_status status) {
  if (status == ETB_OK || status == ETB_INVALID_ARGUMENT) return;
  context.fail(
      fmt::format("{} refuses {} with {}, expected ETB_INVALID_ARGUMENT", function, to_text(option), status));
}

void options_have_the_status(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<OptionFacts> described = options_of(*subject, context);
  for (const ClaimedCase& item : context.claimed(*subject, 1)) {
    for (const auto& [scope, function] : option_scopes(*subject))
      for (const etb_option& option : refused_options(described, scope))
        expect_invalid(context, function, option, pass_options(context, *subject, item, scope, {option}));
    for (const etb_option& option : refused_options(described, ETB_OBJECT_PLUGIN)) {
      const AotOptions aot = {.options = {option}};
      expect_invalid(context, "partition", option, partition(*subject, item.built.image, aot).status);
      expect_invalid(context, "compile", option, compile(*subject, item.built.image, {.aot = aot}).status);
    }
  }
}

// ---- tensors

// With one wrong tensor after another, the text must not stay the same: it names the tensor. A plugin whose payload has no sizes
// can only compare ranks, so it may name the output in both cases.
void expect_named(CheckContext& context, ReadyCase& ready, Damage damage) {
  const size_t input_count = ready.session.input_count(), count = input_count + ready.session.output_count();
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    const std::string tensor =
        fmt::format("{} {}", i < input_count ? "input" : "output", i < input_count ? i : i - input_count);
    context.progress().at(tensor.c_str());
    const RunResult result = ready.session.run_damaged(ready.inputs(), damage, i);
    if (result.status == ETB_OK) return;  // err.wrong-arguments reports it
    if (result.status != ETB_INVALID_ARGUMENT)
      context.fail(fmt::format("{}: {} with {} is refused with {}, expected ETB_INVALID_ARGUMENT",
                               ready.name(), tensor, to_text(damage), result.status));
    const bool names_output = damage == Damage::kLastRank && i >= input_count &&
                              std::string_view(result.error.text).find(tensor) != std::string_view::npos;
    if (!names_output && std::find(texts.begin(), texts.end(), result.error.text) != texts.end())
      context.fail(
          fmt::format("{}: {} with {} is refused as another tensor is, '{}': the text does not name "
                      "the tensor",
                      ready.name(), tensor, to_text(damage), result.error.text));
    texts.emplace_back(result.error.text);
  }
}

void wrong_tensors_are_named(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 3);
  for (const char* pattern : {"op.add.*", "op.where.*", "op.cat.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern)) items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    for (const Damage damage : {Damage::kLastRank, Damage::kDtype}) expect_named(context, ready, damage);
  });
}

// ---- nodes

// True if the text has the number as a word of its own.
bool has_number(std::string_view text, uint32_t number) {
  const std::string digits = std::to_string(number);
  const auto is_digit = [&](size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  for (size_t at = text.find(digits); at != std::string_view::npos; at = text.find(digits, at + 1))
    if ((at == 0 || !is_digit(at - 1)) && !is_digit(at + digits.size())) return true;
  return false;
}

// Two nodes of an op that the plugin claims, then one of an op that it does not.
Result<BuiltCase> with_foreign_node(const char* op, const char* foreign) {
  CaseBuilder builder("foreign node");
  const Shape shape{ETB_DTYPE_FLOAT32, {2, 3}, {}};
  uint32_t last = builder.input(shape, Values::kStatistical);
  for (const char* each : {op, op, foreign})
    last = builder.node(each, {graph::value_arg(last, "self")}, shape);
  builder.output(last);
  return builder.finish({});
}

void expect_node_in(CheckContext& context, const char* function, etb_status status, const std::string& text,
                    const char* op) {
  constexpr uint32_t kNode = 2;
  if (status == ETB_OK) return context.fail(fmt::format("{} takes a node of {}", function, op));
  if (status != ETB_NOT_SUPPORTED)
    context.fail(
        fmt::format("{} refuses a node of {} with {}, expected ETB_NOT_SUPPORTED", function, op, status));
  if (text.find(op) == std::string::npos && !has_number(text, kNode))
    context.fail(fmt::format("{} refuses node {} of {} with '{}', which does not name the node", function,
                             kNode, op, text));
}

void refused_nodes_are_named(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  constexpr const char* kOps[] = {"aten.relu.default", "aten.neg.default", "aten.abs.default",
                                  "aten.sigmoid.default", "aten.exp.default"};
  size_t count = 0;
  for (const char* op : kOps)
    for (const char* foreign : {"aten.nobody_has_this.default", "vendor.nobody.Tensor"}) {
      const Result<BuiltCase> built = with_foreign_node(op, foreign);
      if (!built || partition(*subject, built->image).claims.size() != 2) continue;
      ++count;
      context.progress().at("compile with a node that was not claimed");
      const Compiled compiled = compile(*subject, built->image);
      expect_node_in(context, "compile", compiled.status, compiled.error, foreign);
      if ((subject->table().aot->caps & ETB_AOT_CAP_DRY_CHECK) == 0) continue;
      std::string text;
      context.progress().at("dry_check with a node that was not claimed");
      const etb_status status = dry_check(*subject, built->image, text);
      expect_node_in(context, "dry_check", status, text, foreign);
    }
  if (count == 0) context.skip("the plugin claims none of the small ops that the check needs");
}

// ---- compile specs

void unknown_specs(CheckContext& context) {
  constexpr const char* kKey = "no-plugin-has-this-spec";
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  for (const ClaimedCase& item : context.claimed(*subject, 4)) {
    context.progress().at("compile with an unknown compile spec");
    const Compiled compiled = compile(*subject, item.built.image, {.specs = {{kKey, "1"}}});
    if (compiled.status == ETB_OK)
      return context.warn(fmt::format("{}: compile ignores the compile spec '{}'", item.item->name, kKey));
    if (compiled.status != ETB_INVALID_ARGUMENT)
      return context.fail(
          fmt::format("{}: compile rejects an unknown compile spec with {}, expected ETB_INVALID_ARGUMENT",
                      item.item->name, compiled.status));
    if (compiled.error.find(kKey) == std::string::npos)
      return context.warn(
          fmt::format("{}: compile rejects an unknown compile spec with '{}', which does not "
                      "have its key",
                      item.item->name, compiled.error));
  }
}

// ---- payloads

void damaged_payloads_have_the_status(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 4)) {
    const auto expect = [&](std::vector<std::byte> bytes, const char* what) {
      Payload payload = item.payload;
      if (payload.bytes.empty()) return;
      payload.bytes = std::move(bytes);
      context.progress().at(what);
      const auto session = CaseSession::make(*subject, item.built, std::move(payload));
      if (session) return;
      const Code code = session.error().code;
      if (code != Code::INVALID_DATA && code != Code::INCOMPATIBLE)
        context.fail(
            fmt::format("{}: create rejects {} with {}, expected ETB_INVALID_DATA or "
                        "ETB_INCOMPATIBLE",
                        item.item->name, what, static_cast<int>(code)));
    };
    const std::vector<std::byte>& good = item.payload.bytes;
    expect({}, "a payload without bytes");
    expect({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2)}, "half of a payload");
    expect({good.begin(), good.end() - (good.empty() ? 0 : 1)}, "a payload without its last byte");
    expect(std::vector<std::byte>(good.size(), std::byte{0xff}), "a payload of ones");
    expect(std::vector<std::byte>(4096, std::byte{'?'}), "a text");
  }
}

constexpr Check kChecks[] = {
    {"err.options-have-the-status",
     "Unknown options and values that the schema excludes are refused with "
     "ETB_INVALID_ARGUMENT.",
     "ABI-OPT-01", options_have_the_status},
    {"err.wrong-tensors-are-named",
     "Execute refuses a tensor of another rank or dtype with ETB_INVALID_ARGUMENT and a text that names it.",
     "ABI-ERR-01", wrong_tensors_are_named},
    {"err.refused-nodes-are-named",
     "Compile and dry_check refuse a node that was not claimed with ETB_NOT_SUPPORTED and a text that names "
     "it.",
     "ABI-ERR-01", refused_nodes_are_named},
    {"err.damaged-payloads-have-the-status",
     "Create refuses a damaged payload with ETB_INVALID_DATA or ETB_INCOMPATIBLE.", "ABI-BLOB-01",
     damaged_payloads_have_the_status},
    {"aot.unknown-specs-are-rejected",
     "Compile rejects a compile spec that it does not know with ETB_INVALID_ARGUMENT; a warning if it "
     "ignores "
     "it or does not name it.",
     "", unknown_specs},
};

}  // namespace

std::span<const Check> status_checks() { return kChecks; }

}  // namespace etb::conformance
