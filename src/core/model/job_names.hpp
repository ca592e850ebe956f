// SPDX-License-Identifier: Apache-2.0
// The names of jobs in messages, and the message for a device's failure: the same words everywhere.
#pragma once

#include <span>
#include <string>

#include "core/model/workload.hpp"

namespace gpushare {

/// 'saxpy' of 'alice' (launch 3): launches of an application are counted from 0. For a copy: a copy of 'alice'.
std::string job_name(const Operation& operation, const std::string& application, std::int64_t launches_before);

/// The name of an operation of a workload, in which launches are counted per application.
std::string job_name(const Workload& workload, OperationId operation);

/// one, two, three
std::string joined(std::span<const std::string> names);

/// A device does not report which of the launches on it has failed: it was one of several.
std::string failure_among(std::span<const std::string> on_device, const std::string& error);

}  // namespace gpushare
