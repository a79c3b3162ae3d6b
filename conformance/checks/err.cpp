// err: things going wrong around the plugin.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "conformance/checks/groups.hpp"
#include "conformance/judge/judge.hpp"

namespace etb::conformance {
namespace {

// Whether outputs are what the case should give.
bool is_right(const ClaimedCase& item, const PrecisionContract& contract, const RunResult& result) {
  const Result<std::vector<ReferenceTensor>> references = make_reference(item.built, 0);
  if (!references) return true;
  for (size_t i = 0; i < references->size(); ++i) {
    const TensorData& found = result.outputs[i];
    if (found.shape.sizes != (*references)[i].sizes ||
        !judge(item.built.judgement, contract.narrowed({item.item->op}, item.item->dtype), found.shape.dtype,
               (*references)[i], found.bytes.data())
             .is_right)
      return false;
  }
  return true;
}

// The host's memory ends at every amount up to what is enough: each time an error, or the right result.
void out_of_memory(CheckContext& context) {
  for (uint64_t cap = 0; cap <= uint64_t{1} << 22; cap = cap == 0 ? 16 : cap * 2) {
    context.progress().at(fmt::format("at most {} bytes", cap).c_str());
    Result<std::unique_ptr<Subject>> subject = Subject::open(context.spec(), {.memory_cap_bytes = cap});
    if (!subject) continue;
    for (const ClaimedCase& item : context.claimed(**subject, 4)) {
      const Result<std::unique_ptr<Session>> session = Session::make(**subject, item.built, item.payload);
      if (!session) continue;
      const RunResult result = (*session)->run(item.built.runs[0]);
      if (result.status == ETB_OK && !is_right(item, context.contract(), result))
        return context.fail(fmt::format(
            "{}: with {} bytes of alloc/1 execute says that it succeeded, and its result is wrong",
            item.item->name, cap));
    }
    if (context.outcome().state == State::kUnsupported) {  // a refused allocation may refuse the claim, too
      context.outcome().state = State::kNotRun;
      context.outcome().reason.clear();
    }
    context.take_violations(**subject);
  }
}

// Memory whose n-th request fails, once.
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

// One request after another fails, until none is left.
void each_allocation_fails(CheckContext& context) {
  constexpr uint64_t kMostRequests = 300;
  for (uint64_t n = 1; n <= kMostRequests; ++n) {
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
      for (const ClaimedCase& item : context.claimed(**subject, 2)) {
        const Result<std::unique_ptr<Session>> session = Session::make(**subject, item.built, item.payload);
        if (!session) continue;
        const RunResult result = (*session)->run(item.built.runs[0]);
        if (result.status == ETB_OK && !is_right(item, context.contract(), result))
          return context.fail(fmt::format(
              "{}: request {} for memory failed, execute says that it succeeded, and its result is wrong",
              item.item->name, n));
      }
    if (context.outcome().state == State::kUnsupported) {
      context.outcome().state = State::kNotRun;
      context.outcome().reason.clear();
    }
    if (memory.count < n) {
      if (n == 1) context.skip("takes no memory from the host");
      return;
    }
  }
}

// Arguments of execute that do not fit. The layer would refuse them before they arrive, so it is not there.
void wrong_arguments(CheckContext& context) {
  context.each_session(bare(), 3, [&](Ready& ready) {
    const auto expect_refusal = [&](const char* what, etb_exec_args args) {
      etb_error error = ETB_ERROR_INIT;
      context.progress().at(what);
      if (ready.subject.table().delegate->execute(ready.session.context(), &args, &error) == ETB_OK)
        context.fail(fmt::format("{}: {} ran without an error", ready.name(), what));
      if (const RunResult after = ready.run();
          after.status != ETB_OK || !is_right(ready.item, context.contract(), after))
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
    args.input_count = ready.session.info().input_count;
    if (args.input_count != 0 && args.input_count < none.size())
      expect_refusal("tensors of another dtype", args);
    for (const Damage damage : {Damage::kRank, Damage::kSize, Damage::kCapacity}) {
      const RunResult result = ready.session.run_damaged(ready.inputs(), damage);
      // A plugin that sizes its work anew at each run may take larger tensors for what they say; dyn.above-bound-is-refused is about bounds.
      if (result.status == ETB_OK && damage != Damage::kSize)
        context.fail(fmt::format("{}: {} ran without an error", ready.name(), to_text(damage)));
      if (const RunResult after = ready.run();
          after.status != ETB_OK || !is_right(ready.item, context.contract(), after))
        context.fail(
            fmt::format("{}: after {} the context does not run any more", ready.name(), to_text(damage)));
    }
  });
}

void missing_named_data(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  for (ClaimedCase& item : context.claimed_like(*subject, "op.linear.*.constant.*", 2)) {
    if (item.payload.named.empty()) continue;
    item.payload.named.clear();
    const Result<std::unique_ptr<Session>> session = Session::make(*subject, item.built, item.payload);
    if (session) context.fail("create succeeds although the named data of the payload is missing");
  }
  context.take_violations(*subject);
}

// A failing call fills the caller's error with its own code and a text.
void errors_are_said(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject);
  if (items.empty()) return;
  etb_payload_view view{};
  const char noise[] = "this is no payload of anybody";
  alignas(16) char bytes[64] = {};
  std::memcpy(bytes, noise, sizeof(noise));
  view.struct_size = sizeof(view);
  view.data = bytes;
  view.nbytes = sizeof(noise);
  view.alignment = 16;
  view.fd = -1;
  etb_delegate_args args{};
  args.struct_size = sizeof(args);
  args.backend_id = subject->backend_id().c_str();
  args.method_name = "forward";
  args.payload = &view;
  etb_delegate* made = nullptr;
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = subject->table().delegate->create(subject->handle(), &args, &made, &error);
  if (status == ETB_OK) {
    (void)subject->table().delegate->destroy(made, &error);
    return context.fail("create takes bytes that are no payload");
  }
  if (error.code != status)
    context.fail(fmt::format("create answers {}, its error says {}", status, error.code));
  if (error.text[0] == '\0') context.fail("create fails without a text");
  if (subject->table().delegate->create(subject->handle(), &args, &made, nullptr) == ETB_OK)
    context.fail("create takes other bytes when nobody wants the error");
  context.take_violations(*subject);
}

constexpr Check kChecks[] = {
    {"err.out-of-memory",
     "When the host's memory ends there is an error or the right result, never a wrong one.", "",
     out_of_memory},
    {"err.each-allocation-fails",
     "Whichever request for memory fails: an error or the right result, no crash.", "",
     each_allocation_fails},
    {"err.wrong-arguments", "Tensors that do not fit are refused, and the context goes on.", "ABI-EXEC-01",
     wrong_arguments},
    {"err.missing-named-data", "Missing named data is an error of create.", "", missing_named_data},
    {"err.errors-are-said", "A failing call fills the error with its code and a text.", "ABI-ERR-01",
     errors_are_said},
};

}  // namespace

std::span<const Check> err_checks() { return kChecks; }

}  // namespace etb::conformance
