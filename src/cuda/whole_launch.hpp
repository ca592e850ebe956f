// SPDX-License-Identifier: Apache-2.0
// A launch that runs in its original form, to its end, once it has a quota anywhere: because its kernel cannot be
// preempted, or because it ends before a preemption would help.
//
// The application's next launch, if it is as short, can be queued behind this one, to run on the same SMs. Not once the
// policy wants it elsewhere: it would never get there, as long as the application has launches.
#pragma once

#include "cuda/launch_on_gpu.hpp"
#include "cuda/short_launches.hpp"

namespace gpushare::cuda {

class WholeLaunch final : public LaunchOnGpu {
 public:
  WholeLaunch(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code);
  /// Only on the SMs that this way gives.
  WholeLaunch(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code, WholeWay way);

  RoomClaim claim() const override;
  void allow(const Allowance& /*allowance*/, Time /*now*/) override { has_quota_ = !is_stopped(); }
  bool wants_hardware(Time /*now*/) const override { return has_quota_ && !launched_; }
  void hand_to_hardware(int level, Time now) override;
  bool collect(Time now, std::vector<gpushare::Event>& events) override;
  void look(Time /*seen*/, Time /*now*/, std::vector<gpushare::Event>& /*events*/) override {}
  bool is_settling() const override { return false; }
  bool is_in_tables() const override { return false; }
  bool has_begun() const override { return launched_; }
  bool ended() const override { return progress_.finished() || (is_withdrawn_ && !launched_); }
  bool may_be_followed() const override;
  void put_behind(const Submission& next, const DeviceLaunch& code, Time now) override;
  const LaunchOnGpu* follower() const override { return follower_.get(); }
  std::unique_ptr<LaunchOnGpu> take_follower() override { return std::move(follower_); }
  void submitted(Time now) override { start_ = now; }
  LaunchWay way() const override { return LaunchWay::Whole; }
  bool is_fleeting() const override { return way_.is_fleeting; }
  std::unique_ptr<LaunchOnGpu> in_other_way() const override;

 private:
  bool was_steady() const override { return is_where_wanted(); }
  std::int64_t places() const { return max_residency_ * static_cast<std::int64_t>(way_.sms.size()); }
  /// Does it run on the SMs that the policy still wants?
  bool is_where_wanted() const { return whole_sms(wanted_, max_residency_) == way_.wanted; }
  void doubt_time_of(Duration block_time);

  WholeWay way_;
  bool has_quota_ = false;
  bool launched_ = false;
  bool is_reported_ = false;
  bool is_overdue_ = false;  // it takes longer than it should
  Time start_{};
  std::unique_ptr<WholeLaunch> follower_;
};

/// For an admitted launch, with SMs reserved now or by the time it begins. The places of its blocks do not matter to
/// the device: they are reported on the last SMs, as few as hold them, since each of these costs two events for every
/// observer.
WholeWay way_on_kept_room(const LaunchResources& resources, const DeviceLaunch& code, int max_residency);

/// For a launch that has not begun and should end soon enough: its replacement in its original form on its SMs. Nothing
/// where that is impossible: it has not all of each of them, or the code for there is not ready yet.
std::unique_ptr<LaunchOnGpu> whole_instead_of(const LaunchOnGpu& launch);

}  // namespace gpushare::cuda
