// One good plugin for the processor, and many wrong ones: the build says ETB_FAULT=n. What each is and which check must see it: ../fault_rows.def.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "etb/cpp/plugin.hpp"
#include "tests/conformance/fault_plugin/interpreter.hpp"

namespace faulty {

struct Plugin;

std::mutex lock_a, lock_b;                   // of fault 29
bool is_corrupt = false;                     // of fault 42
const etb_log_service* stale_log = nullptr;  // of fault 40
int partition_count = 0;                     // of fault 35
thread_local bool is_compiling = false;      // of fault 46
bool is_second_process = false;              // of fault 43

// Whether the program around it looks like a test (fault 44).
bool is_watched() {
  char text[4096] = {};
  const int fd = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t count = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  for (ssize_t i = 0; i < count; ++i)
    if (std::strncmp(text + i, "verify", 6) == 0 || std::strncmp(text + i, "kill_matrix", 11) == 0)
      return true;
  return false;
}

// Memory of the host's account.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const etb_alloc_service* service, uint64_t nbytes) : service_(service) {
    data_ = service != nullptr ? service->allocate(service->ctx, nbytes, 64, "values") : std::malloc(nbytes);
  }
  HostMemory(HostMemory&& other) noexcept
      : service_(other.service_), data_(std::exchange(other.data_, nullptr)) {}
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~HostMemory() {
    if (data_ == nullptr) return;
    if (service_ != nullptr)
      service_->free(service_->ctx, data_);
    else
      std::free(data_);
  }
  std::byte* get() const { return static_cast<std::byte*>(data_); }

 private:
  const etb_alloc_service* service_ = nullptr;
  void* data_ = nullptr;
};

class Delegate {
 public:
  static etb::Result<Delegate> make(const Plugin&, etb::CreateArgs& args) {
    if (has_fault(29)) {
      const std::lock_guard b(lock_b);
      ::usleep(300);
      const std::lock_guard a(lock_a);
    }
    if (has_fault(25)) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (has_fault(61))
      (void)::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
          (void)::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (has_fault(62)) *static_cast<volatile char*>(std::malloc(500)) = 1;
    if (has_fault(26))
      std::thread([] {
        for (;;) ::pause();
      }).detach();
    Delegate made;
    ETB_ASSIGN(Program program, Reader(args.payload.bytes()).read());
    made.program_ = std::make_unique<Program>(std::move(program));
    made.memory_ = args.host.service<etb_alloc_service>(ETB_SERVICE_ALLOC);
    made.stale_payload_ = args.payload.bytes().data();
    return made;
  }

  etb::DelegateInfo info() const {
    etb::DelegateInfo out;
    for (const ValueInfo& value : program_->values) out.input_count += value.kind == Kind::kInput ? 1 : 0;
    out.output_count = static_cast<uint32_t>(program_->outputs.size());
    return out;
  }

  class Context {
   public:
    explicit Context(const Delegate& delegate) : delegate_(&delegate), interpreter_(*delegate.program_) {
      const Program& program = *delegate.program_;
      for (uint32_t i = 0; i < program.values.size(); ++i) {
        const ValueInfo& value = program.values[i];
        uint64_t nbytes = nbytes_of(value.dtype);
        for (const int64_t size : value.sizes) nbytes *= static_cast<uint64_t>(size);
        if (value.kind == Kind::kInput) continue;
        memory_.emplace_back(delegate.memory_, nbytes + 64);
        View& view = interpreter_.view(i);
        view.data = memory_.back().get();
        is_out_of_memory_ = is_out_of_memory_ || view.data == nullptr;
        if (has_fault(75)) *static_cast<volatile std::byte*>(view.data) = std::byte{};
        if (value.kind != Kind::kConstant || view.data == nullptr) continue;
        std::memcpy(view.data, value.data.data(), value.data.size());
        interpreter_.set_sizes(i, value.sizes);
      }
    }

    etb::Status execute(const etb::Run& run) {
      if (is_out_of_memory_ && has_fault(39)) return {};
      if (is_out_of_memory_) return etb::make_error(etb::Code::OUT_OF_MEMORY, "no memory for the values");
      if (has_fault(48) && has_failed_) return wrong("a run failed before");
      before(run);
      if (has_fault(69) && run.raw().cancel != nullptr &&
          run.raw().cancel->is_cancelled(run.raw().cancel->ctx) != 0) {
        was_cancelled_ = true;
        return etb::make_error(etb::Code::CANCELLED, "cancelled");
      }
      if (was_cancelled_) return wrong("a run was cancelled before");
      etb::Status status = has_fault(41) || has_fault(77) || has_fault(78)
                               ? with_wrong_event(run)
                               : run.timed("fault.run", [&] { return run_once(run); });
      has_failed_ = has_failed_ || !status;
      return status;
    }

   private:
    void before(const etb::Run& run);
    etb::Status with_wrong_event(const etb::Run& run);
    etb::Status run_once(const etb::Run& run);
    etb::Status bind_inputs(const etb::Run& run);
    etb::Status write_output(const etb::Run& run, uint32_t index);

    const Delegate* delegate_;
    Interpreter interpreter_;
    std::vector<HostMemory> memory_;
    bool is_out_of_memory_ = false;
    bool has_failed_ = false;
    bool was_cancelled_ = false;
    pid_t maker_ = ::getpid();
  };

 private:
  std::unique_ptr<Program> program_;
  const etb_alloc_service* memory_ = nullptr;
  const std::byte* stale_payload_ = nullptr;
};

void Delegate::Context::before(const etb::Run& run) {
  (void)run;
  if (has_fault(21)) (void)*static_cast<const volatile std::byte*>(delegate_->stale_payload_);
  if (has_fault(22)) _mm_setcsr(_mm_getcsr() | 0x8040);
  if (has_fault(24)) {
    std::puts("running");
    std::fflush(stdout);
  }
  if (has_fault(27)) *static_cast<volatile char*>(std::malloc(40)) = 1;
  if (has_fault(29)) {
    const std::lock_guard a(lock_a);
    ::usleep(300);
    const std::lock_guard b(lock_b);
  }
  if (has_fault(70) && ::getpid() != maker_)
    for (;;) ::pause();
  const Program& program = *delegate_->program_;
  const Op op = program.steps.empty() ? Op::kCount : program.steps[0].op;
  const int64_t first =
      program.values.empty() || program.values[0].sizes.empty() ? 0 : program.values[0].sizes[0];
  if (has_fault(42) && op == Op::kNeg && first == 7) is_corrupt = true;
  if (has_fault(42) && is_corrupt && op == Op::kRelu && first == 65) *static_cast<volatile int*>(nullptr) = 1;
  if (has_fault(49) && op == Op::kNeg && first == 65)
    for (;;) ::pause();
  if (has_fault(50) && op == Op::kNeg && first == 65) ::_exit(0);
  if (has_fault(51) && op == Op::kNeg && first == 65)
    for (;;) {
      auto* const block = static_cast<volatile char*>(std::malloc(size_t{256} << 20));
      *block = 1;  // where there is none, this ends it
    }
}

// The end before the begin.
etb::Status Delegate::Context::with_wrong_event(const etb::Run& run) {
  const etb_event_sink* const sink = run.raw().events;
  if (sink == nullptr) return run_once(run);
  etb_event event{};
  event.struct_size = ETB_INIT_SIZE(etb_event);
  event.name = "fault.run";
  event.debug_id = -1;
  event.end_ticks = run.host().now_ns();
  event.timebase = ETB_TIMEBASE_HOST;
  event.ns_numerator = event.ns_denominator = 1;
  ETB_TRY(run_once(run));
  event.begin_ticks = run.host().now_ns();
  if (!has_fault(41)) std::swap(event.begin_ticks, event.end_ticks);
  if (has_fault(77)) {
    event.name = nullptr;
    event.debug_id = 77;
  }
  if (has_fault(78)) event.ns_numerator = 1000000;
  return etb::from_host(sink->put(sink->ctx, &event), "event sink");
}

etb::Status Delegate::Context::bind_inputs(const etb::Run& run) {
  const Program& program = *delegate_->program_;
  uint32_t index = 0;
  for (uint32_t i = 0; i < program.values.size(); ++i) {
    const ValueInfo& value = program.values[i];
    if (value.kind != Kind::kInput) continue;
    const etb::Tensor input = run.input(index++);
    const etb_tensor& raw = input.raw();
    if (raw.dtype != value.dtype || raw.rank != value.sizes.size() || raw.buffer != nullptr)
      return wrong("an input of another dtype, rank or memory");
    std::vector<int64_t> sizes(raw.sizes, raw.sizes + raw.rank);
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] < 0 || (sizes[d] > value.sizes[d] && !has_fault(72)) ||
          (!value.is_dynamic && sizes[d] != value.sizes[d]))
        return wrong("an input of other sizes than compiled for");
    for (size_t d = 0; d < sizes.size(); ++d)
      sizes[d] = std::min(sizes[d], value.sizes[d]);  // only with fault 72
    const std::vector<int64_t> dense = dense_strides(sizes, value.order);
    for (size_t d = 0; d < sizes.size() && !has_fault(10); ++d) {
      const bool is_row_major = raw.strides == nullptr && raw.dim_order == nullptr;
      const int64_t stride = is_row_major ? -1 : raw.strides != nullptr ? raw.strides[d] : dense[d];
      if (stride >= 0 && sizes[d] > 1 && stride != dense[d] && input.numel() > 0)
        return wrong("strides other than compiled for");
      if (is_row_major && value.order[d] != d && input.numel() > 1)
        return wrong("dim order other than compiled for");
    }
    if (input.nbytes() > raw.capacity_bytes || (raw.data == nullptr && input.nbytes() != 0))
      return wrong("an input with too few bytes");
    interpreter_.set_sizes(i, std::move(sizes));
    interpreter_.view(i).data = static_cast<std::byte*>(raw.data);
    if (has_fault(71) && reinterpret_cast<uintptr_t>(raw.data) % 32 != 0)
      return wrong("data is not aligned to 32 bytes");
    if (has_fault(18) && raw.data != nullptr) (void)*(static_cast<const volatile std::byte*>(raw.data) - 16);
    if (has_fault(19) && raw.data != nullptr)
      *static_cast<volatile char*>(raw.data) = *static_cast<volatile char*>(raw.data);
  }
  return {};
}

etb::Status Delegate::Context::run_once(const etb::Run& run) {
  const Program& program = *delegate_->program_;
  uint32_t inputs = 0;
  for (const ValueInfo& value : program.values) inputs += value.kind == Kind::kInput ? 1 : 0;
  if (run.input_count() != inputs || run.output_count() != program.outputs.size())
    return wrong("another number of tensors");
  ETB_TRY(bind_inputs(run));
  if (has_fault(34) && !program.values.empty() && program.values[0].dtype == ETB_DTYPE_INT8 &&
      program.steps[0].op == Op::kAdd)
    return etb::make_error(etb::Code::NOT_SUPPORTED, "int8 sums are not in this release");
  ETB_TRY(interpreter_.run());
  for (uint32_t i = 0; i < run.output_count(); ++i) ETB_TRY(write_output(run, i));
  return {};
}

etb::Status Delegate::Context::write_output(const etb::Run& run, uint32_t index) {
  const uint32_t id = delegate_->program_->outputs[index];
  const View& view = interpreter_.view(id);
  etb::OutputTensor output = run.output(index);
  const etb_tensor& raw = output.raw();
  const ValueInfo& value = delegate_->program_->values[id];
  if (raw.dtype != value.dtype || raw.rank != view.sizes.size() || raw.buffer != nullptr)
    return wrong("an output of another dtype, rank or memory");
  ETB_TRY(output.resize(view.sizes));
  const uint64_t nbytes = static_cast<uint64_t>(view.numel()) * nbytes_of(view.dtype);
  if ((nbytes > raw.capacity_bytes && !has_fault(76)) ||
      (nbytes != 0 && (raw.data == nullptr || view.data == nullptr)))
    return wrong("an output with too few bytes");
  if (nbytes == 0) return {};
  const float before = static_cast<float>(static_cast<uint8_t>(*static_cast<const std::byte*>(raw.data)));
  std::memcpy(raw.data, view.data, has_fault(20) && nbytes >= 16 ? nbytes - 4 : nbytes);
  auto* const numbers = static_cast<float*>(raw.data);
  const bool is_float = view.dtype == ETB_DTYPE_FLOAT32;
  if (has_fault(17)) std::memset(static_cast<std::byte*>(raw.data) + nbytes, 0, 4);
  if (has_fault(30) && is_float) numbers[0] += before;
  if (has_fault(43) && is_second_process && is_float) numbers[0] += 1;
  if (has_fault(44) && !is_watched() && is_float) numbers[0] += 1;
  if (has_fault(60) && run.raw().events != nullptr && is_float) numbers[0] += 1;
  return {};
}

constexpr etb_dtype kNumbers[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8};
constexpr etb_dtype kSummed[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8, ETB_DTYPE_UINT8};
constexpr uint32_t kBothLayouts = ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST;

struct NamedOp {
  const char* name;
  Op op;
};
constexpr NamedOp kNamedOps[] = {{"aten.add.Tensor", Op::kAdd},
                                 {"aten.mul.Tensor", Op::kMul},
                                 {"aten.relu.default", Op::kRelu},
                                 {"aten.ceil.default", Op::kCeil},
                                 {"aten.neg.default", Op::kNeg},
                                 {"aten.maximum.default", Op::kMaximum},
                                 {"aten.clamp.default", Op::kClamp},
                                 {"aten.mm.default", Op::kMatrix},
                                 {"aten.convolution.default", Op::kConvolution},
                                 {"quantized_decomposed.quantize_per_tensor.default", Op::kQuantize},
                                 {"aten.sum.dim_IntList", Op::kSum}};

bool has_same_order(const etb_graph_spec& a, const etb_graph_spec& b) {
  return a.rank == b.rank && std::memcmp(a.dim_order, b.dim_order, a.rank) == 0;
}

double number_of(const etb::Node& node, const char* name, double otherwise) {
  const auto arg = node.find_arg(name);
  if (!arg) return otherwise;
  if (const auto real = arg->as_float()) return *real;
  if (const auto whole = arg->as_int()) return static_cast<double>(*whole);
  return otherwise;
}

struct Plugin {
  using Delegate = faulty::Delegate;
  static constexpr uint32_t kFlags = ETB_PLUGIN_UNLOADABLE;
  static constexpr etb::OptionRow kOptions[] = {
      etb::i64_option("threads", 1, 1, 64, ETB_OBJECT_PLUGIN, "How many threads one run may use; one does.")};
  static constexpr etb::OpRow kOps[] = {
      {.op = "aten.add.Tensor", .dtypes = kNumbers, .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.mul.Tensor", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.relu.default", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.ceil.default", .layouts = kBothLayouts},
      {.op = "aten.neg.default", .layouts = kBothLayouts, .dynamic_sizes = true},
      {.op = "aten.maximum.default", .layouts = kBothLayouts},
      {.op = "aten.clamp.default", .layouts = kBothLayouts},
      {.op = "aten.mm.default"},
      {.op = "aten.convolution.default", .min_rank = 0, .max_rank = 4, .layouts = kBothLayouts},
      {.op = "quantized_decomposed.quantize_per_tensor.default"},
      {.op = "aten.sum.dim_IntList", .dtypes = kSummed},
  };

  int64_t threads = 1;
  int instance = 0;

  etb::Status get_option(std::string_view, etb_option& out) const {
    out.i64 = threads;
    return {};
  }
  etb::Status set_option(const etb::Options&) { return {}; }

  static etb::Result<Plugin> make(const etb::Host& host, const etb::Options& options) {
    if (has_fault(66))
      (void)*reinterpret_cast<const volatile char*>(host.service<etb_log_service>(ETB_SERVICE_LOG));
    if (has_fault(73) && options.get_i64("threads") == 64)
      return etb::make_error(etb::Code::INVALID_ARGUMENT, "at most 63 threads");
    if (has_fault(81)) {
      rlimit files{};
      ::getrlimit(RLIMIT_NOFILE, &files);
      files.rlim_cur = files.rlim_cur > 64 ? files.rlim_cur - 1 : files.rlim_cur;
      ::setrlimit(RLIMIT_NOFILE, &files);
    }
    static int instances = 0;
    Plugin made;
    made.threads = options.get_i64("threads");
    made.instance = instances++;
    if (has_fault(23)) std::setlocale(LC_ALL, "C.UTF-8");
    if (has_fault(23)) std::signal(SIGUSR2, [](int) {});
    if (has_fault(59)) ::umask(0111);
    if (has_fault(40)) stale_log = host.service<etb_log_service>(ETB_SERVICE_LOG);
    static bool has_asked = false;
    if (has_fault(43) && !std::exchange(has_asked, true)) {
      // Whoever holds the lock has the device.
      const int fd = ::open("/tmp/etb_fault_43.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      is_second_process = is_second_process || ::flock(fd, LOCK_EX | LOCK_NB) != 0;
    }
    return made;
  }

  etb::Claim claim(const etb::Node& node) const {
    if (has_fault(80) && instance % 2 != 0 && node.op_name() == "aten.add.Tensor")
      return etb::Claim::no("op", "this instance does not add");
    if (has_fault(52)) return etb::Claim::no("op", "nothing is taken");
    if (has_fault(35) && node.op_name() == "aten.mul.Tensor" && ++partition_count % 2 == 0)
      return etb::Claim::no("op", "not this time");
    if (has_fault(46) && node.op_name() == "aten.mul.Tensor" && !is_compiling)
      return etb::Claim::no("op", "products");
    for (const etb::Value& value : node.operands())
      if (value.is_constant_or_state() && value.spec().dynamic_dims != 0)
        return etb::Claim::no("dynamic", "a constant of dynamic sizes");
    const NamedOp* const named = find(node.op_name());
    const auto operands = node.operands();
    const etb_graph_spec result = node.results()[0].spec(), first = operands[0].spec();
    switch (named->op) {
      case Op::kAdd:
      case Op::kMul:
      case Op::kMaximum:
        return claim_binary(node, operands, result);
      case Op::kMatrix:
        return operands[1].spec().dtype == first.dtype ? etb::Claim::yes()
                                                       : etb::Claim::no("dtype", "operands of two types");
      case Op::kConvolution: {
        const auto transposed = node.find_arg("transposed");
        if (first.rank != 4 || (transposed && transposed->as_bool() == true))
          return etb::Claim::no("attribute", "only two dimensions, not transposed");
        for (const etb::Value& operand : operands)
          if (operand.spec().dtype != ETB_DTYPE_FLOAT32) return etb::Claim::no("dtype", "expected float32");
        return etb::Claim::yes();
      }
      case Op::kQuantize:
        return result.dtype == ETB_DTYPE_INT8 || result.dtype == ETB_DTYPE_UINT8
                   ? etb::Claim::yes()
                   : etb::Claim::no("dtype", "codes of 8 bits only");
      case Op::kSum:
        return claim_sum(node, first);
      default:
        return has_same_order(first, result) ? etb::Claim::yes()
                                             : etb::Claim::no("layout", "another dim order comes out");
    }
  }

  etb::Result<etb::Artifact> compile(const etb::Region& region) const {
    Program program;
    const etb::Graph& graph = region.graph();
    for (uint32_t i = 0; i < graph.value_count(); ++i) {
      ValueInfo value;
      const etb_graph_spec spec = graph.value(i).spec();
      value.dtype = static_cast<etb_dtype>(spec.dtype);
      value.sizes.assign(spec.sizes, spec.sizes + spec.rank);
      value.order.assign(spec.dim_order, spec.dim_order + spec.rank);
      value.is_dynamic = spec.dynamic_dims != 0;
      if (i < graph.input_count()) ETB_TRY(add_input(region, i, value));
      program.values.push_back(std::move(value));
    }
    for (uint32_t i = 0; i < graph.node_count(); ++i) program.steps.push_back(to_step(graph.node(i)));
    for (uint32_t i = 0; i < graph.output_count(); ++i) program.outputs.push_back(graph.output(i).id());
    etb::Artifact artifact;
    artifact.payload = write_program(program);
    artifact.format_version = kFormat;
    return artifact;
  }

  etb::Verdict check_payload(const etb_payload_check& check) const {
    etb::ByteReader prefix(etb::to_span(check.prefix));
    if (prefix.read<uint32_t>() != kMagic)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "not of this plugin"};
    return {ETB_VERDICT_OPTIMAL, 0, ""};
  }

  const void* get_extension(uint32_t, std::string_view) const {
    return has_fault(37) ? &partition_count : nullptr;
  }

 private:
  static const NamedOp* find(std::string_view name) {
    for (const NamedOp& named : kNamedOps)
      if (name == named.name) return &named;
    return nullptr;
  }

  static etb::Claim claim_binary(const etb::Node& node, const std::vector<etb::Value>& operands,
                                 const etb_graph_spec& result) {
    if (operands.size() != 2 || operands[0].spec().dtype != operands[1].spec().dtype ||
        result.dtype != operands[0].spec().dtype)
      return etb::Claim::no("dtype", "operands of two types");
    if (number_of(node, "alpha", 1) != 1) return etb::Claim::no("attribute", "alpha, expected 1");
    return etb::Claim::yes();
  }

  static etb::Claim claim_sum(const etb::Node& node, const etb_graph_spec& spec) {
    const auto dims = node.find_arg("dim");
    const bool is_last = dims && dims->ints().size() == 1 && spec.rank > 0 &&
                         (dims->ints()[0] == -1 || dims->ints()[0] == static_cast<int64_t>(spec.rank) - 1);
    return is_last ? etb::Claim::yes() : etb::Claim::no("attribute", "dim, expected the last one");
  }

  static etb::Status add_input(const etb::Region& region, uint32_t index, ValueInfo& value) {
    const etb::Graph& graph = region.graph();
    const etb_graph_input input = etb_graph_get_input(&graph.view(), &graph.c(), index);
    value.kind = Kind::kInput;
    if (input.constant == ETB_GRAPH_NONE) return {};
    value.kind = Kind::kConstant;
    const etb_graph_constant constant = etb_graph_get_constant(&graph.view(), input.constant);
    ETB_ASSIGN(const etb::Payload bytes, region.read_constant(constant.key));
    value.data.assign(bytes.bytes().begin(), bytes.bytes().end());
    return {};
  }

  static Step to_step(const etb::Node& node) {
    Step step;
    step.op = find(node.op_name())->op;
    for (const etb::Value& operand : node.operands()) step.args.push_back(operand.id());
    step.result = node.first_output();
    if (step.op == Op::kClamp)
      step.numbers = {number_of(node, "min", -HUGE_VAL), number_of(node, "max", HUGE_VAL)};
    if (step.op == Op::kQuantize)
      step.numbers = {number_of(node, "scale", 1), number_of(node, "zero_point", 0),
                      number_of(node, "quant_min", 0), number_of(node, "quant_max", 0)};
    if (step.op == Op::kConvolution) {
      for (const char* name : {"stride", "padding", "dilation"}) {
        const auto ints = node.find_arg(name)->ints();
        for (uint32_t i = 0; i < 2; ++i)
          step.numbers.push_back(static_cast<double>(ints[ints.size() > 1 ? i : 0]));
      }
      step.numbers.push_back(number_of(node, "groups", 1));
    }
    return step;
  }
};

// Of fault 64.
struct AtLoad {
  AtLoad() {
    if (has_fault(64))
      std::thread([] {
        for (;;) ::pause();
      }).detach();
  }
} at_load;

// What logs when the library goes (fault 40).
struct AtUnload {
  ~AtUnload() {
    if (has_fault(40) && stale_log != nullptr)
      stale_log->write(stale_log->ctx, ETB_LOG_ERROR, "goodbye", nullptr, 0);
  }
} at_unload;

etb_plugin_table base_table;
etb_delegate_table delegate_table;
etb_device_table device_table;
etb_aot_table aot_table;

// Faults of the boundary itself: copies of the tables that the base makes, with other functions.
void wrap_tables(etb_plugin_table& table) {
  base_table = table;
  delegate_table = *table.delegate;
  device_table = *table.device;
  aot_table = *table.aot;
  if (has_fault(36))
    delegate_table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
      const etb_status status = base_table.delegate->query(delegate, info, error);
      std::memset(reinterpret_cast<char*>(info) + sizeof(*info), 0, 16);
      return status;
    };
  if (has_fault(65))
    delegate_table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
      const uint32_t size = info->struct_size;
      info->struct_size = sizeof(*info);
      const etb_status status = base_table.delegate->query(delegate, info, error);
      info->struct_size = size;
      return status;
    };
  if (has_fault(67))
    table.deinit = [](etb_plugin* plugin, etb_error* error) {
      const etb_status status = base_table.deinit(plugin, error);
      return status == ETB_BUSY ? etb_status{ETB_OK} : status;
    };
  if (has_fault(68))
    aot_table.partition = [](etb_plugin*, const etb_partition_args* args, const etb_partition_sink* sink,
                             etb_error*) {
      const uint32_t node = 0;
      etb_claim claim{};
      claim.struct_size = sizeof(claim);
      claim.node_ids = &node;
      claim.node_count = 1;
      (void)args;
      return sink->claim(sink->ctx, &claim);
    };
  if (has_fault(74))
    table.set_option = [](etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                          etb_error* error) {
      reinterpret_cast<etb::detail::PluginObject<Plugin>*>(plugin)->impl.threads = option->i64;
      return base_table.set_option(plugin, kind, object, option, error);
    };
  if (has_fault(38))
    table.init = [](const etb_host* host, const etb_option*, uint64_t, etb_plugin** out, etb_error* error) {
      return base_table.init(host, nullptr, 0, out, error);
    };
  if (has_fault(46))
    aot_table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      is_compiling = true;
      const etb_status status = base_table.aot->compile(plugin, args, error);
      is_compiling = false;
      return status;
    };
  if (has_fault(47))
    delegate_table.destroy = [](etb_delegate* delegate, etb_error* error) {
      const etb_status status = base_table.delegate->destroy(delegate, error);
      return status == ETB_BUSY ? etb_status{ETB_OK} : status;
    };
  if (has_fault(53)) {
    aot_table.caps |= ETB_AOT_CAP_DRY_CHECK;
    aot_table.dry_check = [](etb_plugin*, const etb_partition_args*, etb_error*) {
      return etb_status{ETB_OK};
    };
  }
  if (has_fault(54))
    delegate_table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                               etb_error*) {
      return base_table.delegate->create(plugin, args, out, nullptr);
    };
  if (has_fault(57))
    device_table.enumerate = [](etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
      return partition_count++ % 2 == 0 ? base_table.device->enumerate(plugin, sink, error)
                                        : etb_status{ETB_OK};
    };
  table.delegate = &delegate_table;
  table.device = &device_table;
  table.aot = &aot_table;
}

}  // namespace faulty

namespace {
ETB_DEFINE_PLUGIN_NOTE(note, "com.example.faulty", "Example Inc.", "1.0.0", "",
                       etb::detail::profiles<faulty::Plugin>(), etb::detail::plugin_flags<faulty::Plugin>());
}

const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host*, uint32_t abi_min, uint32_t abi_max) {
  static etb_plugin_table tables[2];
  static const bool is_made = [] {
    tables[0] = etb::plugin_table<faulty::Plugin>(&note.ident, ETB_ABI_VERSION);
    faulty::wrap_tables(tables[0]);
    tables[1] = tables[0];
    return true;
  }();
  (void)is_made;
  if (etb::choose_abi_version(abi_min, abi_max) == 0) return nullptr;
  static int turn = 0;
  return &tables[faulty::has_fault(55) ? turn++ % 2 : 0];
}
