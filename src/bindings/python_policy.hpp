// SPDX-License-Identifier: Apache-2.0
// Lets a policy written in Python run in the core's loop, beside the ones written in C++.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "core/engine/policy.hpp"

namespace gpushare::bindings {

/// Wraps a gpushare.Policy. Takes the GIL only for the methods that it overrides. `world` owns the objects that the
/// policy's states point to.
std::unique_ptr<Policy> wrap_python_policy(pybind11::object policy, std::shared_ptr<const void> world);

}  // namespace gpushare::bindings
