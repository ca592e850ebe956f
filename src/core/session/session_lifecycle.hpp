// SPDX-License-Identifier: Apache-2.0
// The states of a session: it is open, until it is closed (or what is left is given up) or fails; in the end its thread
// does nothing more.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "core/model/errors.hpp"
#include "core/session/session_failure.hpp"

namespace gpushare {

class SessionLifecycle {
 public:
  bool is_open() const { return !failure_ && !is_closing_; }
  bool is_closing() const { return is_closing_; }
  /// Without waiting for what has not ended.
  bool gives_up() const { return is_closing_ && !given_up_.empty(); }
  const std::string& why_given_up() const { return given_up_; }
  bool is_over() const { return is_over_; }
  const SessionFailure& failure() const { return failure_; }

  /// Throws what the session has failed with, and InvalidInput where it is closed.
  void require_open() const {
    if (failure_) std::rethrow_exception(failure_.cause());
    require(!is_closing_, "the session has been finished: open another one");
  }
  /// The same for new work, which had no part in a failure.
  void require_accepts_work() const {
    if (failure_) std::rethrow_exception(failure_.of_not_run());
    require_open();
  }

  /// With a reason, what has not ended is given up. False: it was closed already.
  bool close(std::string reason) {
    if (is_closing_) return false;
    is_closing_ = true;
    given_up_ = std::move(reason);
    return true;
  }
  /// False: it had failed already, with what counts.
  bool fail(SessionFailure failure) {
    if (failure_) return false;
    failure_ = std::move(failure);
    return true;
  }
  void end() { is_over_ = true; }

 private:
  SessionFailure failure_;
  std::string given_up_;
  bool is_closing_ = false;
  bool is_over_ = false;
};

}  // namespace gpushare
