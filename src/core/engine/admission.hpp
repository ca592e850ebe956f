// SPDX-License-Identifier: Apache-2.0
// Who may use the device's memory (EffiSha section 6.4): an application whose memory does not fit beside that of those
// who have not ended waits, and starts when enough of them have. Order of arrival: who waits holds up whoever comes
// later, so that nobody starves.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/model/workload.hpp"

namespace gpushare {

class Admission {
 public:
  /// Every application fits by itself: validate() has seen to that.
  Admission(const Workload& workload, const Device& device);

  /// The application has come, and waits.
  void arrive(ApplicationId application) { waiting_.push_back(application); }
  /// It has ended, and what it had is free.
  void leave(ApplicationId application);
  /// The next one to start now, if there is one: its memory is taken.
  std::optional<ApplicationId> admit();

 private:
  std::vector<std::int64_t> bytes_;  // by ApplicationId
  std::int64_t free_;
  std::deque<ApplicationId> waiting_;
};

}  // namespace gpushare
