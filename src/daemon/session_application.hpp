// SPDX-License-Identifier: Apache-2.0
// Connects a client's application with the session's: it arrives there with its first launch, as policies expect.
#pragma once

#include <atomic>
#include <optional>

#include "core/session/session.hpp"

namespace gpushare::daemon {

/// For any thread. The session outlives it.
class SessionApplication {
 public:
  SessionApplication(Session& session, Application application)
      : session_(session), application_(std::move(application)), priority_(application_.priority) {}

  /// Its number in the session, where it arrives with its first operation, if it has not yet. Throws Cancelled once it
  /// has been withdrawn, and InvalidInput where the first operation cannot run, or cannot meet its terms: then it has
  /// not arrived.
  ApplicationId arrive_with(const Operation& operation);
  void withdraw();
  /// A block of it does not end; `why` says how this was found. The session fails.
  void does_not_end(std::string why);
  bool is_withdrawn();
  /// Throws PolicyError where the policy does not accept this priority.
  void set_priority(int priority);
  int priority() const { return priority_; }
  const std::string& name() const { return application_.name; }

 private:
  Session& session_;
  std::mutex mutex_;
  Application application_;
  std::atomic<int> priority_;
  std::optional<ApplicationId> number_;
  bool is_withdrawn_ = false;
};

}  // namespace gpushare::daemon
