// SPDX-License-Identifier: Apache-2.0
// Sorts the launches of a moment by how they are served: first on every SM, side by side, or queued until there is
// room.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/tuning/active_applications.hpp"
#include "core/tuning/allocation/sm_allocation.hpp"
#include "core/tuning/kernel_catalogue.hpp"

namespace gpushare {

/// A part of the GPU side by side with others; nothing is `running` while the application's next launch is predicted.
struct CoRunSlot {
  ApplicationId application{};
  std::optional<OperationId> running{};
  std::shared_ptr<CatalogueEntry> kernel{};
  double alone = 0;                   ///< nanoseconds that the launch takes alone; 0: not known
  double as_written = 0;              ///< the same of the original kernel, where that has been measured
  std::optional<double> min_speed{};  ///< asked for by the application, or by the policy for all
  bool fills_gpu = false;             ///< has it blocks enough for most of every SM?
  /// Nanoseconds that the latency bound leaves for the launch's work: without the way to the GPU and back, and without
  /// a last wave.
  double time_for_work = std::numeric_limits<double>::infinity();
  double latency_bound = std::numeric_limits<double>::infinity();
  Contender contender;

  bool has_latency_bound() const { return time_for_work < std::numeric_limits<double>::infinity(); }
  /// The speed that keeps what was asked for: the minimum speed and the latency bound. nullopt where neither was.
  std::optional<double> least_speed() const;
};

/// Launches are named by number: the schedule stays valid while excluded launches come and go.
struct CoSchedule {
  /// Urgent launches, and those that end before an SM could change hands, unless they fill much of the GPU again and
  /// again.
  std::vector<OperationId> first;
  std::vector<CoRunSlot> slots;     ///< by application
  std::vector<OperationId> queued;  ///< in order of arrival

  std::vector<Contender> contenders() const;
};

struct ClassifierOptions {
  /// A launch that takes no longer alone is not worth a new allocation. See also Tuning::sms_per_block_of_small.
  Duration small{};
  std::optional<double> min_speed{};  ///< of applications that ask for none
};

class LaunchClassifier {
 public:
  LaunchClassifier(const State& state, const ActiveApplications& active, KernelCatalogue& catalogue,
                   const ClassifierOptions& options)
      : state_(state), active_(active), catalogue_(catalogue), options_(options) {}

  /// All running launches but the excluded ones, and predicted arrivals. A launch goes first if its latency bound could
  /// not be kept with the whole GPU, or if it has such a bound and an unprofiled kernel.
  CoSchedule classify(const std::function<bool(OperationId)>& is_excluded) const;

 private:
  void add(CoSchedule& schedule, const ActiveApplications::PredictedArrival& arrival,
           const RunningLaunch* running) const;
  void set_weights(CoSchedule& schedule) const;
  bool costs_little(const ActiveApplications::PredictedArrival& arrival, const CatalogueEntry& kernel) const;
  CoRunSlot slot_for(const ActiveApplications::PredictedArrival& arrival, const RunningLaunch* running,
                     const std::shared_ptr<CatalogueEntry>& kernel) const;
  Duration unavoidable_delay(const Kernel& kernel) const;

  const State& state_;
  const ActiveApplications& active_;
  KernelCatalogue& catalogue_;
  const ClassifierOptions& options_;
};

/// Is every launch known to take at most so many nanoseconds alone?
bool are_short(const CoSchedule& schedule, double longest_alone);

bool has_latency_bound(const CoSchedule& schedule);

/// May the launches run one after the other? Not where one leaves a part of the GPU idle, nor where an application has
/// a minimum speed, or a latency bound shorter than one launch of each.
bool can_run_serially(const CoSchedule& schedule);

}  // namespace gpushare
