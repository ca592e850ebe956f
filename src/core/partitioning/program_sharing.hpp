// SPDX-License-Identifier: Apache-2.0
// Whole programs whose kernels run at the same time (Kernel::program_block). The GPU lets go of a kernel at block
// boundary only, so programs with short blocks run together, and one with long blocks, which would keep every SM from
// the others for that long, takes turns with them. While a program with a positive priority has work, those of lower
// priority with long blocks are held.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/engine/policy.hpp"

namespace gpushare {

class ProgramSharing {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);
  Plan plan(const State& state) const;

 private:
  /// The programs that may run beside each other.
  struct Turn {
    std::optional<ApplicationId> owner;  ///< the only one, with long blocks; none: all with short blocks
    std::vector<const RunningLaunch*> launches;
  };
  static std::vector<Turn> turns(const State& state);

  std::optional<ApplicationId> owner_;  // of the present turn
  Time turn_ends_{};
};

/// The policy for launches of kernels; those of such programs are shared as above, from the first one on.
class UnlessOfPrograms : public Policy {
 public:
  explicit UnlessOfPrograms(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  void begin(std::uint64_t seed) override { policy_->begin(seed); }
  void check(const Application& application) const override { policy_->check(application); }
  bool admits(const RunningLaunch& launch, const State& state) override;
  void observe(const Event& event, const State& state) override;
  bool wants(const Event& event) const override { return are_programs_ ? Policy::wants(event) : policy_->wants(event); }
  Plan decide(const State& state) const override {
    return are_programs_ ? programs_.plan(state) : policy_->decide(state);
  }

 private:
  std::unique_ptr<Policy> policy_;
  ProgramSharing programs_;
  bool are_programs_ = false;
};

}  // namespace gpushare
