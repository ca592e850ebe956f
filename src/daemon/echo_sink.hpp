// SPDX-License-Identifier: Apache-2.0
// A device that only copies, in host memory: every launch ends after a given time. For measuring and testing the data
// plane by itself.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "core/model/units.hpp"
#include "daemon/command_sink.hpp"

namespace gpushare::daemon {

class EchoSink : public CommandSink {
 public:
  /// Launches end so long after their arrival; 0: at once, in the port server's thread, as copies always do.
  explicit EchoSink(Duration after);
  ~EchoSink() override;

  void launch(LaunchCommand&& command) override;
  /// Arrays must have addresses of this process.
  void copy(CopyCommand&& command) override;
  /// Withdraws its launches.
  void client_gone(ClientId client) noexcept override;

 private:
  void run();

  const Duration after_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<std::int64_t, LaunchCommand> running_;  // by the time of the end
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace gpushare::daemon
