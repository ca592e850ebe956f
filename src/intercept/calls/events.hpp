// SPDX-License-Identifier: Apache-2.0
// The work of a stream that a program's event stands behind: when the event has passed, that work has ended.
#pragma once

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// The work launched in a stream when an event was recorded in it; no words where that is not known.
struct Recorded {
  StreamWords* words = nullptr;
  std::uint64_t launched = 0;
};

void remember_record(CUevent event, const StreamWords& words, std::uint64_t launched);
Recorded recorded_in(CUevent event);

}  // namespace gpushare::intercept
