// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/quiescence.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "times.hpp"

namespace gpushare {
namespace {

using test::at_ms;

using Action = Quiescence::Action;

/// Holds a drain in a thread of its own.
class DrainHolder {
 public:
  explicit DrainHolder(DrainRequests& requests)
      : thread_([this, &requests] {
          const Drain drain = requests.ask();
          has_it_ = true;
          while (!lets_go_) std::this_thread::yield();
        }) {}
  ~DrainHolder() {
    lets_go_ = true;
    thread_.join();
  }
  void wait() const {
    while (!has_it_) std::this_thread::yield();
  }

 private:
  std::atomic<bool> has_it_ = false, lets_go_ = false;
  std::thread thread_;
};

class QuiescenceTest : public testing::Test {
 protected:
  Action check(std::int64_t ms) {
    return quiescence.check(at_ms(ms), [this] { return is_empty; });
  }
  void wait_until_wanted() const {
    while (!requests.is_wanted()) std::this_thread::yield();
  }

  DrainRequests requests{Duration(3'600'000'000'000)};
  Quiescence quiescence{requests};
  bool is_empty = true;
};

TEST_F(QuiescenceTest, UseBeginsWhereNoThreadHoldsADrain) {
  EXPECT_FALSE(quiescence.may_use());
  EXPECT_EQ(quiescence.begin_use(at_ms(0)), Action::None);
  EXPECT_TRUE(quiescence.may_use());
  EXPECT_EQ(check(1), Action::None);
}

TEST_F(QuiescenceTest, RequestDrainsTheGpuAndUseResumesBehindIt) {
  quiescence.begin_use(at_ms(0));
  is_empty = false;
  {
    DrainHolder holder(requests);
    wait_until_wanted();
    EXPECT_EQ(check(10), Action::Drain);
    EXPECT_TRUE(quiescence.is_draining());
    EXPECT_EQ(check(11), Action::None);
    is_empty = true;
    EXPECT_EQ(check(12), Action::None);
    holder.wait();
    EXPECT_FALSE(quiescence.may_use());
  }
  EXPECT_EQ(check(20), Action::Resume);
  EXPECT_TRUE(quiescence.may_use());
}

TEST_F(QuiescenceTest, DrainsTakeHalfOfTheTimeAtMost) {
  quiescence.begin_use(at_ms(0));
  std::optional<DrainHolder> first(requests);
  wait_until_wanted();
  EXPECT_EQ(check(100), Action::Drain);
  check(100);
  first->wait();
  first.reset();
  EXPECT_EQ(check(150), Action::Resume);  // it took 50 ms
  DrainHolder second(requests);
  wait_until_wanted();
  EXPECT_EQ(check(199), Action::None);
  EXPECT_EQ(check(200), Action::Drain);
  check(200);
  second.wait();
}

TEST_F(QuiescenceTest, LaunchThatDoesNotLeaveEndsTheDrain) {
  quiescence.begin_use(at_ms(0));
  is_empty = false;
  DrainHolder holder(requests);
  wait_until_wanted();
  EXPECT_EQ(check(0), Action::Drain);
  EXPECT_EQ(check(1'999), Action::None);
  EXPECT_EQ(check(2'000), Action::Resume);
  holder.wait();  // it goes on without a drain
}

TEST_F(QuiescenceTest, UseWaitsForADrainThatIsHeld) {
  {
    DrainHolder holder(requests);
    holder.wait();
    EXPECT_EQ(quiescence.begin_use(at_ms(0)), Action::Drain);
    EXPECT_FALSE(quiescence.may_use());
    EXPECT_EQ(check(1), Action::None);
  }
  EXPECT_EQ(check(2), Action::Resume);
}

TEST_F(QuiescenceTest, OneThatNeverBeganDoesNotEndTheUseOfAnother) {
  quiescence.begin_use(at_ms(0));
  {
    const Quiescence other(requests);
  }
  is_empty = false;
  DrainHolder holder(requests);
  wait_until_wanted();
  EXPECT_EQ(check(1), Action::Drain);  // the holder has to wait for this
  is_empty = true;
  check(2);
  holder.wait();
}

TEST_F(QuiescenceTest, EndOfUseFreesWaitingRequests) {
  std::optional<Quiescence> user(std::in_place, requests);
  user->begin_use(at_ms(0));
  DrainHolder holder(requests);
  wait_until_wanted();
  user.reset();
  holder.wait();
}

TEST_F(QuiescenceTest, DrainDoesNotWaitForACallerThatIsAway) {
  quiescence.begin_use(at_ms(0));
  quiescence.leave_use([] { return true; });
  EXPECT_FALSE(quiescence.may_use());
  DrainHolder holder(requests);
  holder.wait();
}

}  // namespace
}  // namespace gpushare
