// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend bind`: the code that it writes, and the lists that it refuses. tests/select/custom_kernels.sh compiles
// such code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/bind/bindings.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;

std::string bound(const std::string& yaml, const std::string& function = "") {
  const Result<OpList> list = parse_op_list(yaml, "ops.yaml");
  if (!list) return "refused: " + list.error().message;
  const Result<std::string> code = write_bindings(*list, "ops.yaml", function);
  return code ? *code : "refused: " + code.error().message;
}

TEST(BindCommand, WritesAWrapperItsChecksAndARow) {
  EXPECT_EQ(bound("header: scale.hpp\n"
                  "- func: my::scale(Tensor x, float factor=2.0) -> Tensor\n"
                  "  kernel: scale\n"),
            R"text(// Written by `etbackend bind` from ops.yaml.
#include <optional>
#include <span>
#include <string_view>

#include "scale.hpp"
#include "host/module/kernel_library.hpp"
#include "host/runtime/kernel_binding.hpp"

namespace {

using namespace etb::host;

// my::scale(Tensor x, float factor=2.0) -> Tensor
using Function0 = BoundFunction<decltype(&scale)>;
static_assert(Function0::kIsKernel, "my::scale.out: scale must return etb_status, and its first parameter must be etb::host::KernelContext&; the schema is my::scale(Tensor x, float factor=2.0) -> Tensor");
static_assert(Function0::has_count<3>(), "my::scale.out: scale must have 3 parameters after the context: x, factor, out; the schema is my::scale(Tensor x, float factor=2.0) -> Tensor");
static_assert(Function0::has<0, const Tensor&>(), "my::scale.out: parameter 2 of scale is for the argument 'x' and must be const Tensor&; the schema is my::scale(Tensor x, float factor=2.0) -> Tensor");
static_assert(Function0::has<1, double>(), "my::scale.out: parameter 3 of scale is for the argument 'factor' and must be double; the schema is my::scale(Tensor x, float factor=2.0) -> Tensor");
static_assert(Function0::has<2, Tensor&>(), "my::scale.out: parameter 4 of scale is for the argument 'out' and must be Tensor&; the schema is my::scale(Tensor x, float factor=2.0) -> Tensor");
etb_status call_0(KernelContext& context, EValue** values) {
  const KernelArguments args(values);
  return scale(context, args.read_tensor(0), args.read_float(1), args.read_written_tensor(2));
}

constexpr Kernel kRows[] = {
    Kernel("my::scale.out", "TdT!", &call_0),
};

}  // namespace

ETB_EXPORT_KERNELS(kRows)
)text");
}

TEST(BindCommand, EachTypeOfASchemaHasAParameterAndALetter) {
  const std::string code = bound(
      "- func: my::all(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, Scalar e, Scalar? f, int g, int? h, "
      "int[] i, int[]? j, "
      "float k, float? l, float[] m, bool n, bool? o, str p, str? q, ScalarType r, ScalarType? s) -> "
      "Tensor\n");
  EXPECT_THAT(code, HasSubstr("Kernel(\"my::all.out\", \"TtLMSsinIjdeDbczyinT!\", &call_0)"));
  EXPECT_THAT(code, HasSubstr("has<1, const Tensor*>()"));
  EXPECT_THAT(code, HasSubstr("has<9, std::optional<IntList>>()"));
  EXPECT_THAT(code, HasSubstr("has<16, std::optional<std::string_view>>()"));
  EXPECT_THAT(code, HasSubstr("must have 20 parameters"));
}

TEST(BindCommand, ListsForExecuTorchAreRead) {
  const std::string code = bound(
      "# ops\n- func: my::scale.into(Tensor x, float factor, *, Tensor(a!) out) -> Tensor(a!)\n  variants: "
      "function\n"
      "  kernels:\n    - arg_meta: null\n      kernel_name: vendor::scale_into\n"
      "- func: \"my::twice(Tensor x) -> (Tensor, Tensor)\"\n",
      "my_rows");
  EXPECT_THAT(code, HasSubstr("return vendor::scale_into(context, args.read_tensor(0), args.read_float(1), "
                              "args.read_written_tensor(2));"));
  EXPECT_THAT(code, HasSubstr("Kernel(\"my::scale.into\", \"TdT!\", &call_0)"));
  EXPECT_THAT(code,
              HasSubstr("return my::twice_out(context, args.read_tensor(0), args.read_written_tensor(1), "
                        "args.read_written_tensor(2));"));
  EXPECT_THAT(code, HasSubstr("etb::host::KernelRows my_rows() { return kRows; }"));
  EXPECT_THAT(code, testing::Not(HasSubstr("ETB_EXPORT_KERNELS")));
}

TEST(BindCommand, RefusesWhatItCannotRead) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "ops.yaml: no op"},
      {"# nothing\n", "ops.yaml: no op"},
      {"kernel: f\n", "ops.yaml:1: a kernel before the first op"},
      {"- func: my::f(Tensor x) -> Tensor\n  kernel: f(1)\n",
       "ops.yaml:2: 'f(1)' is no name of a C++ function"},
      {"- func: my::f(Tensor x) -> Tensor\n  kernel: f\n  kernel: g\n",
       "ops.yaml:3: a second kernel of one op"},
      {"- func: my::f(Tensor x) -> Tensor\n  dtype: int\n", "ops.yaml:2: the key 'dtype'"},
      {"header: \"a\\\"b\"\n", "ops.yaml:1: a header without a name"},
      {"- func: my::f(Tensor x -> Tensor\n", "my::f"},
      {"- func: aten::add.Tensor(Tensor a) -> Tensor\n", "aten"},
      {"- func: my::f(Tensor x, Device d) -> Tensor\n", "no C++ type for argument 'd'"}};
  for (const auto& [yaml, why] : cases) {
    const std::string text = bound(yaml);
    EXPECT_THAT(text, testing::StartsWith("refused: ")) << yaml;
    EXPECT_THAT(text, HasSubstr(why)) << yaml;
  }
}

TEST(BindCommand, AMissingFileIsAnError) {
  const CliRun run = cli({"bind", "/nonexistent/ops.yaml"});
  EXPECT_EQ(run.exit, 3);
  EXPECT_THAT(run.err, HasSubstr("/nonexistent/ops.yaml"));
}

}  // namespace
}  // namespace etb::tools
