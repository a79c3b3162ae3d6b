// SPDX-License-Identifier: Apache-2.0
// Fuzzes payloads of either format on the machine's device, through the plugin's own table. A small graph that can be planned must run,
// for its own sizes and for smaller ones, with the same bits each time. No run writes after an argument. Without a device, the
// delegate's error ends the test of an input.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/official/payload.hpp"
#include "plugins/gpu/run/host_numbers.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/planned.hpp"

namespace etb::gpu {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;  // of all values of a graph
constexpr double kMostWork = 1 << 21;     // turns of loops of all invocations
constexpr uint32_t kRunsOfPlugin = 2000;  // then another one: devices keep the kernels of all chains
constexpr std::byte kGuard{0xa5};         // fills the bytes after arguments
constexpr size_t kGuardNbytes = 64;

void require(bool is_right, const char* what, const char* text = "") {
  if (is_right) return;
  std::fprintf(stderr, "%s %s\n", what, text);
  __builtin_trap();
}

uint32_t hash_of(std::span<const std::byte> bytes) {
  uint32_t hash = 2166136261u;
  for (const std::byte each : bytes) hash = (hash ^ static_cast<uint32_t>(each)) * 16777619u;
  return hash;
}

// Half of the keys name floats, the others small codes, so that payloads can use constants of every type.
etb_status ETB_CALL get_constant(void*, const char* key, etb_payload_view* out, etb_error*) {
  static const std::vector<float> kFloats = random_floats(16 << 10);
  static const std::vector<int8_t> kCodes = random_codes(64 << 10, 8);
  const bool has_floats = hash_of(std::as_bytes(std::span(key, std::strlen(key)))) % 2 == 0;
  out->data = has_floats ? static_cast<const void*>(kFloats.data()) : kCodes.data();
  out->nbytes = 64 << 10;
  out->alignment = 4;
  out->fd = -1;
  return ETB_OK;
}
constexpr etb_named_data kConstants = {ETB_INIT_SIZE(etb_named_data), 0, nullptr, get_constant};

// A tensor with its own memory: its elements, and a guard after them.
struct Argument {
  std::vector<int64_t> sizes, upper;
  std::vector<std::byte> bytes;
  size_t nbytes = 0;
  etb_dtype dtype;

  Argument(const GpuValue& value, const Shape& shape, bool is_input) : dtype(expected_dtype(value)) {
    const bool is_size = value.host == HostNumbers::kSize;
    if (!is_size) upper.assign(shape.sizes.begin(), shape.sizes.begin() + shape.rank);
    sizes = upper;
    const uint64_t numel = is_size ? 1 : shape.numel();
    std::vector<float> numbers(numel, static_cast<float>(shape.sizes[0]));
    const bool is_float = dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT16;
    for (size_t i = 0; i < numel && !is_size; ++i)
      numbers[i] = static_cast<float>(i % 7) * (is_float ? 0.25f : 1.0f);
    constexpr size_t kLongest = 8;
    bytes.resize(numel * kLongest + kGuardNbytes, kGuard);
    nbytes = numel * (dtype == ETB_DTYPE_INT64                                 ? 8
                      : dtype == ETB_DTYPE_FLOAT16                             ? 2
                      : dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_INT32 ? 4
                                                                               : 1);
    if (is_input) write_numbers(numbers, dtype, bytes.data());
  }

  etb_tensor raw(int32_t role) {
    etb_tensor made{};
    made.struct_size = ETB_INIT_SIZE(etb_tensor);
    made.dtype = dtype;
    made.role = role;
    made.rank = static_cast<uint32_t>(sizes.size());
    made.sizes = sizes.data();
    made.upper_sizes = upper.data();
    made.data = bytes.data();
    made.capacity_bytes = nbytes;
    return made;
  }
  void check_guard() const {
    for (size_t i = nbytes; i < bytes.size(); ++i) require(bytes[i] == kGuard, "a write after an argument");
  }
};

class FuzzRun {
 public:
  FuzzRun(const ExecutionPlan& plan, etb_plugin* plugin, const etb_plugin_table& table)
      : plan_(plan), plugin_(plugin), table_(*table.delegate) {}
  ~FuzzRun() {
    if (context_ != nullptr) (void)table_.context_destroy(context_, &error_);
    if (delegate_ != nullptr) (void)table_.destroy(delegate_, &error_);
  }
  FuzzRun(const FuzzRun&) = delete;
  FuzzRun& operator=(const FuzzRun&) = delete;

  // Kernels, fusions and the storage of float16 follow from the bytes.
  bool create(std::span<const std::byte> bytes, bool is_official) {
    const uint32_t hash = hash_of(bytes);
    constexpr const char* kKernels[] = {"auto", "registers", "groups"};
    constexpr const char* kFloat16[] = {"storage", "wide", "arithmetic", "wide"};  // devices may reject the third
    const auto option = [](const char* name, const char* text) {
      return etb_option{
          ETB_INIT_SIZE(etb_option), 0, name, ETB_OPTION_TEXT, 0, 0, 0, text, {nullptr, 0}, nullptr, nullptr};
    };
    const etb_option options[] = {option("kernels", kKernels[hash % 3]),
                                  option("fusion", hash / 3 % 4 == 0 ? "on" : "off"), option("tune", "off"),
                                  option("float16", kFloat16[hash / 12 % 4])};
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view.data = bytes.data();
    view.nbytes = bytes.size();
    view.fd = -1;
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.payload = &view;
    args.named_data = &kConstants;
    args.options = options;
    args.option_count = std::size(options);
    args.backend_id = is_official ? "VulkanBackend" : "";
    etb_status status = table_.create(plugin_, &args, &delegate_, &error_);
    if (status == ETB_OK) status = table_.context_create(delegate_, nullptr, 0, &context_, &error_);
    require(status == ETB_OK || error_.text[0] != '\0', "an error without a text");
    return status == ETB_OK;
  }

  // Runs with inputs of size / divisor, and returns the bytes of all outputs; nothing if these sizes are rejected.
  std::vector<std::byte> run(int64_t divisor) {
    std::vector<Argument> arguments;
    for (const uint32_t id : plan_.graph.inputs) {
      Argument& made = arguments.emplace_back(plan_.graph.value(id), plan_.bounds[id], true);
      for (int64_t& size : made.sizes) size /= divisor;
    }
    for (const uint32_t id : plan_.graph.outputs)
      arguments.emplace_back(plan_.graph.value(id), plan_.bounds[id], false);
    const size_t inputs = plan_.graph.inputs.size();
    std::vector<etb_tensor> raw;
    for (size_t i = 0; i < arguments.size(); ++i)
      raw.push_back(arguments[i].raw(i < inputs ? ETB_ROLE_INPUT : ETB_ROLE_OUTPUT));
    etb_exec_args call{};
    call.struct_size = ETB_INIT_SIZE(etb_exec_args);
    call.inputs = raw.data();
    call.input_count = static_cast<uint32_t>(inputs);
    call.outputs = raw.data() + inputs;
    call.output_count = static_cast<uint32_t>(raw.size() - inputs);
    const etb_status status = table_.execute(context_, &call, &error_);
    for (const Argument& argument : arguments) argument.check_guard();
    require(status == ETB_OK || error_.text[0] != '\0', "an error without a text");
    require(status == ETB_OK || divisor != 1, "a run that fails:", error_.text);
    std::vector<std::byte> out;
    for (size_t i = inputs; status == ETB_OK && i < arguments.size(); ++i)
      out.insert(out.end(), arguments[i].bytes.begin(),
                 arguments[i].bytes.begin() + static_cast<std::ptrdiff_t>(arguments[i].nbytes));
    return out;
  }

 private:
  const ExecutionPlan& plan_;
  etb_plugin* plugin_;
  const etb_delegate_table& table_;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
};

bool is_small(const ExecutionPlan& plan) {
  const MemoryPlan& memory = plan.memory;
  if (memory.transfer_bytes + memory.arena_bytes + memory.constant_bytes > kMostBytes) return false;
  for (const Shape& shape : plan.bounds)
    if (shape.numel() > kMostBytes / 8) return false;
  double work = 0;
  for (const Dispatch& dispatch : plan.dispatches)
    work +=
        static_cast<double>(dispatch.turns + 1) * dispatch.items[0] * dispatch.items[1] * dispatch.items[2];
  return work <= kMostWork;
}

// Writes to the same element have no order.
bool has_an_order(const GpuGraph& graph) {
  for (const GpuNode& node : graph.nodes)
    if (node.op == Operator::kIndexPut) return false;
  return true;
}

struct FuzzPlugin {
  static const void* ETB_CALL find_service(const etb_host*, const char*) { return nullptr; }
  static constexpr etb_host kHost = {
      ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "fuzz", "0", "", nullptr, find_service, nullptr};
  const etb_plugin_table* table = tested_plugin().query(&kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_plugin* plugin = nullptr;
  etb_error error = ETB_ERROR_INIT;
  uint32_t runs = 0;

  FuzzPlugin() { require(table->init(&kHost, nullptr, 0, &plugin, &error) == ETB_OK, "init:", error.text); }
  ~FuzzPlugin() { (void)table->deinit(plugin, &error); }
  FuzzPlugin(const FuzzPlugin&) = delete;
  FuzzPlugin& operator=(const FuzzPlugin&) = delete;
};

void run(std::span<const std::byte> bytes) {
  static std::unique_ptr<FuzzPlugin> plugin;
  const bool is_official = is_official_payload(bytes);
  auto graph = is_official ? read_official_payload(bytes, NamedData(&kConstants)) : read_payload(bytes);
  if (!graph || graph->nodes.size() > 64) return;
  const auto plan = make_execution_plan(*std::move(graph));
  if (!plan || !is_small(*plan)) return;
  if (!plugin || plugin->runs++ == kRunsOfPlugin) {
    plugin.reset();
    plugin = std::make_unique<FuzzPlugin>();
  }
  FuzzRun run(*plan, plugin->plugin, *plugin->table);
  if (!run.create(bytes, is_official)) return;
  const std::vector<std::byte> first = run.run(1);
  for (const int64_t divisor : {2, 1 << 20}) (void)run.run(divisor);
  const std::vector<std::byte> second = run.run(1);
  require(first == second || !has_an_order(plan->graph), "another result of the same run");
}

}  // namespace
}  // namespace etb::gpu

// Lavapipe of Mesa 22.3 keeps 48 bytes for some of its pipelines; that of 25.0 does not.
extern "C" const char* __lsan_default_suppressions() { return "leak:libvulkan_lvp.so\n"; }
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etb::gpu::run(std::as_bytes(std::span(data, size)));
  return 0;
}
