// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gpushare::daemon {

/// How a job has ended, for its client.
enum class JobStatus : std::uint16_t {
  Done = 0,
  Refused = 1,    ///< the command was impossible: a handle, a size
  Failed = 2,     ///< this job failed
  Withdrawn = 3,  ///< its application was cancelled
  Retryable = 4,  ///< something else failed, and this job with it
  Suspect = 5,    ///< one of several jobs that were on the device when it failed
  Culprit = 6,    ///< the only job on the device when it failed
};

}  // namespace gpushare::daemon
