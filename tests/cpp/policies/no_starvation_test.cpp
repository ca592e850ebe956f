// SPDX-License-Identifier: Apache-2.0
// Whoever comes back at once, whatever `mix` and `auto` prefer, leaves something to everybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::Ge;

constexpr std::int64_t ms = 1'000'000;

Application loop(std::string name, Launch launch, int launches) {
  launch.kernel.name = name;
  return application_of(std::move(name), std::vector<Operation>(static_cast<std::size_t>(launches), launch));
}

Device oldest_first(int sms) {
  Device device = small_device(sms);
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  return device;
}

/// Blocks that ended within these milliseconds, of the first so many applications.
std::vector<double> done(const Trace& trace, std::size_t applications, std::int64_t from, std::int64_t until) {
  std::vector<double> blocks(applications, 0);
  for (const Event& event : trace.events) {
    if (event.kind != EventKind::BlockEnded || index(event.application) >= applications || ns(event.time) < from * ms ||
        ns(event.time) > until * ms)
      continue;
    blocks[index(event.application)] += event.blocks;
  }
  return blocks;
}

/// As parts of the most that one of them has.
std::vector<double> relative(std::vector<double> blocks) {
  const double most = std::ranges::max(blocks);
  for (double& each : blocks) each /= most;
  return blocks;
}

/// Of 3 ms, with all SMs.
std::vector<Application> long_loops(int count, int sms) {
  std::vector<Application> loops;
  for (int i = 0; i < count; ++i) loops.push_back(loop("a" + std::to_string(i), launch_of(sms * 4 * 30, 100'000), 60));
  return loops;
}

TEST(NoStarvation, WithMoreThanTwoInSerialOrder) {
  for (const int applications : {3, 4}) {
    const Trace trace = record(small_device(4), {.name = "loops", .applications = long_loops(applications, 4)}, "auto");
    EXPECT_THAT(relative(done(trace, static_cast<std::size_t>(applications), 0, 150)), Each(Ge(0.5)));
  }
}

/// Are there several that all may fill the GPU?
bool are_in_turns(const Plan& plan, int sms) {
  const auto has_all = [sms](const Share& share) {
    for (int sm = 0; sm < sms; ++sm) {
      if (share.quota.at(static_cast<SmId>(sm)) < 4) return false;
    }
    return true;
  };
  return plan.shares.size() > 1 && std::ranges::all_of(plan.shares, has_all);
}

/// From whoever is there in numbers.
bool keeps_the_last_sm(const Plan& plan, int sms) {
  const auto has_none = [sms](const Share& share) { return share.quota.at(static_cast<SmId>(sms - 1)) == 0; };
  return std::ranges::count_if(plan.shares, has_none) >= 3;
}

/// What was measured beside them was measured on fewer SMs, and turns would have all.
TEST(NoStarvation, AfterAReserveForAHighPriorityLaunch) {
  Workload workload{.name = "loops", .applications = long_loops(3, 8)};
  Launch urgent = launch_of(2, 20'000);
  urgent.pace.gap = Duration(500'000);
  workload.applications.push_back(loop("urgent", urgent, 60));
  workload.applications.back().priority = 1;
  const Trace trace = record(oldest_first(8), workload, "auto");
  int plans = 0;
  int with_sms_kept = 0;
  for (const Decision& decision : trace.decisions) {
    const std::int64_t time = ns(trace.events[decision.after_event].time);
    if (time < 20 * ms && keeps_the_last_sm(decision.plan, 8)) ++with_sms_kept;
    if (time < 60 * ms || time > 160 * ms) continue;
    ++plans;
    EXPECT_FALSE(are_in_turns(decision.plan, 8)) << time;
  }
  EXPECT_GT(with_sms_kept, 0);
  EXPECT_GT(plans, 10);
  EXPECT_THAT(relative(done(trace, 3, 60, 160)), Each(Ge(0.5)));
}

TEST(NoStarvation, BesideSmallLaunchesThatComeBackAtOnce) {
  const Launch small = launch_of(16 * 4, 25'000);
  Workload workload{.name = "loops",
                    .applications = {loop("s1", small, 4000), loop("s2", small, 4000),
                                     loop("long", launch_of(16 * 4 * 2000, 100'000), 1)}};
  workload.applications[2].min_speed = 0.5;
  for (const char* policy : {"mix", "auto"}) {
    const Trace trace = record(oldest_first(16), workload, policy);
    const double alone = 16 * 4 * 100.0 / 0.1;  // blocks in 100 ms
    EXPECT_GT(done(trace, 3, 0, 100)[2], 0.35 * alone) << policy;
  }
}

/// The blocks that have begun by the time that it is given up cannot be interrupted.
TEST(NoStarvation, WhileAKernelOfWhichNothingIsKnownIsMeasured) {
  Workload workload{
      .name = "unknown",
      .applications = {loop("long", launch_of(16 * 4 * 3, 1000 * ms), 1), loop("short", launch_of(2000, 20'000), 20)}};
  for (Application& each : workload.applications) {
    for (Operation& operation : each.operations) std::get<Launch>(operation).kernel.is_profiled = false;
  }
  for (const char* policy : {"mix", "auto"}) {
    const Trace trace = record(oldest_first(16), workload, policy);
    EXPECT_LT(block_starts(trace, 1).front(), 1100 * ms) << policy;
  }
}

TEST(NoStarvation, WhereThereAreFewerSmsThanApplications) {
  Workload workload{.name = "loops", .applications = {}};
  for (int i = 0; i < 3; ++i) {
    workload.applications.push_back(loop("a" + std::to_string(i), launch_of_threads(256, 100, 10'000), 500));
    workload.applications.back().min_speed = 0.1;
  }
  for (const char* policy : {"mix", "auto"}) {
    EXPECT_THAT(relative(done(record(small_device(2), workload, policy), 3, 0, 100)), Each(Ge(0.5))) << policy;
  }
}

TEST(NoStarvation, WithOneSmWhileOthersAreReserved) {
  Workload workload{.name = "loops", .applications = {}};
  for (int i = 0; i < 8; ++i) {
    workload.applications.push_back(loop("a" + std::to_string(i), launch_of(8 * 4 * 10, 10'000), 200));
  }
  Launch urgent = launch_of(1, 20'000);
  urgent.pace.gap = Duration(500'000);
  workload.applications.push_back(loop("urgent", urgent, 400));
  workload.applications.back().priority = 1;
  std::vector<double> blocks = done(record(oldest_first(8), workload, "auto:whole_up_to_ns=0"), 9, 0, 100);
  blocks.pop_back();
  EXPECT_THAT(relative(blocks), Each(Ge(0.3)));
}

TEST(NoStarvation, ByOneSmThatIsNotReturned) {
  for (const auto& [applications, sms] : {std::pair(2, 3), std::pair(3, 4)}) {
    Workload workload{.name = "loops", .applications = {}};
    for (int i = 0; i < applications; ++i) {
      workload.applications.push_back(loop("a" + std::to_string(i), launch_of(1000, 10'000), 100));
    }
    const Trace trace = record(small_device(sms), workload, "fair");
    EXPECT_THAT(relative(done(trace, static_cast<std::size_t>(applications), 0, 60)), Each(Ge(0.85)));
  }
}

}  // namespace
}  // namespace gpushare
