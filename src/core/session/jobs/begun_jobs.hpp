// SPDX-License-Identifier: Apache-2.0
// The jobs of a session that had begun and not ended when its device failed or was stopped: which of them is to blame,
// and the errors of the others.
#pragma once

#include <string>
#include <vector>

#include "core/session/jobs/job_watcher.hpp"
#include "core/session/session_failure.hpp"

namespace gpushare {

class BegunJobs {
 public:
  BegunJobs(const OpenRun& run, const LiveGpu& gpu, JobWatcher& watcher);

  /// Launches, and copies.
  std::vector<OperationId> on_device() const;
  std::vector<OperationId> launches_on_device() const;
  std::vector<std::string> names(const std::vector<OperationId>& operations) const;

  /// The failure that one of these has caused. The watcher learns of ends that the device knows and has not reported
  /// yet: so this is called once for a session at most.
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
