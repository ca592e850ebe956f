// SPDX-License-Identifier: Apache-2.0
// Copies between arrays in host memory and arenas, in a separate thread: a gigabyte takes too long for threads that
// serve several clients. One copy at a time, in order of arrival.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "daemon/command_sink.hpp"

namespace gpushare::daemon {

/// Makes the copy now. The array must have an address of this process.
void copy_in_host_memory(const CopyCommand& command);

class HostCopier {
 public:
  HostCopier() : thread_([this] { run(); }) {}
  ~HostCopier();

  /// Makes the copy and then replies, with its start time (JobOutcome::started).
  void copy(CopyCommand&& command, std::int64_t started);

 private:
  struct QueuedCopy {
    CopyCommand command;
    std::int64_t started = 0;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<QueuedCopy> waiting_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace gpushare::daemon
