// SPDX-License-Identifier: Apache-2.0
// Dedicated SMs for launches of a few blocks that run in their original form.
//
// An SM serves the warps of its oldest blocks first (docs/results/shared-sms.md), and workers are as old as their
// launch. A block of 12 us beside seven of a Mandelbrot set may take 700 us: until those leave. So where workers leave
// within some tens of microseconds, such a launch has as few SMs emptied as hold it, from the last one on, instead of a
// place made for it on every SM. Behind workers that take longer a place is better: the first one is free long before
// any SM is.
#pragma once

#include <vector>

#include "core/residency/residency_request.hpp"

namespace gpushare {

/// Changes the requests of fast-ending launches that would make others leave. In rank order, as for arbitrate(). Once a
/// quarter of the SMs is assigned in this way, further ones wait for the earlier ones, which end soon.
void request_dedicated_sms(std::vector<ResidencyRequest>& launches);

}  // namespace gpushare
