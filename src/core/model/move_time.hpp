// SPDX-License-Identifier: Apache-2.0
// How long the memory of an application takes from one GPU to another of the same host: over the link between them
// where both have one, else by way of the host. Both ways the slower side decides the bandwidth.
#pragma once

#include "core/model/device.hpp"

namespace gpushare {

Duration move_time(const Device& from, const Device& to, Bytes size);

}  // namespace gpushare
