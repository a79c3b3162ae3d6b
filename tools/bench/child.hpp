// SPDX-License-Identifier: Apache-2.0
// Child: a process that answers messages. A backend that crashes ends its own variant only.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "etb/cpp/result.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::bench {

// One end of the connection between the two processes.
class Channel {
 public:
  explicit Channel(host::FileDescriptor socket) : socket_(std::move(socket)) {}

  bool send(std::string_view message);
  // Returns nothing if the other process has ended, or `interrupted` became true, or the time is over.
  // `timeout` 0: waits without limit.
  std::optional<std::string> receive(const std::atomic<bool>* interrupted = nullptr,
                                     std::chrono::milliseconds timeout = {});

 private:
  bool read_all(char* to, size_t nbytes, const std::atomic<bool>* interrupted,
                std::chrono::steady_clock::time_point end);

  host::FileDescriptor socket_;
};

class Child {
 public:
  // Forks. `body` runs in the new process, with its end of the channel. Call it while this process has one
  // thread.
  [[nodiscard]] static Result<Child> start(const std::function<void(Channel&)>& body);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}
  Child& operator=(Child&&) = delete;
  ~Child();  // ends the process

  // Sends a message, unless it is empty, and returns the answer. Errors state how the process ended.
  [[nodiscard]] Result<std::string> ask(std::string_view message, const std::atomic<bool>& interrupted,
                                        std::chrono::milliseconds timeout = {});

  pid_t pid() const { return pid_; }  // -1 after its end was noticed

 private:
  Child(pid_t pid, Channel channel) : pid_(pid), channel_(std::move(channel)) {}
  tl::unexpected<Error> describe_end(const std::atomic<bool>& interrupted);

  pid_t pid_;
  Channel channel_;
};

}  // namespace etb::bench
