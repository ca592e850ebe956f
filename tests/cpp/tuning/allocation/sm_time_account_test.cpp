// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/sm_time_account.hpp"

#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

class AccountedRun : public HandWrittenRun {
 public:
  explicit AccountedRun(int applications)
      : HandWrittenRun(small_device(4), workload_of(std::vector<Launch>(static_cast<std::size_t>(applications),
                                                                        launch_of(1000, 1000)))) {}
  double time_of(int application) const { return account.virtual_time(ApplicationId{application}, state()); }
  double mean(const std::vector<ApplicationId>& present) const { return account.mean(present, state()); }

  SmTimeAccount account;

 private:
  void observed(const Event& event) override { account.observe(event, state()); }
};

const std::vector both{ApplicationId{0}, ApplicationId{1}};

TEST(SmTimeAccount, CountsEverySmWithABlock) {
  AccountedRun run(1);
  run.arrive(0, 0);
  run.start_block(0, 0, 0);
  run.start_block(0, 0, 0);
  run.start_block(0, 1, 100);
  run.reach_deadline(300);
  EXPECT_DOUBLE_EQ(run.time_of(0), 300 + 200) << "two blocks on one SM count once";
}

TEST(SmTimeAccount, DividesByWeightFromNowOn) {
  AccountedRun run(1);
  run.arrive(0, 0);
  run.start_block(0, 0, 0);
  run.reach_deadline(100);
  run.account.set_weight(ApplicationId{0}, 2, run.state());
  EXPECT_DOUBLE_EQ(run.time_of(0), 100);
  run.reach_deadline(200);
  EXPECT_DOUBLE_EQ(run.time_of(0), 150);
}

TEST(SmTimeAccount, ANewApplicationStartsAtTheMean) {
  AccountedRun run(2);
  run.arrive(0, 0);
  run.start_block(0, 0, 0);
  run.account.limit_lag(std::vector{ApplicationId{0}}, 50, run.state());
  run.reach_deadline(1000);
  run.arrive(1, 1000);
  run.account.limit_lag(both, 50, run.state());
  EXPECT_DOUBLE_EQ(run.time_of(1), 1000);
}

TEST(SmTimeAccount, LimitsTheLagBehindTheMean) {
  AccountedRun run(2);
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.account.limit_lag(both, 50, run.state());
  run.start_block(0, 0, 0);
  run.reach_deadline(1000);
  EXPECT_DOUBLE_EQ(run.mean(both), 500);
  EXPECT_DOUBLE_EQ(run.time_of(1), 0);
  run.account.limit_lag(both, 50, run.state());
  EXPECT_DOUBLE_EQ(run.time_of(1), 450);
}

}  // namespace
}  // namespace gpushare
