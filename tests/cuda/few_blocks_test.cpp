// SPDX-License-Identifier: Apache-2.0
// Launches of fewer blocks than there are SMs, under policies that give them some SMs only. The stand-in places blocks
// on its first SMs while they are empty, as an H100 does in an order of its own: as many workers as there are blocks
// never come to the last SMs.
#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>

#include "telling_launches.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Lt;

struct Sms {
  int first = 0;
  int count = 0;

  Quota quota(int blocks, int all) const {
    std::vector<int> by_sm(static_cast<std::size_t>(all));
    std::fill_n(by_sm.begin() + first, count, blocks);
    return Quota::per_sm(std::move(by_sm));
  }
};

class OnSomeSms : public Policy {
 public:
  explicit OnSomeSms(Sms sms) : sms_(sms) {}
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back({.launch = launch.id, .quota = sms_.quota(2, state.device().sms)});
    }
    return plan;
  }

 private:
  Sms sms_;
};

/// Quotas come and go all the time, faster than workers could be asked for often.
class OnSomeSmsNowAndThen : public Policy {
 public:
  explicit OnSomeSmsNowAndThen(Sms sms) : sms_(sms) {}
  bool wants(const gpushare::Event& /*event*/) const override { return true; }
  void observe(const gpushare::Event& event, const State& /*state*/) override {
    if (event.kind == EventKind::DeadlineReached) ++turns_;
  }
  Plan decide(const State& state) const override {
    Plan plan{.wake_at = state.now() + interval};
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back({.launch = launch.id, .quota = sms_.quota(turns_ % 3, state.device().sms)});
    }
    return plan;
  }

 private:
  static constexpr Duration interval{3'000'000};
  Sms sms_;
  int turns_ = 0;
};

/// One SM until a block has begun there, others from then on.
class Moves : public Policy {
 public:
  Moves(Sms from, Sms to) : from_(from), to_(to) {}
  bool wants(const gpushare::Event& /*event*/) const override { return true; }
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back(
          {.launch = launch.id, .quota = (launch.started == 0 ? from_ : to_).quota(1, state.device().sms)});
    }
    return plan;
  }

 private:
  Sms from_;
  Sms to_;
};

class FewBlocks : public TellingLaunches {
 protected:
  FewBlocks() { let_win(ExecutionMode::Worker); }

  void run_until_the_end(Policy& policy) {
    CudaGpu gpu(*resources, work.program);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    gpu.set_heartbeat([end] {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the launch does not begin");
    });
    run(gpu, policy, work.workload, {});
  }

  /// Where the blocks of all launches were, as workers.
  std::vector<int> told(unsigned blocks_each) {
    std::vector<int> all;
    for (const DeviceMemory& where : places.front()) {
      for (const int sm : values<int>(where, blocks_each)) all.push_back(sm - of_worker);
    }
    return all;
  }

  static auto are_in(Sms sms) { return Each(AllOf(Ge(sms.first), Lt(sms.first + sms.count))); }

  void expect_there(unsigned few, Sms sms) {
    SCOPED_TRACE(std::to_string(few) + " blocks on " + std::to_string(sms.count) + " SMs from " +
                 std::to_string(sms.first));
    work = {};
    places.clear();
    add_application("only", 1, few);
    OnSomeSms policy(sms);
    ASSERT_NO_THROW(run_until_the_end(policy));
    EXPECT_THAT(told(few), are_in(sms));
  }
};

TEST_F(FewBlocks, BeginWhicheverSmsTheyMayHave) {
  for (const unsigned few : {1u, 2u, 3u}) {
    for (const int count : {1, 2, 3, 4}) {
      for (const int first : {0, context->description().sms - count}) expect_there(few, {first, count});
    }
  }
}

/// In a process of its own, for a driver is opened once in a process.
class OfManySms : public FewBlocks {
 public:
  static void run_as_on_an_h100() {
    setenv("GPUSHARE_STAND_IN_SMS", "132", 1);
    OfManySms().run_rows();
    std::exit(HasFailure() ? 1 : 0);
  }

 private:
  void TestBody() override {}
  void run_rows() {
    ASSERT_EQ(context->description().sms, 132);
    for (const int count : {1, 2, 3, 6, 11, 22, 33, 36, 44, 50, 66, 88, 120, 130}) {
      for (const int first : {0, 132 - count}) ASSERT_NO_FATAL_FAILURE(expect_there(1, {first, count}));
    }
  }
};

TEST(FewBlocksOfManySms, OneBeginsWhicheverItMayHave) {
  EXPECT_EXIT(OfManySms::run_as_on_an_h100(), testing::ExitedWithCode(0), "");
}

TEST_F(FewBlocks, LaunchesInARowBeginOneAfterTheOther) {
  constexpr Sms last{2, 2};
  add_application("only", 6, 3);
  OnSomeSms policy(last);
  ASSERT_NO_THROW(run_until_the_end(policy));
  EXPECT_THAT(told(3), are_in(last));
}

TEST_F(FewBlocks, BeginWhereQuotasComeAndGo) {
  constexpr Sms last{2, 2};
  add_application("only", 3, 1);
  OnSomeSmsNowAndThen policy(last);
  ASSERT_NO_THROW(run_until_the_end(policy));
  EXPECT_THAT(told(1), are_in(last));
}

TEST_F(FewBlocks, ComeBackOnOtherSmsWhenTheyHaveBeenEvicted) {
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory counter = array(std::vector{0});
  work.add_application("only");
  work.add_launch(load("wait_at_gate", wait_at_gate), 2, 1, arguments(gate.get(), counter.get(), 20 * some_ms));
  Moves policy({0, 1}, {2, 2});
  ASSERT_NO_THROW(run_until_the_end(policy));
  EXPECT_EQ(values<int>(counter, 1), std::vector{2});
}

}  // namespace
}  // namespace gpushare::cuda::test
