// SPDX-License-Identifier: Apache-2.0
// A launch as persistent workers. The host writes how many may stay on each SM, launches some, polls where they stay,
// and launches more where some are missing. An evicted launch has no workers; its progress is in the task counter,
// which the host restores where another launch has used its slot since.
//
// The application's next launch can be queued before this one ends. Its workers wait in hardware until those of this
// one have gone, and find the same quotas, so that the GPU does not idle in between. They may begin only if no task is
// left by then, so as soon as that is not certain any more they find quotas of zero instead, and leave.
#pragma once

#include "core/workers/worker_tries.hpp"
#include "cuda/launch_on_gpu.hpp"

namespace gpushare::cuda {

class WorkerLaunch final : public LaunchOnGpu {
 public:
  WorkerLaunch(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code);
  ~WorkerLaunch() override;

  RoomClaim claim() const override;
  void allow(const Allowance& allowance, Time now) override;
  bool wants_hardware(Time now) const override;
  void hand_to_hardware(int level, Time now) override;
  bool collect(Time now, std::vector<gpushare::Event>& events) override;
  void look(Time seen, Time now, std::vector<gpushare::Event>& events) override;
  bool is_settling() const override;
  bool is_in_tables() const override { return slot_.has_value(); }
  bool lacks_slot() const override { return !slot_; }
  bool may_give_up_slot() const override;
  void give_up_slot() override;
  bool has_begun() const override { return slot_.has_value() || launched_ > 0; }
  bool ended() const override { return hardware_.empty() && (progress_.finished() || has_left_for_good()); }
  bool may_be_followed() const override;
  void put_behind(const Submission& next, const DeviceLaunch& code, Time now) override;
  const LaunchOnGpu* follower() const override { return follower_.get(); }
  std::unique_ptr<LaunchOnGpu> take_follower() override;
  void submitted(Time now) override;
  LaunchWay way() const override { return LaunchWay::Workers; }
  std::unique_ptr<LaunchOnGpu> in_other_way() const override;

 private:
  bool was_steady() const override { return !is_disturbed_; }
  bool leaves_soon() const;
  void start_behind(WorkerLaunch& leader, Time now);
  void stop_follower();
  /// Would these orders, instead of the present ones, make any of the present workers leave or stay?
  bool some_notice(std::span<const int> workers) const;
  void take_orders(std::span<const int> workers);
  void set_quotas(std::span<const int> workers);
  void write_orders();
  void launch_workers(int level, std::span<const CUevent> behind);
  void place(Time now);
  bool some_wait() const { return launched_ - progress_.workers_gone() > progress_.workers(); }
  bool some_are_to_leave() const;
  /// None of its workers is on the GPU, and a poll since then has shown its progress.
  bool has_left_for_good() const { return is_withdrawn_ && (launched_ == 0 || seen_ > changed_); }
  WorkerDemand demand() const;
  /// Has it blocks left, and fewer workers than it may have?
  bool lacks_workers() const { return has_quota_ && progress_.unclaimed() > 0 && demand().missing > 0; }
  int take_next_try();
  WorkerParameters parameters(int workers) const;
  void end_doubt();
  void learn_block_time();
  void adapt_chunk();
  void set_chunk(std::uint16_t chunk);

  std::optional<Slot> slot_;
  Duration usual_block_time_{};      // as earlier launches have shown; zero where there were none
  WorkerControl control_;            // as of the last poll
  std::vector<WorkerOrder> orders_;  // by SM
  bool are_orders_late_ = false;     // the GPU has older ones with the same effect on its workers
  bool has_quota_ = false;
  bool is_disturbed_ = false;  // its orders have changed since its workers were launched
  /// A worker may obey an order that has been taken back: writes and reads are not in one stream.
  bool some_were_told_to_leave_ = false;
  /// No worker was told to leave, all that were launched have come, and none is one too many: until more come, or fewer
  /// may stay, the present ones stay as long as there are tasks.
  bool will_stay_ = false;
  int open_sms_ = 0;           // where the hardware may place workers
  std::int64_t launched_ = 0;  // workers, in all
  Time placed_{};              // in the tables since then
  Time changed_{};             // when the host last launched workers, or saw a hardware launch end
  Time asked_{};               // when the quota last changed
  Time seen_{};                // the last poll
  Time reported_{};            // the last full report
  Time retry_{};               // no more workers before
  Duration patience_{};
  WorkerTries tries_;
  std::unique_ptr<WorkerLaunch> follower_;
};

}  // namespace gpushare::cuda
