// SPDX-License-Identifier: Apache-2.0
// Every policy gets along with what happens in a session and never in a closed run: applications that go at any moment,
// priorities that change, another policy that takes over.
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "interrupted_run.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;

/// Some applications with some launches each, into which the dice reach from time to time.
class LiveTrial {
 public:
  LiveTrial(std::string_view policy, std::uint64_t seed)
      : dice_(seed), device_(random_device_of(dice_)), policy_(policy), trial_(device_, policy, seed) {
    for (int number = dice_.between(2, 4); number > 0; --number) come();
  }

  /// Calls something now and then until everything has ended.
  template <typename Something>
  void run(Something something) {
    for (int left = dice_.between(1, 5); left > 0; --left) {
      ASSERT_TRUE(trial_.advance(dice_.between(1, 40))) << trial_.run().waiting();
      something();
      if (dice_.once_in(3)) come();
    }
    ASSERT_TRUE(trial_.advance()) << trial_.run().waiting();
  }

  void withdraw_somebody() {
    const auto who = static_cast<ApplicationId>(dice_.between(0, applications_ - 1));
    const OpenStream& stream = trial_.run().streams().at(who);
    const std::size_t waiting = stream.waiting.size();
    const bool has_gone = stream.is_withdrawn;
    const auto dropped = trial_.run().withdraw(who, trial_.now());
    EXPECT_EQ(dropped.size(), has_gone ? 0 : waiting);
  }
  void change_a_priority() {
    const auto who = static_cast<ApplicationId>(dice_.between(0, applications_ - 1));
    trial_.run().set_priority(who, dice_.between(0, 9), trial_.now());
  }
  void hand_over() {
    const auto all = policies();
    trial_.hand_over(all[static_cast<std::size_t>(dice_.between(0, static_cast<int>(all.size()) - 1))].name);
    trial_.hand_over(policy_);
  }

  /// Nobody has more room than there is, and who stayed has had every block. Who went before the first left nothing.
  void check() {
    Trace trace;
    const Workload workload = trial_.close(trace);
    expect_time_moves_forward(trace);
    expect_no_overcommitment(trace, device_, workload);
    expect_quotas_kept(trace, device_, workload);
    for (const auto& [id, stream] : trial_.run().streams()) {
      const std::string name = "application" + std::to_string(index(id));
      const auto found = std::ranges::find(workload.applications, name, &Application::name);
      const auto place = static_cast<std::size_t>(found - workload.applications.begin());
      if (found == workload.applications.end()) {
        EXPECT_TRUE(stream.is_withdrawn);
      } else {
        check_blocks(place, stream.is_withdrawn, trace, workload);
      }
    }
  }

 private:
  static Device random_device_of(Dice& dice) {
    Device device = random_device(dice);
    if (dice.once_in(2)) device.delays = random_delays(dice);
    return device;
  }

  void come() {
    const ApplicationId id = trial_.add("application" + std::to_string(applications_++), dice_.between(0, 3));
    for (int left = dice_.between(1, 3); left > 0; --left) trial_.submit(id, random_launch(dice_, device_));
  }

  void check_blocks(std::size_t id, bool is_withdrawn, const Trace& trace, const Workload& workload) {
    std::int64_t due = 0;
    for (const Operation& each : workload.applications[id].operations) due += std::get<Launch>(each).blocks;
    std::int64_t started = 0;
    std::int64_t ended = 0;
    int ends = 0;
    for (const Event& event : trace.events) {
      if (index(event.application) != id) continue;
      if (event.kind == EventKind::BlockStarted) started += event.blocks;
      if (event.kind == EventKind::BlockEnded) ended += event.blocks;
      if (event.kind == EventKind::ApplicationEnded) ++ends;
    }
    EXPECT_EQ(started, ended);
    EXPECT_EQ(ends, 1);
    if (is_withdrawn) {
      EXPECT_GT(ended, 0);
      EXPECT_LE(ended, due);
    } else {
      EXPECT_EQ(ended, due);
    }
  }

  Dice dice_;
  Device device_;
  std::string policy_;
  InterruptedRun trial_;
  int applications_ = 0;
};

class EveryPolicyLive : public testing::TestWithParam<std::string> {};

constexpr std::uint64_t trials = 100;

TEST_P(EveryPolicyLive, TheRestFinishesWhereApplicationsAreWithdrawn) {
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    SCOPED_TRACE(seed);
    LiveTrial trial(GetParam(), seed);
    trial.run([&] { trial.withdraw_somebody(); });
    trial.check();
  }
}

TEST_P(EveryPolicyLive, GoesOnWherePrioritiesChange) {
  for (std::uint64_t seed = 1000; seed < 1000 + trials / 2; ++seed) {
    SCOPED_TRACE(seed);
    LiveTrial trial(GetParam(), seed);
    trial.run([&] { trial.change_a_priority(); });
    trial.check();
  }
}

TEST_P(EveryPolicyLive, TakesOverAndHandsOverAtAnyMoment) {
  for (std::uint64_t seed = 2000; seed < 2000 + trials; ++seed) {
    SCOPED_TRACE(seed);
    LiveTrial trial(GetParam(), seed);
    trial.run([&] { trial.hand_over(); });
    trial.check();
  }
}

TEST_P(EveryPolicyLive, ServesTheRemainingApplicationAtOnce) {
  const Device device = small_device(2);
  InterruptedRun trial(device, GetParam());
  const ApplicationId endless = trial.add("endless");
  trial.submit(endless, with_alone(launch_of(1'000'000'000, 100), 12'500'000'000));
  ASSERT_TRUE(trial.advance(50));
  trial.submit(trial.add("short"), with_alone(launch_of(16, 100), 200));
  trial.run().withdraw(endless, trial.now());
  const Time before = trial.now();
  ASSERT_TRUE(trial.advance()) << trial.run().waiting();
  EXPECT_LT(trial.now() - before, std::chrono::milliseconds(3));  // some take turns, of milliseconds
}

TEST_P(EveryPolicyLive, CanGoOnForEver) {
  InterruptedRun trial(small_device(2), GetParam(), 1, EndedWork::IsForgotten);
  const std::array applications{trial.add("a"), trial.add("b", 1)};
  constexpr int rounds = 60;
  constexpr int per_round = 50;
  for (int round = 0; round < rounds; ++round) {
    for (int job = 0; job < per_round; ++job) {
      for (const ApplicationId each : applications) trial.submit(each, with_alone(launch_of(1 + job % 9, 100), 200));
    }
    ASSERT_TRUE(trial.advance()) << trial.run().waiting();
  }
  EXPECT_LT(trial.run().state().operation_count(), 4096U + 3 * per_round);
  for (const ApplicationId each : applications) {
    EXPECT_EQ(trial.run().tally(each).operations, rounds * per_round);
    EXPECT_EQ(trial.run().tally(each).blocks, rounds * (5 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9) + 1 + 2 + 3 + 4 + 5));
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const PolicyEntry& each : policies()) names.emplace_back(each.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicyLive, testing::ValuesIn(all_names()), [](const auto& each) {
  std::string name(each.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace gpushare
