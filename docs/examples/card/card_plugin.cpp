// SPDX-License-Identifier: Apache-2.0
// A plugin for a device with memory of its own; docs/device_plugin.md explains its parts.
#include <algorithm>
#include <array>

#include "card_buffers.hpp"
#include "etb/cpp/bytes.hpp"
#include "etb/cpp/run_thread.hpp"
#include "etb/ext/cache.h"

namespace card {
namespace {

constexpr uint32_t kMagic = 0x44524143;  // "CARD"
constexpr uint32_t kVersion = 1;
constexpr uint32_t kWeights = UINT32_MAX;  // an operand that is in the payload

struct CardDelegate;
class CardContext;

// An open card, as one handle of the host may use it.
struct OpenCard {
  std::shared_ptr<Card> card;
  uint64_t limit_bytes = Card::kMemoryBytes;

  etb::Result<Memory> allocate(uint64_t nbytes) const { return card->allocate(nbytes, limit_bytes); }
};

// 1. Devices: two cards, found without opening them. Delegates on one card share what is open.
class CardPlugin {
 public:
  using Delegate = CardDelegate;
  static constexpr uint32_t kFlags = ETB_PLUGIN_OWN_THREADS;
  static constexpr etb::OptionRow kOptions[] = {etb::i64_option("limit_bytes", Card::kMemoryBytes, 0,
                                                                Card::kMemoryBytes, ETB_OBJECT_DEVICE,
                                                                "Memory of the card that may be in use.")};

  etb::Status enumerate(const etb::DeviceSink& sink) const {
    const etb_option memory = memory_attribute().default_option();
    const std::lock_guard lock(opened_->mutex);
    for (uint8_t i = 0; i < kCardCount; ++i) {
      etb_device_info info{};
      info.struct_size = ETB_INIT_SIZE(etb_device_info);
      info.uuid[0] = 0xca;  // a real driver has a uuid that is the same after each boot
      info.uuid[15] = i;
      info.fingerprint[0] = 1;  // equal for cards that run the same payloads
      info.kind = "com.example.card";
      info.name = i == 0 ? "Example card 0" : "Example card 1";
      info.driver_version = Card::kDriver;
      info.memory_total_bytes = Card::kMemoryBytes;
      const auto card = opened_->cards[i].lock();
      info.memory_free_bytes = card == nullptr ? Card::kMemoryBytes : card->free_bytes();
      info.attributes = &memory;
      info.attribute_count = 1;
      ETB_TRY(sink.put(info));
    }
    return {};
  }

  // The base keeps the result until the host closes the device, after all of its delegates.
  etb::Result<OpenCard> open_device(const etb::DeviceArgs& args) const {
    return OpenCard{open(args.uuid), static_cast<uint64_t>(args.options.get_i64("limit_bytes"))};
  }
  // Without a handle of the host, the default: card 0 here; a real plugin may take the one with the most free memory.
  OpenCard card_of(etb_device* device) const {
    if (device != nullptr) return etb::device_of<CardPlugin>(device);
    return {open(nullptr)};
  }

  const void* get_extension(uint32_t object_kind, std::string_view id) const {
    static constexpr etb_buffer_table kBuffers = Buffers<CardPlugin>::table();
    return object_kind == ETB_OBJECT_DEVICE && id == ETB_EXT_BUFFER ? &kBuffers : nullptr;
  }

  // 2. Claims and compilation, for the device of --target if one is named.
  static constexpr etb::OpRow kOps[] = {{.op = "aten.relu.default"},
                                        {.op = "aten.add.Tensor", .constraint = "equal sizes; self is no constant; alpha is 1"}};

  etb::Claim claim(const etb::Node& node, const etb::CompileRequest& request) const {
    const auto operands = node.operands();
    if (node.op_name() == "aten.add.Tensor" && operands.size() != 2)
      return etb::Claim::no("attribute", "a number as an operand, expected a tensor");
    for (const etb::Value& operand : operands)
      if (operand.spec().dtype != operands[0].spec().dtype)
        return etb::Claim::no("dtype", "operands of two types, expected one");
    for (const etb::Value& operand : operands)
      if (!operand.has_sizes_of(operands[0]))
        return etb::Claim::no("com.example.card.broadcast",
                              "operands of different sizes, expected equal ones");
    if (operands[0].is_constant_or_state())
      return etb::Claim::no("com.example.card.constant",
                            "a constant first operand, expected a run-time value");
    if (const auto alpha = node.find_arg("alpha"); alpha && alpha->as_int() != 1 && alpha->as_float() != 1)
      return etb::Claim::no("attribute", "alpha, expected 1");
    const auto memory = request.target().get_i64("memory_bytes", Card::kMemoryBytes);
    if (!memory || nbytes_of(operands[0]) * (operands.size() + 1) > static_cast<uint64_t>(*memory))
      return etb::Claim::no("com.example.card.memory", "more than the memory of the device");
    return etb::Claim::alone();
  }

  etb::Result<etb::Artifact> compile(const etb::Region& region) const {
    const etb::Graph& graph = region.graph();
    const etb::Node node = graph.node(0);
    const Op op = node.op_name() == "aten.add.Tensor" ? Op::kAdd : Op::kRelu;
    const auto operands = node.operands();
    const uint64_t nbytes = nbytes_of(operands[0]);
    etb::ByteWriter payload;
    payload.write(kMagic)
        .write(kVersion)
        .write(static_cast<uint32_t>(op))
        .write(static_cast<uint32_t>(nbytes / 4));
    etb::Artifact artifact{.format_version = kVersion};
    for (uint32_t i = 0; i < 2; ++i) {
      const bool is_constant =
          i < operands.size() && graph.input(operands[i].id()).constant != ETB_GRAPH_NONE;
      payload.write(is_constant || i >= operands.size() ? kWeights : operands[i].id());
      if (!is_constant) continue;
      const auto constant = etb_graph_get_constant(&graph.view(), graph.input(operands[i].id()).constant);
      ETB_ASSIGN(const etb::Payload bytes, region.read_constant(constant.key));
      payload.write_bytes(bytes.bytes());
      artifact.resident_bytes = nbytes + Card::kMostProgramBytes;
    }
    artifact.payload = payload.take();
    artifact.debug_map.push_back({.name = "card.run", .handles = {node.debug_handle()}});
    return artifact;
  }

 private:
  static constexpr uint8_t kCardCount = 2;
  std::shared_ptr<Card> open(const uint8_t* uuid) const {
    const size_t index = uuid == nullptr ? 0 : uuid[15] % kCardCount;
    const std::lock_guard lock(opened_->mutex);
    std::shared_ptr<Card> card = opened_->cards[index].lock();
    if (card == nullptr) opened_->cards[index] = card = std::make_shared<Card>();
    return card;
  }
  struct Opened {
    std::mutex mutex;
    std::array<std::weak_ptr<Card>, kCardCount> cards;
  };
  static etb::OptionRow memory_attribute() {
    constexpr auto kBytes = static_cast<int64_t>(Card::kMemoryBytes);
    return etb::i64_option("memory_bytes", kBytes, kBytes, kBytes, ETB_OBJECT_DEVICE, "");
  }
  static uint64_t nbytes_of(const etb::Value& value) {
    const etb_graph_spec spec = value.spec();
    uint64_t nbytes = 4;
    for (uint32_t i = 0; i < spec.rank; ++i) nbytes *= static_cast<uint64_t>(spec.sizes[i]);
    return nbytes;
  }

  std::shared_ptr<Opened> opened_ = std::make_shared<Opened>();
};

// 4. The host keeps programs of the card on disk between processes, if it has a cache. Entries may be damaged or of another
// driver, so they are compared.
std::string program_of(const etb::Host& host, Op op) {
  const std::string key =
      std::string("program, driver ") + Card::kDriver + std::to_string(static_cast<uint32_t>(op));
  const auto* const cache = host.service<etb_cache_service>(ETB_SERVICE_CACHE);
  etb_error error = ETB_ERROR_INIT;
  if (cache != nullptr) {
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view.fd = -1;
    if (cache->get(cache->ctx, {key.data(), key.size()}, &view, &error) == ETB_OK)
      if (const auto found = etb::Payload::make(&view); found) {
        const std::string program(reinterpret_cast<const char*>(found->bytes().data()),
                                  found->bytes().size());
        if (program.find(Card::kDriver) != std::string::npos) return program;
      }
  }
  std::string program = Card::assemble(op);
  if (cache != nullptr)
    (void)cache->put(cache->ctx, {key.data(), key.size()}, {program.data(), program.size()}, &error);
  return program;
}

// 3. A delegate: its weights are on the card from the start, shared by all runs.
struct CardDelegate {
  using Context = CardContext;

  static etb::Result<CardDelegate> make(const CardPlugin& plugin, etb::CreateArgs& args) {
    CardDelegate made;
    etb::ByteReader payload(args.payload.bytes());
    if (payload.read<uint32_t>() != kMagic)
      return etb::make_error(etb::Code::INVALID_DATA, "payload: not of this plugin");
    if (const auto version = payload.read<uint32_t>(); version != kVersion)
      return etb::make_error(etb::Code::INCOMPATIBLE, "payload: version " + std::to_string(version) +
                                                          ", this plugin reads " + std::to_string(kVersion));
    const auto op = payload.read<uint32_t>();
    made.count = payload.read<uint32_t>();
    for (uint32_t& operand : made.operands) operand = payload.read<uint32_t>();
    if (op > static_cast<uint32_t>(Op::kAdd) || made.count > Card::kMemoryBytes / 4 || made.operands[0] > 1 ||
        (made.operands[1] > 1 && made.operands[1] != kWeights))
      return etb::make_error(etb::Code::INVALID_DATA, "payload: op, elements or operands out of range");
    made.op = static_cast<Op>(op);
    made.device = plugin.card_of(args.device);
    if (made.op == Op::kAdd && made.operands[1] == kWeights) {
      const auto weights = payload.read_bytes(made.nbytes());
      ETB_TRY(payload.finish());
      ETB_ASSIGN(made.weights, made.device.allocate(made.nbytes()));
      made.weights.write(weights.data(), weights.size());
    }
    ETB_TRY(payload.finish());
    made.program = program_of(args.host, made.op);
    return made;
  }

  uint64_t nbytes() const { return uint64_t{count} * 4; }
  uint32_t input_count() const {
    return 1 + std::max(operands[0], operands[1] == kWeights || op == Op::kRelu ? 0 : operands[1]);
  }
  etb::DelegateInfo info() const {
    return {.input_count = input_count(),
            .output_count = 1,
            .resident_bytes = weights.nbytes() + program.size(),
            .context_bytes = nbytes() * (input_count() + 1)};
  }
  // Values between delegates of one card stay there.
  void describe_io(etb_io_req& req) const {
    static constexpr const char* kKinds[] = {kBufferKind};
    req.kinds = kKinds;
    req.kind_count = 1;
  }

  OpenCard device;
  Op op = Op::kRelu;
  uint32_t count = 0;  // elements of each value
  std::array<uint32_t, 2> operands{};
  Memory weights;
  std::string program;
};

// 5. One run in flight: memory on the card for arguments that the host passes in its own memory.
class CardContext {
 public:
  explicit CardContext(const CardDelegate& delegate) : delegate_(delegate) {}

  etb::Status reserve(std::span<const etb::Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      ETB_TRY(check(inputs[i]));
      ETB_TRY(allocate(own_[i]));
    }
    return allocate(own_[2]);
  }
  etb::Status execute(const etb::Run& run) {
    stop_.begin();
    const etb::Status status = run_now(run);
    stop_.end();
    return status;
  }
  // Asynchronous runs are on a thread, as a driver's queue would be.
  etb::Status start(const etb::AsyncRun& run) { return thread_.start(run); }
  etb::Status cancel() { return stop_.make(), etb::Status(); }

 private:
  etb::Status allocate(Memory& memory) {
    if (memory.nbytes() != 0 || delegate_.count == 0) return {};
    ETB_ASSIGN(memory, delegate_.device.allocate(delegate_.nbytes()));
    return {};
  }

  etb::Status check(const etb::Tensor& tensor) const {
    if (tensor.numel() == delegate_.count && tensor.dtype() == ETB_DTYPE_FLOAT32) return {};
    return etb::make_error(etb::Code::INVALID_ARGUMENT, std::to_string(tensor.numel()) + " elements of " +
                                                            etb::dtype_text(tensor.dtype()) + ", expected " +
                                                            std::to_string(delegate_.count) + " of float32");
  }

  // Memory of the host's buffer, or `own`.
  etb::Result<Memory*> memory_of(const etb::Tensor& tensor, Memory& own) {
    ETB_TRY(check(tensor));
    const etb_buffer_desc* const buffer = tensor.raw().buffer;
    if (buffer == nullptr) {
      ETB_TRY(allocate(own));
      return &own;
    }
    if (buffer->kind == nullptr || std::string_view(buffer->kind) != kBufferKind ||
        buffer->offset_bytes != 0 || buffer->nbytes < delegate_.nbytes() || !tensor.is_contiguous())
      return etb::make_error(etb::Code::INVALID_ARGUMENT,
                             std::string("a buffer of another kind or size, expected ") + kBufferKind);
    return static_cast<Memory*>(buffer->handle);
  }

  // Puts the place of the tensor in front of an error.
  static etb::Result<Memory*> named(etb::Result<Memory*> found, const std::string& place) {
    if (!found) return tl::make_unexpected(etb::with_context(found.error(), place));
    return found;
  }

  etb::Status run_now(const etb::Run& run) {
    std::array<Memory*, 2> inputs{};
    for (uint32_t i = 0; i < delegate_.input_count(); ++i) {
      const etb::Tensor input = run.input(i);
      if (!std::ranges::equal(input.sizes(), run.input(0).sizes()))
        return etb::make_error(etb::Code::INVALID_ARGUMENT,
                               "input " + std::to_string(i) + ": sizes " + etb::sizes_text(input.sizes()) +
                                   ", expected those of input 0, " + etb::sizes_text(run.input(0).sizes()));
      ETB_ASSIGN(inputs[i], named(memory_of(input, own_[i]), "input " + std::to_string(i)));
      if (input.raw().buffer != nullptr) continue;
      ETB_ASSIGN(const auto data, input.data<float>());
      inputs[i]->write(data.data(), data.size_bytes());
    }
    etb::OutputTensor output = run.output(0);
    ETB_TRY(output.resize(run.input(delegate_.operands[0]).sizes()));
    ETB_ASSIGN(Memory* const result, named(memory_of(output, own_[2]), "output 0"));
    const Memory* const second =
        delegate_.operands[1] == kWeights ? &delegate_.weights : inputs[delegate_.operands[1]];
    const auto keep_going = [&]() -> etb::Status {
      ETB_TRY(run.keep_going());
      return stop_.check();
    };
    const Memory& first = *inputs[delegate_.operands[0]];
    const etb::Status status = run.timed("card.run", [&] {
      return delegate_.device.card->run(delegate_.op, first, second, *result, delegate_.count, keep_going);
    });
    ETB_TRY(status);
    if (output.raw().buffer != nullptr) return {};
    ETB_ASSIGN(const auto data, output.data<float>());
    result->read(data.data(), data.size_bytes());
    return {};
  }

  const CardDelegate& delegate_;
  std::array<Memory, 3> own_;  // two inputs, the output
  etb::StopRequest stop_;
  etb::RunThread thread_{
      this, [](void* self, const etb::Run& run) { return static_cast<CardContext*>(self)->run_now(run); },
      stop_};
};

}  // namespace
}  // namespace card

ETB_DEFINE_PLUGIN(card::CardPlugin, "com.example.card", "Example Inc.", "1.0.0")
