// SPDX-License-Identifier: Apache-2.0
#include "daemon/session_application.hpp"

namespace gpushare::daemon {

ApplicationId SessionApplication::arrive_with(const Operation& operation) {
  const std::scoped_lock lock(mutex_);
  if (is_withdrawn_) throw Cancelled("application '" + application_.name + "' has been cancelled");
  if (number_) return *number_;
  number_ = session_.add(application_, operation);
  return *number_;
}

void SessionApplication::withdraw() {
  const std::scoped_lock lock(mutex_);
  is_withdrawn_ = true;
  if (number_) session_.withdraw(*number_);
}

void SessionApplication::does_not_end(std::string why) {
  const std::scoped_lock lock(mutex_);
  if (number_) session_.fail_for(*number_, std::move(why));
}

bool SessionApplication::is_withdrawn() {
  const std::scoped_lock lock(mutex_);
  return is_withdrawn_;
}

void SessionApplication::set_priority(int priority) {
  std::unique_lock lock(mutex_);
  application_.priority = priority;
  const std::optional<ApplicationId> number = is_withdrawn_ ? std::nullopt : number_;
  lock.unlock();  // the session's thread answers, and may be waiting for the lock
  if (number) session_.set_priority(*number, priority);
  priority_ = priority;
}

}  // namespace gpushare::daemon
