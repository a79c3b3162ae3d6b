// SPDX-License-Identifier: Apache-2.0
// Handles and bytes that are used after their end are reported.
#include <gtest/gtest.h>

#include "host/layers/validate/handle.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The toy plugin's own state of a delegate.
ToyDelegateState* toy_behind(etb_delegate* delegate) { return toy(validate::unwrap(delegate)->next); }

// Destroys a context and its delegate in the toy itself, for a wrong toy that does not.
class EndBehind {
 public:
  explicit EndBehind(LayerFixture& fixture)
      : context_(validate::unwrap(fixture.context())->next),
        delegate_(validate::unwrap(fixture.delegate())->next) {}
  EndBehind(const EndBehind&) = delete;
  EndBehind& operator=(const EndBehind&) = delete;
  ~EndBehind() {
    toy_tables().delegate.context_destroy(context_, nullptr);
    toy_tables().delegate.destroy(delegate_, nullptr);
  }

 private:
  etb_context* const context_;
  etb_delegate* const delegate_;
};

// proves: ABI-OWN-04
TEST(ValidateOwnership, ReportsAUseAfterDestroy) {
  LayerFixture fixture;
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(fixture.create(&delegate), ETB_OK);
  ASSERT_EQ(fixture.delegates().destroy(delegate, nullptr), ETB_OK);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(fixture.delegates().query(delegate, &info, fixture.fresh_error()), ETB_INVALID_HANDLE);
  EXPECT_THAT(fixture.error.text, HasSubstr("ABI-OWN-04: the delegate was ended before"));
  EXPECT_EQ(fixture.delegates().destroy(delegate, nullptr), ETB_INVALID_HANDLE) << "twice";
  EXPECT_THAT(fixture.found(),
              ElementsAre(Report("ABI-OWN-04", Side::HOST), Report("ABI-OWN-04", Side::HOST)));
}

// proves: ABI-OWN-04
TEST(ValidateOwnership, ReportsAUseAfterDeinit) {
  LayerFixture fixture;
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_plugin* const plugin = fixture.plugin;
  ASSERT_EQ(fixture.stop(), ETB_OK);
  EXPECT_EQ(fixture.table().deinit(plugin, nullptr), ETB_INVALID_HANDLE);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-OWN-04", Side::HOST, "plugin was ended")));
}

// proves: ABI-OWN-04
TEST(ValidateOwnership, RefusesAHandleOfAnotherKindOrNone) {
  LayerFixture fixture;
  ASSERT_EQ(fixture.start(), ETB_OK);
  auto* const wrong = reinterpret_cast<etb_context*>(fixture.delegate());
  EXPECT_EQ(fixture.delegates().execute(wrong, &fixture.run.args, nullptr), ETB_INVALID_HANDLE);
  EXPECT_THAT(fixture.found(),
              ElementsAre(Report("ABI-OWN-04", Side::HOST, "is a delegate, expected a context")));
  EXPECT_EQ(fixture.delegates().execute(nullptr, &fixture.run.args, fixture.fresh_error()),
            ETB_INVALID_HANDLE);
  EXPECT_THAT(fixture.error.text, HasSubstr("is NULL, expected a context"));
}

// proves: ABI-LIFE-01
TEST(ValidateOwnership, ReportsAnEndBeforeTheChildrensEnd) {
  LayerFixture fixture(strict());
  ASSERT_EQ(fixture.start(), ETB_OK);
  fixture.context();
  EXPECT_EQ(fixture.delegates().destroy(fixture.delegate(), nullptr), ETB_BUSY);
  EXPECT_EQ(fixture.table().deinit(fixture.plugin, nullptr), ETB_BUSY);
  EXPECT_THAT(fixture.found(),
              ElementsAre(Report("ABI-LIFE-01", Side::HOST, "1 objects made from this delegate"),
                          Report("ABI-LIFE-01", Side::HOST, "1 objects made from this plugin")));
  EXPECT_EQ(fixture.execute(), ETB_OK) << "nothing has changed";
}

// proves: ABI-LIFE-01
TEST(ValidateOwnership, ReportsAPluginThatEndsWhatIsInUse) {
  LayerFixture fixture;
  fixture.toy.delegate.destroy = [](etb_delegate*, etb_error*) -> etb_status { return ETB_OK; };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_context* const context = fixture.context();
  const EndBehind cleanup(fixture);
  EXPECT_EQ(fixture.delegates().destroy(fixture.delegate(), nullptr), ETB_OK);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-LIFE-01", Side::HOST),
                                           Report("ABI-LIFE-01", Side::PLUGIN, "expected ETB_BUSY")));
  EXPECT_EQ(fixture.delegates().execute(context, &fixture.run.args, nullptr), ETB_INVALID_HANDLE)
      << "a child of what is gone is gone";
}

// proves: ABI-LIFE-01
TEST(ValidateOwnership, ReportsBusyWithoutAReason) {
  LayerFixture fixture;
  static bool is_busy;
  is_busy = true;
  fixture.toy.delegate.context_destroy = [](etb_context* context, etb_error* error) -> etb_status {
    if (!is_busy) return toy_tables().delegate.context_destroy(context, error);
    error->code = ETB_BUSY;
    error->text[0] = 'x';
    return ETB_BUSY;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  EXPECT_EQ(fixture.delegates().context_destroy(fixture.context(), nullptr), ETB_BUSY);
  EXPECT_THAT(fixture.found(),
              ElementsAre(Report("ABI-LIFE-01", Side::PLUGIN, "nothing made from this context")));
  is_busy = false;
}

// proves: ABI-OWN-04
TEST(ValidateOwnership, ReportsASuccessWithoutAnObjectAndAFailureWithOne) {
  LayerFixture fixture;
  fixture.toy.delegate.create = [](etb_plugin*, const etb_delegate_args*, etb_delegate**,
                                   etb_error*) -> etb_status { return ETB_OK; };
  fixture.toy.delegate.context_create = [](etb_delegate*, const etb_option*, uint64_t, etb_context** out,
                                           etb_error* error) -> etb_status {
    *out = reinterpret_cast<etb_context*>(out);
    error->code = ETB_UNAVAILABLE;
    error->text[0] = 'x';
    return ETB_UNAVAILABLE;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_delegate* delegate = nullptr;
  EXPECT_NE(fixture.create(&delegate), ETB_OK) << "the host is not given a success without an object";
  EXPECT_THAT(fixture.error.text, HasSubstr("returned no object"));
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-OWN-04", Side::PLUGIN, "returned no object")));

  LayerFixture other;
  other.toy.delegate.context_create = fixture.toy.delegate.context_create;
  ASSERT_EQ(other.start(), ETB_OK);
  etb_context* context = nullptr;
  EXPECT_EQ(other.delegates().context_create(other.delegate(), nullptr, 0, &context, nullptr),
            ETB_UNAVAILABLE);
  EXPECT_EQ(context, nullptr);
  EXPECT_THAT(other.found(), ElementsAre(Report("ABI-OWN-04", Side::PLUGIN, "wrote to out")));

  LayerFixture third;  // NULL is a change, too
  third.toy.delegate.context_create = [](etb_delegate*, const etb_option*, uint64_t, etb_context** out,
                                         etb_error* error) -> etb_status {
    *out = nullptr;
    error->code = ETB_UNAVAILABLE;
    error->text[0] = 'x';
    return ETB_UNAVAILABLE;
  };
  ASSERT_EQ(third.start(), ETB_OK);
  EXPECT_EQ(third.delegates().context_create(third.delegate(), nullptr, 0, &context, nullptr),
            ETB_UNAVAILABLE);
  EXPECT_THAT(third.found(), ElementsAre(Report("ABI-OWN-04", Side::PLUGIN, "wrote to out")));
}

class ValidatePayload : public ::testing::TestWithParam<ValidateOptions::Memory> {
 protected:
  ValidatePayload() : fixture_(with_memory(GetParam())) {
    fixture_.payload.release_ctx = &release_count_;
    fixture_.payload.release = [](void* ctx) { ++*static_cast<int*>(ctx); };
    fixture_.payload.data = bytes_;
  }

  bool has_guard_pages() const { return GetParam() == kGuardPages; }

  alignas(16) char bytes_[16] = "TOY1 of a test.";
  int release_count_ = 0;
  LayerFixture fixture_;
};

// proves: ABI-OWN-03
TEST_P(ValidatePayload, ReportsASecondRelease) {
  fixture_.toy.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                    etb_error* error) {
    args->payload->release(args->payload->release_ctx);
    args->payload->release(args->payload->release_ctx);
    return toy_tables().delegate.create(plugin, args, out, error);
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  fixture_.delegate();
  EXPECT_EQ(release_count_, 1) << "the host hears of it once";
  EXPECT_THAT(fixture_.found(), Contains(Report("ABI-OWN-03", Side::PLUGIN, "called again")));
}

// proves: ABI-OWN-03
TEST_P(ValidatePayload, ReportsATouchAfterRelease) {
  fixture_.toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    volatile char first = *static_cast<const char*>(toy(context)->delegate->payload.data);
    (void)first;
    return toy_tables().delegate.execute(context, args, error);
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  ASSERT_EQ(fixture_.execute(), ETB_OK);
  EXPECT_THAT(fixture_.found(), IsEmpty()) << "before it is released it may be read";
  const etb_payload_view& kept = toy_behind(fixture_.delegate())->payload;
  kept.release(kept.release_ctx);
  ASSERT_EQ(fixture_.execute(), ETB_OK) << "the run goes on";
  if (has_guard_pages()) {
    EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-OWN-03", Side::PLUGIN, "read at byte 0 of 16")));
  }
}

// proves: ABI-OWN-05
TEST_P(ValidatePayload, ReportsAWriteIntoThePayload) {
  fixture_.toy.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                                    etb_error* error) {
    const_cast<char*>(static_cast<const char*>(args->payload->data))[5] = 'X';
    return toy_tables().delegate.create(plugin, args, out, error);
  };
  ASSERT_EQ(fixture_.start(), ETB_OK);
  fixture_.delegate();
  fixture_.stop();
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-OWN-05", Side::PLUGIN, "payload")));
  EXPECT_EQ(bytes_[5] == 'X', !has_guard_pages()) << "with guard pages the host's bytes are out of reach";
}

// proves: ABI-OWN-02
TEST_P(ValidatePayload, ReportsAReleaseAfterDestroy) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  fixture_.delegate();
  const etb_payload_view kept = toy_behind(fixture_.delegate())->payload;
  fixture_.stop();
  kept.release(kept.release_ctx);
  EXPECT_EQ(release_count_, 0);
  EXPECT_THAT(fixture_.found(),
              ElementsAre(Report("ABI-OWN-02", Side::PLUGIN, "after the object that borrowed it ended")));
}

// proves: ABI-OWN-02
TEST_P(ValidatePayload, ReportsNamedDataAskedAfterDestroy) {
  const etb_named_data named{
      sizeof(named), 0, nullptr,
      [](void*, const char*, etb_payload_view*, etb_error*) -> etb_status { return ETB_OK; }};
  fixture_.delegate_args.named_data = &named;
  ASSERT_EQ(fixture_.start(), ETB_OK);
  fixture_.delegate();
  const etb_named_data kept = toy_behind(fixture_.delegate())->named_data[0];
  etb_payload_view view{};
  view.struct_size = sizeof(view);
  EXPECT_EQ(kept.get(kept.ctx, "weight", &view, nullptr), ETB_OK);
  EXPECT_THAT(fixture_.found(), IsEmpty());
  fixture_.stop();
  EXPECT_EQ(kept.get(kept.ctx, "weight", &view, nullptr), ETB_INVALID_STATE);
  EXPECT_THAT(fixture_.found(), ElementsAre(Report("ABI-OWN-02", Side::PLUGIN, "called after its end")));
}

INSTANTIATE_TEST_SUITE_P(Memory, ValidatePayload, ::testing::Values(kCanaries, kGuardPages),
                         [](const auto& row) { return row.param == kCanaries ? "Canaries" : "GuardPages"; });

// proves: ABI-OWN-01
TEST(ValidateOwnership, ReportsATouchOfArgumentsAfterTheCall) {
  LayerFixture fixture(with_memory(kGuardPages));
  static const etb_exec_args* kept;
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    kept = args;
    return toy_tables().delegate.execute(context, args, error);
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  EXPECT_THAT(fixture.found(), IsEmpty());
  volatile uint64_t late = kept->run_id;
  (void)late;
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-OWN-01", Side::PLUGIN, "args after the call: read")));
}

// proves: ABI-OWN-01
TEST(ValidateOwnership, ReportsATouchOfTensorBytesAfterTheCall) {
  LayerFixture fixture(with_memory(kGuardPages));
  static float* kept;
  fixture.toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    kept = static_cast<float*>(args->outputs[0].data);
    return toy_tables().delegate.execute(context, args, error);
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  ASSERT_EQ(fixture.execute(), ETB_OK);
  kept[1] = 5;
  EXPECT_EQ(fixture.run.out[1], 2.0f);
  EXPECT_THAT(fixture.found(), ElementsAre(Report("ABI-OWN-01", Side::PLUGIN,
                                                  "outputs[0].data after the call: write at byte 4 of 12")));
}

}  // namespace
}  // namespace etb::host
