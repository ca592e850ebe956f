// SPDX-License-Identifier: Apache-2.0
#include "core/session/jobs/begun_jobs.hpp"

#include <algorithm>

#include "core/model/job_names.hpp"

namespace gpushare {
namespace {

bool is_launch(const OpenRun& run, OperationId operation) {
  return std::holds_alternative<Launch>(run.operation(operation));
}

/// Launches of its application that have ended, and the one under way if it is not this one.
std::int64_t launches_before(const OpenRun& run, OperationId operation) {
  const ApplicationId owner = run.owner(operation);
  const std::optional<OperationId> current = run.streams().at(owner).current;
  return run.tally(owner).launches + (current && *current != operation && is_launch(run, *current) ? 1 : 0);
}

}  // namespace

BegunJobs::BegunJobs(const OpenRun& run, const LiveGpu& gpu, JobWatcher& watcher)
    : run_(run), gpu_(gpu), watcher_(watcher), begun_(gpu.begun()) {
  const auto is_known = [this](OperationId id) {
    return std::ranges::find(begun_, id, &BegunOperation::id) != begun_.end();
  };
  for (const auto& [application, stream] : run.streams()) {
    const auto& current = stream.current;
    if (current && !is_known(*current) && watcher.has_begun(*current)) begun_.push_back({*current, Stage::OffDevice});
  }
}

void BegunJobs::tell_end(OperationId operation) const {
  const EventKind kind = is_launch(run_, operation) ? EventKind::LaunchEnded : EventKind::CopyEnded;
  watcher_.saw({.time = gpu_.now(), .application = run_.owner(operation), .operation = operation, .kind = kind});
}

std::vector<OperationId> BegunJobs::on_device() const {
  std::vector<OperationId> found;
  for (const BegunOperation& each : begun_) {
    if (each.stage == Stage::OnDevice) found.push_back(each.id);
  }
  return found;
}

std::vector<OperationId> BegunJobs::launches_on_device() const {
  std::vector<OperationId> found = on_device();
  std::erase_if(found, [this](OperationId id) { return !is_launch(run_, id); });
  return found;
}

std::vector<std::string> BegunJobs::names(const std::vector<OperationId>& operations) const {
  std::vector<std::string> names;
  for (const OperationId each : operations) {
    const std::string& application = run_.state().application(run_.owner(each)).name;
    names.push_back(job_name(run_.operation(each), application, launches_before(run_, each)));
  }
  return names;
}

SessionFailure BegunJobs::blame(const std::vector<OperationId>& suspects, const std::string& message) const {
  std::unordered_map<JobId, JobFate> fates;
  for (const BegunOperation& each : begun_) {
    fates[watcher_.job_of(each.id)] = JobFate::Begun;
    if (each.stage == Stage::Ended) tell_end(each.id);
  }
  const JobFate fate = suspects.size() == 1 ? JobFate::Culprit : JobFate::Suspect;
  for (const OperationId each : suspects) fates[watcher_.job_of(each)] = fate;
  return {error(message), error("this job had begun, and what it writes is not complete: " + message),
          error("this job did not run, and may be submitted again: " + message), std::move(fates)};
}

std::exception_ptr BegunJobs::error(const std::string& message) const {
  std::exception_ptr thrown;
  try {
    gpu_.fail(message);
  } catch (...) {
    thrown = std::current_exception();
  }
  return thrown;
}

}  // namespace gpushare
