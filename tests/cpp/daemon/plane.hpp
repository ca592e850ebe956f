// SPDX-License-Identifier: Apache-2.0
// A port server and clients of it in this process.
#pragma once

#include "daemon/echo_sink.hpp"
#include "daemon/port/client_port.hpp"
#include "daemon/port_server.hpp"

namespace gpushare::test {

using namespace gpushare::daemon;
using namespace std::chrono_literals;

constexpr std::size_t argument_bytes = 24;

/// What a client is allowed to name.
struct ClientHandles {
  Handle application = 0;
  Handle kernel = 0;
};

inline ClientHandles give_handles(ServerPort& port) {
  return {.application = port.tables().applications.add(std::make_shared<ApplicationEntry>("alice")),
          .kernel = port.tables().kernels.add(
              std::make_shared<KernelEntry>(KernelEntry{.name = "scale", .argument_bytes = argument_bytes}))};
}

/// The worker's end and the client's end of a connection, and what the client may name.
struct TestClient {
  explicit TestClient(PortServer& server, const PortLimits& limits = {}, Duration most_spin = 20us)
      : TestClient(server.add(limits), most_spin) {}

  LaunchRequest request() const {
    return {.application = handles.application, .kernel = handles.kernel, .grid = {100, 1, 1}, .arguments = arguments};
  }
  JobNumber launch() { return port.launch(request()); }

  /// Waits for a job that touches memory of this test. ThreadSanitizer does not know that the two sides' mappings are
  /// one memory, so the worker's lock says in addition that one came before the other.
  std::optional<JobResult> wait_for_memory(JobNumber job) {
    auto completion = port.wait(job, 20s);
    at_worker->statistics();
    return completion;
  }

  std::array<std::byte, argument_bytes> arguments{};
  std::shared_ptr<ServerPort> at_worker;
  ClientPort port;
  ClientHandles handles;

 private:
  TestClient(std::pair<std::shared_ptr<ServerPort>, ClientEnds> opened, Duration most_spin)
      : at_worker(std::move(opened.first)),
        port(std::move(opened.second.memory), std::move(opened.second.doorbell), most_spin),
        handles(give_handles(*at_worker)) {}
};

inline std::shared_ptr<EchoSink> echo(Duration after = {}) { return std::make_shared<EchoSink>(after); }

/// Launches end when the test says so. Does not copy.
class HeldSink : public CommandSink {
 public:
  void launch(LaunchCommand&& command) override {
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(command.reply));
  }
  void copy(CopyCommand&&) override { throw std::logic_error("no copies here"); }
  void client_gone(ClientId) noexcept override {}  // its jobs go on, as blocks do that have begun

  void end_all() {
    while (end_last()) continue;
  }
  /// Of those that have come; false if there is none.
  bool end_last() {
    const std::lock_guard lock(mutex_);
    if (held_.empty()) return false;
    held_.back().complete({});
    held_.pop_back();
    return true;
  }
  /// Likewise.
  bool end_first() {
    const std::lock_guard lock(mutex_);
    if (held_.empty()) return false;
    held_.front().complete({});
    held_.erase(held_.begin());
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<JobReply> held_;
};

}  // namespace gpushare::test
