// SPDX-License-Identifier: Apache-2.0
// Tests whole programs that the official exporter lowered to XnnpackBackend. They run through the plugin's
// own tables, without a host, on payloads directly from the file. Results are compared with PyTorch's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "api/format/program_view.hpp"
#include "etb/cpp/tensor.hpp"
#include "etb/static_plugins.h"
#include "plugins/xnnpack/testing/program_data.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(xnnpack);
}

namespace etb::xnnpack {
namespace {

namespace fs = std::filesystem;

const fs::path kPrograms = fs::path(ETB_SOURCE_DIR) / "tests/fixtures/xnnpack";
constexpr size_t kPaddingBytes = 64;  // after every tensor, at least what the plugin requests

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(chars.data());
  return {first, first + chars.size()};
}

// A tensor of a .npy file (format 1.0 as numpy writes it).
struct Array {
  etb_dtype dtype = -1;
  std::vector<int64_t> sizes;
  std::vector<std::byte> data;  // with padding at the end
  size_t nbytes = 0;

  etb_tensor view(uint32_t role) {
    etb_tensor tensor{};
    tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
    tensor.dtype = dtype;
    tensor.rank = static_cast<uint32_t>(sizes.size());
    tensor.role = role;
    tensor.sizes = sizes.data();
    tensor.data = data.data();
    tensor.capacity_bytes = nbytes;
    return tensor;
  }
};

Array read_npy(const fs::path& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  Array array;
  uint16_t header_nbytes = 0;
  std::memcpy(&header_nbytes, bytes.data() + 8, 2);
  const std::string header(reinterpret_cast<const char*>(bytes.data()) + 10, header_nbytes);
  const std::map<std::string, etb_dtype> types = {
      {"<f4", ETB_DTYPE_FLOAT32}, {"<f2", ETB_DTYPE_FLOAT16}, {"<i8", ETB_DTYPE_INT64}};
  const size_t type_at = header.find("'descr': '") + 10;
  array.dtype = types.at(header.substr(type_at, 3));
  for (size_t at = header.find('(') + 1; header[at] != ')';) {
    array.sizes.push_back(std::stoll(header.substr(at)));
    at = header.find_first_of(",)", at);
    if (header[at] == ',') ++at;
    while (header[at] == ' ') ++at;
  }
  array.data.assign(bytes.begin() + 10 + header_nbytes, bytes.end());
  array.nbytes = array.data.size();
  array.data.resize(array.nbytes + kPaddingBytes);
  return array;
}

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float mantissa = static_cast<float>(bits & 1023);
  const float size = exponent == 0    ? std::ldexp(mantissa, -24)
                     : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

double element(const Array& array, size_t i) {
  switch (array.dtype) {
    case ETB_DTYPE_FLOAT16: {
      uint16_t bits;
      std::memcpy(&bits, array.data.data() + 2 * i, 2);
      return half_to_float(bits);
    }
    case ETB_DTYPE_INT64: {
      int64_t value;
      std::memcpy(&value, array.data.data() + 8 * i, 8);
      return static_cast<double>(value);
    }
    default: {
      float value;
      std::memcpy(&value, array.data.data() + 4 * i, 4);
      return value;
    }
  }
}

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kBareHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0", "", nullptr, no_service, nullptr};

// Allowed difference. XNNPACK's approximations of transcendental functions are within a few units in the last
// place, sums of at most 64 products within as many roundings. A quantised result may be one step off, and
// these tensors have steps below 1/16.
double tolerance(const std::string& program, etb_dtype dtype, double expected) {
  const bool is_quantised = program.rfind("q", 0) == 0;
  if (is_quantised) return 1.0 / 16;
  const double unit = dtype == ETB_DTYPE_FLOAT16 ? 0x1p-11 : 0x1p-24;
  return 64 * unit * std::max(1.0, std::abs(expected));
}

class XnnpackPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    table_ = etb_plugin_query_xnnpack(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_NE(table_, nullptr);
    ASSERT_EQ(table_->init(&kBareHost, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    file_ = read_bytes(kPrograms / (GetParam() + ".pte"));
    ASSERT_EQ(format::read_program(file_, &program_, &error_), ETB_OK) << error_.text;
  }
  void TearDown() override {
    if (context_ != nullptr) {
      EXPECT_EQ(table_->delegate->context_destroy(context_, &error_), ETB_OK);
    }
    if (delegate_ != nullptr) {
      EXPECT_EQ(table_->delegate->destroy(delegate_, &error_), ETB_OK);
    }
    if (plugin_ != nullptr) {
      EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK);
    }
  }

  void make_ready() {
    named_ = data_.table();
    const PayloadArguments given(data_.payload(), &named_);
    ASSERT_EQ(table_->delegate->create(plugin_, &given.args, &delegate_, &error_), ETB_OK) << error_.text;
    ASSERT_EQ(table_->delegate->context_create(delegate_, nullptr, 0, &context_, &error_), ETB_OK)
        << error_.text;
  }

  std::vector<Array> read_arrays(int call, const char* kind) const {
    std::vector<Array> arrays;
    for (int i = 0;; ++i) {
      const fs::path path = kPrograms / (GetParam() + ".forward." + std::to_string(call) + "." + kind + "." +
                                         std::to_string(i) + ".npy");
      if (!fs::exists(path)) return arrays;
      arrays.push_back(read_npy(path));
    }
  }

  void run_and_compare(int call) {
    std::vector<Array> inputs = read_arrays(call, "in"), expected = read_arrays(call, "out"),
                       actual = expected;
    std::vector<etb_tensor> input_views, output_views;
    for (Array& array : inputs) input_views.push_back(array.view(ETB_ROLE_INPUT));
    for (Array& array : actual) {
      std::memset(array.data.data(), 0x5a, array.data.size());
      output_views.push_back(array.view(ETB_ROLE_OUTPUT));
    }
    etb_exec_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    args.inputs = input_views.data();
    args.input_count = static_cast<uint32_t>(input_views.size());
    args.outputs = output_views.data();
    args.output_count = static_cast<uint32_t>(output_views.size());
    ASSERT_EQ(table_->delegate->execute(context_, &args, &error_), ETB_OK) << error_.text;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(actual[i].sizes, expected[i].sizes);
      const size_t count = expected[i].nbytes / (dtype_bits(expected[i].dtype) / 8);
      for (size_t e = 0; e < count; ++e) {
        const double want = element(expected[i], e);
        ASSERT_NEAR(element(actual[i], e), want, tolerance(GetParam(), expected[i].dtype, want))
            << "call " << call << " output " << i << " element " << e;
      }
    }
  }

  std::vector<std::byte> file_;
  format::ProgramView program_;
  ProgramData data_{program_, file_};
  etb_named_data named_{};  // the delegate reads it during its life
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
};

TEST_P(XnnpackPrograms, GiveTheNumbersOfPyTorch) {
  ASSERT_NO_FATAL_FAILURE(make_ready());
  int call = 0;
  for (; !read_arrays(call, "out").empty(); ++call) ASSERT_NO_FATAL_FAILURE(run_and_compare(call));
  ASSERT_GT(call, 0);
}

std::vector<std::string> program_names() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kPrograms)) {
    if (entry.path().extension() == ".pte") names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Official, XnnpackPrograms, testing::ValuesIn(program_names()),
                         [](const auto& test) { return test.param; });

// Every truncation and many single bit flips of a real payload must be rejected or create a delegate. None
// may crash.
// proves: ABI-BLOB-01
TEST_P(XnnpackPrograms, DamagedPayloadIsRefusedOrRuns) {
  const std::span<const std::byte> original = data_.payload();
  std::vector<std::byte> payload(original.begin(), original.end());
  const auto try_create = [&](const std::byte* bytes, size_t nbytes) {
    const etb_named_data named = data_.table();
    const PayloadArguments given({bytes, nbytes}, &named);
    etb_delegate* made = nullptr;
    etb_error error = ETB_ERROR_INIT;
    const etb_status status = table_->delegate->create(plugin_, &given.args, &made, &error);
    if (status == ETB_OK) {
      EXPECT_EQ(table_->delegate->destroy(made, &error), ETB_OK);
    } else {
      EXPECT_STRNE(error.text, "");
    }
    return status;
  };
  for (size_t part = 0; part < 64; ++part) {
    const size_t kept = payload.size() * part / 64;
    const bool cuts_only_padding = std::all_of(payload.begin() + static_cast<ptrdiff_t>(kept), payload.end(),
                                               [](std::byte byte) { return byte == std::byte{0}; });
    if (!cuts_only_padding) {
      EXPECT_NE(try_create(payload.data(), kept), ETB_OK) << part << "/64";
    }
  }
  for (size_t bit = 0; bit < payload.size() * 8; bit += 7) {
    payload[bit / 8] ^= std::byte{1} << (bit % 8);
    (void)try_create(payload.data(), payload.size());
    payload[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace etb::xnnpack
