// SPDX-License-Identifier: Apache-2.0
#include "core/engine/application_streams.hpp"

#include <algorithm>

namespace gpushare {

// FNV-1a over the name, then over the place.
std::uint64_t identity_of(std::string_view application, std::size_t before) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const char letter : application) mix(static_cast<unsigned char>(letter));
  mix(before);
  return hash;
}

ApplicationStreams::ApplicationStreams(const Workload& workload)
    : workload_(&workload),
      next_operation_(workload.applications.size(), 0),
      unfinished_(workload.applications.size()) {
  std::size_t operations = 0;
  for (std::size_t application = 0; application < workload.applications.size(); ++application) {
    by_arrival_.push_back(static_cast<ApplicationId>(application));
    first_operation_.push_back(operations);
    operations += workload.applications[application].operations.size();
  }
  std::ranges::stable_sort(by_arrival_, {}, [&](ApplicationId id) { return workload.applications[index(id)].arrival; });
}

std::optional<Time> ApplicationStreams::next_arrival() const {
  if (arrived_ == by_arrival_.size()) return std::nullopt;
  return Time(workload_->applications[index(by_arrival_[arrived_])].arrival);
}

ApplicationId ApplicationStreams::arrive() { return by_arrival_[arrived_++]; }

std::optional<Submission> ApplicationStreams::next(ApplicationId application) {
  const std::optional<Submission> next = peek(application);
  ++next_operation_[index(application)];
  if (!next) --unfinished_;
  return next;
}

std::optional<Submission> ApplicationStreams::peek(ApplicationId application) const {
  const Application& stream = workload_->applications[index(application)];
  const std::size_t next = next_operation_[index(application)];
  if (next == stream.operations.size()) return std::nullopt;
  return Submission{.id = static_cast<OperationId>(first_operation_[index(application)] + next),
                    .application = application,
                    .operation = &stream.operations[next],
                    .identity = identity_of(stream.name, next)};
}

}  // namespace gpushare
