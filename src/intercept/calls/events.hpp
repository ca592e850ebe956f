// SPDX-License-Identifier: Apache-2.0
// Which work of which stream a program's events stand behind: where one has passed, so has that.
#pragma once

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// What had been launched in a stream when an event was recorded in it; no words where that is not known.
struct Recorded {
  StreamWords* words = nullptr;
  std::uint64_t launched = 0;
};

void remember_record(CUevent event, const StreamWords& words, std::uint64_t launched);
Recorded recorded_in(CUevent event);

}  // namespace gpushare::intercept
