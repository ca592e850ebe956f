// SPDX-License-Identifier: Apache-2.0
// Launches that are over too soon to be worth preempting run as they were written, on the SMs that the policy gives.
#include "cuda/short_launches.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "core/policies/registry.hpp"
#include "cuda/cuda_gpu.hpp"
#include "cuda/driver.hpp"
#include "cuda/sm_groups.hpp"
#include "sample_work.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSubsetOf;

constexpr SmId sm(int number) { return static_cast<SmId>(number); }

std::vector<SmId> sms_in(unsigned bits) {
  std::vector<SmId> sms;
  for (int number = 0; number < 4; ++number) {
    if ((bits >> number & 1) != 0) sms.push_back(sm(number));
  }
  return sms;
}

/// Every block says where it is.
const std::string tell_where = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry tell_where(.param .u64 where)
{
  .reg .b32 %block;
  .reg .b32 %sm;
  .reg .b64 %where;
  .reg .b64 %offset;
  ld.param.u64 %where, [where];
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  mul.wide.u32 %offset, %block, 4;
  add.u64 %where, %where, %offset;
  st.global.u32 [%where], %sm;
  ret;
}
)";
constexpr unsigned blocks = 64;  // more than fit at a time

class ShortLaunches : public OnStandIn {
 protected:
  ShortLaunches() : kernel(load("tell_where", tell_where)) {}

  /// As many launches of the kernel one after the other, in an application of their own.
  DeviceMemory& add_application(const std::string& name, int launches, std::int64_t arrival_ns = 0) {
    work.add_application(name, arrival_ns);
    auto& where = places.emplace_back(array(std::vector<int>(blocks, -1)));
    for (int launch = 0; launch < launches; ++launch) work.add_launch(kernel, blocks, 32, arguments(where.get()));
    return where;
  }
  std::set<int> sms_of(const DeviceMemory& where) {
    const std::vector<int> seen = values<int>(where, blocks);
    return {seen.begin(), seen.end()};
  }

  Trace run_under(const std::string& policy) {
    TraceRecorder recorder;
    std::vector<RunObserver*> observers{&recorder};
    CudaGpu gpu(*resources, work.program);
    run(gpu, *make_policy(policy), work.workload, observers);
    return recorder.take();
  }

  /// Asks until it has been made.
  std::optional<WholeWay> way_for(const std::shared_ptr<KernelCode>& code, const std::vector<SmId>& sms) {
    for (int time = 0; time < 10; ++time) resources->partitions.find(code, sms);
    resources->partitions.wait_ready();
    return resources->partitions.find(code, sms);
  }

  /// Those of which all blocks were said to start at once, though fewer fit.
  static int whole_launches(const Trace& trace) {
    std::map<OperationId, std::map<Time, std::int64_t>> started;
    for (const gpushare::Event& event : trace.events) {
      if (event.kind == EventKind::BlockStarted) started[event.operation][event.time] += event.blocks;
    }
    return static_cast<int>(
        std::ranges::count_if(started, [](const auto& each) { return each.second.begin()->second == blocks; }));
  }

  std::shared_ptr<KernelCode> kernel;
  std::deque<DeviceMemory> places;
  Work work;
};

TEST_F(ShortLaunches, TheHardwaresGroupsAreFoundOut) {
  const CurrentContext current(*context);
  const SmGroups groups(context);
  EXPECT_THAT(groups.within({sm(0), sm(1)}).sms, ElementsAre(sm(0), sm(1)));
  EXPECT_THAT(groups.within({sm(0), sm(2), sm(3)}).sms, ElementsAre(sm(2), sm(3)));
  EXPECT_THAT(groups.within({sm(1), sm(2)}).sms, IsEmpty());
  EXPECT_EQ(groups.within({sm(0), sm(1), sm(2), sm(3)}).groups.size(), 2u);
}

TEST_F(ShortLaunches, AKernelRunsInAPartitionOnceThatIsReady) {
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(2), sm(3)}));
  const std::optional<WholeWay> way = way_for(kernel, {sm(2), sm(3)});
  ASSERT_TRUE(way);
  EXPECT_THAT(way->sms, ElementsAre(sm(2), sm(3)));
  const DeviceMemory where = array(std::vector<int>(blocks, -1));
  const DeviceLaunch launch{
      .kernel = kernel, .grid = {blocks, 1, 1}, .block = {32, 1, 1}, .arguments = arguments(where.get())};
  const MarkedStream taken = way->streams->take(0);
  launch_grid(way->function, launch.grid, launch, {}, taken.stream.get());
  drain(taken.stream);
  EXPECT_THAT(sms_of(where), IsSubsetOf({2, 3}));
}

TEST_F(ShortLaunches, WhatTheHardwareCannotKeepApartIsNeverReady) { EXPECT_FALSE(way_for(kernel, {sm(1), sm(2)})); }

TEST_F(ShortLaunches, KernelsThatAreGoneLeaveTheirPartitions) {
  for (int time = 0; time < 20; ++time) {
    const auto code = load("tell_where", tell_where);
    ASSERT_TRUE(way_for(code, {sm(0), sm(1)}));
    ASSERT_TRUE(way_for(code, {sm(2), sm(3)}));
  }
}

TEST_F(ShortLaunches, APartitionThatOthersReplacedIsMadeAgain) {
  ASSERT_TRUE(way_for(kernel, {sm(0), sm(1)}));
  for (unsigned sms = 4; sms < 16; ++sms) resources->partitions.find(kernel, sms_in(sms));
  EXPECT_FALSE(resources->partitions.find(kernel, {sm(0), sm(1)}));
  EXPECT_TRUE(way_for(kernel, {sm(0), sm(1)}));
}

TEST_F(ShortLaunches, RunWholeWhereAPolicyGivesTheWholeGpu) {
  add_application("only", 6);
  EXPECT_EQ(whole_launches(run_under("fifo")), 0);
  const Trace trace = run_under("fifo:whole_up_to_us=1000000");
  EXPECT_EQ(whole_launches(trace), 6);  // the run before has shown how short they are
  gpushare::test::expect_time_moves_forward(trace);
  gpushare::test::expect_streams_in_order(trace, work.workload);
}

TEST_F(ShortLaunches, StayOnTheSmsOfTheirApplication) {
  const DeviceMemory& first = add_application("first", 30);
  const DeviceMemory& second = add_application("second", 30);
  run_under("even");
  run_under("even:whole_up_to_us=1000000");  // asks for partitions
  resources->partitions.wait_ready();
  const Trace trace = run_under("even:whole_up_to_us=1000000");
  EXPECT_GE(whole_launches(trace), 30);
  // The last one may have been alone.
  EXPECT_EQ(std::min(sms_of(first).size(), sms_of(second).size()), 2u);
  gpushare::test::expect_streams_in_order(trace, work.workload);
}

TEST_F(ShortLaunches, ArePreemptibleIfTheyTakeLonger) {
  add_application("only", 4);
  run_under("fifo");
  EXPECT_EQ(whole_launches(run_under("fifo:whole_up_to_us=0.001")), 0);
}

TEST_F(ShortLaunches, OneThatTookTooLongIsFollowedByPreemptibleOnes) {
  add_application("only", 4);
  run_under("fifo");
  resources->block_times[kernel->worker()] = Duration(1);  // which is not so
  const int whole = whole_launches(run_under("fifo:whole_up_to_us=1"));
  EXPECT_GE(whole, 1);
  EXPECT_LE(whole, 2);  // one may have stood behind it
}

}  // namespace
}  // namespace gpushare::cuda::test
