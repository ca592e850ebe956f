// SPDX-License-Identifier: Apache-2.0
// The work of a run: applications, each an in-order stream of copies and launches.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/device.hpp"
#include "core/model/host_pace.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// One grid of a kernel.
struct Launch {
  Kernel kernel;
  std::int64_t blocks = 0;
  /// How long the launch takes when it has the GPU to itself, where that is known (oracle policies ask for it).
  std::optional<Duration> alone;
  HostPace pace{};
};

struct Copy {
  enum class Direction { ToDevice, ToHost };
  Direction direction = Direction::ToDevice;
  Bytes size;
  /// Duration with the engine to itself, where known; else the device's copy engine says.
  std::optional<Duration> alone{};
  HostPace pace{};
};

using Operation = std::variant<Launch, Copy>;

const HostPace& pace_of(const Operation& operation);

/// An in-order stream: an operation starts when the one before it has ended, or later by the time that its host spends.
struct Application {
  std::string name;
  Duration arrival{};
  int priority = 0;                    ///< larger is more urgent
  double weight = 1;                   ///< share under weighted policies; with an owner, share of the owner's part
  std::string owner{};                 ///< a user with several applications; empty: the application by itself
  double owner_weight = 1;             ///< share of the owner; equal in all of the owner's applications
  std::optional<Duration> deadline{};  ///< after its arrival: when it should have ended
  std::optional<double> min_speed{};   ///< share of its speed alone that it has to keep beside others
  std::optional<Duration> latency{};   ///< after it was submitted: when each of its launches should have ended
  std::vector<Operation> operations;
  Bytes memory{};  ///< of the device, from its start to its end (admission.hpp)
};

struct Workload {
  std::string name;
  std::vector<Application> applications;

  std::size_t operation_count() const;
};

/// Throws InvalidInput naming the application and the field that cannot run on this device.
void validate(const Workload& workload, const Device& device);
/// The same for one application.
void validate(const Application& application, const Device& device);
/// Throws InvalidInput for a workload without applications, or with two of one name.
void require_distinct_applications(const Workload& workload);

/// The same work with only this application in it, arriving at time 0: what "alone" means in every metric.
Workload alone(const Workload& workload, ApplicationId application);

}  // namespace gpushare
