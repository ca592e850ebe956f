// SPDX-License-Identifier: Apache-2.0
// Admission by device memory (EffiSha section 6.4): an application starts when its memory fits beside that of the
// running ones. Admission is in order of arrival, without overtaking, so that no application starves.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/model/workload.hpp"

namespace gpushare {

class Admission {
 public:
  /// No application that does not fit by itself may arrive.
  Admission(const Workload& workload, const Device& device);

  /// The application has arrived, and waits.
  void arrive(ApplicationId application) { waiting_.push_back(application); }
  /// The application has ended, or is on another device now, and its memory is free.
  void leave(ApplicationId application);
  /// The application comes from another device. Its memory is taken if it fits, and if none waits for its turn.
  bool take(ApplicationId application);
  /// The application waits no longer: it goes to another device.
  void forget(ApplicationId application) { std::erase(waiting_, application); }
  /// The next application to start now, if there is one; its memory is taken.
  std::optional<ApplicationId> admit();

 private:
  std::vector<std::int64_t> bytes_;  // by ApplicationId
  std::int64_t free_;
  std::deque<ApplicationId> waiting_;
};

}  // namespace gpushare
