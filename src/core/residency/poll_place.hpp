// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "core/residency/residency_request.hpp"

namespace gpushare {

/// A request, for arbitrate(), of the block that reads the workers' tables. The block runs for microseconds, and its
/// place is reserved for the next one. One SM is enough, and it must not be the last place of any launch; policies
/// sample newcomers on the first SM. Nothing where there is no such SM.
std::optional<ResidencyRequest> request_of_poll(const Device& device, const BlockNeeds& needs,
                                                std::span<const ResidencyRequest> claims);

}  // namespace gpushare
