// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_reply.hpp"

#include <ctime>

namespace gpushare::daemon {

std::int64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace gpushare::daemon
