// SPDX-License-Identifier: Apache-2.0
// Runs whose arguments are in device memory: buffer/1 and the kinds of query_io.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/async_run.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/subject/first_device.hpp"
#include "etb/ext/buffer.h"

namespace etb::conformance {
namespace {

constexpr std::byte kNoise{0x6b};

// Memory of a device that the host sees, for one argument.
struct SharedBuffer {
  SharedBuffer(const etb_buffer_table& its_table, etb_buffer* made) : table(its_table), buffer(made) {}
  ~SharedBuffer() { table.free(buffer); }
  SharedBuffer(const SharedBuffer&) = delete;
  SharedBuffer& operator=(const SharedBuffer&) = delete;

  const etb_buffer_table& table;
  etb_buffer* buffer;
  etb_buffer_desc host{}, device{};

  std::byte* data() const { return static_cast<std::byte*>(host.handle) + host.offset_bytes; }
};
using BufferSet = std::vector<std::unique_ptr<SharedBuffer>>;  // by argument; NULL: in memory of the host

// The kinds that a delegate accepts, by argument.
std::vector<std::vector<std::string>> kinds_of(Subject& subject, const CaseSession& session) {
  struct Found {
    uint32_t input_count;
    std::vector<std::vector<std::string>> kinds;
  } found{session.input_count(), {}};
  found.kinds.resize(session.input_count() + session.output_count());
  const etb_io_req_sink sink = {
      ETB_INIT_SIZE(etb_io_req_sink), 0, &found, [](void* ctx, const etb_io_req* req) {
        auto& self = *static_cast<Found*>(ctx);
        const size_t at = req->index + ((req->role & ETB_ROLE_INPUT) != 0 ? 0 : self.input_count);
        for (uint32_t i = 0; at < self.kinds.size() && i < req->kind_count; ++i)
          self.kinds[at].emplace_back(req->kinds[i]);
        return etb_status{ETB_OK};
      }};
  etb_error error = ETB_ERROR_INIT;
  (void)subject.table().delegate->query_io(session.delegate(), &sink, &error);
  return found.kinds;
}

class DeviceRuns {
 public:
  DeviceRuns(CheckContext& context, ReadyCase& ready, const etb_buffer_table& table, etb_device* device)
      : context_(context),
        ready_(ready),
        table_(table),
        device_(device),
        kinds_(kinds_of(ready.subject, ready.session)) {}

  bool has_kinds() const {
    return std::any_of(kinds_.begin(), kinds_.end(), [](const auto& kinds) { return !kinds.empty(); });
  }

  void run_async() {
    constexpr int kRuns = 4;
    const BufferSet buffers = allocate();
    for (int i = 0; i < kRuns && !buffers.empty() && context_.outcome().findings.empty(); ++i)
      run_async_with(buffers);
  }

  // Two sets of buffers in turn: a plugin that still uses those of the run before reads and writes noise.
  void run() {
    const BufferSet first = allocate(), second = allocate();
    if (!context_.outcome().findings.empty() || first.empty() || second.empty()) return;
    for (const BufferSet* set : {&first, &second, &first}) {
      run_with(*set);
      if (!context_.outcome().findings.empty()) return;
    }
    run_other_sizes(first);
    run_behind_offset();
    // Memory of the host again, after the buffers were freed.
    const RunResult result = ready_.run();
    if (result.status != ETB_OK || !context_.is_right(ready_.item, result))
      context_.fail(ready_.name() + ": a run in memory of the host after runs in buffers is wrong");
  }

 private:
  // Runs with the sizes of the other runs of the case, then with those of the first again. A device that keeps its layout from
  // one run for the next has wrong results.
  void run_other_sizes(const BufferSet& buffers) {
    const size_t count = ready_.item.built.runs.size();
    for (size_t i = 1; count > 1 && i <= count && context_.outcome().findings.empty(); ++i)
      run_with(buffers, i % count);
  }

  // Arguments that begin inside of their memory. A plugin refuses them, or computes with them.
  void run_behind_offset() {
    constexpr uint64_t kOffset = 4096;
    const BufferSet set = allocate(kOffset);
    for (const std::unique_ptr<SharedBuffer>& buffer : set) {
      if (buffer == nullptr) continue;
      std::fill_n(buffer->data(), kOffset, kNoise);
      for (etb_buffer_desc* desc : {&buffer->host, &buffer->device}) {
        desc->offset_bytes += kOffset;
        desc->nbytes -= kOffset;
      }
    }
    if (set.empty()) return;
    const std::unique_ptr<PreparedRun> run = ready_.session.prepare(ready_.inputs());
    bind(*run, set);
    etb_error error = ETB_ERROR_INIT;
    context_.progress().at("execute behind an offset");
    if (ready_.subject.table().delegate->execute(ready_.session.context(), &run->args, &error) == ETB_OK)
      expect_right(*run, set, "a run behind an offset");
  }

  // Returns nothing if the plugin has no memory that the host sees, too. `more`: bytes beside those of the argument.
  BufferSet allocate(uint64_t more = 0) {
    BufferSet out;
    const std::unique_ptr<PreparedRun> run = ready_.session.prepare(ready_.inputs());
    for (size_t i = 0; i < kinds_.size(); ++i) {
      out.push_back(nullptr);
      if (kinds_[i].empty() || run->slots[i].bound_nbytes == 0) continue;
      etb_error error = ETB_ERROR_INIT;
      etb_buffer* buffer = nullptr;
      context_.progress().at("buffer.allocate");
      const uint64_t nbytes = run->slots[i].bound_nbytes + more;
      if (table_.allocate(device_, "host", nbytes, &buffer, &error) != ETB_OK) return {};
      out[i] = std::make_unique<SharedBuffer>(table_, buffer);
      if (!describe(*out[i], "host", out[i]->host, nbytes)) return {};
      const bool has_kind = std::any_of(kinds_[i].begin(), kinds_[i].end(), [&](const std::string& kind) {
        return describe(*out[i], kind.c_str(), out[i]->device, nbytes);
      });
      if (!has_kind) {
        context_.fail(fmt::format("{}: memory of kind host is none of the kinds that argument {} accepts",
                                  ready_.name(), i));
        return {};
      }
    }
    return out;
  }

  bool describe(const SharedBuffer& buffer, const char* kind, etb_buffer_desc& out, uint64_t nbytes) {
    etb_error error = ETB_ERROR_INIT;
    out.struct_size = ETB_INIT_SIZE(etb_buffer_desc);
    out.fd = -1;
    return table_.export_buffer(buffer.buffer, kind, &out, &error) == ETB_OK && out.nbytes >= nbytes;
  }

  // A coherent device has to be right without it.
  void sync(const SharedBuffer& buffer, uint32_t access) {
    if ((table_.flags & ETB_BUFFER_COHERENT) != 0) return;
    etb_error error = ETB_ERROR_INIT;
    context_.progress().at("buffer.sync");
    if (const etb_status status = table_.sync(buffer.buffer, access, &error); status != ETB_OK)
      context_.fail(fmt::format("sync({}) returns {}: {}", access, status, error.text));
  }

  void write(const SharedBuffer& buffer, const std::byte* data, uint64_t nbytes) {
    std::fill_n(buffer.data(), buffer.host.nbytes, kNoise);
    if (data != nullptr) std::memcpy(buffer.data(), data, nbytes);
    sync(buffer, 2);
  }

  // Fills the buffers, and makes them the arguments of a run.
  void bind(PreparedRun& run, const BufferSet& buffers) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i] == nullptr) continue;
      write(*buffers[i], i < run.args.input_count ? run.slots[i].data : nullptr, run.slots[i].bound_nbytes);
      run.tensors[i].data = nullptr;
      run.tensors[i].capacity_bytes = buffers[i]->device.nbytes;
      run.tensors[i].buffer = &buffers[i]->device;
    }
  }

  // Reads the outputs of a run that has ended, and compares them.
  void expect_right(PreparedRun& run, const BufferSet& buffers, const std::string& what, size_t number = 0) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i] == nullptr) continue;
      if (i < run.args.input_count) {
        write(*buffers[i], nullptr, 0);
      } else {
        sync(*buffers[i], 1);
        std::memcpy(run.slots[i].data, buffers[i]->data(), run.slots[i].bound_nbytes);
      }
    }
    RunResult result;
    result.outputs = run.outputs();
    if (!context_.is_right(ready_.item, result, number))
      context_.fail(fmt::format("{}: {} in buffers has wrong results", ready_.name(), what));
  }

  // `number`: index of the case's run whose inputs are used.
  void run_with(const BufferSet& buffers, size_t number = 0) {
    const std::unique_ptr<PreparedRun> run = ready_.session.prepare(ready_.item.built.runs[number]);
    bind(*run, buffers);
    etb_error error = ETB_ERROR_INIT;
    context_.progress().at("execute");
    const etb_status status =
        ready_.subject.table().delegate->execute(ready_.session.context(), &run->args, &error);
    if (status != ETB_OK)
      return context_.fail(fmt::format("{}: a run in buffers that query_io accepts returns {}: {}",
                                       ready_.name(), status, error.text));
    expect_right(*run, buffers, number == 0 ? "a run" : fmt::format("run {} of the case", number), number);
  }

  // When a fence is signalled the outputs are in the buffers, for the host and for other delegates.
  void run_async_with(const BufferSet& buffers) {
    auto run = std::make_unique<AsyncRun>(ready_, ready_.inputs());
    bind(*run->run, buffers);
    context_.progress().at("execute_async");
    run->start(ready_);
    if (!expect_started(context_, ready_, *run) || !expect_signalled(context_, ready_, run)) return;
    expect_right(*run->run, buffers, "an asynchronous run");
  }

  CheckContext& context_;
  ReadyCase& ready_;
  const etb_buffer_table& table_;
  etb_device* device_;
  std::vector<std::vector<std::string>> kinds_;
};

// Calls `body` for each case that accepts device memory.
template <class Body>
void each_in_buffers(CheckContext& context, Subject& subject, const std::vector<ClaimedCase>& items,
                     Body body) {
  const FirstDevice device(subject);
  const auto* const table = device.handle() == nullptr
                                ? nullptr
                                : static_cast<const etb_buffer_table*>(subject.table().get_extension(
                                      subject.handle(), ETB_OBJECT_DEVICE, device.handle(), ETB_EXT_BUFFER));
  if (table == nullptr) return context.skip("the plugin does not offer buffer/1 for a device");
  bool has_any = false;
  for (const ClaimedCase& item : items) {
    auto session = CaseSession::make(subject, item.built, item.payload, {}, device.handle());
    if (!session) return context.fail(item.item->name + ": create fails: " + session.error().message);
    ReadyCase ready{subject, item, **session};
    DeviceRuns runs(context, ready, *table, device.handle());
    if (!runs.has_kinds()) continue;
    has_any = true;
    context.progress().restart();
    body(runs);
    if (!context.outcome().findings.empty()) return;
  }
  if (!has_any && context.outcome().state == State::kNotRun)
    context.skip("no delegate of the plugin accepts device memory");
}

void buffers_carry_values(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 8);
  for (const char* pattern : {"dyn.*.dims_0_1.*", "dyn.*.dims_1.*"})
    for (ClaimedCase& item : context.find_claimed_of_ops(*subject, pattern, 3))
      items.push_back(std::move(item));
  each_in_buffers(context, *subject, items, [](DeviceRuns& runs) { runs.run(); });
}

// Many sums of many elements, one after another.
Result<BuiltCase> long_chain(std::string_view name) {
  constexpr int64_t kElements = int64_t{1} << 18;
  constexpr int kNodes = 60;
  CaseBuilder builder(name);
  const Shape shape{ETB_DTYPE_FLOAT32, {kElements}, {}};
  const uint32_t first = builder.input(shape, Values::kExact), second = builder.input(shape, Values::kExact);
  uint32_t x = first;
  for (int i = 0; i < kNodes; ++i)
    x = builder.node("aten.add.Tensor", {graph::value_arg(x, "self"), graph::value_arg(second, "other")},
                     shape);
  builder.output(x);
  return builder.finish({});
}

// Cases with much work: it is not over when it was only handed to the device.
void asynchronous_buffers(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  static const Case chain{"a long chain of sums", "model", ETB_DTYPE_FLOAT32, long_chain};
  std::vector<ClaimedCase> items;
  if (Result<BuiltCase> built = long_chain(chain.name);
      built && partition(*subject, built->image).is_whole_claim())
    if (Compiled compiled = compile(*subject, built->image); compiled.status == ETB_OK)
      items.push_back({&chain, std::move(*built), std::move(compiled.payload)});
  for (const char* pattern : {"op.mm.*large*", "op.convolution.f32.*large*", "op.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 3))
      items.push_back(std::move(item));
  each_in_buffers(context, *subject, items, [](DeviceRuns& runs) { runs.run_async(); });
}

constexpr Check kChecks[] = {
    {"ext.buffers-carry-values",
     "Runs in memory of buffer/1 have the results of runs in memory of the host, also when sizes change.", "",
     buffers_carry_values},
    {"ext.asynchronous-buffers", "An asynchronous run is signalled when its outputs are in its buffers.",
     "ABI-EXEC-05", asynchronous_buffers},
};

}  // namespace

std::span<const Check> device_memory_checks() { return kChecks; }

}  // namespace etb::conformance
