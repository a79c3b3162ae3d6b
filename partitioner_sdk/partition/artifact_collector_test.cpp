// SPDX-License-Identifier: Apache-2.0
// Tests named blobs of artifacts: constants by name, and one content per key.
#include "partitioner_sdk/partition/artifact_collector.hpp"

#include <gtest/gtest.h>

namespace etb::partition {
namespace {

class Blobs : public testing::Test {
 protected:
  Blobs() {
    ir::Constant constant;
    constant.name = "w";
    constant.dtype = ir::Dtype::UINT8;
    constant.sizes = {3};
    constant.strides = {1};
    constant.storage = bytes_;
    key_ = keys_.of(constant).key;
    const etb_blob_writer* writer = nullptr;
    EXPECT_EQ(collector_.sink().begin_payload(collector_.sink().ctx, 0, &writer), ETB_OK);
  }
  etb_status put(const char* constant_key, std::span<const std::byte> bytes) {
    etb_named_blob blob{};
    blob.struct_size = ETB_INIT_SIZE(etb_named_blob);
    blob.key = "k";
    blob.constant_key = constant_key;
    blob.value = {bytes.data(), bytes.size()};
    return collector_.sink().named_blob(collector_.sink().ctx, &blob);
  }

  const std::vector<std::byte> bytes_ = {std::byte{1}, std::byte{2}, std::byte{3}};
  ConstantKeys keys_;
  std::string key_;
  ArtifactCollector collector_{1, keys_};
};

TEST_F(Blobs, MayNameAConstantOnceAndBringItsBytesAgain) {
  EXPECT_EQ(put(key_.c_str(), {}), ETB_OK);
  EXPECT_EQ(put(nullptr, bytes_), ETB_OK);
  EXPECT_TRUE(collector_.failure());
}

TEST_F(Blobs, OfOneKeyHaveOneContent) {
  EXPECT_EQ(put(key_.c_str(), {}), ETB_OK);
  EXPECT_NE(put(nullptr, std::span(bytes_).first(2)), ETB_OK);
  EXPECT_FALSE(collector_.failure());
}

}  // namespace
}  // namespace etb::partition
