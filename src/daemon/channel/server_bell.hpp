// SPDX-License-Identifier: Apache-2.0
// Wakes the port server from other threads of the worker. No client has this descriptor, so it can be an eventfd.
#pragma once

#include <atomic>

#include "daemon/channel/file_descriptor.hpp"

namespace gpushare::daemon {

/// The caller of ring() has changed something under a lock. The server announces its sleep, then checks everything
/// under the same locks, and then sleeps. If its check came before the change, its announcement did too, so ring() sees
/// it.
class ServerBell {
 public:
  ServerBell();
  void ring();
  void announce_sleep() { sleeps_.store(true); }
  void cancel_sleep() { sleeps_.store(false); }
  /// Clears the bell.
  void hear() const;
  int descriptor() const { return event_.number(); }

 private:
  FileDescriptor event_;
  std::atomic<bool> sleeps_ = false;
};

}  // namespace gpushare::daemon
