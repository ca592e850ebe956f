// SPDX-License-Identifier: Apache-2.0
// Calls that put nothing on the GPU and never wait, but that libraries make before every launch: not recorded, so that
// recording costs less and traces are smaller.
#pragma once

#include "record/cupti_activity.hpp"

namespace gpushare::recording {

/// Does nothing where CUPTI is too old to leave out single calls.
void leave_out_trivial_calls(const CuptiActivity& cupti);

}  // namespace gpushare::recording
