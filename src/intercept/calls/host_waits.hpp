// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "intercept/membership.hpp"

namespace gpushare::intercept {

/// While a thread waits, its program has something to do, though it launches nothing.
class WaitMark {
 public:
  explicit WaitMark(const Membership* member) : member_(member) {
    if (member_ != nullptr) ++member_->slot->waiting;
  }
  ~WaitMark() {
    if (member_ != nullptr) --member_->slot->waiting;
  }
  WaitMark(const WaitMark&) = delete;
  WaitMark& operator=(const WaitMark&) = delete;

 private:
  const Membership* member_;
};

}  // namespace gpushare::intercept
