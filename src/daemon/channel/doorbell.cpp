// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/doorbell.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>

namespace gpushare::daemon {

std::pair<Doorbell, FileDescriptor> Doorbell::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("socketpair");
  return {Doorbell(FileDescriptor(ends[0])), FileDescriptor(ends[1])};
}

void Doorbell::ring() const noexcept {
  const char one = 1;
  // Errors do not matter: a full socket wakes the other side, and a closed one is noticed when hearing.
  static_cast<void>(::send(end_.number(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool Doorbell::hear() const noexcept {
  std::array<char, 64> rung{};
  const ssize_t count = ::recv(end_.number(), rung.data(), rung.size(), MSG_DONTWAIT);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

bool Doorbell::is_hung_up() const noexcept {
  pollfd asked{.fd = end_.number(), .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLHUP) != 0;
}

void Doorbell::hang_up() const noexcept { ::shutdown(end_.number(), SHUT_RDWR); }

}  // namespace gpushare::daemon
