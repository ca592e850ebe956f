// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/fork_guard.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>

namespace gpushare::daemon {
namespace {

// Held over a fork, so that the child finds the list whole and can unlock it.
std::mutex list_mutex;
ForkGuard* first = nullptr;

}  // namespace

void ForkGuard::before_fork() { list_mutex.lock(); }

void ForkGuard::in_parent() { list_mutex.unlock(); }

void ForkGuard::in_child() {
  // Only calls that a signal handler may make: other threads may have held any lock when they vanished.
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (ForkGuard* guard = first; guard != nullptr; guard = guard->next_) {
    guard->is_in_child_ = true;
    if (nothing >= 0) ::dup3(nothing, guard->descriptor_, O_CLOEXEC);
  }
  if (nothing >= 0) ::close(nothing);
  list_mutex.unlock();
}

ForkGuard::ForkGuard(int descriptor) : descriptor_(descriptor) {
  static const int registered = ::pthread_atfork(&before_fork, &in_parent, &in_child);
  static_cast<void>(registered);
  const std::lock_guard lock(list_mutex);
  next_ = first;
  first = this;
}

ForkGuard::~ForkGuard() {
  const std::lock_guard lock(list_mutex);
  ForkGuard** link = &first;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

}  // namespace gpushare::daemon
