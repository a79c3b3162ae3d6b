// SPDX-License-Identifier: Apache-2.0
// The parts of the plugin base that the template plugin does not use: contexts with state, reserve, cancel,
// extensions, own devices, kept payloads, named data, failures of every kind.
#include "etb/cpp/plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

int living_delegates = 0;
int living_contexts = 0;

struct Counted {
  explicit Counted(int* count) : count_(count) { ++*count_; }
  Counted(Counted&& other) noexcept : count_(other.count_) { ++*count_; }
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --*count_; }
  int* count_;
};

struct Full;

struct Weights {
  static etb::Result<Weights> make(const Full& plugin, etb::CreateArgs& args);
  etb::DelegateInfo info() const {
    return {.input_count = 1, .output_count = 1, .resident_bytes = kept.bytes().size(), .scratch_bytes = 64};
  }
  void describe_io(etb_io_req& req) const { req.alignment = req.role == ETB_ROLE_INPUT ? 32 : 128; }

  struct Context {
    explicit Context(const Weights& of) : weights(&of) {}
    etb::Status execute(const etb::Run& run) {
      ETB_TRY(run.keep_going());
      if (run.scratch().size() < 64) throw std::logic_error("the base let a small scratch through");
      if (run.options().get_bool("throw")) throw std::runtime_error("thrown in execute");
      ++run_count;
      return {};
    }
    etb::Status reserve(std::span<const etb::Tensor> inputs) {
      reserved = inputs[0].numel();
      return {};
    }
    etb::Status cancel() { return etb::make_error(etb::Code::NOT_FOUND, "no run"); }
    const Weights* weights;
    int run_count = 0;
    int64_t reserved = 0;
    Counted count{&living_contexts};
  };

  etb::Payload kept;
  std::string named;
  Counted count{&living_delegates};
};

struct Full {
  using Delegate = Weights;
  static constexpr uint32_t kFlags = ETB_PLUGIN_OWN_THREADS;
  static constexpr etb::OptionRow kOptions[] = {
      etb::text_option("fail", "", ETB_OBJECT_PLUGIN, "How init fails."),
      etb::i64_option("devices", 2, 0, 2, ETB_OBJECT_PLUGIN, "How many devices the machine has."),
      etb::i64_option("level", 1, 0, 9, ETB_OBJECT_PLUGIN | ETB_OBJECT_DELEGATE, "How hard to try.",
                      ETB_OPTION_BETWEEN),
      etb::bool_option("throw", false, ETB_OBJECT_RUN, "Whether execute throws.")};

  static etb::Result<Full> make(const etb::Host& host, const etb::Options& options) {
    host.log(ETB_LOG_INFO, "made");
    if (options.get_text("fail") == "throw") throw std::runtime_error("thrown in init");
    if (options.get_text("fail") == "error") return etb::make_error(etb::Code::UNAVAILABLE, "no driver");
    Full made;
    made.device_count = static_cast<uint8_t>(options.get_i64("devices"));
    return made;
  }
  etb::Status set_option(const etb::Options& options) {
    level = options.get_i64("level");
    return {};
  }
  etb::Status get_option(std::string_view, etb_option& out) const {
    out.i64 = level;
    return {};
  }
  etb::Status enumerate(const etb::DeviceSink& sink) const {
    for (uint8_t i = 1; i <= device_count; ++i) {
      etb_device_info info{};
      info.struct_size = ETB_INIT_SIZE(etb_device_info);
      info.uuid[0] = i;
      info.kind = "npu";
      info.name = i == 1 ? "big" : "little";
      info.driver_version = "";
      ETB_TRY(sink.put(info));
    }
    return {};
  }
  const void* get_extension(uint32_t kind, std::string_view id) const {
    return kind == ETB_OBJECT_PLUGIN && id == "com.example.full.thing/1" ? this : nullptr;
  }
  uint8_t device_count = 2;
  int64_t level = 1;
};

etb::Result<Weights> Weights::make(const Full&, etb::CreateArgs& args) {
  Weights made;
  if (args.payload.bytes().empty()) return etb::make_error(etb::Code::INVALID_DATA, "payload: empty");
  if (auto weight = args.named_data.get("weight"))
    made.named = std::string(reinterpret_cast<const char*>(weight->bytes().data()), weight->bytes().size());
  made.kept = std::move(args.payload);
  return made;
}

}  // namespace

ETB_DEFINE_PLUGIN(Full, "com.example.full", "Example Inc.", "2.0.1")

namespace {

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }

etb_host make_host() {
  etb_host host{};
  host.struct_size = ETB_INIT_SIZE(etb_host);
  host.abi_version = ETB_ABI_VERSION;
  host.name = host.version = host.plugin_dir = "";
  host.get_service = no_service;
  return host;
}

etb_option text_option(const char* key, const char* text) {
  return {ETB_INIT_SIZE(etb_option), 0, key, ETB_OPTION_TEXT, 0, 0, 0, text, {nullptr, 0}, nullptr, nullptr};
}

class PluginBase : public testing::Test {
 protected:
  void SetUp() override {
    table_ = etb_plugin_query(&host_, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_NE(table_, nullptr);
    ASSERT_EQ(table_->init(&host_, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    view_.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view_.data = bytes_;
    view_.nbytes = sizeof(bytes_);
    view_.fd = -1;
    view_.release_ctx = &release_count_;
    view_.release = [](void* count) { ++*static_cast<int*>(count); };
  }
  void TearDown() override {
    EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(living_delegates, 0);
    EXPECT_EQ(living_contexts, 0);
  }
  etb_status create(etb_delegate** out, const etb_named_data* named = nullptr, etb_device* device = nullptr) {
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.device = device;
    args.payload = &view_;
    args.named_data = named;
    return table_->delegate->create(plugin_, &args, out, &error_);
  }
  void destroy(etb_delegate* delegate) {
    EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK) << error_.text;
  }

  etb_host host_ = make_host();
  etb_error error_ = ETB_ERROR_INIT;
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  alignas(16) const char bytes_[4] = {'a', 'b', 'c', 'd'};
  etb_payload_view view_{};
  int release_count_ = 0;
};

TEST_F(PluginBase, CapabilitiesAreThoseOfTheClasses) {
  EXPECT_EQ(table_->caps, ETB_PLUGIN_CAPS_KNOWN);
  EXPECT_EQ(table_->delegate->caps, ETB_DELEGATE_CAP_CONTEXT_RESERVE | ETB_DELEGATE_CAP_CANCEL);
  EXPECT_EQ(table_->aot, nullptr);
  EXPECT_EQ(table_->ident->profiles, ETB_PROFILE_RUNTIME);
  EXPECT_EQ(table_->ident->flags, ETB_PLUGIN_OWN_THREADS);
  EXPECT_STREQ(table_->ident->version, "2.0.1");
}

// proves: ABI-OPT-02
TEST_F(PluginBase, RefusedOptionLeavesTheOldValue) {
  etb_option option = {ETB_INIT_SIZE(etb_option),
                       0,
                       "level",
                       ETB_OPTION_I64,
                       0,
                       7,
                       0,
                       nullptr,
                       {nullptr, 0},
                       nullptr,
                       nullptr};
  const auto set = [&] { return table_->set_option(plugin_, ETB_OBJECT_PLUGIN, plugin_, &option, &error_); };
  const auto level = [&] {
    int64_t seen = -1;
    const etb_option_sink sink = {ETB_INIT_SIZE(etb_option_sink), 0, &seen,
                                  [](void* ctx, const etb_option* value) -> etb_status {
                                    *static_cast<int64_t*>(ctx) = value->i64;
                                    return ETB_OK;
                                  }};
    EXPECT_EQ(table_->get_option(plugin_, ETB_OBJECT_PLUGIN, plugin_, "level", &sink, &error_), ETB_OK)
        << error_.text;
    EXPECT_EQ(table_->get_option(plugin_, ETB_OBJECT_PLUGIN, plugin_, "no such key", &sink, &error_),
              ETB_NOT_FOUND);
    return seen;
  };
  EXPECT_EQ(level(), 1);
  EXPECT_EQ(set(), ETB_OK) << error_.text;
  EXPECT_EQ(level(), 7);
  option.i64 = 10;
  EXPECT_EQ(set(), ETB_INVALID_ARGUMENT);
  option.type = ETB_OPTION_F64;
  EXPECT_EQ(set(), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(level(), 7);
  option.key = "no such key";
  EXPECT_EQ(set(), ETB_NOT_FOUND);
  option.key = "devices";
  EXPECT_EQ(set(), ETB_INVALID_STATE);
  EXPECT_THAT(error_.text, HasSubstr("fixed"));
}

// proves: ABI-DEV-01
TEST_F(PluginBase, MachineWithoutDevicesIsNoError) {
  const etb_option none = {ETB_INIT_SIZE(etb_option),
                           0,
                           "devices",
                           ETB_OPTION_I64,
                           0,
                           0,
                           0,
                           nullptr,
                           {nullptr, 0},
                           nullptr,
                           nullptr};
  etb_plugin* plugin = nullptr;
  ASSERT_EQ(table_->init(&host_, &none, 1, &plugin, &error_), ETB_OK) << error_.text;
  int count = 0;
  const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &count,
                                [](void* ctx, const etb_device_info*) -> etb_status {
                                  ++*static_cast<int*>(ctx);
                                  return ETB_OK;
                                }};
  EXPECT_EQ(table_->device->enumerate(plugin, &sink, &error_), ETB_OK);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(table_->deinit(plugin, &error_), ETB_OK);
}

// proves: ABI-CALL-03 ABI-ERR-01
TEST_F(PluginBase, FailuresOfInitReachTheHostAsStatusAndText) {
  etb_plugin* other = nullptr;
  etb_option option = text_option("fail", "throw");
  EXPECT_EQ(table_->init(&host_, &option, 1, &other, &error_), ETB_INTERNAL);
  EXPECT_STREQ(error_.text, "thrown in init");
  option.text = "error";
  EXPECT_EQ(table_->init(&host_, &option, 1, &other, &error_), ETB_UNAVAILABLE);
  EXPECT_STREQ(error_.text, "no driver");
  EXPECT_EQ(table_->init(nullptr, nullptr, 0, &other, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(other, nullptr) << "untouched on error";
  etb_host newer = make_host();  // bit of a later version, set before the negotiation (ABI-TYPE-02)
  newer.flags = 0x80;
  ASSERT_EQ(table_->init(&newer, nullptr, 0, &other, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(table_->deinit(other, &error_), ETB_OK);
}

// proves: ABI-EXT-01
TEST_F(PluginBase, UnknownExtensionIsNull) {
  EXPECT_NE(table_->get_extension(plugin_, ETB_OBJECT_PLUGIN, plugin_, "com.example.full.thing/1"), nullptr);
  EXPECT_EQ(table_->get_extension(plugin_, ETB_OBJECT_PLUGIN, plugin_, "com.example.full.thing/2"), nullptr);
}

TEST_F(PluginBase, DevicesAreOpenedQueriedAndBusyWhileUsed) {
  const uint8_t little[16] = {2}, none[16] = {3};
  etb_device* device = nullptr;
  EXPECT_EQ(table_->device->open(plugin_, none, nullptr, 0, &device, &error_), ETB_NOT_FOUND);
  ASSERT_EQ(table_->device->open(plugin_, little, nullptr, 0, &device, &error_), ETB_OK);
  std::vector<std::string> names;
  const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &names,
                                [](void* ctx, const etb_device_info* info) {
                                  static_cast<std::vector<std::string>*>(ctx)->push_back(info->name);
                                  return ETB_OK + 0;
                                }};
  EXPECT_EQ(table_->device->query(device, &sink, &error_), ETB_OK);
  EXPECT_THAT(names, ElementsAre("little"));
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(&delegate, nullptr, device), ETB_OK) << error_.text;
  EXPECT_EQ(table_->device->close(device, &error_), ETB_BUSY);
  EXPECT_THAT(error_.text, HasSubstr("1 objects"));
  EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_BUSY);
  destroy(delegate);
  EXPECT_EQ(table_->device->close(device, &error_), ETB_OK);
}

// proves: ABI-OWN-03
TEST_F(PluginBase, KeptPayloadIsReleasedWithItsDelegateAndRefusedOneAtOnce) {
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(&delegate), ETB_OK) << error_.text;
  EXPECT_EQ(release_count_, 0);
  destroy(delegate);
  EXPECT_EQ(release_count_, 1);
  view_.nbytes = 0;
  EXPECT_EQ(create(&delegate), ETB_INVALID_DATA);
  EXPECT_EQ(release_count_, 2);
  view_.nbytes = 4;
  view_.data = nullptr;
  EXPECT_EQ(create(&delegate), ETB_NOT_SUPPORTED) << "file only";
}

TEST_F(PluginBase, NamedDataIsReadAndReleased) {
  struct Named {
    int released = 0;
  } named;
  const etb_named_data data = {
      ETB_INIT_SIZE(etb_named_data), 0, &named,
      [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
        if (std::string_view(key) != "weight")
          return etb::write_error(etb::Code::NOT_FOUND, "no such key", error);
        out->data = "seven";
        out->nbytes = 5;
        out->release_ctx = ctx;
        out->release = [](void* counts) { ++static_cast<Named*>(counts)->released; };
        return ETB_OK;
      }};
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(&delegate, &data), ETB_OK) << error_.text;
  EXPECT_EQ(named.released, 1);
  destroy(delegate);
  EXPECT_EQ(etb::NamedData(&data).get("other").error().message, "no such key");
  EXPECT_EQ(etb::NamedData().get("weight").error().code, etb::Code::NOT_FOUND);
}

// proves: ABI-CALL-03 ABI-EXEC-01
TEST_F(PluginBase, ContextRunsReservesAndSurvivesAThrow) {
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(&delegate), ETB_OK) << error_.text;
  etb_context* context = nullptr;
  ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK);
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_BUSY);

  int64_t sizes[] = {3};
  float data[3] = {};
  etb_tensor tensor{};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.dtype = ETB_DTYPE_FLOAT32;
  tensor.rank = 1;
  tensor.sizes = sizes;
  tensor.data = data;
  tensor.capacity_bytes = sizeof(data);
  EXPECT_EQ(table_->delegate->context_reserve(context, &tensor, 1, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(table_->delegate->context_reserve(context, &tensor, 2, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(table_->delegate->cancel(context, &error_), ETB_NOT_FOUND);

  alignas(64) char scratch[64];
  etb_exec_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_exec_args);
  args.inputs = args.outputs = &tensor;
  args.input_count = args.output_count = 1;
  const auto run = [&] { return table_->delegate->execute(context, &args, &error_); };
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT) << "no scratch";
  args.scratch = scratch;
  args.scratch_nbytes = sizeof(scratch);
  EXPECT_EQ(run(), ETB_OK) << error_.text;

  etb_option option = {ETB_INIT_SIZE(etb_option),
                       0,
                       "throw",
                       ETB_OPTION_BOOL,
                       0,
                       1,
                       0,
                       nullptr,
                       {nullptr, 0},
                       nullptr,
                       nullptr};
  args.options = &option;
  args.option_count = 1;
  EXPECT_EQ(run(), ETB_INTERNAL);
  EXPECT_STREQ(error_.text, "thrown in execute");
  args.option_count = 0;
  args.deadline_ns = 1;
  EXPECT_EQ(run(), ETB_DEADLINE_EXCEEDED);
  args.deadline_ns = 0;
  const etb_cancel_token cancelled = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr,
                                      [](void*) { return uint32_t{1}; }};
  args.cancel = &cancelled;
  EXPECT_EQ(run(), ETB_CANCELLED);
  args.cancel = nullptr;
  const etb_fence fence{};
  args.wait = &fence;
  args.wait_count = 1;
  EXPECT_EQ(run(), ETB_NOT_SUPPORTED);
  args.wait_count = 0;
  EXPECT_EQ(run(), ETB_OK);
  EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
  destroy(delegate);
}

TEST_F(PluginBase, IoRequirementsGoThroughTheDelegate) {
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(create(&delegate), ETB_OK);
  std::vector<uint64_t> alignments;
  const etb_io_req_sink sink = {ETB_INIT_SIZE(etb_io_req_sink), 0, &alignments,
                                [](void* ctx, const etb_io_req* req) {
                                  static_cast<std::vector<uint64_t>*>(ctx)->push_back(req->alignment);
                                  return ETB_OK + 0;
                                }};
  EXPECT_EQ(table_->delegate->query_io(delegate, &sink, &error_), ETB_OK);
  EXPECT_THAT(alignments, ElementsAre(32, 128));
  destroy(delegate);
}

// proves: ABI-VER-02
TEST(ChooseAbiVersion, IsTheNewestThatBothSpeak) {
  static_assert(etb::choose_abi_version(ETB_ABI_MAKE(1, 0), ETB_ABI_MAKE(1, 0)) == ETB_ABI_MAKE(1, 0));
  static_assert(etb::choose_abi_version(ETB_ABI_MAKE(1, 0), ETB_ABI_MAKE(9, 0)) == ETB_ABI_VERSION);
  static_assert(etb::choose_abi_version(ETB_ABI_VERSION + 1, ETB_ABI_VERSION + 5) == 0);
  static_assert(etb::choose_abi_version(0, ETB_ABI_MAKE(0, 9)) == 0);
}

}  // namespace
