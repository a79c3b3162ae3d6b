// SPDX-License-Identifier: Apache-2.0
// File and memory-map loaders on a file in a temporary folder.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "host/loaders/buffer_loader.hpp"
#include "host/loaders/file_loader.hpp"
#include "host/loaders/mmap_loader.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

// A file of 10000 bytes, byte i is i % 251.
class Loaders : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "etb_loaders_" + std::to_string(::getpid());
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i % 251);
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(std::fwrite(bytes_.data(), 1, bytes_.size(), file), bytes_.size());
    std::fclose(file);
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  // Checks that the loader returns the file's bytes from `start` on.
  void expect_bytes(DataLoader& loader, size_t start, uint64_t expected_nbytes) {
    uint64_t nbytes = 0;
    ASSERT_EQ(loader.size(&nbytes, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(nbytes, expected_nbytes);
    for (const auto& [offset, length] :
         {std::pair<uint64_t, uint64_t>{0, 64}, {128, 1000}, {nbytes - 1, 1}, {nbytes, 0}}) {
      DataBlock block;
      ASSERT_EQ(loader.load(offset, length, 16, &block, &error_), ETB_OK) << error_.text;
      ASSERT_EQ(block.bytes().size(), length);
      EXPECT_EQ(std::memcmp(block.bytes().data(), bytes_.data() + start + offset, length), 0);
      std::vector<std::byte> copy(length);
      ASSERT_EQ(loader.read(offset, copy, &error_), ETB_OK) << error_.text;
      EXPECT_TRUE(std::equal(copy.begin(), copy.end(), block.bytes().begin()));
    }
    for (const auto& [offset, length] : {std::pair<uint64_t, uint64_t>{0, nbytes + 1},
                                         {nbytes + 1, 0},
                                         {nbytes, 1},
                                         {1, ~uint64_t{0}},
                                         {~uint64_t{0}, 2}}) {
      DataBlock block;
      EXPECT_EQ(loader.load(offset, length, 16, &block, &error_), ETB_ACCESS_FAILED);
      EXPECT_THAT(error_.text, HasSubstr("bytes at"));
    }
  }

  std::string path_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(10000);
  etb_error error_ = ETB_ERROR_INIT;
};

TEST_F(Loaders, ReadAFile) {
  FileLoader loader;
  ASSERT_EQ(loader.open(path_.c_str(), &error_), ETB_OK) << error_.text;
  expect_bytes(loader, 0, bytes_.size());
}

TEST_F(Loaders, MapAFile) {
  MmapLoader loader;
  ASSERT_EQ(loader.open(path_.c_str(), MmapLoader::Lock::kTry, &error_), ETB_OK) << error_.text;
  expect_bytes(loader, 0, bytes_.size());
}

TEST_F(Loaders, RestWithoutForgetting) {
  const std::string large = path_ + ".large";
  std::vector<std::byte> bytes(4 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 24);
  std::ofstream(large, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), 4 << 20);
  MmapLoader loader;
  ASSERT_EQ(loader.open(large.c_str(), MmapLoader::Lock::kNone, &error_), ETB_OK) << error_.text;
  DataBlock block;
  ASSERT_EQ(loader.load(0, bytes.size(), 16, &block, &error_), ETB_OK);
  const auto resident = [&] {
    std::ifstream maps("/proc/self/smaps");
    bool is_ours = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(large) != std::string::npos) is_ours = true;
      if (is_ours && line.rfind("Rss:", 0) == 0) return std::stoul(line.substr(4));
    }
    return 0ul;
  };
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), block.bytes().begin()));
  EXPECT_EQ(resident(), 4096u) << "KB";
  loader.rest();
  EXPECT_EQ(resident(), 0u) << "KB";
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), block.bytes().begin()));
  std::filesystem::remove(large);
}

TEST_F(Loaders, SeeAPartOfAnOpenFile) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  FileLoader read;
  MmapLoader mapped;
  ASSERT_EQ(read.open(descriptor, 5000, 3000, &error_), ETB_OK) << error_.text;
  ASSERT_EQ(mapped.open(descriptor, 5000, 0, MmapLoader::Lock::kNone, &error_), ETB_OK) << error_.text;
  ::close(descriptor);  // the loaders have duplicates
  expect_bytes(read, 5000, 3000);
  expect_bytes(mapped, 5000, 5000);
}

TEST_F(Loaders, SeeABuffer) {
  BufferLoader loader(bytes_);
  expect_bytes(loader, 0, bytes_.size());
}

TEST_F(Loaders, KeepTheBoundaryOfAnOffset) {
  FileLoader loader;
  ASSERT_EQ(loader.open(path_.c_str(), &error_), ETB_OK);
  for (const uint64_t offset : {0U, 64U, 4096U, 8192U}) {
    DataBlock block;
    ASSERT_EQ(loader.load(offset, 100, 64, &block, &error_), ETB_OK);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.bytes().data()) % 64, 0U);
  }
}

TEST_F(Loaders, SayWhatCannotBeOpened) {
  FileLoader loader;
  EXPECT_EQ(loader.open("/nonexistent/file.pte", &error_), ETB_NOT_FOUND);
  EXPECT_STREQ(error_.text, "/nonexistent/file.pte: No such file or directory");
  EXPECT_EQ(loader.open("/", &error_), ETB_ACCESS_FAILED);
  EXPECT_STREQ(error_.text, "/: not a regular file");
  MmapLoader mapped;
  const int descriptor = ::open(path_.c_str(), O_RDONLY);
  EXPECT_EQ(mapped.open(descriptor, 9000, 2000, MmapLoader::Lock::kNone, &error_), ETB_ACCESS_FAILED);
  EXPECT_STREQ(error_.text, "2000 bytes at 9000 of a file of 10000");
  ::close(descriptor);
  uint64_t nbytes = 0;
  EXPECT_EQ(mapped.size(&nbytes, &error_), ETB_INVALID_STATE);
}

}  // namespace
}  // namespace etb::host
