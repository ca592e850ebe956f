// SPDX-License-Identifier: Apache-2.0
// More launches wait than the scheduler looks at.
#include <gmock/gmock.h>

#include <algorithm>

#include "cuda/cuda_gpu.hpp"
#include "sample_work.hpp"

namespace gpushare::cuda::test {
namespace {

enum class Order { FirstComeFirst, LastComeFirst };

/// A plan for all that have arrived. Ends do not matter to it.
class PlansOnArrivals : public Policy {
 public:
  explicit PlansOnArrivals(Order order) : order_(order) {}

  bool wants(const gpushare::Event& event) const override { return event.kind == EventKind::LaunchArrived; }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) plan.shares.push_back(full_share(launch));
    if (order_ == Order::LastComeFirst) std::ranges::reverse(plan.shares);
    return plan;
  }

 private:
  Order order_;
};

class LongQueue : public OnStandIn, public testing::WithParamInterface<Order> {
 protected:
  static constexpr int applications = 60;
  static constexpr int blocks = 5;

  /// All arrive at once, behind one that stays for some milliseconds.
  void add_all(const std::shared_ptr<KernelCode>& kernel) {
    for (int application = 0; application < applications; ++application) {
      counters_.push_back(array(std::vector{0}));
      work_.add_application("application " + std::to_string(counters_.size()), application == 0 ? 0 : 1000);
      const std::uint64_t patience = application == 0 ? some_ms : 0;
      work_.add_launch(kernel, blocks, 1, arguments(gate_.get(), counters_.back().get(), patience));
    }
  }

  void run_all(Order order) {
    PlansOnArrivals policy(order);
    CudaGpu gpu(*resources, work_.program);
    run(gpu, policy, work_.workload);
  }

  std::vector<int> counts() {
    std::vector<int> all;
    for (const DeviceMemory& counter : counters_) all.push_back(values<int>(counter, 1).front());
    return all;
  }

  Work work_;

 private:
  DeviceMemory gate_ = array(std::vector{0});
  std::vector<DeviceMemory> counters_;
};

TEST_P(LongQueue, EverybodyHasATurn) {
  add_all(load("wait_at_gate", wait_at_gate));
  run_all(GetParam());
  EXPECT_THAT(counts(), testing::Each(blocks));
}

/// There are no workers to poll, and no plan is made when a launch ends.
TEST_P(LongQueue, WhoWaitsBehindLaunchesThatRunWholeHasATurnToo) {
  const auto as_written = load("wait_at_gate", wait_at_gate, false);
  for (int queue = 0; queue < 2; ++queue) add_all(as_written);
  add_all(load("wait_at_gate", wait_at_gate));
  run_all(GetParam());
  EXPECT_THAT(counts(), testing::Each(blocks));
}

INSTANTIATE_TEST_SUITE_P(BothWays, LongQueue, testing::Values(Order::FirstComeFirst, Order::LastComeFirst));

}  // namespace
}  // namespace gpushare::cuda::test
