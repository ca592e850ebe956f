// SPDX-License-Identifier: Apache-2.0
// What every policy in the registry must do, and the skeleton, which is there to be copied. A new policy is tested here
// by being listed in the registry.
#include <gtest/gtest.h>

#include "core/policy_support/options.hpp"
#include "core/trace/metrics.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {

std::unique_ptr<Policy> make_skeleton(const PolicyOptions& options);  // policies/skeleton.cpp

void PrintTo(const PolicyEntry& policy, std::ostream* out) { *out << policy.name; }

namespace {

using namespace test;

std::vector<PolicyEntry> policies_under_test() {
  std::vector<PolicyEntry> all(policies().begin(), policies().end());
  all.push_back(
      {.name = "skeleton", .summary = "to be copied", .source = "", .is_oracle = false, .make = make_skeleton});
  return all;
}

class EveryPolicy : public testing::TestWithParam<PolicyEntry> {
 protected:
  static std::unique_ptr<Policy> made() { return GetParam().make(PolicyOptions(GetParam().name)); }

  Trace under_policy(const Device& device, const Workload& workload, std::uint64_t seed = 1) const {
    return record(device, workload, *made(), seed);
  }
};

TEST_P(EveryPolicy, KeepsEveryPromiseOnRandomWorkloads) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = random_device(dice);
    const Workload workload = random_workload(dice, device, dice.between(1, 5));
    expect_every_promise(under_policy(device, workload, seed), device, workload);
  }
}

TEST_P(EveryPolicy, KeepsEveryPromiseWhenCommandsTakeTime) {
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Device device = random_device(dice);
    device.delays = random_delays(dice);
    const Workload workload = random_workload(dice, device, dice.between(1, 5));
    expect_every_promise(under_policy(device, workload, seed), device, workload);
  }
}

TEST_P(EveryPolicy, FinishesTwentyApplicationsOnTwoSms) {
  for (std::uint64_t seed = 2000; seed < 2010; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Device device = random_device(dice);
    device.sms = 2;
    const Workload workload = random_workload(dice, device, 20);
    expect_every_promise(under_policy(device, workload, seed), device, workload);
  }
}

TEST_P(EveryPolicy, FinishesTheErcBenchPairsOfAllSizes) {
  const Device device = gtx480_like();
  for (const int blocks : {1, 15, 121, 1429}) {
    Launch small = with_alone(launch_of_threads(256, blocks, 14031), 14031 * (1 + blocks / 90));
    Launch large = with_alone(launch_of_threads(64, 512, 5238), 24853);
    const Workload workload = workload_of({small, large}, {0, 3000});
    expect_every_promise(under_policy(device, workload), device, workload);
  }
}

TEST_P(EveryPolicy, DecidesTheSameAgainFromTheRecordedEvents) {
  for (std::uint64_t seed = 3000; seed < 3050; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = random_device(dice);
    const Workload workload = random_workload(dice, device, 4);
    const Trace trace = trace_from_bytes(to_bytes(under_policy(device, workload, seed)));
    EXPECT_EQ(decide_again(trace, device, workload, *made()), trace.decisions);
  }
}

TEST_P(EveryPolicy, LetsASingleApplicationRunAsFastAsFifoDoes) {
  for (std::uint64_t seed = 4000; seed < 4050; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Device device = random_device(dice);
    device.delays = random_delays(dice);
    const Workload workload = random_workload(dice, device, 1);
    EXPECT_EQ(length_of(under_policy(device, workload, seed)), length_of(record(device, workload, "fifo", seed)));
  }
}

TEST_P(EveryPolicy, GivesTheSameBytesForTheSameSeed) {
  Dice dice(7);
  const Device device = random_device(dice);
  const Workload workload = random_workload(dice, device, 5);
  EXPECT_EQ(to_bytes(under_policy(device, workload, 3)), to_bytes(under_policy(device, workload, 3)));
}

/// Counts how often a policy wants to decide and how often it is asked to.
class CountingPolicy : public Policy {
 public:
  explicit CountingPolicy(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}
  void observe(const Event& event, const State& state) override { policy_->observe(event, state); }
  bool wants(const Event& event) const override {
    const bool wanted = policy_->wants(event);
    wanted_ += wanted;
    return wanted;
  }
  Plan decide(const State& state) const override {
    EXPECT_FALSE(state.running().empty());
    ++decided_;
    return policy_->decide(state);
  }
  int wanted() const { return wanted_; }
  int decided() const { return decided_; }

 private:
  std::unique_ptr<Policy> policy_;
  mutable int wanted_ = 0;
  mutable int decided_ = 0;
};

TEST_P(EveryPolicy, IsAskedExactlyWhenItWants) {
  Dice dice(8);
  const Device device = random_device(dice);
  const Workload workload = random_workload(dice, device, 5);
  CountingPolicy policy(made());
  const Trace trace = record(device, workload, policy);
  EXPECT_EQ(policy.decided(), policy.wanted());
  EXPECT_EQ(static_cast<std::size_t>(policy.decided()), trace.decisions.size());
  EXPECT_LT(trace.decisions.size(), trace.events.size());
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, testing::ValuesIn(policies_under_test()), [](const auto& each) {
  std::string name(each.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace gpushare
