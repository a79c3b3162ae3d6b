// SPDX-License-Identifier: Apache-2.0
// PluginDelegates::change_option: options of delegates that live, of their contexts and of their runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "etb/cpp/fail.hpp"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/heap_calls.hpp"
#include "host/testing/linked_only.hpp"

namespace etb::host {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::map<const void*, double> values;  // the option that set_option changed, by object
int created = 0;                       // delegates
double scale_at_create = 0;            // option of the latest created delegate
std::string mode;                      // option of the latest run
bool rejects = false;                  // the plugin rejects changes

constexpr const char* kModes[] = {"fast", "exact"};

struct Row {
  const char* key;
  etb_option_type type;
  uint32_t scopes, mutable_when;
};
constexpr Row kRows[] = {{"bias", ETB_OPTION_F64, ETB_OBJECT_RUN, ETB_OPTION_FIXED},
                         {"mode", ETB_OPTION_TEXT, ETB_OBJECT_RUN, ETB_OPTION_FIXED},
                         {"steps", ETB_OPTION_F64, ETB_OBJECT_CONTEXT, ETB_OPTION_BETWEEN},
                         {"scale", ETB_OPTION_F64, ETB_OBJECT_DELEGATE, ETB_OPTION_BETWEEN},
                         {"layout", ETB_OPTION_F64, ETB_OBJECT_DELEGATE, ETB_OPTION_FIXED},
                         {"clock", ETB_OPTION_F64, ETB_OBJECT_DEVICE, ETB_OPTION_ANY_TIME},
                         {"workers", ETB_OPTION_I64, ETB_OBJECT_PLUGIN, ETB_OPTION_BETWEEN}};

etb_status ETB_CALL put_schemas(etb_plugin*, const etb_option_schema_sink* sink, etb_error*) {
  for (const Row& row : kRows) {
    etb_option zero{};
    zero.struct_size = sizeof zero;
    zero.key = row.key;
    zero.type = row.type;
    zero.text = "fast";
    etb_option_schema schema{};
    schema.struct_size = sizeof schema;
    schema.key = row.key;
    schema.doc = "";
    schema.type = row.type;
    schema.scopes = row.scopes;
    schema.mutable_when = row.mutable_when;
    schema.default_value = &zero;
    schema.minimum = -100;
    schema.maximum = 100;
    if (row.type == ETB_OPTION_TEXT) schema.choices = kModes, schema.choice_count = 2;
    if (const etb_status status = sink->put(sink->ctx, &schema); status != ETB_OK) return status;
  }
  return ETB_OK;
}

etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  scale_at_create = 0;
  for (uint64_t i = 0; i < args->option_count; ++i)
    if (std::strcmp(ETB_AT(etb_option, args->options, i)->key, "scale") == 0)
      scale_at_create = ETB_AT(etb_option, args->options, i)->f64;
  ++created;
  const etb_status status = toy_tables().delegate.create(plugin, args, out, error);
  if (status == ETB_OK) values[*out] = scale_at_create;
  return status;
}

// y = x + 1 + bias + the values of the context and of its delegate.
etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  if (const etb_status status = toy_tables().delegate.execute(context, args, error); status != ETB_OK)
    return status;
  const auto found = values.find(context), of_delegate = values.find(toy(context)->delegate);
  double sum =
      (found == values.end() ? 0 : found->second) + (of_delegate == values.end() ? 0 : of_delegate->second);
  for (uint64_t i = 0; i < args->option_count; ++i) {
    const etb_option& option = *ETB_AT(etb_option, args->options, i);
    if (std::strcmp(option.key, "mode") == 0)
      mode = option.text;
    else
      sum += option.f64;
  }
  for (int64_t k = 0; k < args->outputs[0].sizes[0]; ++k)
    static_cast<float*>(args->outputs[0].data)[k] += static_cast<float>(sum);
  return ETB_OK;
}

const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.plugin.option_schema = put_schemas;
  toy.plugin.set_option = [](etb_plugin*, uint32_t kind, void* object, const etb_option* option,
                             etb_error* error) -> etb_status {
    const bool is_context = std::strcmp(option->key, "steps") == 0;
    if (kind != (is_context ? ETB_OBJECT_CONTEXT : ETB_OBJECT_DELEGATE))
      return fail(error, ETB_INVALID_ARGUMENT, "option '%s' of kind %u", option->key, kind);
    if (rejects) return fail(error, ETB_OUT_OF_RESOURCES, "no room for the change");
    values[object] = option->f64;
    return ETB_OK;
  };
  toy.delegate.create = create;
  toy.delegate.execute = execute;
  toy.delegate.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                                   etb_context** out, etb_error* error) -> etb_status {
    const etb_status status = toy_tables().delegate.context_create(delegate, nullptr, 0, out, error);
    if (status == ETB_OK) values[*out] = option_count == 0 ? 0 : options->f64;
    return status;
  };
  return &toy.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query, kToyBackend}};

std::vector<std::byte> make_program() {
  DelegateProgram made({{kToyBackend, 1, 0, {}}});
  made.call(0, 0, 1);
  made.method().outputs = {1};
  return format::build_program(made.program);
}

// One module with delegates of its own choices; they share what others with one SharedDelegates have.
struct Opened {
  explicit Opened(Registry& registry, const std::shared_ptr<SharedDelegates>& shared) : delegates(registry) {
    delegates.share_delegates(shared);
  }
  void load(Result<Module> opened) {
    ASSERT_TRUE(opened) << opened.error().message;
    module.emplace(*std::move(opened));
    const Status loaded = module->load_method("forward");
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  ModuleOptions options() {
    ModuleOptions made;
    made.delegates = &delegates;
    return made;
  }
  // The first element of the result for zeros.
  float run() {
    OwnedTensor input = OwnedTensor::make<float>({4}, {0, 0, 0, 0});
    const auto outputs = module->forward({input.value()});
    EXPECT_TRUE(outputs) << outputs.error().message;
    return outputs ? floats((*outputs)[0])[0] : -1;
  }
  PluginDelegates delegates;
  std::optional<Module> module;
};

class OptionChangeTest : public testing::Test {
 protected:
  void SetUp() override {
    values.clear();
    created = 0;
    mode.clear();
    rejects = false;
    first_.load(Module::from_bytes(bytes_, first_.options()));
  }
  void open_second() { second_.load(Module::from_program(first_.module->program(), second_.options())); }
  // The error of a change; "": it was made.
  std::string change(const std::string& key, const std::string& text, Code expected = Code::OK) {
    const Status changed = first_.delegates.change_option(kToyBackend, key, text);
    EXPECT_EQ(changed ? Code::OK : changed.error().code, expected);
    return changed ? "" : changed.error().message;
  }

  const std::vector<std::byte> bytes_ = make_program();
  Registry registry_{linked_only(kPlugins)};
  std::shared_ptr<SharedDelegates> shared_ = std::make_shared<SharedDelegates>();
  Opened first_{registry_, shared_}, second_{registry_, shared_};
};

TEST_F(OptionChangeTest, ALaterRunGetsItsOptionAndAllocatesNothing) {
  EXPECT_EQ(first_.run(), 1);
  EXPECT_EQ(change("bias", "2.5"), "");
  EXPECT_EQ(first_.run(), 3.5F);
  EXPECT_EQ(change("bias", "3"), "");
  {
    std::string text = "exact";  // the library keeps no pointer to it
    EXPECT_EQ(change("mode", text), "");
    text.assign(text.size(), '?');
  }
  EXPECT_EQ(first_.run(), 4);
  EXPECT_EQ(mode, "exact");
#if ETB_COUNTS_HEAP
  const int before = heap_calls;
  const Status ran = first_.module->run("forward");
  EXPECT_EQ(heap_calls, before);
  EXPECT_TRUE(ran);
#endif
}

TEST_F(OptionChangeTest, TheOtherModulesKeepTheirRunsAndContexts) {
  open_second();
  EXPECT_EQ(created, 1) << "they share the delegate";
  EXPECT_EQ(change("bias", "2"), "");
  EXPECT_EQ(change("steps", "10"), "");
  EXPECT_EQ(first_.run(), 13);
  EXPECT_EQ(second_.run(), 1);
  first_.module->unload_method("forward");
  EXPECT_EQ(first_.run(), 13) << "a method that is loaded again has the options, too";
}

TEST_F(OptionChangeTest, ADelegateChangesOnlyWhileNoOtherModuleUsesIt) {
  EXPECT_EQ(change("scale", "5"), "");
  EXPECT_EQ(first_.run(), 6);
  open_second();
  EXPECT_EQ(created, 2) << "the changed delegate does not suit the second module";
  EXPECT_EQ(second_.run(), 1);
  first_.module->unload_method("forward");
  EXPECT_EQ(first_.run(), 6);
  EXPECT_EQ(scale_at_create, 5);
}

TEST_F(OptionChangeTest, ASharedDelegateKeepsItsOption) {
  open_second();
  EXPECT_THAT(change("scale", "5", Code::INVALID_STATE),
              AllOf(HasSubstr("delegate 'ToyBackend'"), HasSubstr("option 'scale'"),
                    HasSubstr("other modules use"), HasSubstr("hint: ")));
  EXPECT_EQ(first_.run(), 1);
  second_.module.reset();
  EXPECT_EQ(change("scale", "5"), "");
  EXPECT_EQ(first_.run(), 6);
}

TEST_F(OptionChangeTest, WrongKeysAndValuesAreNamedAndChangeNothing) {
  EXPECT_EQ(change("bias", "1"), "");
  EXPECT_EQ(
      change("bios", "1", Code::NOT_FOUND),
      "delegate 'ToyBackend': option 'bios': the plugin has 'bias', 'mode', 'steps', 'scale', 'layout', "
      "'clock', 'workers'");
  EXPECT_EQ(change("bias", "much", Code::INVALID_ARGUMENT),
            "delegate 'ToyBackend': option 'bias': found 'much', expected a value of type f64");
  EXPECT_THAT(change("bias", "101", Code::INVALID_ARGUMENT),
              HasSubstr("option 'bias': 101, expected -100.000000 to 100.000000"));
  EXPECT_THAT(change("mode", "slow", Code::INVALID_ARGUMENT),
              HasSubstr("option 'mode': 'slow', expected one of 'fast', 'exact'"));
  EXPECT_THAT(change("workers", "1", Code::INVALID_ARGUMENT), HasSubstr("belongs to the plugin"));
  EXPECT_EQ(first_.run(), 2);
}

TEST_F(OptionChangeTest, AnOptionOfTheBeginningChangesWhileNoDelegateLives) {
  EXPECT_THAT(
      change("layout", "1", Code::INVALID_STATE),
      AllOf(HasSubstr("option 'layout' is fixed when a delegate is made"), HasSubstr("hint: unload")));
  EXPECT_THAT(change("clock", "1", Code::INVALID_STATE), HasSubstr("belongs to the device"));
  first_.module->unload_method("forward");
  EXPECT_EQ(change("layout", "1"), "");
  EXPECT_THAT(change("layout", "x", Code::INVALID_ARGUMENT), HasSubstr("type f64"));
  EXPECT_THAT(change("lay", "1", Code::INVALID_ARGUMENT), HasSubstr("option 'lay'"));
  EXPECT_EQ(first_.run(), 1);
  EXPECT_EQ(created, 2);
}

TEST_F(OptionChangeTest, ThePluginMayRejectAChange) {
  rejects = true;
  for (const char* key : {"scale", "steps"})
    EXPECT_THAT(change(key, "3", Code::OUT_OF_RESOURCES), HasSubstr("no room for the change"));
  first_.module->unload_method("forward");
  EXPECT_EQ(first_.run(), 1) << "the old value is that of later delegates, too";
}

TEST_F(OptionChangeTest, AnOptionOfAnUnknownDelegateNeedsAPlugin) {
  EXPECT_EQ(first_.delegates.change_option("NoSuchBackend", "bias", "1").error().code, Code::NOT_FOUND);
}

}  // namespace
}  // namespace etb::host
