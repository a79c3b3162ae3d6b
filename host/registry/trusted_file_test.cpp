// SPDX-License-Identifier: Apache-2.0
#include "host/registry/trusted_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/format/hex.hpp"
#include "host/registry/digest.hpp"
#include "host/registry/system_library.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string open_directory(const std::string& path, const TrustPolicy& policy = {}) {
  const auto fd = open_trusted_directory(path, policy);
  return fd ? "ok" : fd.error().message;
}

std::string open_file(const ScratchDir& dir, std::string_view relative, const TrustPolicy& policy = {}) {
  const auto folder = open_trusted_directory(dir.path(), {});
  const auto fd = open_trusted_file(folder->get(), relative, policy);
  return fd ? *read_text_file(fd->get(), 100) : fd.error().message;
}

TEST(TrustedDirectory, OpensTheUsersOwn) {
  const ScratchDir dir;
  EXPECT_EQ(open_directory(dir.path()), "ok");
  EXPECT_EQ(open_directory(dir.path() + "//."), "ok");
}

TEST(TrustedDirectory, RefusesRelativePathsAndWhatIsNotThere) {
  const ScratchDir dir;
  EXPECT_THAT(open_directory("plugins.d"), HasSubstr("not an absolute path"));
  EXPECT_THAT(open_directory(""), HasSubstr("not an absolute path"));
  EXPECT_EQ(open_trusted_directory(dir.path("none"), {}).error().code, Code::NOT_FOUND);
  EXPECT_EQ(open_trusted_directory(dir.write("file", ""), {}).error().code, Code::NOT_FOUND);
}

TEST(TrustedDirectory, RefusesWhatOthersMayWrite) {
  const ScratchDir dir;
  ::chmod(dir.path().c_str(), 0777);
  EXPECT_THAT(open_directory(dir.path()),
              AllOf(HasSubstr(dir.path()), HasSubstr("writable by everybody (mode 0777)")));
  ::chmod(dir.path().c_str(), 01777);
  EXPECT_THAT(open_directory(dir.path()), HasSubstr("writable by everybody (mode 1777)"))
      << "sticky is for parents only";
  ::chmod(dir.path().c_str(), 0775);
  EXPECT_THAT(open_directory(dir.path()), HasSubstr("writable by its group"));
}

TEST(TrustedDirectory, RefusesParentsThatOthersMayWrite) {
  const ScratchDir dir;
  dir.write("open/inner/x", "");
  ::chmod(dir.path("open").c_str(), 0777);
  EXPECT_THAT(open_directory(dir.path("open/inner")), HasSubstr("/open: writable by everybody"));
  ::chmod(dir.path("open").c_str(), 01777);
  EXPECT_EQ(open_directory(dir.path("open/inner")), "ok");
}

TEST(TrustedDirectory, RefusesForeignOwners) {
  const ScratchDir dir;
  TrustPolicy other;
  other.user = 12345;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(dir.path().c_str(), 4711, 0), 0);
    EXPECT_THAT(open_directory(dir.path()), HasSubstr("owned by user 4711, expected root or user 0"));
    EXPECT_EQ(open_directory(dir.path(), {4711, false}), "ok");
  } else {
    EXPECT_THAT(open_directory(dir.path(), other), HasSubstr("expected root or user 12345"));
  }
}

TEST(TrustedDirectory, SecureModeTakesNoStickyParent) {
  const ScratchDir dir;
  dir.write("sticky/inner/x", "");
  ::chmod(dir.path("sticky").c_str(), 01777);
  TrustPolicy secure;
  secure.root_only = true;
  EXPECT_NE(open_directory(dir.path("sticky/inner"), secure), "ok");
}

TEST(TrustedDirectory, FollowsTrustedLinksOnly) {
  const ScratchDir dir;
  dir.write("real/inner/x", "");
  ASSERT_EQ(::symlink("real/inner", dir.path("relative").c_str()), 0);
  ASSERT_EQ(::symlink(dir.path("real").c_str(), dir.path("absolute").c_str()), 0);
  ASSERT_EQ(::symlink("loop", dir.path("loop").c_str()), 0);
  EXPECT_EQ(open_directory(dir.path("relative")), "ok");
  EXPECT_EQ(open_directory(dir.path("absolute/inner")), "ok");
  EXPECT_THAT(open_directory(dir.path("loop")), HasSubstr("more than 40 symbolic links"));
  ::chmod(dir.path("real").c_str(), 0777);
  EXPECT_THAT(open_directory(dir.path("relative")), HasSubstr("/real: writable by everybody"));
}

TEST(TrustedFile, OpensBeneathOnly) {
  const ScratchDir dir;
  dir.write("lib/a.so", "content");
  EXPECT_EQ(open_file(dir, "lib/a.so"), "content");
  for (const char* path : {"../a.so", "lib/../lib/a.so", "/etc/passwd", "lib//a.so", "./a.so", "", "lib/"})
    EXPECT_THAT(open_file(dir, path), HasSubstr("not a path beneath a folder")) << path;
  EXPECT_THAT(open_file(dir, "lib/b.so"), HasSubstr("lib/b.so: No such file"));
}

TEST(TrustedFile, ANulDoesNotEndAName) {
  const ScratchDir dir;
  dir.write("a.so", "content");
  EXPECT_THAT(open_file(dir, std::string_view("a.so\0b", 6)), HasSubstr("not a path beneath a folder"));
  EXPECT_THAT(open_directory(dir.path() + std::string("\0x", 2)), HasSubstr("not an absolute path"));
}

TEST(TrustedFile, GivesTheFolderThatHoldsTheFile) {
  const ScratchDir dir;
  dir.write("lib/deep/a.so", "content");
  const auto folder = open_trusted_directory(dir.path(), {});
  const auto found = open_trusted_file_and_folder(folder->get(), "lib/deep/a.so", {});
  ASSERT_TRUE(found) << found.error().message;
  const auto expected = open_trusted_directory(dir.path("lib/deep"), {});
  EXPECT_EQ(file_state(found->folder.get())->inode, file_state(expected->get())->inode);
}

TEST(SystemFile, FollowsTrustedLinksOnly) {
  const ScratchDir dir;
  const auto open = [&](const std::string& name, const TrustPolicy& policy = {}) {
    const auto file = open_system_file(dir.path(name), policy);
    return file ? file->path : file.error().message;
  };
  dir.write("lib/libx.so.1.2", "content");
  ASSERT_EQ(::symlink("libx.so.1.2", dir.path("lib/libx.so.1").c_str()), 0);
  ASSERT_EQ(::symlink("lib", dir.path("usual").c_str()), 0);
  EXPECT_EQ(open("usual/libx.so.1"), dir.path("lib/libx.so.1.2"));
  EXPECT_THAT(open("lib"), HasSubstr("a folder, expected a file"));
  EXPECT_THAT(open("lib/none.so"), HasSubstr("No such file"));
  TrustPolicy secure;
  secure.root_only = true;
  EXPECT_THAT(open("lib/libx.so.1.2", secure), HasSubstr("writable by everybody"))
      << "the test's folder is in a sticky one";
  ::chmod(dir.path("lib/libx.so.1.2").c_str(), 0666);
  EXPECT_THAT(open("usual/libx.so.1"), HasSubstr("libx.so.1.2: writable by everybody"));
  ::chmod(dir.path("lib/libx.so.1.2").c_str(), 0644);
  ::chmod(dir.path("lib").c_str(), 0777);
  EXPECT_THAT(open("usual/libx.so.1"), HasSubstr("lib: writable by everybody"));
}

TEST(SystemFolders, ComeFromTheLoadersConfiguration) {
  const ScratchDir dir;
  dir.write("conf.d/b.conf", "/opt/b # a comment\n");
  dir.write("conf.d/a.conf", "/opt/a:/opt/a2, /opt/a3=libc6\nhwcap 1 /opt/not\nrelative\n");
  dir.write("ld.so.conf", "include conf.d/*.conf\n/opt/last\n");
  std::vector<std::string> folders = system_folders({}, dir.path("ld.so.conf"));
  ASSERT_GT(folders.size(), 5u);
  EXPECT_EQ(folders[folders.size() - 1], "/usr/lib");
  folders.resize(5);
  EXPECT_THAT(folders, ElementsAre("/opt/a", "/opt/a2", "/opt/a3", "/opt/b", "/opt/last"));
  ::chmod(dir.path("conf.d/a.conf").c_str(), 0666);
  EXPECT_EQ(system_folders({}, dir.path("ld.so.conf"))[0], "/opt/b") << "others may write the other";
}

TEST(TrustedFile, FollowsNoLink) {
  const ScratchDir dir, outside;
  outside.write("a.so", "outside");
  ASSERT_EQ(::symlink(outside.path("a.so").c_str(), dir.path("a.so").c_str()), 0);
  ASSERT_EQ(::symlink(outside.path().c_str(), dir.path("lib").c_str()), 0);
  EXPECT_THAT(open_file(dir, "a.so"), HasSubstr("a.so: a symbolic link"));
  EXPECT_THAT(open_file(dir, "lib/a.so"), HasSubstr("lib: a symbolic link"));
}

TEST(TrustedFile, RefusesWhatIsNoPlainFile) {
  const ScratchDir dir;
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  dir.write("folder/x", "");
  EXPECT_THAT(open_file(dir, "fifo"), HasSubstr("fifo: not a regular file"))
      << "and does not wait for a writer";
  EXPECT_THAT(open_file(dir, "folder"), HasSubstr("folder: not a regular file"));
  EXPECT_THAT(open_file(dir, "folder/x/y"), HasSubstr("folder/x: not a folder"));
}

TEST(TrustedFile, RefusesWhatOthersMayWrite) {
  const ScratchDir dir;
  ::chmod(dir.write("a.so", "x").c_str(), 0646);
  EXPECT_THAT(open_file(dir, "a.so"), HasSubstr("a.so: writable by everybody (mode 0646)"));
  dir.write("lib/b.so", "x");
  ::chmod(dir.path("lib").c_str(), 0775);
  EXPECT_THAT(open_file(dir, "lib/b.so"), HasSubstr("lib: writable by its group"));
}

TEST(TrustedFile, ReadsAtMostWhatIsAllowed) {
  const ScratchDir dir;
  dir.write("big", std::string(101, 'x'));
  const auto folder = open_trusted_directory(dir.path(), {});
  const auto fd = open_trusted_file(folder->get(), "big", {});
  EXPECT_THAT(read_text_file(fd->get(), 100).error().message,
              HasSubstr("found 101 bytes, expected at most 100"));
}

TEST(ListDirectory, SortsBytewiseAndSkipsHiddenFiles) {
  const ScratchDir dir;
  for (const char* name : {"b.json", "B.json", "a.json", ".hidden.json", "a.txt", "sub/c.json", ".json"})
    dir.write(name, "");
  const auto folder = open_trusted_directory(dir.path(), {});
  EXPECT_THAT(*list_directory(folder->get(), ".json", 10), ElementsAre("B.json", "a.json", "b.json"));
  EXPECT_THAT(list_directory(folder->get(), ".json", 2).error().message, HasSubstr("more than 2 files"));
}

TEST(Digest, IsSha256) {
  const std::string text = "abc";  // FIPS 180-2, appendix B.1
  const auto digest = sha256_of(MemoryBytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  EXPECT_EQ(format::to_hex(*digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace etb::host
