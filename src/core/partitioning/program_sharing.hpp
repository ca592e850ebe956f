// SPDX-License-Identifier: Apache-2.0
// Whole programs beside each other (Kernel::program_block): each one goes or is held, on all SMs alike. They go
// together, which costs none of them a hold, until they have been measured to get clearly less done than one after the
// other would. Then they take turns for a while, and longer each time that this is found again, or until turns have
// shown that alone they do no more than that.
//
// What a program does is counted in blocks. Those in which its work ends or is held have not been done, so the blocks
// that end with a launch do not count, nor those of a program that is held. Programs with a priority above 0 go first
// all the time, and are not measured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/engine/policy.hpp"

namespace gpushare {

class ProgramSharing {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);
  /// Is there a reason for another plan? To be asked about the event that was observed last.
  bool wants() const { return is_changed_; }
  Plan plan(const State& state) const;

 private:
  struct Progress {
    double done = 0;          ///< in this window, or in this turn
    std::int64_t latest = 0;  ///< the blocks that have ended last, all at `ended`: these may have ended with a launch
    Time ended{};
    double alone = 0;     ///< blocks per nanosecond; 0: not known
    double together = 0;  ///< the same beside the others
  };

  void count(const Event& event);
  void watch_together(const State& state);
  void close_window(Time now);
  void open_window(Time now);
  double worth_together() const;
  void watch_turns(const State& state);
  void end_turn(Time now);
  static double all_done(Progress& progress, Time now);

  std::map<ApplicationId, Progress> progress_;  // of those that have not ended
  double block_ns_ = 0;
  std::set<ApplicationId> members_;   // that have had work in this window
  std::set<ApplicationId> measured_;  // in the windows before it
  std::vector<double> worths_;        // of these windows
  Time began_{};                      // the window, or the turn
  Time turn_ends_{};
  std::optional<Time> turns_until_;  // while they take turns
  Duration patience_{};              // for which they will take turns the next time
  std::optional<ApplicationId> owner_;
  std::size_t first_ = 0;  // of more programs than SMs
  bool is_changed_ = false;
};

/// The policy for launches of kernels; those of whole programs are shared as above, from the first one on.
class UnlessOfPrograms : public Policy {
 public:
  explicit UnlessOfPrograms(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  void begin(std::uint64_t seed) override { policy_->begin(seed); }
  void check(const Application& application) const override { policy_->check(application); }
  bool admits(const RunningLaunch& launch, const State& state) override;
  void observe(const Event& event, const State& state) override;
  bool wants(const Event& event) const override { return are_programs_ ? programs_.wants() : policy_->wants(event); }
  Plan decide(const State& state) const override {
    return are_programs_ ? programs_.plan(state) : policy_->decide(state);
  }

 private:
  std::unique_ptr<Policy> policy_;
  ProgramSharing programs_;
  bool are_programs_ = false;
};

}  // namespace gpushare
