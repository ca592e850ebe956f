// SPDX-License-Identifier: Apache-2.0
// Serves the ports of all clients in one thread: round robin with a small budget for each, so that no client, however
// fast it writes, delays another for longer; a short and adaptive search for work; then sleep until the bell rings.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <thread>

#include "core/session/spin.hpp"
#include "daemon/port/server_port.hpp"

namespace gpushare::daemon {

/// A client that is no longer served, and why.
struct GoneClient {
  ClientId client{};
  std::string reason;
};

struct ServerSettings {
  std::size_t turn_commands = 16;          ///< of a client before the next one is served
  Duration most_spin = Duration(150'000);  ///< small launches take less, and then the next one comes; 0: always sleep
};

class PortServer {
 public:
  PortServer(std::shared_ptr<CommandSink> sink, ServerSettings settings = {});
  ~PortServer();

  /// Adds a client; any thread. The second part of the result is for the client.
  std::pair<std::shared_ptr<ServerPort>, ClientEnds> add(const PortLimits& limits = {});
  /// Ends serving this client, if that has not ended already; after the return, the sink gets no more calls about it.
  /// Not in threads in which the sink is called.
  void remove(ClientId client);
  /// The next client that has gone by itself (its process ended, or it broke the protocol).
  std::optional<GoneClient> wait_gone(Duration timeout);

 private:
  struct Change {
    std::shared_ptr<ServerPort> added;  // or, without it, `removed`
    ClientId removed{};
    std::promise<void>* done = nullptr;
  };

  void run();
  bool apply_changes();
  bool serve_round();
  void wait_for_work();
  bool look_for_work(std::int64_t until);
  void sleep();
  /// Hears all bells; waits for one at most so long (-1: for ever).
  void hear(int timeout_ms);
  void drop(ClientId client, const char* reason);
  void watch(int descriptor, std::uint64_t name);

  std::shared_ptr<CommandSink> sink_;
  const ServerSettings settings_;
  std::shared_ptr<ServerBell> bell_ = std::make_shared<ServerBell>();
  FileDescriptor epoll_;

  std::mutex mutex_;
  std::deque<Change> changes_;
  std::uint64_t clients_ = 0;  // so far
  std::atomic<bool> has_changes_ = false;
  std::atomic<bool> stopping_ = false;
  std::deque<GoneClient> gone_;
  std::condition_variable somebody_gone_;

  // Used by the thread alone.
  std::vector<std::shared_ptr<ServerPort>> ports_;
  std::vector<std::byte> scratch_;
  SpinBudget spin_;
  std::int64_t heard_ = 0;  // when the bells were last listened to
  std::thread thread_;
};

}  // namespace gpushare::daemon
