// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/drain_requests.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>

namespace gpushare::test {
namespace {

constexpr Duration very_patient(3'600'000'000'000);
constexpr std::chrono::milliseconds some_ms(20);

/// Holds a drain in a thread of its own.
class Asker {
 public:
  explicit Asker(DrainRequests& requests)
      : thread_([this, &requests] {
          const Drain drain = requests.ask();
          has_it_.set_value();
          lets_go_.get_future().wait();
        }) {}
  ~Asker() {
    if (thread_.joinable()) let_go();
  }

  bool has_it_within(std::chrono::milliseconds time) const { return got_.wait_for(time) == std::future_status::ready; }
  void wait() const { got_.wait(); }
  void let_go() {
    lets_go_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> has_it_, lets_go_;
  std::future<void> got_ = has_it_.get_future();
  std::thread thread_;
};

void wait_until_wanted(const DrainRequests& requests) {
  while (!requests.is_wanted()) std::this_thread::yield();
}

TEST(DrainRequests, UnusedGpuIsDrainedAtOnce) {
  DrainRequests requests(very_patient);
  {
    const Drain drain = requests.ask();
    EXPECT_FALSE(requests.is_wanted());
    EXPECT_FALSE(requests.begin_use());
  }
  EXPECT_TRUE(requests.begin_use());
}

TEST(DrainRequests, DrainLastsUntilTheLastHolderHasGone) {
  DrainRequests requests(very_patient);
  ASSERT_TRUE(requests.begin_use());
  Asker first(requests);
  Asker second(requests);
  EXPECT_FALSE(first.has_it_within(some_ms));
  EXPECT_FALSE(second.has_it_within(some_ms));
  requests.end_use();
  first.wait();
  second.wait();
  Asker third(requests);
  third.wait();
  first.let_go();
  third.let_go();
  EXPECT_FALSE(requests.begin_use());
  second.let_go();
  EXPECT_TRUE(requests.begin_use());
}

TEST(DrainRequests, LaterRequestWaitsForTheNextDrain) {
  DrainRequests requests(very_patient);
  Asker first(requests);
  first.wait();
  EXPECT_FALSE(requests.begin_use());
  Asker later(requests);
  wait_until_wanted(requests);
  EXPECT_FALSE(later.has_it_within(some_ms));
  first.let_go();
  EXPECT_TRUE(requests.begin_use());
  EXPECT_FALSE(later.has_it_within(some_ms));
  EXPECT_TRUE(requests.is_wanted());
  requests.end_use();
  later.wait();
}

TEST(DrainRequests, EndOfUseGrantsAllRequests) {
  DrainRequests requests(very_patient);
  Asker first(requests);
  first.wait();
  EXPECT_FALSE(requests.begin_use());
  Asker second(requests);
  wait_until_wanted(requests);
  requests.end_use();
  second.wait();
  first.let_go();
  EXPECT_FALSE(requests.begin_use());
  second.let_go();
  EXPECT_TRUE(requests.begin_use());
}

TEST(DrainRequests, ThreadThatHoldsDrainsOfTwoGpusDoesNotWaitForItself) {
  DrainRequests first(Duration(1'000'000)), second(Duration(1'000'000));
  const Drain held = first.ask();
  EXPECT_FALSE(first.begin_use());  // another request would wait for the next drain
  {
    const Drain nested = second.ask();
    EXPECT_TRUE(nested);
    EXPECT_FALSE(first.ask()) << "it holds this one";
  }
  EXPECT_FALSE(first.ask()) << "it still does";
}

TEST(DrainRequests, RequestGoesOnWithoutDrainAfterItsPatience) {
  DrainRequests requests(Duration(1'000'000));
  ASSERT_TRUE(requests.begin_use());
  Asker asker(requests);
  asker.wait();
  EXPECT_FALSE(requests.is_wanted());
}

TEST(DrainRequests, TakingBackEndsAllPresentRequests) {
  DrainRequests requests(very_patient);
  ASSERT_TRUE(requests.begin_use());
  Asker waits(requests);
  wait_until_wanted(requests);
  requests.take_back();
  waits.wait();
  EXPECT_FALSE(requests.is_wanted());
  requests.end_use();
  Asker has_one(requests);
  has_one.wait();
  requests.take_back();
  EXPECT_TRUE(requests.begin_use());
  Asker next(requests);
  has_one.let_go();  // which is not the next one's
  EXPECT_FALSE(next.has_it_within(some_ms));
  EXPECT_TRUE(requests.is_wanted());
  requests.end_use();
  next.wait();
}

TEST(DrainRequests, ThreadThatUsesTheGpuDoesNotWait) {
  DrainRequests requests(very_patient);
  ASSERT_TRUE(requests.begin_use());
  const Drain drain = requests.ask();
  EXPECT_FALSE(requests.is_wanted());
}

TEST(DrainRequests, ThreadThatWaitsToUseTheGpuDoesNotWait) {
  DrainRequests requests(very_patient);
  Asker other(requests);
  other.wait();
  ASSERT_FALSE(requests.begin_use());
  int freed = 0;
  requests.free([&] { freed += 1; });
  EXPECT_EQ(freed, 0);
  const Drain drain = requests.ask();
  EXPECT_FALSE(requests.is_wanted());
  requests.end_use();
}

TEST(DrainRequests, NextDrainFreesWhatWasLeft) {
  DrainRequests requests(very_patient);
  int freed = 0;
  ASSERT_TRUE(requests.begin_use());
  requests.free([&] { freed += 1; });
  requests.end_use();
  EXPECT_EQ(freed, 0);
  const Drain drain = requests.ask();
  EXPECT_EQ(freed, 1);
}

TEST(DrainRequests, NestedRequestsReturnAtOnce) {
  DrainRequests requests(Duration(1'000'000));
  std::promise<void> is_used;
  std::promise<void> is_over;
  std::thread user([&] {
    requests.begin_use();
    is_used.set_value();
    is_over.get_future().wait();
  });
  is_used.get_future().wait();
  {
    const Drain without = requests.ask();
    const Drain within = requests.ask();
    EXPECT_FALSE(requests.is_wanted());
  }
  requests.end_use();
  const Drain drain = requests.ask();
  {
    const Drain within = requests.ask();
  }
  EXPECT_FALSE(requests.begin_use());
  is_over.set_value();
  user.join();
}

TEST(DrainRequests, ActionsOfTheUsingThreadAreLeftToOthers) {
  DrainRequests requests(very_patient);
  int freed = 0;
  ASSERT_TRUE(requests.begin_use());
  requests.free([&] { freed += 1; });
  requests.free([&] { freed += 10; });
  EXPECT_EQ(freed, 0);
  std::thread other([&] { requests.free([&] { freed += 100; }); });
  wait_until_wanted(requests);
  EXPECT_EQ(freed, 0);
  requests.end_use();
  other.join();
  EXPECT_EQ(freed, 111);
  ASSERT_TRUE(requests.begin_use());
  requests.free([&] { freed += 1000; });
  requests.free_left();
  EXPECT_EQ(freed, 1111);
}

}  // namespace
}  // namespace gpushare::test
