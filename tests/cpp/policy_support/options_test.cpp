// SPDX-License-Identifier: Apache-2.0
#include "core/policy_support/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/policies/registry.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(PolicyOptions, WhatIsLeftOutIsAsThePolicySays) {
  const PolicyOptions options("mix");
  EXPECT_EQ(options.policy(), "mix");
  EXPECT_EQ(options.word("mode", "what it means", {"first", "second"}), "first");
  EXPECT_EQ(options.number("step", "what it means", 2, 1, 10), 2);
  EXPECT_NO_THROW(options.require_all_known());
}

TEST(PolicyOptions, AGivenValueReplacesTheDefault) {
  const PolicyOptions options("mix:mode=second:step=2.5");
  EXPECT_EQ(options.word("mode", "what it means", {"first", "second"}), "second");
  EXPECT_EQ(options.number("step", "what it means", 2, 1, 10), 2.5);
  EXPECT_NO_THROW(options.require_all_known());
}

TEST(PolicyOptions, AValueOutOfRangeIsRefusedWithTheRange) {
  const PolicyOptions options("mix:mode=third:step=11:min_speed=x");
  EXPECT_THAT(message_of<InvalidInput>([&] { options.word("mode", "what it means", {"first", "second"}); }),
              naming("mode", "first", "second", "third"));
  for (const auto& [key, value] : {std::pair{"step", "11"}, std::pair{"min_speed", "x"}}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { options.number(key, "what it means", 2, 1, 10); }),
                naming(key, "1..10", value));
  }
}

TEST(PolicyOptions, LongNumbersMayHaveExponentsAndUnderscoresBetweenDigits) {
  const auto period = [](const std::string& text) {
    return PolicyOptions("fair:period_ns=" + text)
        .duration("period_ns", "a time", Duration(1), Duration(0), Duration(1'000'000'000));
  };
  for (const char* text : {"2000000", "2e6", "2_000_000", "2_0e5", "2_000_000.4"}) {
    EXPECT_EQ(period(text), Duration(2'000'000)) << text;
  }
  for (const char* text : {"_2000", "2000_", "2__000", "2_.5", "2e_6", "_"}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { period(text); }), naming("period_ns", text));
  }
}

TEST(PolicyOptions, ATimeIsInNanosecondsAndRounded) {
  const PolicyOptions options("fair:given=7.6");
  EXPECT_EQ(options.duration("given", "a time", Duration(1), Duration(0), Duration(10)), Duration(8));
  EXPECT_EQ(options.duration("left_out", "a time", Duration(60'000), Duration(0), Duration(1'000'000)),
            Duration(60'000));
}

TEST(PolicyOptions, AWholeNumberHasNoFraction) {
  const PolicyOptions options("mix:step=2.7:nodes=1e6:blocks=11");
  EXPECT_EQ(options.whole("nodes", "what it means", 2, 1, 10'000'000), 1'000'000);
  EXPECT_EQ(options.whole("left_out", "what it means", 0, 1, 10), 0);
  EXPECT_THAT(message_of<InvalidInput>([&] { options.whole("step", "what it means", 2, 1, 10); }),
              naming("step", "2.7"));
  EXPECT_THAT(message_of<InvalidInput>([&] { options.whole("blocks", "what it means", 2, 1, 10); }),
              naming("1..10", 11));
}

TEST(PolicyOptions, EveryOptionIsDescribedForTheDocumentation) {
  const PolicyOptions options("mix:step=3");
  options.word("mode", "the goal", {"first", "second"});
  options.number("share", "left out: none", -1, 0, 0.5);
  options.whole("step", "at a time", 2, 1, 10);
  const std::vector<OptionEntry> described = options.described();
  ASSERT_EQ(described.size(), 3u);
  EXPECT_EQ(described[0].name, "mode");
  EXPECT_EQ(described[0].meaning, "the goal");
  EXPECT_EQ(described[0].otherwise, "first");
  EXPECT_EQ(described[0].values, "first, second");
  EXPECT_EQ(described[1].otherwise, "");
  EXPECT_EQ(described[1].values, "0..0.5");
  EXPECT_EQ(described[2].otherwise, "2");
  EXPECT_EQ(described[2].values, "whole number in 1..10");
}

TEST(Registry, EveryOptionOfEveryPolicyAndOrderingHasAMeaning) {
  std::size_t count = 0;
  const auto check = [&](std::string_view name, const std::vector<OptionEntry>& options) {
    for (const OptionEntry& option : options) {
      EXPECT_FALSE(option.meaning.empty()) << name << ": " << option.name;
      const bool says_default = option.meaning.find("left out:") != std::string::npos;
      EXPECT_TRUE(says_default || !option.otherwise.empty()) << name << ": " << option.name;
      ++count;
    }
  };
  for (const PolicyEntry& policy : policies()) check(policy.name, policy_options(policy.name));
  for (const OrderingEntry& ordering : orderings()) check(ordering.name, ordering_options(ordering.name));
  EXPECT_GT(count, policies().size());
}

TEST(PolicyOptions, CountsAreWhole) {
  for (const auto& [text, value] :
       {std::pair{"pkm:blocks=1.5", "1.5"}, {"slate:together=1.9", "1.9"}, {"cd-search:step=2.7", "2.7"}}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { make_policy(text); }), naming(value));
  }
}

TEST(PolicyOptions, AnUnknownOptionIsRefused) {
  const PolicyOptions options("mix:stpe=3");
  options.number("step", "what it means", 2, 1, 10);
  EXPECT_THAT(message_of<InvalidInput>([&] { options.require_all_known(); }), naming("stpe", "step"));
  EXPECT_THAT(message_of<InvalidInput>([] { make_policy("fifo:fast=1"); }), naming("fast", "whole_up_to_ns"));
}

Plan all_whole_up_to(Duration longest, Plan plan) {
  for (Share& share : plan.shares) share.whole_up_to = longest;
  return plan;
}

// What that means is up to the device; a simulated one preempts what it likes.
TEST(PolicyOptions, EveryPolicyCanLeaveShortLaunchesWhole) {
  const Workload pair =
      workload_of({with_alone(launch_of(8, 1000), 2000), with_alone(launch_of(8, 500), 1000)}, {0, 300});
  for (const PolicyEntry& each : policies()) {
    const std::string name(each.name);
    SCOPED_TRACE(name);
    const Trace plain = record(small_device(2), pair, name);
    const Trace whole = record(small_device(2), pair, name + ":whole_up_to_ns=500");
    EXPECT_EQ(plain.events, whole.events);
    ASSERT_EQ(plain.decisions.size(), whole.decisions.size());
    for (std::size_t index = 0; index < plain.decisions.size(); ++index) {
      const Duration usual(name == "auto" ? 2'000'000 : 0);
      EXPECT_EQ(all_whole_up_to(usual, plain.decisions[index].plan), plain.decisions[index].plan);
      EXPECT_EQ(all_whole_up_to(Duration(500), plain.decisions[index].plan), whole.decisions[index].plan);
    }
  }
}

TEST(PolicyOptions, NoLaunchStaysWholeWhileOneOfHigherPriorityIsPresent) {
  Workload workload = workload_of({launch_of(100, 1000), launch_of(1, 1000), launch_of(1, 1000)});
  workload.applications[1].priority = workload.applications[2].priority = 1;
  PolicyRehearsal run("fifo:whole_up_to_ns=5000", small_device(), std::move(workload));
  const auto whole_up_to = [&run](std::size_t rank) { return run.plan().shares[rank].whole_up_to; };
  run.arrive(0, 0);
  EXPECT_EQ(whole_up_to(0), Duration(5000));
  run.arrive(1, 10);
  run.arrive(2, 10);
  EXPECT_EQ(whole_up_to(0), Duration{});
  EXPECT_EQ(whole_up_to(1), Duration(5000));
  EXPECT_EQ(whole_up_to(2), Duration(5000));
  run.end_launch(1, 20);
  run.end_launch(2, 20);
  EXPECT_EQ(whole_up_to(0), Duration{});  // the next one may come
  run.end_application(1, 30);
  EXPECT_EQ(whole_up_to(0), Duration{});
  run.end_application(2, 40);
  EXPECT_EQ(whole_up_to(0), Duration{});  // as another application
  run.start_group(0, 0, 1, 4'000'000);
  EXPECT_EQ(whole_up_to(0), Duration{});
  run.start_group(0, 0, 1, 6'000'000);
  EXPECT_EQ(whole_up_to(0), Duration(5000));
}

TEST(PolicyOptions, AHighPriorityApplicationIsWaitedForAsLongAsAnyOther) {
  Workload workload = workload_of({launch_of(100, 1000), launch_of(1, 1000), launch_of(1, 1000)});
  workload.applications[1].priority = 2;
  workload.applications[2].priority = 1;
  PolicyRehearsal run("fifo:whole_up_to_ns=5000", small_device(), std::move(workload));
  const auto whole_up_to = [&run] { return run.plan().shares.front().whole_up_to; };
  for (const int application : {0, 1, 2}) run.arrive(application, 10 * application);
  run.end_launch(1, 30);
  run.end_application(1, 30);
  run.end_launch(2, 3'000'000);
  run.end_application(2, 3'000'000);
  run.start_group(0, 0, 1, 6'000'000);
  EXPECT_EQ(whole_up_to(), Duration{});
  run.start_group(0, 0, 1, 8'000'000);
  EXPECT_EQ(whole_up_to(), Duration(5000));
}

TEST(PolicyOptions, NothingIsLeftWholeBesideALatencyBoundButWhatHasIt) {
  Workload workload = workload_of({launch_of(8, 100), launch_of(8, 100)});
  workload.applications[0].priority = 7;
  workload.applications[1].latency = Duration(1000);
  PolicyRehearsal run("fifo:whole_up_to_ns=5000", small_device(), std::move(workload));
  const auto whole_up_to = [&run](std::size_t rank) { return run.plan().shares[rank].whole_up_to; };
  run.arrive(0, 0);
  EXPECT_EQ(whole_up_to(0), Duration(5000));
  run.arrive(1, 10);
  EXPECT_EQ(whole_up_to(0), Duration{});
  EXPECT_EQ(whole_up_to(1), Duration(5000));
}

TEST(PolicyOptions, NoPlanLeavesALaunchWholeUpToLessThanNothing) {
  const auto decide = [](const State& state) {
    Share share = full_share(state.running().front());
    share.whole_up_to = Duration(-1);
    return Plan{.shares = {share}};
  };
  EXPECT_THAT(message_of<PolicyError>([&] { record(small_device(), workload_of({launch_of(1, 10)}), decide); }),
              naming(-1));
}

TEST(PolicyOptions, OptionsAreWrittenInOneWay) {
  for (const char* text : {"mix:", "mix:step=1:", "mix:step", "mix:=2", "mix:step=", "mix:step=1:step=2"}) {
    EXPECT_THROW(PolicyOptions{text}, InvalidInput) << text;
  }
}

}  // namespace
}  // namespace gpushare
