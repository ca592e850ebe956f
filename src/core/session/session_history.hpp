// SPDX-License-Identifier: Apache-2.0
// What a session without an end did lately: operations from submission over their first block to their end, the
// quotas the plans gave, and how many SMs applications held. What is older is forgotten, as is an application that has
// ended and that nothing here tells of any more, so memory does not grow.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/session/open_run/open_run.hpp"
#include "core/session/recent_log.hpp"

namespace gpushare {

/// An application that the past tells of; it may have ended. Shared by all that tells of it.
struct PastApplication {
  ApplicationId id{};
  std::string name{};
};
using PastApplicationPtr = std::shared_ptr<const PastApplication>;

struct PastOperation {
  PastApplicationPtr application{};
  std::string kernel{};  ///< empty: a copy
  Time submitted{};
  std::optional<Time> began{};  ///< its first block, or the copy; none: it was cancelled before
  Time end{};
  bool is_cancelled = false;
  bool is_under_way = false;  ///< `end` is the moment of the look
};

/// While the application had a launch and a plan gave it something.
struct PastQuota {
  PastApplicationPtr application{};
  std::string quota{};      ///< as short_form() writes it
  std::int64_t blocks = 0;  ///< on all SMs together
  Time begin{};
  Time end{};
};

/// On how many SMs an application has blocks from `time` on (SmOccupancySteps).
struct PastHold {
  PastApplicationPtr application{};
  int sms = 0;
  Time time{};
  Time end{};  ///< of the time that it is known for
};

struct SessionPast {
  Time now{};
  std::vector<PastOperation> operations{};  ///< in the order of their ends, then those under way
  std::vector<PastQuota> quotas{};          ///< likewise
  std::vector<PastHold> holds{};            ///< in the order of their times per application
};

/// On how many SMs an application has blocks, as a step function that is exact where the application comes to the
/// device and leaves it, and otherwise has a step in a tenth of a millisecond: enough for a picture.
class SmOccupancySteps {
 public:
  static constexpr Duration least_apart{100'000};

  struct Step {
    Time time{};
    int sms = 0;  ///< from then on
  };

  /// There are so many from `now` on; an earlier number at the same instant does not count. Returns the step before, if
  /// it is to be kept.
  std::optional<Step> change(int sms, Time now) {
    const std::optional<Step> kept = now > last_.time ? keep(now) : std::nullopt;
    last_ = {.time = now, .sms = sms};
    return kept;
  }

  int sms() const { return last_.sms; }
  Step last() const { return last_; }

 private:
  std::optional<Step> keep(Time now) {
    const bool comes_or_goes = last_.sms == 0 || kept_.sms == 0;
    if (last_.sms == kept_.sms || (!comes_or_goes && now - kept_.time < least_apart)) return std::nullopt;
    kept_ = last_;
    return kept_;
  }

  Step last_;
  Step kept_;
};

class SessionHistory : public RunObserver {
 public:
  /// Keeps so many operations, as many quotas, and as many steps of SMs held.
  explicit SessionHistory(std::size_t most) : operations_(most), quotas_(most), holds_(most) {}

  /// Called before anything happens.
  void watch(const OpenRun& run) { run_ = &run; }
  /// To be called right after OpenRun::submit.
  void submitted(OperationId operation, Time now);
  /// An operation was withdrawn before it was the first of its application.
  void dropped(OperationId operation) { submitted_[index(operation)].reset(); }

  void saw(const Event& event) override;
  void decided(const Plan& plan) override;

  /// What ended at `since` or later, and what has not. From any thread; operations that have never been first in their
  /// application are not among them.
  SessionPast since(Time since, Time now) const;

 private:
  struct Present {
    PastApplicationPtr application;
    std::optional<PastOperation> operation;
    Quota quota = Quota::nowhere();
    Time quota_since{};
    SmOccupancySteps::Step held_lately;
    // Without the mutex, as the session's thread alone looks at these:
    std::uint64_t plan = 0;  // the last that gave it something
    SmOccupancySteps held;
  };

  Present& of(ApplicationId application);
  Present* find(ApplicationId application);
  void forget(ApplicationId application, Time now);
  void arrive(const Event& event);
  void begin(const Event& event);
  void end(const Event& event);
  void count_sms(const Event& event);
  void hold(Present& present, int sms, Time now);
  void give(Present& present, const Quota& quota, Time now);
  std::optional<PastQuota> quota_of(const Present& present, Time now) const;

  const OpenRun* run_ = nullptr;
  std::vector<std::optional<Time>> submitted_;  // by OperationId, of those that wait
  std::vector<ApplicationId> holders_;          // of a quota, by the plan in force
  std::vector<ApplicationId> before_;           // by the one before it
  std::uint64_t plans_ = 0;

  mutable std::mutex mutex_;  // of what follows; only the session's thread changes it
  std::map<ApplicationId, Present> present_;
  RecentLog<PastOperation> operations_;
  RecentLog<PastQuota> quotas_;
  RecentLog<PastHold> holds_;
};

}  // namespace gpushare
