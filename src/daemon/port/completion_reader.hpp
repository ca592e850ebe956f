// SPDX-License-Identifier: Apache-2.0
// The client's side of the ring of completions: records of which every byte may be wrong become ends of jobs.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/channel/ring.hpp"
#include "daemon/port/port_jobs.hpp"

namespace gpushare::daemon {

class CompletionReader : public RingReader {
 public:
  CompletionReader(RingControl& control, std::span<const std::byte> bytes);

  /// The next end of a job; nullopt where there is none. Throws PeerViolation.
  std::optional<std::pair<JobNumber, JobResult>> read_end();

 private:
  std::vector<std::byte> record_;
};

}  // namespace gpushare::daemon
