// SPDX-License-Identifier: Apache-2.0
// Metrics of a run. Definitions: Eyerman and Eeckhout (IEEE Micro 2008) for STP and ANTT, Vandierendonck and Seznec
// (2011) for StrictF, both as SRTF section 6 uses them.
#pragma once

#include <span>
#include <vector>

#include "core/engine/engine.hpp"

namespace gpushare {

/// T_shared / T_alone of one application: 1 is undisturbed, larger is slower.
double normalized_turnaround(Duration shared, Duration alone);

/// System throughput, the sum of 1 / NTT: how many applications' worth of work the GPU does at a time.
double system_throughput(std::span<const double> ntt);

/// Average normalized turnaround time, the mean of NTT.
double average_normalized_turnaround(std::span<const double> ntt);

/// Smallest slowdown / largest slowdown: 1 is fair.
double strict_fairness(std::span<const double> ntt);

/// The value below which `ratio` of the values lie, interpolated linearly between neighbours.
double percentile(std::vector<double> values, double ratio);

/// The arrival of an application according to the workload, and its end. A busy scheduler may see the arrival later; in
/// a session an application arrives when the session's thread takes it.
struct ApplicationTimes {
  Time arrival{};
  Time end{};
  Duration turnaround() const { return end - arrival; }
};

/// Measures a run as it happens: turnarounds, and how long each SM and each copy engine was busy.
class UsageMeter : public RunObserver {
 public:
  UsageMeter(const Device& device, const Workload& workload);
  void saw(const Event& event) override;

  const std::vector<ApplicationTimes>& applications() const { return applications_; }
  /// Per SM: time with at least one resident block.
  const std::vector<Duration>& sm_busy() const { return sm_busy_; }
  Duration to_device_busy() const { return to_device_.busy; }
  Duration to_host_busy() const { return to_host_.busy; }
  /// Per operation: from its arrival (for a launch: when the scheduler saw it) or start (for a copy) to its end.
  const std::vector<Duration>& operation_durations() const { return operation_durations_; }
  /// From time 0 to the end of the last application.
  Duration makespan() const { return makespan_; }
  std::int64_t blocks() const { return blocks_; }

 private:
  void block_started(const Event& event);
  void block_ended(const Event& event);
  /// A direction of the copy engines is busy while a copy has started and not ended; pieces of several may interleave.
  struct CopyUse {
    int copies = 0;
    Time since{};
    Duration busy{};
  };

  void copy_started(const Event& event);
  void copy_ended(const Event& event);
  CopyUse& engine_of(const Event& event);

  std::vector<const Operation*> operations_;
  std::vector<ApplicationTimes> applications_;
  std::vector<Duration> operation_durations_;
  std::vector<Time> launch_arrivals_;
  std::vector<int> resident_;
  std::vector<Time> busy_since_;
  std::vector<Duration> sm_busy_;
  CopyUse to_device_{};
  CopyUse to_host_{};
  Duration makespan_{};
  std::int64_t blocks_ = 0;
};

}  // namespace gpushare
