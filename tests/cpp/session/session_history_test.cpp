// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/session/session.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration history_patience = 30s;

Session::MakePolicy policy_named(std::string name) {
  return [name](const std::shared_ptr<const void>& /*world*/) { return make_policy(name); };
}

/// On two SMs with room for four blocks each.
struct Remembering {
  explicit Remembering(SessionListener* listener = nullptr)
      : session(realtime_device(small_device(2), 1, 1.0), policy_named("fifo"),
                {.listener = listener, .keeps_record = false}) {}

  JobId submit(ApplicationId application, std::int64_t blocks, Duration block_time) {
    return session.submit(application, launch_of(blocks, block_time.count()));
  }

  /// What `submit` submits does not begin before the last of it has come, as under FIFO another one has the device
  /// until then. Waits for the job that it returns.
  template <typename Submit>
  SessionPast past_of(Submit submit) {
    const ApplicationId before = session.add({.name = "before"});
    this->submit(before, 1'000'000'000, 1ms);
    const JobId last = submit();
    session.withdraw(before);
    EXPECT_TRUE(session.wait(last, history_patience));
    SessionPast past = session.history(60s);
    const auto is_before = [&](const auto& each) { return each.application->id == before; };
    std::erase_if(past.operations, is_before);
    std::erase_if(past.quotas, is_before);
    std::erase_if(past.holds, is_before);
    return past;
  }

  Session session;
};

std::vector<std::string> quotas_of(const SessionPast& past, ApplicationId application) {
  std::vector<std::string> found;
  for (const PastQuota& each : past.quotas) {
    if (each.application->id == application) found.push_back(each.quota);
  }
  return found;
}

TEST(SessionHistory, SaysWhenOperationsCameBeganAndEnded) {
  Remembering trial;
  const ApplicationId a = trial.session.add({.name = "a"});
  const ApplicationId b = trial.session.add({.name = "b"});
  const SessionPast past = trial.past_of([&] {
    trial.submit(a, 8, 20ms);  // the whole device
    trial.submit(a, 8, 20ms);
    return trial.submit(b, 8, 1ms);
  });
  ASSERT_THAT(past.operations, SizeIs(testing::Ge(2)));
  const PastOperation& first = past.operations[0];
  const PastOperation& second = past.operations[1];
  EXPECT_EQ(first.application->name, "a");
  EXPECT_FALSE(first.is_cancelled);
  EXPECT_EQ(first.end - *first.began, 20ms);
  EXPECT_GE(*first.began, first.submitted);
  EXPECT_EQ(second.application->name, "b");  // under FIFO it came before the second of "a"
  EXPECT_GE(*second.began, first.end);
  EXPECT_GE(second.end - second.submitted, 1ms);
  EXPECT_GE(past.now, second.end);
}

TEST(SessionHistory, AnOperationThatWaitsBehindAnotherOneWasSubmittedBeforeThatEnded) {
  Remembering trial;
  const ApplicationId a = trial.session.add({.name = "a"});
  const SessionPast past = trial.past_of([&] {
    trial.submit(a, 8, 20ms);
    return trial.submit(a, 8, 1ms);
  });
  ASSERT_THAT(past.operations, SizeIs(2));
  EXPECT_LT(past.operations[1].submitted, past.operations[0].end);
  EXPECT_GE(*past.operations[1].began, past.operations[0].end);
  EXPECT_THAT(quotas_of(past, a), ElementsAre("4", "4"));
  EXPECT_EQ(past.quotas[0].blocks, 8);
  EXPECT_EQ(past.quotas[0].end, past.operations[0].end);
  EXPECT_EQ(past.quotas[1].end, past.operations[1].end);
}

TEST(SessionHistory, WhatIsUnderWayEndsNow) {
  Remembering trial;
  const ApplicationId a = trial.session.add({.name = "a"});
  trial.submit(a, 8, 10s);
  SessionPast past = trial.session.history(60s);
  for (int look = 0; look < 1000 && (past.operations.empty() || !past.operations[0].began); ++look) {
    std::this_thread::sleep_for(10ms);
    past = trial.session.history(60s);
  }
  ASSERT_THAT(past.operations, SizeIs(1));
  EXPECT_TRUE(past.operations[0].is_under_way);
  EXPECT_EQ(past.operations[0].end, past.now);
  EXPECT_THAT(quotas_of(past, a), ElementsAre("4"));
  trial.session.withdraw(a);
}

TEST(SessionHistory, SaysHowManySmsAnApplicationHeld) {
  Remembering trial;
  const ApplicationId a = trial.session.add({.name = "a"});
  const SessionPast past = trial.past_of([&] {
    trial.submit(a, 1, 1ms);
    trial.submit(a, 17, 1ms);
    return trial.submit(a, 8, 1ms);
  });
  std::vector<int> sms;
  for (const PastHold& hold : past.holds) sms.push_back(hold.sms);
  EXPECT_THAT(sms, ElementsAre(1, 2, 1, 2, 0));  // two waves hold the same, and nothing is there for no time
  ASSERT_THAT(past.operations, SizeIs(3));
  EXPECT_EQ(past.holds[1].time, *past.operations[1].began);
  EXPECT_EQ(past.holds[3].time, *past.operations[2].began);
  EXPECT_EQ(past.holds[4].time, past.operations[2].end);
}

TEST(SmOccupancySteps, AreExactAtBothEndsAndSparseBetween) {
  SmOccupancySteps held;
  const auto at = [](std::int64_t us) { return Time(std::chrono::microseconds(us)); };
  EXPECT_FALSE(held.change(1, at(10)));
  const auto came = held.change(2, at(11));
  ASSERT_TRUE(came);
  EXPECT_EQ(came->time, at(10));
  EXPECT_EQ(came->sms, 1);
  EXPECT_FALSE(held.change(3, at(12)));  // a microsecond after the last step
  EXPECT_FALSE(held.change(0, at(20)));
  EXPECT_FALSE(held.change(3, at(20)));  // it was never gone
  EXPECT_TRUE(held.change(4, at(500)));  // three of them for half a millisecond
  EXPECT_TRUE(held.change(0, at(501)));
  EXPECT_TRUE(held.change(1, at(600)));
  EXPECT_EQ(held.last().sms, 1);
}

TEST(SessionHistory, WithdrawnLaunchesAreCancelledAndUnstartedOnesLeftOut) {
  Remembering trial;
  const ApplicationId a = trial.session.add({.name = "a"});
  const ApplicationId b = trial.session.add({.name = "b"});
  for (int job = 0; job < 100; ++job) trial.submit(a, 1'000'000'000, 1ms);
  trial.session.withdraw(a);
  // Numbers of operations come again, and nothing of the earlier ones with them.
  for (int job = 0; job < 5000; ++job) trial.submit(b, 1, 1us);
  EXPECT_TRUE(trial.session.wait(trial.submit(b, 1, 1us), history_patience));
  const SessionPast past = trial.session.history(60s);
  ASSERT_THAT(past.operations, SizeIs(5002));
  EXPECT_TRUE(past.operations[0].is_cancelled);
  EXPECT_EQ(past.operations[0].application->id, a);
  for (std::size_t job = 1; job < past.operations.size(); ++job) {
    EXPECT_FALSE(past.operations[job].is_cancelled);
    EXPECT_GE(past.operations[job].submitted, past.operations[job - 1].submitted);
    EXPECT_GE(past.operations[job].began, past.operations[job - 1].end);
  }
}

TEST(SessionHistory, TellsOfTheLastWhileOnly) {
  Remembering trial;
  const ApplicationId a = trial.session.add({.name = "a"});
  EXPECT_TRUE(trial.session.wait(trial.submit(a, 8, 1ms), history_patience));
  std::this_thread::sleep_for(30ms);
  EXPECT_TRUE(trial.session.wait(trial.submit(a, 8, 1ms), history_patience));
  EXPECT_THAT(trial.session.history(60s).operations, SizeIs(2));
  const SessionPast past = trial.session.history(15ms);
  EXPECT_THAT(past.operations, SizeIs(testing::Le(1)));
  EXPECT_THAT(past.quotas, SizeIs(testing::Le(1)));
}

TEST(SessionHistory, IsOfSessionsWithoutARecord) {
  Session session(realtime_device(small_device(2), 1, 1.0), policy_named("fifo"));
  EXPECT_THROW(session.history(1s), InvalidInput);
}

TEST(SessionHistory, ListenersHearWhenAJobBegan) {
  struct : SessionListener {
    void job_ended(const JobEnd& end) override { ends.push_back(end); }
    std::vector<JobEnd> ends;
  } listener;
  Remembering trial(&listener);
  const ApplicationId a = trial.session.add({.name = "a"});
  trial.submit(a, 8, 5ms);
  EXPECT_TRUE(trial.session.wait(trial.submit(a, 16, 5ms), history_patience));
  trial.session.close();
  ASSERT_THAT(listener.ends, SizeIs(2));
  EXPECT_EQ(listener.ends[0].end - *listener.ends[0].began, 5ms);
  EXPECT_EQ(listener.ends[1].end - *listener.ends[1].began, 10ms);
}

struct Ended {
  int number = 0;
  Time end{};
};

TEST(RecentLog, ForgetsWhatIsOldest) {
  RecentLog<Ended> log(3000);
  EXPECT_THAT(log.since(Time{}), IsEmpty());
  for (int number = 0; number < 5000; ++number) log.push({number, Time(Duration(number))});
  const std::vector<Ended> all = log.since(Time{});
  ASSERT_THAT(all, SizeIs(3000));
  EXPECT_EQ(all.front().number, 2000);
  EXPECT_EQ(all.back().number, 4999);
  EXPECT_THAT(log.since(Time(Duration(4990))), SizeIs(10));
  EXPECT_THAT(log.since(Time(Duration(5000))), IsEmpty());
}

TEST(RecentLog, IsReadWhileItIsWritten) {
  RecentLog<Ended> log(2000);
  std::jthread writer([&](const std::stop_token& stop) {
    for (int number = 0; !stop.stop_requested(); ++number) log.push({number, Time(Duration(number))});
  });
  for (int look = 0; look < 200; ++look) {
    const std::vector<Ended> all = log.since(Time{});
    for (std::size_t place = 1; place < all.size(); ++place) ASSERT_LT(all[place - 1].number, all[place].number);
  }
}

}  // namespace
}  // namespace gpushare
