// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks run on several devices at a time (Reach::SeveralDevices). Atomics and fences of the device's
// scope, which is that of atomics that name none, get the scope of the system. Every device then sees what one device
// would have seen: the wider scope promises all that the narrower one does.
#pragma once

#include <optional>
#include <string>

#include "core/transform/worker/worker_needs.hpp"

namespace gpushare::ptx {

/// The module's text with the wider scope.
std::string with_system_scope(const Module& module);

/// What a kernel or a function that it calls cannot do then: reduce by instructions that have the device's scope only,
/// take memory that belongs to one device, or watch memory for what other blocks write.
std::optional<Refusal> find_bound_to_one_device(const Module& module, const Function& function);

}  // namespace gpushare::ptx
