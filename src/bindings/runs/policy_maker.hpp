// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings/bindings.hpp"
#include "core/session/session.hpp"

namespace gpushare::bindings {

/// Makes a policy from a name or an instance of a Python policy. Throws InvalidInput for an unknown name, and for an
/// oracle: sessions do not know the future.
Session::MakePolicy maker_of(const py::object& policy);

}  // namespace gpushare::bindings
