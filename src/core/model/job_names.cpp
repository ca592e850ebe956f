// SPDX-License-Identifier: Apache-2.0
#include "core/model/job_names.hpp"

#include <algorithm>

#include "core/model/errors.hpp"

namespace gpushare {

std::string job_name(const Operation& operation, const std::string& application, std::int64_t launches_before) {
  const auto* launch = std::get_if<Launch>(&operation);
  if (launch == nullptr) return "a copy of '" + application + "'";
  return "'" + launch->kernel.name + "' of '" + application + "' (launch " + std::to_string(launches_before) + ")";
}

std::string job_name(const Workload& workload, OperationId operation) {
  std::size_t left = index(operation);
  for (const Application& application : workload.applications) {
    const std::span operations(application.operations);
    if (left < operations.size()) {
      const auto is_launch = [](const Operation& each) { return std::holds_alternative<Launch>(each); };
      return job_name(operations[left], application.name, std::ranges::count_if(operations.first(left), is_launch));
    }
    left -= operations.size();
  }
  throw BrokenInvariant("the operation is of this workload");
}

std::string joined(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string failure_among(std::span<const std::string> on_device, const std::string& error) {
  if (on_device.empty()) return error;
  if (on_device.size() == 1) return "job " + on_device.front() + " failed: " + error;
  return "a job failed, one of: " + joined(on_device) + ": " + error;
}

}  // namespace gpushare
