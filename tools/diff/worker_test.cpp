// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>

namespace etb::diff {
namespace {

using testing::HasSubstr;

Result<std::string> echo(std::string_view request) { return std::string(request); }

// Sends bytes to the other end as foreign code could, past the worker.
void send_raw(std::string_view bytes) {
  for (int fd = 3; fd < 1024; ++fd)
    if (int type = 0; [&] {
          socklen_t size = sizeof(type);
          return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
        }())
      (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

TEST(Worker, AnswersLargeRequests) {
  Worker worker(echo, 60000);
  const std::string large(size_t{40} << 20, 'x');
  const auto answer = worker.ask(large);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(*answer == large);
  EXPECT_EQ(*worker.ask(""), "");
}

TEST(Worker, AnErrorOfAnyCodeIsNoDeath) {
  Worker worker([](std::string_view) -> Result<std::string> { return make_error(Code::UNAVAILABLE, "no device"); },
                60000);
  const auto answer = worker.ask("x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::UNAVAILABLE);
  EXPECT_EQ(answer.error().message, "no device");
  EXPECT_FALSE(worker.died());
}

// A process that it started keeps the socket open.
TEST(Worker, SeesTheEndOfTheProcessWhileTheSocketIsOpen) {
  Worker worker(
      [](std::string_view) -> Result<std::string> {
        if (::fork() == 0) {
          ::sleep(100);
          ::_exit(0);
        }
        ::_exit(5);
      },
      60000);
  const auto start = std::chrono::steady_clock::now();
  const auto answer = worker.ask("x");
  ASSERT_FALSE(answer);
  EXPECT_TRUE(worker.died());
  EXPECT_THAT(answer.error().message, HasSubstr("exit code 5"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Worker, ARequestThatIsNotReadEndsInTime) {
  Worker worker([](std::string_view) -> Result<std::string> { return std::to_string(::getpid()); }, 2000);
  const auto process = worker.ask("");
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_EQ(::kill(std::stoi(*process), SIGSTOP), 0);
  const auto answer = worker.ask(std::string(size_t{40} << 20, 'x'));
  ASSERT_FALSE(answer);
  EXPECT_TRUE(worker.died());
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer within 2 s"));
}

TEST(Worker, ANumberOfBytesThatIsTooLargeEndsTheProcess) {
  Worker worker(
      [](std::string_view) -> Result<std::string> {
        const uint64_t head[2] = {0, uint64_t{1} << 39};
        send_raw({reinterpret_cast<const char*>(head), sizeof(head)});
        return std::string("answer");
      },
      60000);
  const auto answer = worker.ask("x");
  ASSERT_FALSE(answer);
  EXPECT_TRUE(worker.died());
  EXPECT_THAT(answer.error().message, HasSubstr("more than 4 GiB"));
}

// As many bytes as arrive take memory, not as many as are named.
TEST(Worker, RandomBytesAndEndsAreNoAnswers) {
  std::mt19937_64 random(7);
  for (size_t trial = 0; trial < 30; ++trial) {
    std::string bytes(random() % 40, '\0');
    for (char& one : bytes) one = static_cast<char>(random());
    if (bytes.size() >= 16 && trial % 2 == 0) {  // a number of bytes that never come
      const uint64_t head[2] = {0, (uint64_t{4} << 30) - random() % 1000};
      bytes.replace(0, sizeof(head), reinterpret_cast<const char*>(head), sizeof(head));
    }
    Worker worker(
        [&](std::string_view) -> Result<std::string> {
          send_raw(bytes);
          ::_exit(0);
        },
        60000);
    EXPECT_FALSE(worker.ask("x")) << trial;
    EXPECT_TRUE(worker.died()) << trial;
  }
}

// The socket has numbers of the standard streams then, unless it is moved.
TEST(Worker, WorksWithClosedStandardStreams) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    Worker worker(
        [](std::string_view request) -> Result<std::string> {
          (void)!::write(STDOUT_FILENO, "noise", 5);
          return std::string(request);
        },
        20000);
    const auto first = worker.ask("first"), second = worker.ask("second");
    ::_exit(first && second && *first == "first" && *second == "second" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace etb::diff
