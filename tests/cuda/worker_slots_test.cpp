// SPDX-License-Identifier: Apache-2.0
// More launches that have begun than there are slots for them.
#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <stdexcept>

#include "core/trace/trace_recorder.hpp"
#include "cuda/cuda_gpu.hpp"
#include "sample_work.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

/// The GPU is for the first launch that has not begun, alone. Once all have begun, it is for all of them.
class OneAfterTheOtherBegins : public Policy {
 public:
  bool wants(const gpushare::Event& /*event*/) const override { return true; }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      if (launch.started == 0) return {.shares = {full_share(launch)}};
      plan.shares.push_back(full_share(launch));
    }
    return plan;
  }
};

/// A block takes some milliseconds as long as the gate is closed: so a launch takes seconds, and has not ended before
/// it is evicted, and ends soon once it may.
class WorkerSlots : public OnStandIn, public RunObserver {
 protected:
  WorkerSlots() : kernel_(load("wait_at_gate", wait_at_gate)), gate_(array(std::vector{0})) {
    resources = std::make_unique<GpuResources>(context, slots);
  }

  void add_applications(int applications, int launches_in_a_row) {
    for (int application = 0; application < applications; ++application) {
      counters_.push_back(array(std::vector{0}));
      work_.add_application("application " + std::to_string(application));
      for (int launch = 0; launch < launches_in_a_row; ++launch) {
        work_.add_launch(kernel_, blocks, 1, arguments(gate_.get(), counters_.back().get(), some_ms));
      }
    }
  }

  Trace run_all() {
    OneAfterTheOtherBegins policy;
    TraceRecorder recorder;
    std::array<RunObserver*, 2> observers{&recorder, this};
    CudaGpu gpu(*resources, work_.program);
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    gpu.set_heartbeat([end] {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the GPU stands still");
    });
    run(gpu, policy, work_.workload, observers);
    return recorder.take();
  }

  std::vector<int> counts() {
    std::vector<int> all;
    for (const DeviceMemory& counter : counters_) all.push_back(values<int>(counter, 1).front());
    return all;
  }
  const Workload& workload() const { return work_.workload; }

  static constexpr Slot slots = 2;
  static constexpr int blocks = 8000;

 private:
  void saw(const gpushare::Event& event) override {
    if (event.kind != EventKind::BlockStarted || !begun_.insert(event.application).second) return;
    if (begun_.size() == counters_.size()) write(gate_, 1);
  }

  std::shared_ptr<KernelCode> kernel_;
  DeviceMemory gate_;
  std::vector<DeviceMemory> counters_;
  Work work_;
  std::set<ApplicationId> begun_;
};

std::size_t begun_before_the_first_end(const Trace& trace) {
  std::set<ApplicationId> begun;
  for (const gpushare::Event& event : trace.events) {
    if (event.kind == EventKind::LaunchEnded) break;
    if (event.kind == EventKind::BlockStarted) begun.insert(event.application);
  }
  return begun.size();
}

TEST_F(WorkerSlots, WhoIsEvictedMakesWayAndGoesOnLater) {
  add_applications(6, 1);
  const Trace trace = run_all();
  EXPECT_EQ(begun_before_the_first_end(trace), 6u);
  gpushare::test::expect_time_moves_forward(trace);
  gpushare::test::expect_streams_in_order(trace, workload());
  EXPECT_THAT(counts(), testing::Each(blocks));
}

TEST_F(WorkerSlots, FollowersAreLaunchesToo) {
  add_applications(5, 3);
  const Trace trace = run_all();
  gpushare::test::expect_streams_in_order(trace, workload());
  EXPECT_THAT(counts(), testing::Each(3 * blocks));
}

}  // namespace
}  // namespace gpushare::cuda::test
