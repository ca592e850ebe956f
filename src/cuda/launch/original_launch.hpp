// SPDX-License-Identifier: Apache-2.0
// A launch that runs in its original form, to its end, once it has a quota anywhere: because its kernel cannot be
// preempted, or because it ends before a preemption would help.
//
// The application's next launch, if it is as short, can be queued behind this one, to run on the same SMs. Not once the
// policy wants it elsewhere: it would never get there, as long as the application has launches.
#pragma once

#include "cuda/launch/grids.hpp"
#include "cuda/launch/launch_factory.hpp"

namespace gpushare::cuda {

class OriginalLaunch final : public GpuLaunch {
 public:
  OriginalLaunch(LaunchFactory& factory, const Submission& submission, const LaunchTraits& traits,
                 const DeviceLaunch& code, OriginalSetup setup);

  /// Was this form chosen, and will it end within a known time? Else its kernel has no worker.
  bool was_chosen() const { return setup_.longest > Duration{}; }
  /// The SMs that it was made for; nothing where it runs anywhere.
  const std::optional<std::vector<SmId>>& wanted_sms() const { return wanted_sms_; }

  ResidencyRequest request() const override;
  void grant(const ResidencyGrant& /*grant*/, Time /*now*/) override { may_start_ = !is_stopped(); }
  bool wants_hardware(Time /*now*/) const override { return may_start_ && !has_begun(); }
  void hand_to_hardware(int level, Time now) override;
  bool collect(Time now, std::vector<gpushare::Event>& events) override;
  void observe(Time /*seen*/, Time /*now*/, std::vector<gpushare::Event>& /*events*/) override {}
  bool needs_poll() const override { return false; }
  void submitted(Time now) override { start_ = now; }
  bool accepts_successor() const override;
  void queue_successor(const Submission& next, Time now) override;

 private:
  void launch(int level, std::span<const CUevent> behind);
  /// Does it run on the SMs that the policy still wants?
  bool is_where_wanted() const { return fully_shared_sms(share_.wanted(), traits().max_residency) == wanted_sms_; }
  Duration block_time_since(Time start) const;
  void learn_time();

  LaunchFactory& factory_;
  const DeviceLaunch& code_;
  const OriginalSetup setup_;
  const std::optional<std::vector<SmId>> wanted_sms_;
  Grids grids_;
  bool may_start_ = false;
  bool is_reported_ = false;
  bool is_overdue_ = false;  // it takes longer than it should
  Time start_{};
};

}  // namespace gpushare::cuda
