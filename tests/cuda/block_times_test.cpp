// SPDX-License-Identifier: Apache-2.0
// What is remembered of how long blocks take: it says how many of them a worker claims at a time.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/engine.hpp"
#include "cuda/cuda_gpu.hpp"
#include "sample_work.hpp"

namespace gpushare::cuda::test {
namespace {

constexpr Duration long_block(300'000);

/// One block per SM at a time; sees what is remembered while the launch runs.
class Watching : public Policy {
 public:
  Watching(const KernelHistory& history, KernelId kernel) : history_(history), kernel_(kernel) {}
  void observe(const gpushare::Event& event, const State& /*state*/) override {
    if (event.kind == EventKind::BlockEnded) shortest = std::min(shortest, *history_.block_time(kernel_));
  }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) plan.shares.push_back({launch.id, Quota::everywhere(1)});
    return plan;
  }

  Duration shortest = Duration::max();

 private:
  const KernelHistory& history_;
  KernelId kernel_;
};

TEST_F(OnStandIn, ShortBlocksAtTheBeginningOfAGridHideNoLongOnes) {
  const std::string loop = "again:";
  std::string source = wait_at_gate;
  source.replace(source.find(loop), loop.size(), "mov.u32 %r1, %ctaid.x;setp.lt.u32 %p, %r1, 40;@%p ret;" + loop);
  const auto kernel = load("wait_at_gate", source);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  Work work;
  work.add_application("only");
  const auto patience = static_cast<std::uint64_t>(long_block.count());
  work.add_launch(kernel, 80, 1, arguments(gate.get(), arrived.get(), patience));
  resources->history.set_block_time(kernel->id(), long_block);
  Watching policy(resources->history, kernel->id());
  CudaGpu gpu(*resources, work.program);
  run(gpu, policy, work.workload, {});
  EXPECT_GT(policy.shortest, long_block / 3);  // half of the blocks take as long
}

}  // namespace
}  // namespace gpushare::cuda::test
