// SPDX-License-Identifier: Apache-2.0
// A launch as persistent workers. The host writes how many may stay on each SM, launches some, polls where they stay,
// and launches more where some are missing. An evicted launch has no workers; its progress is in the task counter,
// which the host restores where another launch has used its slot since.
//
// The application's next launch can be queued before this one ends. Its workers wait in hardware until those of this
// one have gone, and find the same quotas, so that the GPU does not idle in between. They may begin only if no task is
// left by then, so as soon as that is not certain any more they find quotas of zero instead, and leave.
#pragma once

#include "core/workers/top_up.hpp"
#include "cuda/launch/grids.hpp"
#include "cuda/launch/launch_factory.hpp"

namespace gpushare::cuda {

class WorkerLaunch final : public GpuLaunch, private SlotHolder {
 public:
  WorkerLaunch(LaunchFactory& factory, const Submission& submission, const LaunchTraits& traits,
               const DeviceLaunch& code);
  ~WorkerLaunch() override;

  ResidencyRequest request() const override;
  void grant(const ResidencyGrant& grant, Time now) override;
  bool wants_hardware(Time now) const override;
  void hand_to_hardware(int level, Time now) override;
  bool collect(Time now, std::vector<gpushare::Event>& events) override;
  void observe(Time seen, Time now, std::vector<gpushare::Event>& events) override;
  bool needs_poll() const override;
  void submitted(Time now) override;
  bool accepts_successor() const override;
  void queue_successor(const Submission& next, Time now) override;

 private:
  /// What is known of the workers that are on the GPU.
  enum class Stay {
    Unknown,
    /// A worker may obey an order that has been taken back: writes and reads are not in one stream.
    SomeWereToldToLeave,
    /// No worker was told to leave, all that were launched have come, and none is one too many: until more come, or
    /// fewer may stay, the present ones stay as long as there are tasks.
    UntilNoTaskIsLeft
  };

  int rank_of_holder() const override { return rank(); }
  bool may_give_up_slot() const override;
  bool wants_slot(Time now) const override { return wants_hardware(now); }
  void give_up_slot() override;

  WorkerTables& tables() const { return factory_.resources().tables; }
  GridPart* part() const { return traits().part; }
  /// By this launch: another device may have the rest, of a part.
  std::int64_t unclaimed() const;
  WorkerLaunch* worker_successor() const { return static_cast<WorkerLaunch*>(successor_.get()); }
  bool leaves_soon() const;
  void start_behind(WorkerLaunch& leader, Time now);
  void stop_successor();
  /// Would these orders, instead of the present ones, make any of the present workers leave or stay?
  bool some_notice(std::span<const int> workers) const;
  void give_orders(std::span<const int> workers);
  void set_quotas(std::span<const int> workers);
  void write_orders();
  void launch_workers(int level, std::span<const CUevent> behind);
  void place(Time now);
  bool some_wait() const { return launched_ - progress_.workers_gone() > progress_.workers(); }
  bool some_are_to_leave() const;
  void end_if_over();
  bool has_rested() const;
  bool end_part(Time now);
  WorkerDemand demand() const;
  /// Has it blocks left, and fewer workers than it may have?
  bool lacks_workers() const { return has_quota_ && unclaimed() > 0 && demand().missing > 0; }
  int next_try();
  WorkerParameters parameters(int workers) const;
  void check_prediction();
  void learn_block_time();
  void adapt_chunk();
  void set_chunk(std::uint16_t chunk);

  /// The last poll, and the place in the tables that it showed.
  struct LastPoll {
    WorkerControl control{};
    Time placed{};  // in the tables since then
    Time seen{};
    Time reported{};  // the last full report
  };

  LaunchFactory& factory_;
  const DeviceLaunch& code_;
  Grids grids_;
  std::optional<Slot> slot_;
  LastPoll poll_;
  std::vector<WorkerOrder> orders_;  // by SM
  bool are_orders_late_ = false;     // the GPU has older ones with the same effect on its workers
  bool has_quota_ = false;           // its orders let it have workers somewhere
  Stay stay_ = Stay::Unknown;
  TopUp top_up_;
  std::int64_t launched_ = 0;    // workers, in all
  Time changed_{};               // when the host last launched workers, or saw a grid end
  Time ordered_{};               // when the orders last changed for workers on the GPU
  bool is_disturbed_ = false;    // its orders have changed since its workers were launched
  Duration usual_block_time_{};  // as earlier launches have shown; zero where there were none
};

}  // namespace gpushare::cuda
