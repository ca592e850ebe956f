// SPDX-License-Identifier: Apache-2.0
// The jobs of a session that had begun and not ended when its device failed, or was stopped: who is to blame, and what
// to tell the others.
#pragma once

#include <string>
#include <vector>

#include "core/session/job_watcher.hpp"
#include "core/session/session_failure.hpp"

namespace gpushare {

class BegunJobs {
 public:
  BegunJobs(const OpenRun& run, const LiveGpu& gpu, JobWatcher& watcher);

  /// Launches, and copies.
  std::vector<OperationId> on_device() const;
  std::vector<OperationId> launches_on_device() const;
  std::vector<std::string> names(const std::vector<OperationId>& operations) const;

  /// What the device throws, which is to blame on one of these. Of jobs whose ends the device knows and has not told
  /// yet, the watcher is told: so no more than once for a session.
  SessionFailure blame(const std::vector<OperationId>& suspects, const std::string& message) const;

 private:
  void tell_end(OperationId operation) const;
  std::exception_ptr error(const std::string& message) const;

  const OpenRun& run_;
  const LiveGpu& gpu_;
  JobWatcher& watcher_;
  std::vector<BegunOperation> begun_;
};

}  // namespace gpushare
