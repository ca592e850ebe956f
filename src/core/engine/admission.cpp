// SPDX-License-Identifier: Apache-2.0
#include "core/engine/admission.hpp"

#include <limits>

namespace gpushare {

Admission::Admission(const Workload& workload, const Device& device)
    : free_(device.memory.count > 0 ? device.memory.count : std::numeric_limits<std::int64_t>::max()) {
  for (const Application& application : workload.applications) {
    bytes_.push_back(device.memory.count > 0 ? application.memory.count : 0);
  }
}

void Admission::leave(ApplicationId application) { free_ += bytes_[index(application)]; }

bool Admission::take(ApplicationId application) {
  if (!waiting_.empty() || bytes_[index(application)] > free_) return false;
  free_ -= bytes_[index(application)];
  return true;
}

std::optional<ApplicationId> Admission::admit() {
  if (waiting_.empty() || bytes_[index(waiting_.front())] > free_) return std::nullopt;
  const ApplicationId first = waiting_.front();
  waiting_.pop_front();
  free_ -= bytes_[index(first)];
  return first;
}

}  // namespace gpushare
