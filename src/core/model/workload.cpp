// SPDX-License-Identifier: Apache-2.0
#include "core/model/workload.hpp"

#include <cmath>
#include <set>

#include "core/model/errors.hpp"
#include "core/model/residency.hpp"

namespace gpushare {
namespace {

std::string shown(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// Prefixes every complaint with its application and operation. The text is built only where a check fails: with a
/// thousand launches a run would begin milliseconds late otherwise.
class Complaints {
 public:
  explicit Complaints(std::string subject) : subject_(std::move(subject)) {}

  void require_positive(std::string_view field, double value) const {
    if (!(std::isfinite(value) && value > 0)) refuse(field, " must be a positive number, got ", value);
  }

  void require_not_negative(std::string_view field, double value) const {
    if (!(std::isfinite(value) && value >= 0)) refuse(field, " must not be negative, got ", value);
  }

  void require_ratio(std::string_view field, double value) const {
    if (!(value >= 0 && value <= 1)) refuse(field, " must lie in 0..1, got ", value);
  }

  void require_that(bool holds, std::string_view message) const {
    if (!holds) refuse(message);
  }

  [[noreturn]] void refuse(std::string_view message) const {
    throw InvalidInput(subject_ + ": " + std::string(message));
  }

 private:
  [[noreturn]] void refuse(std::string_view field, std::string_view expected, double value) const {
    refuse(std::string(field) + std::string(expected) + shown(value));
  }

  std::string subject_;
};

void validate_needs(const Complaints& complaints, const BlockNeeds& needs, const Device& device) {
  complaints.require_positive("threads per block", needs.threads);
  complaints.require_not_negative("registers per thread", needs.registers_per_thread);
  complaints.require_not_negative("shared memory per block", static_cast<double>(needs.shared_memory.count));
  const ResidencyLimits limits = residency_limits(device, needs);
  if (limits.smallest() > 0) return;
  complaints.refuse("a block of " + std::to_string(needs.threads) + " threads, " +
                    std::to_string(needs.registers_per_thread) + " registers per thread and " +
                    std::to_string(needs.shared_memory.count) + " bytes of shared memory fits no SM of " + device.name +
                    " (too much: " + limits.tightest() + ")");
}

void validate_cost(const Complaints& complaints, const BlockCost& cost) {
  complaints.require_positive("latency of a block", nanoseconds(cost.latency));
  complaints.require_not_negative("issue time of a block", nanoseconds(cost.issue));
  complaints.require_that(cost.issue <= cost.latency, "issue time of a block must not exceed its latency");
  complaints.require_not_negative("off-SM bytes of a block", static_cast<double>(cost.off_sm.count));
  complaints.require_ratio("LLC hit ratio", cost.llc_hit_ratio);
  complaints.require_not_negative("DRAM cost ratio", cost.dram_cost_ratio);
  complaints.require_not_negative("time of a block in memory", nanoseconds(cost.memory));
  complaints.require_not_negative("variation ratio", cost.variation_ratio);
  complaints.require_not_negative("startup ratio", cost.startup_ratio);
  complaints.require_ratio("stagger ratio", cost.stagger_ratio);
  complaints.require_ratio("size of the trend ratio", std::abs(cost.trend_ratio));
}

void validate_pace(const Complaints& complaints, const HostPace& pace) {
  complaints.require_not_negative("time of the host before it", nanoseconds(pace.host));
  complaints.require_not_negative("time of the host after the operation before",
                                  nanoseconds(pace.after.value_or(Duration::zero())));
  complaints.require_not_negative("gap before it", nanoseconds(pace.gap));
}

void validate_copy(const Complaints& complaints, const Copy& copy) {
  complaints.require_positive("size in bytes", static_cast<double>(copy.size.count));
  if (copy.alone) complaints.require_positive("time alone", nanoseconds(*copy.alone));
}

void validate_operation(const std::string& application, const Operation& operation, const Device& device) {
  if (const auto* launch = std::get_if<Launch>(&operation)) {
    const Complaints complaints("application '" + application + "', kernel '" + launch->kernel.name + "'");
    complaints.require_positive("number of blocks", static_cast<double>(launch->blocks));
    validate_needs(complaints, launch->kernel.needs, device);
    validate_cost(complaints, launch->kernel.cost);
    validate_pace(complaints, launch->pace);
  } else {
    const Complaints complaints("application '" + application + "', copy");
    validate_copy(complaints, std::get<Copy>(operation));
    validate_pace(complaints, std::get<Copy>(operation).pace);
  }
}

/// A deadline is impossible if the known durations alone exceed it.
void require_possible_deadline(const Application& application, const Complaints& complaints) {
  if (!application.deadline) return;
  complaints.require_positive("deadline", nanoseconds(*application.deadline));
  Duration alone{};
  for (const Operation& operation : application.operations) {
    const auto* launch = std::get_if<Launch>(&operation);
    if (launch != nullptr && launch->alone) alone += *launch->alone;
  }
  complaints.require_that(*application.deadline >= alone,
                          "a deadline " + std::to_string(application.deadline->count()) +
                              " ns after its arrival cannot be met: it takes " + std::to_string(alone.count()) +
                              " ns with the GPU to itself");
}

void require_possible_min_speed(const Application& application, const Complaints& complaints) {
  if (!application.min_speed) return;
  complaints.require_positive("min_speed", *application.min_speed);
  complaints.require_that(*application.min_speed <= 1, "a min_speed of " + shown(*application.min_speed) +
                                                           " cannot be kept: 1 is its speed with the GPU to itself");
}

void require_possible_latency(const Application& application, const Complaints& complaints) {
  if (!application.latency) return;
  complaints.require_positive("latency", nanoseconds(*application.latency));
  for (const Operation& operation : application.operations) {
    const auto* launch = std::get_if<Launch>(&operation);
    if (launch == nullptr || !launch->alone || *launch->alone <= *application.latency) continue;
    complaints.refuse("a latency of " + std::to_string(application.latency->count()) +
                      " ns cannot be met: a launch of kernel '" + launch->kernel.name + "' takes " +
                      std::to_string(launch->alone->count()) + " ns with the GPU to itself");
  }
}

}  // namespace

const HostPace& pace_of(const Operation& operation) {
  return std::visit([](const auto& each) -> const HostPace& { return each.pace; }, operation);
}

std::size_t Workload::operation_count() const {
  std::size_t count = 0;
  for (const Application& application : applications) count += application.operations.size();
  return count;
}

void require_distinct_applications(const Workload& workload) {
  require(!workload.applications.empty(),
          "workload '" + workload.name + "' is empty: add at least one application with one operation");
  std::set<std::string> names;
  for (const Application& application : workload.applications) {
    Complaints("application '" + application.name + "'")
        .require_that(names.insert(application.name).second, "the name is used twice in this workload");
  }
}

void validate(const Application& application, const Device& device) {
  const Complaints complaints("application '" + application.name + "'");
  complaints.require_that(!application.operations.empty(), "no operations: add a launch or a copy");
  complaints.require_not_negative("arrival", nanoseconds(application.arrival));
  complaints.require_positive("weight", application.weight);
  complaints.require_positive("weight of the owner", application.owner_weight);
  complaints.require_not_negative("memory in bytes", static_cast<double>(application.memory.count));
  complaints.require_that(device.memory.count == 0 || application.memory <= device.memory,
                          "it needs " + std::to_string(application.memory.count) + " bytes of memory, but " +
                              device.name + " has " + std::to_string(device.memory.count));
  require_possible_deadline(application, complaints);
  require_possible_min_speed(application, complaints);
  require_possible_latency(application, complaints);
  for (const Operation& operation : application.operations) validate_operation(application.name, operation, device);
}

void validate(const Workload& workload, const Device& device) {
  require_distinct_applications(workload);
  for (const Application& application : workload.applications) validate(application, device);
}

Workload alone(const Workload& workload, ApplicationId application) {
  Application copy = workload.applications.at(index(application));
  copy.arrival = Duration::zero();
  return {.name = copy.name + " alone", .applications = {std::move(copy)}};
}

}  // namespace gpushare
