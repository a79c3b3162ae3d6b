// SPDX-License-Identifier: Apache-2.0
// err: errors of the environment.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

// Limits the host's memory to every amount up to a sufficient one. Each run must return an error or the right
// result.
void out_of_memory(CheckContext& context) {
  // On a device that opens slowly, fewer amounts.
  const uint64_t factor = context.opens(19) == 19 ? 2 : 16;
  for (uint64_t cap = 0; cap <= uint64_t{1} << 22; cap = cap == 0 ? 16 : cap * factor) {
    context.progress().at(fmt::format("at most {} bytes", cap).c_str());
    Result<std::unique_ptr<Subject>> subject = Subject::open(context.spec(), {.memory_cap_bytes = cap});
    if (!subject) continue;
    for (const ClaimedCase& item : context.find_claimed(**subject, 4)) {
      const Result<std::unique_ptr<CaseSession>> session =
          CaseSession::make(**subject, item.built, item.payload);
      if (!session) continue;
      const RunResult result = (*session)->run(item.built.runs[0]);
      if (result.status == ETB_OK && !context.is_right(item, result))
        return context.fail(fmt::format(
            "{}: with {} bytes of alloc/1 execute returns ETB_OK and a wrong result", item.item->name, cap));
    }
    context.take_violations(**subject);
  }
}

// An allocator whose n-th request fails, once.
struct FailingMemory {
  etb_alloc_service service{};
  uint64_t failing = 0, count = 0;

  FailingMemory() {
    service.struct_size = sizeof(service);
    service.ctx = this;
    service.allocate = [](void* ctx, uint64_t nbytes, uint64_t alignment, const char*) -> void* {
      auto& self = *static_cast<FailingMemory*>(ctx);
      if (++self.count == self.failing) return nullptr;
      void* out = nullptr;
      return ::posix_memalign(&out, std::max<size_t>(alignment, sizeof(void*)), nbytes) == 0 ? out : nullptr;
    };
    service.free = [](void*, void* ptr) { std::free(ptr); };
  }
};

const void* service_of(const etb_host* host, const char* id) {
  return std::strcmp(id, ETB_SERVICE_ALLOC) == 0 ? &static_cast<FailingMemory*>(host->ctx)->service : nullptr;
}

// Fails one allocation after another, until none is left.
void each_allocation_fails(CheckContext& context) {
  const auto most_requests = static_cast<uint64_t>(context.opens(300));
  for (uint64_t n = 1; n <= most_requests; ++n) {
    FailingMemory memory;
    memory.failing = n;
    etb_host host{};
    host.struct_size = sizeof(host);
    host.abi_version = ETB_ABI_VERSION;
    host.name = "host";
    host.version = "1.0.0";
    host.plugin_dir = "";
    host.ctx = &memory;
    host.get_service = service_of;
    context.progress().at(fmt::format("request {} for memory fails", n).c_str());
    SubjectOptions options;
    options.bare_host = &host;
    const Result<std::unique_ptr<Subject>> subject = Subject::open(context.spec(), options);
    if (subject)
      for (const ClaimedCase& item : context.find_claimed(**subject, 4)) {
        const Result<std::unique_ptr<CaseSession>> session =
            CaseSession::make(**subject, item.built, item.payload);
        if (!session) continue;
        const RunResult result = (*session)->run(item.built.runs[0]);
        if (result.status == ETB_OK && !context.is_right(item, result))
          return context.fail(
              fmt::format("{}: memory request {} failed, and execute returns ETB_OK and a wrong result",
                          item.item->name, n));
      }
    if (memory.count < n) {
      if (n == 1) context.skip("the plugin requests no memory from the host");
      return;
    }
  }
}

// Runs with memory of a kind that no plugin knows.
etb_status run_in_unknown_memory(ReadyCase& ready) {
  const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
  etb_buffer_desc nowhere{};
  nowhere.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
  nowhere.kind = "no-plugin-has-this-kind";
  nowhere.fd = -1;
  nowhere.access = 3;
  for (etb_tensor& tensor : run->tensors) {
    nowhere.nbytes = std::max(nowhere.nbytes, tensor.capacity_bytes);
    tensor.buffer = &nowhere;
    tensor.data = nullptr;
  }
  etb_error error = ETB_ERROR_INIT;
  return ready.subject.table().delegate->execute(ready.session.context(), &run->args, &error);
}

// Each tensor by itself is damaged, beside valid ones.
void damage_one_tensor(CheckContext& context, ReadyCase& ready) {
  const size_t input_count = ready.session.input_count(), count = input_count + ready.session.output_count();
  for (const Damage damage : {Damage::kRank, Damage::kLastRank, Damage::kDtype})
    for (size_t i = 0; i < count; ++i) {
      context.progress().at(to_text(damage));
      const bool is_input = i < input_count;
      const std::string tensor =
          fmt::format("{} {}", is_input ? "input" : "output", is_input ? i : i - input_count);
      if (ready.session.run_damaged(ready.inputs(), damage, i).status == ETB_OK)
        context.fail(
            fmt::format("{}: {} with {} ran without an error", ready.name(), tensor,
                        damage == Damage::kRank ? "one dimension more at the beginning" : to_text(damage)));
    }
}

// Invalid arguments of execute. Runs without the validate layer, which would reject them first.
void wrong_arguments(CheckContext& context) {
  context.each_session(bare(), 3, [&](ReadyCase& ready) {
    const auto expect_refusal = [&](const char* what, etb_exec_args args) {
      etb_error error = ETB_ERROR_INIT;
      context.progress().at(what);
      const etb_status status =
          ready.subject.table().delegate->execute(ready.session.context(), &args, &error);
      if (status == ETB_OK) context.fail(fmt::format("{}: {} ran without an error", ready.name(), what));
      if (status != ETB_OK && status != ETB_INVALID_ARGUMENT)
        context.fail(fmt::format("{}: execute refuses {} with {}, expected ETB_INVALID_ARGUMENT",
                                 ready.name(), what, status));
      if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
        context.fail(fmt::format("{}: after {} the context does not run any more", ready.name(), what));
    };
    std::vector<etb_tensor> none(64);
    etb_exec_args args{};
    args.struct_size = sizeof(args);
    args.inputs = none.data();
    args.outputs = none.data();
    for (etb_tensor& tensor : none) {
      tensor.struct_size = sizeof(etb_tensor);
      tensor.role = ETB_ROLE_INPUT;
      tensor.dtype = ETB_DTYPE_BITS16;
    }
    expect_refusal("no tensors", args);
    args.input_count = ready.session.info().input_count + 1;
    args.output_count = ready.session.info().output_count;
    if (args.input_count < none.size()) expect_refusal("one input too many", args);
    for (const uint32_t role : {uint32_t{ETB_ROLE_INPUT}, uint32_t{ETB_ROLE_OUTPUT}}) {
      const bool is_input = role == ETB_ROLE_INPUT;
      if ((is_input ? ready.session.input_count() : ready.session.output_count()) == 0) continue;
      context.progress().at("one good tensor too many");
      if (ready.session.run_with_one_more(ready.inputs(), role).status == ETB_OK)
        context.fail(fmt::format("{}: a good {} too many ran without an error", ready.name(),
                                 is_input ? "input" : "output"));
    }
    context.progress().at("memory of an unknown kind");
    if (run_in_unknown_memory(ready) == ETB_OK)
      context.fail(ready.name() + ": memory of an unknown kind ran without an error");
    args.input_count = ready.session.info().input_count;
    if (args.input_count != 0 && args.input_count < none.size())
      expect_refusal("tensors of another dtype", args);
    for (const Damage damage : {Damage::kRank, Damage::kSize, Damage::kCapacity}) {
      const RunResult result = ready.session.run_damaged(ready.inputs(), damage);
      // A plugin that repeats its plan in each run may accept larger tensors; dyn.above-bound-is-rejected checks
      // bounds.
      if (result.status == ETB_OK && damage != Damage::kSize)
        context.fail(fmt::format("{}: {} ran without an error", ready.name(), to_text(damage)));
      if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
        context.fail(
            fmt::format("{}: after {} the context does not run any more", ready.name(), to_text(damage)));
    }
    damage_one_tensor(context, ready);
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after a tensor was wrong the context does not run any more");
  });
}

void missing_named_data(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  for (ClaimedCase& item : context.claimed_like(*subject, "op.linear.*.constant.*", 2)) {
    if (item.payload.named.empty()) continue;
    item.payload.named.clear();
    const Result<std::unique_ptr<CaseSession>> session =
        CaseSession::make(*subject, item.built, item.payload);
    if (session) context.fail("create succeeds although named data of the payload is missing");
  }
  context.take_violations(*subject);
}

// A uuid that no device has.
constexpr uint8_t kNobody[16] = {0xee, 0x0b, 0x0d, 0x79, 0xee, 0x0b, 0x0d, 0x79};

// Arguments of create with bytes that are no valid payload.
struct Noise {
  alignas(16) char bytes[64] = "this is no payload of anybody";
  etb_payload_view view{};
  etb_delegate_args args{};

  explicit Noise(const Subject& subject) {
    view.struct_size = sizeof(view);
    view.data = bytes;
    view.nbytes = std::strlen(bytes);
    view.alignment = 16;
    view.fd = -1;
    args.struct_size = sizeof(args);
    args.backend_id = subject.backend_id().c_str();
    args.method_name = "forward";
    args.payload = &view;
  }
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;
};

// A failing call must fill the caller's error with its own code and a text.
void errors_have_a_text(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject);
  if (items.empty()) return;
  const Noise noise(*subject);
  const etb_delegate_args& args = noise.args;
  etb_delegate* made = nullptr;
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = subject->table().delegate->create(subject->handle(), &args, &made, &error);
  if (status == ETB_OK) {
    (void)subject->table().delegate->destroy(made, &error);
    return context.fail("create accepts bytes that are not a payload");
  }
  if (error.code != status)
    context.fail(fmt::format("create returns {}, its error holds {}", status, error.code));
  if (error.text[0] == '\0') context.fail("create fails with an empty error text");
  if (subject->table().delegate->create(subject->handle(), &args, &made, nullptr) == ETB_OK)
    context.fail("create accepts other bytes when the error is NULL");
  context.take_violations(*subject);
}

// Texts longer than that of an error, of characters of two, three and four bytes, of which the first begins at `offset`.
std::vector<std::string> long_texts(size_t offset) {
  std::vector<std::string> out;
  for (const char* character : {"\u00e9", "\u20ac", "\U0001f980"}) {
    std::string& text = out.emplace_back(offset, 'k');
    while (text.size() < 2 * ETB_ERROR_TEXT_NBYTES) text += character;
  }
  return out;
}

// A host passes on what it reads, such as the key of an option from a file. Where the text of an error ends inside of it,
// it ends between two characters. The validate layer looks at the error of each call.
void texts_are_cut_between_characters(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.find_claimed(*subject);
  const auto session = items.empty() ? nullptr : context.make_session(*subject, items[0]);
  const etb_plugin_table& table = subject->table();
  Noise noise(*subject);
  for (const size_t offset : {0, 1, 2, 3})
    for (const std::string& text : long_texts(offset)) {
      context.progress().restart();
      context.progress().at("a long text");
      etb_error error = ETB_ERROR_INIT;
      const etb_option option = make_option(text.c_str(), ETB_OPTION_I64);
      const auto started = Subject::open(context.spec(), {.is_validated = false, .init_options = {option}});
      if (!started && !host::validate::is_utf8(started.error().message))
        context.fail("init with an unknown option: the text of the error is not UTF-8");
      (void)table.set_option(subject->handle(), ETB_OBJECT_PLUGIN, subject->handle(), &option, &error);
      etb_delegate* made = nullptr;
      noise.args.method_name = text.c_str();
      (void)table.delegate->create(subject->handle(), &noise.args, &made, &error);
      if (session) {
        etb_context* opened = nullptr;
        (void)table.delegate->context_create(session->delegate(), &option, 1, &opened, &error);
        (void)session->run(items[0].built.runs[0], {.options = {option}});
        (void)CaseSession::make(*subject, items[0].built, items[0].payload, {option});
      }
      context.take_violations(*subject);
      if (!context.outcome().findings.empty()) return;
    }
}

// Calls every function, in valid and invalid order, with a NULL error pointer.
void error_may_be_null(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    Subject& subject = ready.subject;
    const etb_plugin_table& table = subject.table();
    const etb_delegate_table& delegates = *table.delegate;
    context.progress().at("calls with an error of NULL");
    const Noise noise(subject);
    etb_delegate* made = nullptr;
    (void)delegates.create(subject.handle(), &noise.args, &made, nullptr);
    etb_payload_check check{};
    check.struct_size = sizeof(check);
    check.backend_id = noise.args.backend_id;
    check.prefix = {noise.bytes, noise.view.nbytes};
    check.payload_nbytes = noise.view.nbytes;
    etb_verdict verdict{};
    verdict.struct_size = sizeof(verdict);
    (void)delegates.check_payload(subject.handle(), &check, &verdict, nullptr);
    etb_delegate_info info{};
    info.struct_size = sizeof(info);
    (void)delegates.query(ready.session.delegate(), &info, nullptr);
    (void)delegates.destroy(ready.session.delegate(), nullptr);  // ETB_BUSY: its context lives
    etb_exec_args nothing{};
    nothing.struct_size = sizeof(nothing);
    (void)delegates.execute(ready.session.context(), &nothing, nullptr);
    etb_device* opened = nullptr;
    (void)table.device->open(subject.handle(), kNobody, nullptr, 0, &opened, nullptr);
    const etb_option unknown = make_option("no-plugin-has-this-option", ETB_OPTION_I64);
    (void)table.set_option(subject.handle(), ETB_OBJECT_PLUGIN, subject.handle(), &unknown, nullptr);
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail("after calls with an error of NULL the context does not run any more");
  });
}

// Opens a missing device: its uuid is none of the present ones.
void unknown_device(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const etb_device_table& devices = *subject->table().device;
  etb_device* opened = nullptr;
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = devices.open(subject->handle(), kNobody, nullptr, 0, &opened, &error);
  if (status == ETB_OK)
    context.fail("a device opens by a uuid that enumerate did not report");
  else if (status != ETB_NOT_FOUND)
    context.fail(fmt::format("opening an unknown device fails with {}, expected ETB_NOT_FOUND", status));
  else if (error.text[0] == '\0')
    context.fail("opening an unknown device fails with an empty error text");
  // A uuid is all its bytes: none of those that differ in one is a device, unless enumerate has it.
  const DeviceList known = devices_of(context, *subject);
  for (const DeviceFacts& facts : known)
    for (size_t at = 0; at < facts.uuid.size(); ++at) {
      DeviceFacts other = facts;
      other.uuid[at] = static_cast<char>(other.uuid[at] ^ 0x55);
      const auto has_it = [&](const DeviceFacts& each) { return each.uuid == other.uuid; };
      if (std::any_of(known.begin(), known.end(), has_it)) continue;
      opened = nullptr;
      if (devices.open(subject->handle(), OpenDevice::uuid_of(other), nullptr, 0, &opened, &error) != ETB_OK)
        continue;
      (void)devices.close(opened, &error);
      return context.fail(fmt::format("'{}' opens by a uuid of which byte {} is another", facts.name, at));
    }
  context.take_violations(*subject);
}

// The host falls back, and may retry with a new instance. The option simulates a loss, so the device is there again.
void expect_new_instance(CheckContext& context) {
  const auto again = context.open(bare());
  if (!again) return;
  for (const ClaimedCase& item : context.claimed(*again, 2)) {
    context.progress().at("a new instance after the loss of the device");
    const Result<std::unique_ptr<CaseSession>> session = CaseSession::make(*again, item.built, item.payload);
    if (!session)
      return context.fail("a new instance after the loss: create fails: " + session.error().message);
    const RunResult result = (*session)->run(item.built.runs[0]);
    if (result.status != ETB_OK)
      return context.fail(fmt::format("a new instance after the loss: a run returns {}: {}", result.status,
                                      result.error.text));
    if (!context.is_right(item, result))
      return context.fail("a new instance after the loss returns a wrong result");
  }
}

void lost_device(CheckContext& context) {
  const auto described = context.open(bare());
  if (!described) return;
  bool can_lose = false;
  for (const OptionFacts& facts : options_of(*described, context))
    can_lose = can_lose || (facts.key == kLoseDevice && facts.has(ETB_OBJECT_RUN));
  if (!can_lose) return context.skip(fmt::format("the schema has no run option {}", kLoseDevice));
  etb_option lose = make_option(kLoseDevice, ETB_OPTION_BOOL);
  lose.i64 = 1;
  context.each_session(bare(), 3, [&](ReadyCase& ready) {
    const RunResult lost = ready.run({.options = {lose}});
    if (lost.status != ETB_UNAVAILABLE)
      return context.fail(
          fmt::format("{}: the run that loses its device returns {}, expected ETB_UNAVAILABLE", ready.name(),
                      lost.status));
    if (lost.error.text[0] == '\0')
      context.fail(ready.name() + ": the loss of the device has an empty error text");
    const RunResult after = ready.run();
    if (after.status != ETB_UNAVAILABLE && (after.status != ETB_OK || !context.is_right(ready.item, after)))
      context.fail(
          fmt::format("{}: after the loss a run returns {}, expected ETB_UNAVAILABLE or the right result",
                      ready.name(), after.status));
    if (const Status ended = ready.session.end(); !ended)
      context.fail(ready.name() +
                   ": an object of a lost device cannot be destroyed: " + ended.error().message);
  });
  if (context.outcome().findings.empty()) expect_new_instance(context);
}

constexpr Check kChecks[] = {
    {"err.out-of-memory",
     "When the host is out of memory, execute returns an error or the right result, never a wrong one.",
     "ABI-ERR-01", out_of_memory},
    {"err.each-allocation-fails",
     "When any memory request fails, execute returns an error or the right result.", "ABI-ERR-01",
     each_allocation_fails},
    {"err.wrong-arguments", "Tensors that do not match are rejected, and the context stays usable.",
     "ABI-EXEC-01", wrong_arguments},
    {"err.missing-named-data", "Create reports missing named data.", "ABI-ERR-01", missing_named_data},
    {"err.errors-have-a-text", "A failing call fills the error with its code and a text.", "ABI-ERR-01",
     errors_have_a_text},
    {"err.texts-are-cut-between-characters",
     "Texts of errors are UTF-8, also where a long text of the host is cut.", "ABI-ERR-02",
     texts_are_cut_between_characters},
    {"err.error-may-be-null", "The error of any call may be NULL.", "ABI-CALL-04", error_may_be_null},
    {"err.unknown-device", "An unknown device is not opened.", "ABI-DEV-01", unknown_device},
    {"err.lost-device",
     "A run that loses its device returns ETB_UNAVAILABLE; objects on it can be destroyed, and a new "
     "instance works.",
     "ABI-ERR-01", lost_device},
};

}  // namespace

std::span<const Check> err_checks() { return kChecks; }

}  // namespace etb::conformance
