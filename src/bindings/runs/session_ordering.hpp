// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/engine/ordering.hpp"

namespace gpushare::bindings {

/// An ordering of a session's operations, none for "arrival". It owns the device for which it estimates times. Throws
/// InvalidInput for an unknown name or option.
std::shared_ptr<Ordering> session_ordering(const std::string& name, const Device& estimates);

}  // namespace gpushare::bindings
