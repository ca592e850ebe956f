// SPDX-License-Identifier: Apache-2.0
// Sessions on several devices as one: applications in the order in which they came, and the times of all sessions by
// the clock of the first.
#pragma once

#include <vector>

#include "core/session/session.hpp"

namespace gpushare {

/// What one of the sessions has, and the time on the first session's clock when its own is 0.
template <typename Part>
struct OfDevice {
  Part part;
  Duration offset{};
};

/// One record: numbers of applications and operations are anew, and SMs are numbered through all devices, of which
/// `sms` has the numbers of theirs (core/trace/device_events.hpp).
SessionRecord merged(std::vector<OfDevice<SessionRecord>> records, const std::vector<int>& sms);

/// Each application with its device.
SessionStatus merged(std::vector<OfDevice<SessionStatus>> parts);

SessionPast merged(std::vector<OfDevice<SessionPast>> parts);

}  // namespace gpushare
