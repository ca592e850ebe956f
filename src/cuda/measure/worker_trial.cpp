// SPDX-License-Identifier: Apache-2.0
#include "cuda/measure/worker_trial.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "core/model/errors.hpp"
#include "core/workers/worker_demand.hpp"
#include "cuda/driver/shared_library.hpp"
#include "cuda/launch/gpu_resources.hpp"
#include "cuda/launch/grids.hpp"
#include "cuda/measure/launch_timing.hpp"

namespace gpushare::cuda {
namespace {

/// Workers that find no place have to leave before it is clear how many are missing.
constexpr Duration first_retry(20'000);
constexpr Duration longest_retry(1'000'000);

class RunningTrial {
 public:
  RunningTrial(GpuResources& resources, const DeviceLaunch& launch, const TrialSetup& setup)
      : resources_(resources),
        launch_(launch),
        setup_(setup),
        blocks_(setup.blocks > 0 ? std::min(setup.blocks, count(launch.grid)) : count(launch.grid)),
        most_on_an_sm_(std::ranges::max(setup.quotas)),
        hardware_(resources.streams, resources.completions) {
    const std::optional<Slot> slot = resources.tables.take();
    require(slot.has_value(), "no place for one more launch");
    slot_ = *slot;
    for (const std::uint16_t quota : setup.quotas) orders_.push_back({.quota = quota, .chunk = setup.chunk});
  }
  ~RunningTrial() { resources_.tables.give_back(slot_); }
  RunningTrial(const RunningTrial&) = delete;
  RunningTrial& operator=(const RunningTrial&) = delete;

  Trial run() {
    resources_.tables.drop_poll();
    resources_.tables.reset(slot_, orders_);
    start_ = Clock::now();
    launch_missing();
    while (!look_and_act()) {
    }
    return trial_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Duration now() const { return std::chrono::duration_cast<Duration>(Clock::now() - start_); }

  /// True once no work is left and the last sample has been taken.
  bool look_and_act() {
    const Duration time = now();
    if (hardware_.collect() && hardware_.empty()) trial_.end = time;
    if (!told_to_leave_ && time >= setup_.limit) tell_to_leave();
    require_progress(time);
    WorkerTables& tables = resources_.tables;
    if (tables.poll_has_ended()) {
      tables.end_poll();
      take_sample(now());
      if (hardware_.empty() && look_started_ >= trial_.end && !wants_more()) return true;
      if (wants_more() && now() >= retry_at_) launch_missing();
    }
    if (!tables.is_polling() && (hardware_.empty() || time - look_started_ >= setup_.interval)) {
      look_started_ = now();
      tables.start_poll();
    }
    return false;
  }

  void take_sample(Duration time) {
    const PolledTables polled = resources_.tables.polled(slot_);
    const WorkerControl& control = polled.control;
    const std::span<const WorkerSm> table = polled.sms;
    gone_ = control.workers_gone;
    trial_.samples.push_back({.time = time,
                              .claimed = std::min<std::int64_t>(control.next_task, blocks_),
                              .sms = std::vector<WorkerSm>(table.begin(), table.end())});
    std::int64_t done = 0;
    for (const WorkerSm& sm : table) done += sm.tasks_done;
    trial_.finished = done == blocks_;
  }

  WorkerDemand demand() const {
    WorkerDemand demand;
    for (std::size_t sm = 0; sm < setup_.quotas.size(); ++sm) {
      const int present = trial_.samples.empty() ? 0 : static_cast<int>(trial_.samples.back().sms[sm].workers);
      demand.add_sm(setup_.quotas[sm], present);
    }
    return demand;
  }

  /// Are workers missing, blocks left for them, and all that were launched either at their place or gone?
  bool wants_more() const {
    if (told_to_leave_ || trial_.samples.empty()) return false;
    const TrialSample& last = trial_.samples.back();
    std::int64_t present = 0;
    for (const WorkerSm& sm : last.sms) present += sm.workers;
    return last.claimed < blocks_ && launched_ - gone_ == present && demand().missing > 0;
  }

  void launch_missing() {
    const int sms = resources_.device.sms;
    const WorkerDemand missing = demand();
    const int workers = workers_to_launch(missing, sms, sms, most_on_an_sm_);
    const WorkerParameters last = parameters(std::min(workers, missing.wanted));
    hardware_.launch(launch_.kernel->worker(), {static_cast<unsigned>(workers), 1, 1}, launch_,
                     std::as_bytes(std::span(&last, 1)), 0, std::array{resources_.tables.written(slot_)});
    launched_ += workers;
    retry_at_ = now() + retry_;
    retry_ = std::min(2 * retry_, longest_retry);
  }

  WorkerParameters parameters(int workers) const {
    return {.control = resources_.tables.control_address(slot_),
            .sm_table = resources_.tables.table_address(slot_),
            .tasks = static_cast<std::uint32_t>(blocks_),
            .guide = guide_for(workers),
            .grid_x = FastDivisor::of(launch_.grid[0]),
            .grid_y = FastDivisor::of(launch_.grid[1]),
            .grid_z = launch_.grid[2],
            .orders = resources_.tables.orders_address(slot_)};
  }

  void tell_to_leave() {
    told_to_leave_ = true;
    for (WorkerOrder& order : orders_) order.quota = 0;
    if (!hardware_.empty()) trial_.told = now();
    resources_.tables.write_orders(slot_, orders_);
  }

  void require_progress(Duration time) {
    if (time - checked_ < trial_health_check_interval) return;
    checked_ = time;
    resources_.completions.require_healthy();
    if (time < setup_.limit + launch_patience) return;
    resources_.context->abandon();
    throw CudaError("a block of the kernel does not end: this process cannot use the GPU any more");
  }

  GpuResources& resources_;
  const DeviceLaunch& launch_;
  const TrialSetup& setup_;
  const std::int64_t blocks_;
  const int most_on_an_sm_;
  Grids hardware_;
  Slot slot_ = 0;
  std::vector<WorkerOrder> orders_;  // by SM
  Clock::time_point start_{};
  Trial trial_;
  std::int64_t launched_ = 0;  // workers
  std::int64_t gone_ = 0;      // workers, at the last sample
  bool told_to_leave_ = false;
  Duration look_started_{};
  Duration retry_at_{};
  Duration retry_ = first_retry;
  Duration checked_{};
};

}  // namespace

Trial run_trial(GpuResources& resources, const DeviceLaunch& launch, const TrialSetup& setup) {
  const auto in_use = hold_for_timing(resources);
  require(launch.has_worker(), "kernel '" + launch.kernel->symbol() + "' cannot run as workers in this launch");
  require(setup.quotas.size() == static_cast<std::size_t>(resources.device.sms), "a trial needs a quota for every SM");
  require(std::ranges::max(setup.quotas) > 0, "a trial needs a quota of at least one block on some SM");
  const CurrentContext current(*resources.context);
  return RunningTrial(resources, launch, setup).run();
}

}  // namespace gpushare::cuda
