// SPDX-License-Identifier: Apache-2.0
// Fuzzes payloads through the plugin's own table: check_payload and delegate_create must reject the bytes or
// create a delegate. Small delegates also run: with inputs of the declared sizes, of others, and of the
// declared sizes again.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "plugins/xnnpack/payload/shapes.hpp"
#include "plugins/xnnpack/payload_arguments.hpp"
#include "plugins/xnnpack/testing/fuzz_plugin.hpp"

namespace etb::xnnpack {
namespace {

// All keys name the same bytes, so that payloads reach the packing of weights.
alignas(16) constexpr std::array<uint8_t, 64 << 10> kWeights = {};
etb_status ETB_CALL get(void*, const char*, etb_payload_view* out, etb_error*) {
  point_at(*out, std::as_bytes(std::span(kWeights)));
  return ETB_OK;
}

constexpr uint64_t kMostNbytes = 128 << 10;  // limit for all values: large enough for runs on several workers
constexpr std::byte kGuard{0xa5};            // fills the bytes after arguments

// A tensor with its own memory: its elements, and the padding that XNNPACK reads after them.
struct Argument {
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;
  etb_tensor raw{};

  Argument(const XnnPayload& payload, uint32_t id, const XnnShape& shape, int32_t role)
      : sizes(shape.span().begin(), shape.span().end()) {
    const auto datatype = payload.value(id).datatype;
    const std::vector<uint32_t> narrow(shape.span().begin(), shape.span().end());
    const uint64_t nbytes = *xnn_nbytes(datatype, narrow);
    bytes.resize(nbytes);
    bytes.resize(nbytes + 128, kGuard);  // XNN_EXTRA_BYTES
    raw.struct_size = ETB_INIT_SIZE(etb_tensor);
    raw.dtype = datatype == XnnDatatype::kFloat16    ? ETB_DTYPE_FLOAT16
                : datatype == XnnDatatype::kBfloat16 ? ETB_DTYPE_BFLOAT16
                : datatype == XnnDatatype::kQint8    ? ETB_DTYPE_INT8
                : datatype == XnnDatatype::kQuint8   ? ETB_DTYPE_UINT8
                : datatype == XnnDatatype::kFloat32  ? ETB_DTYPE_FLOAT32
                                                     : ETB_DTYPE_INT32;
    raw.role = role;
    raw.rank = shape.rank;
    raw.sizes = sizes.data();
    raw.data = bytes.data();
    raw.capacity_bytes = nbytes;
  }

  bool is_guarded() const {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(raw.capacity_bytes), bytes.end(),
                       [](std::byte each) { return each == kGuard; });
  }
};

// Counts operators by their inputs: libFuzzer does not see XNNPACK's code, but keeps inputs that bump another
// counter.
__attribute__((section("__libfuzzer_extra_counters"))) uint8_t ran[1 << 16];

void count(const XnnPayload& payload, const std::vector<XnnShape>& shapes) {
  for (const XnnNode& node : payload.nodes) {
    uint64_t numel = 1;
    for (const uint64_t size : shapes[node.outputs[0]].span()) numel *= size;
    uint32_t hash = static_cast<uint32_t>(node.op) * 16 +
                    std::min<uint32_t>(static_cast<uint32_t>(std::bit_width(numel)), 15);
    for (uint32_t i = 0; i < std::min(node.input_count, 2u); ++i) {
      const XnnValue& value = payload.value(node.inputs[i]);
      hash = hash * 31 + static_cast<uint32_t>(value.datatype) * 2 + (value.constant_index != 0 ? 1 : 0);
    }
    uint8_t& counter = ran[hash % std::size(ran)];
    counter = static_cast<uint8_t>(std::min(counter + 1, 255));
  }
}

void run(const etb_delegate_table& table, etb_context* context, const XnnPayload& payload,
         const std::vector<XnnShape>& inputs) {
  const auto shapes = infer_xnnpack_shapes(payload, inputs);
  const auto shape_of = [&](const XnnValue& value) {
    return shapes ? (*shapes)[value.id] : xnnpack_shape(value);
  };
  uint64_t total = 0;
  const auto is_small = [&](const XnnShape& shape) {
    uint64_t nbytes = 8;
    for (const uint64_t size : shape.span())
      if (__builtin_mul_overflow(nbytes, std::max<uint64_t>(size, 1), &nbytes)) return false;
    return !__builtin_add_overflow(total, nbytes, &total) && total <= kMostNbytes;
  };
  for (const XnnShape& shape : inputs)
    if (!is_small(shape)) return;
  for (const XnnValue& value : payload.values)
    if (!is_small(shape_of(value))) return;
  std::vector<Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i)
    arguments.emplace_back(payload, payload.input_ids[i], inputs[i], ETB_ROLE_INPUT);
  for (const uint32_t id : payload.output_ids)
    arguments.emplace_back(payload, id, shape_of(payload.value(id)), ETB_ROLE_OUTPUT);
  std::vector<etb_tensor> raw;
  for (Argument& argument : arguments) {
    argument.raw.sizes = argument.sizes.data();
    raw.push_back(argument.raw);
  }
  etb_exec_args call{};
  call.struct_size = ETB_INIT_SIZE(etb_exec_args);
  call.inputs = raw.data();
  call.input_count = static_cast<uint32_t>(inputs.size());
  call.outputs = raw.data() + inputs.size();
  call.output_count = static_cast<uint32_t>(payload.output_ids.size());
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = table.execute(context, &call, &error);
  for (const Argument& argument : arguments)
    if (!argument.is_guarded()) __builtin_trap();  // a write after its end
  if (status == ETB_OK && shapes) count(payload, *shapes);
  if (status == ETB_OK && !shapes) __builtin_trap();                // accepted sizes that do not fit
  if (status != ETB_OK && error.text[0] == '\0') __builtin_trap();  // an error needs a text
}

void run(const etb_delegate_table& table, etb_delegate* delegate, std::span<const std::byte> bytes) {
  const auto payload = read_xnnpack_payload(bytes);
  if (!payload) __builtin_trap();
  std::vector<XnnShape> own, other, grown;
  std::optional<uint64_t> dynamic;  // a size of the first input, and of all with the same size
  for (const uint32_t id : payload->input_ids) {
    own.push_back(xnnpack_shape(payload->value(id)));
    XnnShape& changed = other.emplace_back(own.back());
    XnnShape& wide = grown.emplace_back(own.back());
    if (changed.rank == 0) continue;
    uint64_t& size = changed.sizes[bytes.size() % changed.rank];
    if (!dynamic) dynamic = size;
    std::replace(wide.sizes.begin(), wide.sizes.begin() + wide.rank, *dynamic, 3 * *dynamic);
    ++size;
  }
  etb_error error = ETB_ERROR_INIT;
  etb_context* context = nullptr;
  if (table.context_create(delegate, nullptr, 0, &context, &error) != ETB_OK) return;
  for (const auto* inputs : {&own, &other, &own, &grown, &own, &grown})
    run(table, context, *payload, *inputs);
  if (table.context_destroy(context, &error) != ETB_OK) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const FuzzPlugin kPlugin;
  const etb_delegate_table& table = *kPlugin.table->delegate;
  etb_error error = ETB_ERROR_INIT;
  etb_payload_check check{};
  check.struct_size = ETB_INIT_SIZE(etb_payload_check);
  check.backend_id = "XnnpackBackend";
  check.prefix = {data, size < 4096 ? size : 4096};
  check.payload_nbytes = size;
  etb_verdict verdict{};
  verdict.struct_size = ETB_INIT_SIZE(etb_verdict);
  (void)table.check_payload(kPlugin.plugin, &check, &verdict, &error);

  const etb_named_data named = {ETB_INIT_SIZE(etb_named_data), 0, nullptr, get};
  const PayloadArguments given(std::as_bytes(std::span(data, size)), &named);
  etb_delegate* made = nullptr;
  if (table.create(kPlugin.plugin, &given.args, &made, &error) != ETB_OK) {
    if (error.text[0] == '\0') __builtin_trap();  // an error needs a text
    return 0;
  }
  run(table, made, std::as_bytes(std::span(data, size)));
  if (table.destroy(made, &error) != ETB_OK) __builtin_trap();
  return 0;
}

}  // namespace etb::xnnpack
