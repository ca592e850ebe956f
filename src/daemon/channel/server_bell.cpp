// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/server_bell.hpp"

#include <sys/eventfd.h>

namespace gpushare::daemon {

ServerBell::ServerBell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.number() < 0) throw_errno("eventfd");
}

void ServerBell::ring() {
  if (sleeps_.load() && sleeps_.exchange(false)) ::eventfd_write(event_.number(), 1);
}

void ServerBell::hear() const {
  eventfd_t rung = 0;
  ::eventfd_read(event_.number(), &rung);
}

}  // namespace gpushare::daemon
