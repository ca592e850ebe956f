// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/engine/ordering.hpp"

namespace gpushare::bindings {

/// An ordering of what comes into a session, none for "arrival". It owns the device by which it tells times. Throws
/// InvalidInput for a name or an option that it cannot have.
std::shared_ptr<Ordering> session_ordering(const std::string& name, const Device& estimates);

}  // namespace gpushare::bindings
