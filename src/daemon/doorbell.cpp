// SPDX-License-Identifier: Apache-2.0
#include "daemon/doorbell.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace gpushare::daemon {

std::pair<Doorbell, FileDescriptor> Doorbell::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("socketpair");
  return {Doorbell(FileDescriptor(ends[0])), FileDescriptor(ends[1])};
}

void Doorbell::ring() const noexcept {
  const char one = 1;
  // Whether it fails is of no interest: a full socket wakes the other side, and one that is gone is noticed on hearing.
  static_cast<void>(::send(end_.number(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool Doorbell::hear() const noexcept {
  std::array<char, 64> rung{};
  const ssize_t count = ::recv(end_.number(), rung.data(), rung.size(), MSG_DONTWAIT);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

bool Doorbell::wait(Duration timeout) const noexcept {
  pollfd waited{.fd = end_.number(), .events = POLLIN, .revents = 0};
  const std::int64_t left = std::max<std::int64_t>(timeout.count(), 0);
  const timespec until{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  if (::ppoll(&waited, 1, &until, nullptr) <= 0) return true;  // an interruption is a wake-up like any other
  return hear();
}

void Doorbell::hang_up() const noexcept { ::shutdown(end_.number(), SHUT_RDWR); }

}  // namespace gpushare::daemon
