// SPDX-License-Identifier: Apache-2.0
// opt: an object that is made with an option beside objects of its kind that are made without. Each has its own value.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

// An object of one scope: an instance, an open device, a delegate or a context.
class OwnedObject {
 public:
  OwnedObject(CheckContext& context, Subject& subject, CaseSession& session, const ClaimedCase& item)
      : context_(context), subject_(&subject), session_(session), item_(item) {}
  ~OwnedObject() {
    etb_error error = ETB_ERROR_INIT;
    if (made_context_ != nullptr) (void)subject_->table().delegate->context_destroy(made_context_, &error);
    if (device_ != nullptr) (void)subject_->table().device->close(device_, &error);
  }
  OwnedObject(const OwnedObject&) = delete;
  OwnedObject& operator=(const OwnedObject&) = delete;

  // Returns true if the object was made.
  bool make(uint32_t scope, const std::vector<etb_option>& options, const DeviceFacts* device) {
    scope_ = scope;
    etb_error error = ETB_ERROR_INIT;
    if (scope == ETB_OBJECT_PLUGIN) {
      auto made = Subject::open(context_.spec(), {.is_validated = false, .init_options = options});
      if (made) instance_ = std::move(*made);
      handle_ = instance_ ? instance_->handle() : nullptr;
    } else if (scope == ETB_OBJECT_DEVICE && device != nullptr) {
      (void)subject_->table().device->open(subject_->handle(), OpenDevice::uuid_of(*device), options.data(),
                                           options.size(), &device_, &error);
      handle_ = device_;
    } else if (scope == ETB_OBJECT_DELEGATE) {
      auto made = CaseSession::make(*subject_, item_.built, item_.payload, options);
      if (made) delegate_ = std::move(*made);
      handle_ = delegate_ ? delegate_->delegate() : nullptr;
    } else if (scope == ETB_OBJECT_CONTEXT) {
      (void)subject_->table().delegate->context_create(session_.delegate(), options.data(), options.size(),
                                                       &made_context_, &error);
      handle_ = made_context_;
    }
    return handle_ != nullptr;
  }

  // Returns the option as text, "" if the plugin does not report it.
  std::string value_of(const std::string& key) const {
    std::string out;
    const etb_option_sink sink = {ETB_INIT_SIZE(etb_option_sink), 0, &out,
                                  [](void* ctx, const etb_option* option) {
                                    *static_cast<std::string*>(ctx) = to_text(*option);
                                    return etb_status{ETB_OK};
                                  }};
    etb_error error = ETB_ERROR_INIT;
    Subject& owner = instance_ ? *instance_ : *subject_;
    const etb_status status =
        owner.table().get_option(owner.handle(), scope_, handle_, key.c_str(), &sink, &error);
    return status == ETB_OK ? out : "";
  }

 private:
  CheckContext& context_;
  Subject* subject_;
  CaseSession& session_;
  const ClaimedCase& item_;
  uint32_t scope_ = 0;
  void* handle_ = nullptr;
  std::unique_ptr<Subject> instance_;
  std::unique_ptr<CaseSession> delegate_;
  etb_device* device_ = nullptr;
  etb_context* made_context_ = nullptr;
};

constexpr std::pair<uint32_t, const char*> kScopes[] = {{ETB_OBJECT_PLUGIN, "instance"},
                                                        {ETB_OBJECT_DEVICE, "device"},
                                                        {ETB_OBJECT_DELEGATE, "delegate"},
                                                        {ETB_OBJECT_CONTEXT, "context"}};

// Makes an object with each value of the option, between two without. Returns true if the option can be read.
bool compare_owners(CheckContext& context, const OptionFacts& facts, uint32_t scope, const char* kind,
                    const DeviceFacts* device, const std::function<std::unique_ptr<OwnedObject>()>& next) {
  const auto before = next();
  if (!before->make(scope, {}, device)) return false;
  const std::string usual = before->value_of(facts.key);
  if (usual.empty()) return false;
  std::vector<etb_option> values = ordinary_values(facts);
  for (const etb_option& inner : inner_values(facts)) values.push_back(inner);
  if (facts.type == ETB_OPTION_TEXT && facts.choices.empty()) {  // any text; an empty one names no file
    values.push_back(make_option(facts.key.c_str(), facts.type));
    values.back().text = "";
  }
  for (const etb_option& option : values) {
    context.progress().restart();
    context.progress().at(to_text(option).c_str());
    const auto with = next(), after = next();
    if (!with->make(scope, {option}, device)) continue;
    const std::string own = with->value_of(facts.key);
    if (!after->make(scope, {}, device)) continue;
    const auto expect = [&](const OwnedObject& object, const std::string& expected, const char* which) {
      if (const std::string found = object.value_of(facts.key); found != expected)
        context.fail(fmt::format("beside {} with {}, {} {} has '{}', expected '{}'", kind, to_text(option),
                                 which, kind, found, expected));
    };
    expect(*before, usual, "an older");
    expect(*after, usual, "a newer");
    expect(*with, own, "after a newer one, this");
    if (!context.outcome().findings.empty()) return true;
  }
  return true;
}

void values_stay(CheckContext& context) {
  const auto subject = context.open();  // the validate layer ends the loan of each text with the call
  if (!subject) return;
  if ((subject->table().caps & ETB_PLUGIN_CAP_GET_OPTION) == 0)
    return context.skip("the plugin has no get_option");
  const std::vector<ClaimedCase> items = context.claimed(*subject, 1);
  if (items.empty()) return;
  const auto session = context.make_session(*subject, items[0]);
  if (!session) return;
  const DeviceList devices = devices_of(context, *subject);
  const auto next = [&] { return std::make_unique<OwnedObject>(context, *subject, *session, items[0]); };
  bool has_any = false;
  for (const OptionFacts& facts : options_of(*subject, context))
    for (const auto& [scope, kind] : kScopes) {
      if (!facts.has(scope) || (scope == ETB_OBJECT_PLUGIN && context.opens(24) < 24)) continue;
      has_any =
          compare_owners(context, facts, scope, kind, devices.empty() ? nullptr : devices.data(), next) ||
          has_any;
      context.take_violations(*subject);
      if (!context.outcome().findings.empty()) return;
    }
  if (!has_any) context.skip("the plugin reports no option of its objects");
}

constexpr Check kChecks[] = {
    {"opt.values-stay-with-their-object",
     "An instance, device, delegate or context that is made without an option has the same value as before "
     "when others are made with another one.",
     "", values_stay},
};

}  // namespace

std::span<const Check> option_owner_checks() { return kChecks; }

}  // namespace etb::conformance
