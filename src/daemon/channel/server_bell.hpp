// SPDX-License-Identifier: Apache-2.0
// Wakes the port server from other threads of the worker. No client has this descriptor, so it can be an eventfd.
#pragma once

#include <atomic>

#include "daemon/channel/file_descriptor.hpp"

namespace gpushare::daemon {

/// Whoever rings has changed something under a lock. The server announces its sleep, then looks at everything under the
/// same locks, and then sleeps. If it looked before the change, its announcement was before the change too, so ring()
/// sees it.
class ServerBell {
 public:
  ServerBell();
  void ring();
  void announce_sleep() { sleeps_.store(true); }
  void cancel_sleep() { sleeps_.store(false); }
  /// Forgets what has been rung.
  void hear() const;
  int descriptor() const { return event_.number(); }

 private:
  FileDescriptor event_;
  std::atomic<bool> sleeps_ = false;
};

}  // namespace gpushare::daemon
