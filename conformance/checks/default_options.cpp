// SPDX-License-Identifier: Apache-2.0
// opt: the defaults of the schema are the values in force: an option that is passed with its default changes nothing.
#include <fmt/format.h>

#include <deque>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

// Options of a scope with their defaults. The values point into it.
struct Defaults {
  std::deque<std::string> texts;
  std::vector<std::pair<uint32_t, etb_option>> options;  // scopes, value
};

etb_status ETB_CALL take_default(void* ctx, const etb_option_schema* schema) {
  auto& out = *static_cast<Defaults*>(ctx);
  const etb_option* const value = schema->default_value;
  if (value == nullptr || schema->key == nullptr || value->type != schema->type ||
      value->type == ETB_OPTION_BYTES || value->type == ETB_OPTION_LIST ||
      schema->key == std::string_view(kLoseDevice))
    return ETB_OK;
  etb_option& option = out.options.emplace_back(schema->scopes, *value).second;
  option.struct_size = ETB_INIT_SIZE(etb_option);
  option.key = out.texts.emplace_back(schema->key).c_str();
  if (value->text != nullptr) option.text = out.texts.emplace_back(value->text).c_str();
  return ETB_OK;
}

bool has_same_facts(const etb_delegate_info& a, const etb_delegate_info& b) {
  return a.input_count == b.input_count && a.output_count == b.output_count &&
         a.max_contexts == b.max_contexts && a.resident_bytes == b.resident_bytes &&
         a.context_bytes == b.context_bytes && a.scratch_bytes == b.scratch_bytes &&
         a.scratch_alignment == b.scratch_alignment;
}

class Comparison {
 public:
  Comparison(CheckContext& context, Subject& subject, const etb_option& option)
      : context_(context), subject_(subject), option_(option) {}

  void compile_with(const ClaimedCase& item) {
    const AotOptions aot = {.options = {option_}};
    if (!(partition(subject_, item.built.image, aot) == partition(subject_, item.built.image)))
      return fail(item, "partition answers otherwise");
    const Compiled compiled = compile(subject_, item.built.image, {.aot = aot});
    if (compiled.status != ETB_OK || !(compiled.payload == item.payload))
      fail(item, "compile makes another payload");
  }

  void create_with(const ClaimedCase& item) {
    const auto usual = context_.make_session(subject_, item);
    const auto with = CaseSession::make(subject_, item.built, item.payload, std::vector<etb_option>{option_});
    if (!usual || !with) return;  // opt.values-at-each-scope reports it
    const RunResult expected = usual->run(item.built.runs[0]), found = (*with)->run(item.built.runs[0]);
    if (!has_same_facts(usual->info(), (*with)->info()))
      fail(item, "a delegate has other facts");
    else if (!has_same_result(found, expected))
      fail(item, "a run has another result");
  }

  void run_with(const ClaimedCase& item) {
    const auto session = context_.make_session(subject_, item);
    if (!session) return;
    const RunResult expected = session->run(item.built.runs[0]);
    if (!has_same_result(session->run(item.built.runs[0], {.options = {option_}}), expected))
      fail(item, "a run has another result");
  }

  void create_context_with(const ClaimedCase& item) {
    const auto session = context_.make_session(subject_, item);
    if (!session) return;
    const etb_delegate_table& table = *subject_.table().delegate;
    etb_context* made = nullptr;
    etb_error error = ETB_ERROR_INIT;
    if (table.context_create(session->delegate(), &option_, 1, &made, &error) != ETB_OK) return;
    const RunResult expected = session->run(item.built.runs[0]),
                    found = session->run_on(made, item.built.runs[0]);
    (void)table.context_destroy(made, &error);
    if (!has_same_result(found, expected)) fail(item, "a run on a context has another result");
  }

 private:
  void fail(const ClaimedCase& item, const char* what) {
    context_.fail(fmt::format("{}: with {}, the default of the schema, {} than without the option",
                              item.item->name, to_text(option_), what));
  }

  CheckContext& context_;
  Subject& subject_;
  const etb_option& option_;
};

void defaults_are_in_force(CheckContext& context) {
  constexpr size_t kCases = 12;
  const auto subject = context.open(bare());
  if (!subject) return;
  Defaults defaults;
  const etb_option_schema_sink sink = {ETB_INIT_SIZE(etb_option_schema_sink), 0, &defaults, take_default};
  etb_error error = ETB_ERROR_INIT;
  (void)subject->table().option_schema(subject->handle(), &sink, &error);
  if (defaults.options.empty()) return context.skip("no option has a default");
  std::vector<ClaimedCase> items = context.claimed(*subject, kCases);
  for (const char* pattern : {"op.*_w*", "quant.*", "model.*", "op.*.large.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 2))
      items.push_back(std::move(item));
  for (const auto& [scopes, option] : defaults.options) {
    // Delegates of this run have another value of it (--delegate-option).
    if (context.spec().delegate_options.contains(option.key)) continue;
    for (const ClaimedCase& item : items) {
      Comparison comparison(context, *subject, option);
      context.progress().restart();
      context.progress().at(to_text(option).c_str());
      if ((scopes & ETB_OBJECT_PLUGIN) != 0) comparison.compile_with(item);
      if ((scopes & ETB_OBJECT_DELEGATE) != 0) comparison.create_with(item);
      if ((scopes & ETB_OBJECT_CONTEXT) != 0) comparison.create_context_with(item);
      if ((scopes & ETB_OBJECT_RUN) != 0) comparison.run_with(item);
      if (!context.outcome().findings.empty()) return;
    }
  }
}

constexpr Check kChecks[] = {
    {"opt.defaults-are-in-force",
     "An option that is passed with the default of the schema changes no claim, payload, fact or result.", "",
     defaults_are_in_force},
};

}  // namespace

std::span<const Check> default_option_checks() { return kChecks; }

}  // namespace etb::conformance
