// SPDX-License-Identifier: Apache-2.0
#include "core/trace/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

void require_ntt(std::span<const double> ntt) {
  require(!ntt.empty(), "a metric needs at least one application");
  for (const double value : ntt) {
    require(std::isfinite(value) && value > 0, "an NTT must be a positive number, got " + std::to_string(value));
  }
}

}  // namespace

double normalized_turnaround(Duration shared, Duration alone) {
  require(alone.count() > 0, "the time alone must be positive to normalize by it");
  require(shared.count() >= 0, "a turnaround must not be negative, got " + std::to_string(shared.count()) + " ns");
  return nanoseconds(shared) / nanoseconds(alone);
}

double system_throughput(std::span<const double> ntt) {
  require_ntt(ntt);
  return std::transform_reduce(ntt.begin(), ntt.end(), 0.0, std::plus<>{}, [](double value) { return 1 / value; });
}

double average_normalized_turnaround(std::span<const double> ntt) {
  require_ntt(ntt);
  return std::reduce(ntt.begin(), ntt.end()) / static_cast<double>(ntt.size());
}

double strict_fairness(std::span<const double> ntt) {
  require_ntt(ntt);
  const auto [smallest, largest] = std::ranges::minmax(ntt);
  return smallest / largest;
}

double percentile(std::vector<double> values, double ratio) {
  require(!values.empty(), "a percentile needs at least one value");
  require(std::ranges::none_of(values, [](double value) { return std::isnan(value); }),
          "a percentile is of numbers, and NaN is none");
  require(ratio >= 0 && ratio <= 1, "a percentile's ratio must lie in 0..1, got " + std::to_string(ratio));
  std::ranges::sort(values);
  const double position = ratio * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

UsageMeter::UsageMeter(const Device& device, const Workload& workload)
    : applications_(workload.applications.size()),
      operation_durations_(workload.operation_count()),
      launch_arrivals_(workload.operation_count()),
      resident_(static_cast<std::size_t>(device.sms)),
      busy_since_(static_cast<std::size_t>(device.sms)),
      sm_busy_(static_cast<std::size_t>(device.sms)) {
  for (std::size_t index = 0; index < applications_.size(); ++index) {
    const Application& application = workload.applications[index];
    applications_[index].arrival = Time(application.arrival);
    for (const Operation& operation : application.operations) operations_.push_back(&operation);
  }
}

void UsageMeter::saw(const Event& event) {
  switch (event.kind) {
    case EventKind::BlockStarted:
      return block_started(event);
    case EventKind::BlockEnded:
      return block_ended(event);
    case EventKind::CopyStarted:
      return copy_started(event);
    case EventKind::CopyEnded:
      return copy_ended(event);
    case EventKind::LaunchArrived:
      launch_arrivals_[index(event.operation)] = event.time;
      return;
    case EventKind::LaunchEnded:
      operation_durations_[index(event.operation)] = event.time - launch_arrivals_[index(event.operation)];
      return;
    case EventKind::ApplicationEnded:
      applications_[index(event.application)].end = event.time;
      makespan_ = std::max(makespan_, event.time.time_since_epoch());
      return;
    default:
      return;
  }
}

void UsageMeter::block_started(const Event& event) {
  int& resident = resident_[index(event.sm)];
  if (resident == 0) busy_since_[index(event.sm)] = event.time;
  resident += event.blocks;
}

void UsageMeter::block_ended(const Event& event) {
  int& resident = resident_[index(event.sm)];
  resident -= event.blocks;
  if (resident == 0) sm_busy_[index(event.sm)] += event.time - busy_since_[index(event.sm)];
  blocks_ += event.blocks;
}

UsageMeter::CopyUse& UsageMeter::engine_of(const Event& event) {
  const auto& copy = std::get<Copy>(*operations_[index(event.operation)]);
  return copy.direction == Copy::Direction::ToDevice ? to_device_ : to_host_;
}

void UsageMeter::copy_started(const Event& event) {
  CopyUse& engine = engine_of(event);
  if (engine.copies++ == 0) engine.since = event.time;
}

void UsageMeter::copy_ended(const Event& event) {
  operation_durations_[index(event.operation)] = event.time - event.started;
  CopyUse& engine = engine_of(event);
  if (--engine.copies == 0) engine.busy += event.time - engine.since;
}

}  // namespace gpushare
