// SPDX-License-Identifier: Apache-2.0
#include "core/session/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/trace/metrics.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;
using testing::SizeIs;

constexpr Duration patience = 30s;

Session::MakePolicy named(std::string name) {
  return [name](const std::shared_ptr<const void>& /*world*/) { return make_policy(name); };
}

/// On two SMs with room for four blocks each.
class TrialSession {
 public:
  explicit TrialSession(const std::string& policy = "fifo", SessionOptions options = {})
      : session(realtime_device(small_device(2), 1, 1.0), named(policy), options) {}

  ApplicationId add(const std::string& name, int priority = 0) {
    return session.add({.name = name, .priority = priority});
  }
  JobId submit(ApplicationId application, std::int64_t blocks, Duration block_time, bool is_held = false) {
    return session.submit(application, launch_of(blocks, block_time.count()), nullptr, is_held);
  }
  /// Until the application is in this state.
  ApplicationStatus await(ApplicationId application, const std::string& state) {
    for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
      for (const ApplicationStatus& each : session.status().applications) {
        if (each.id == application && each.state == state && (state != "running" || each.started > 0)) return each;
      }
    }
    ADD_FAILURE() << "never " << state;
    return {};
  }

  Session session;
};

TEST(Session, JobsEndWhenTheirTimeHasCome) {
  TrialSession trial;
  const auto begin = std::chrono::steady_clock::now();
  const JobId job = trial.submit(trial.add("a"), 16, 10ms);  // two waves
  EXPECT_TRUE(trial.session.wait(job, patience));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

TEST(Session, WatchedJobsAreReturnedAsTheyEnd) {
  TrialSession trial;
  const JobId endless = trial.submit(trial.add("a"), 1, 1h);
  const JobId job = trial.submit(trial.add("b"), 1, 1ms);
  for (const JobId each : {endless, job}) trial.session.watch(each);
  EXPECT_EQ(trial.session.await_watched(), std::vector{job});
  std::jthread closing([&] { trial.session.close(); });
  EXPECT_EQ(trial.session.await_watched(), std::vector{endless});
  EXPECT_THAT(trial.session.await_watched(), SizeIs(0));
  trial.session.watch(endless);
  EXPECT_EQ(trial.session.await_watched(), std::vector{endless});
}

TEST(Session, HeldJobAndThoseBehindItWaitForItsRelease) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  const JobId before = trial.submit(a, 1, 1ms);
  const JobId held = trial.submit(a, 1, 1ms, true);
  const JobId behind = trial.submit(a, 1, 1ms);
  const JobId beside = trial.submit(trial.add("b"), 1, 1ms);
  EXPECT_TRUE(trial.session.wait(before, patience));
  EXPECT_TRUE(trial.session.wait(beside, patience));
  EXPECT_EQ(trial.await(a, "waiting").waiting, 1);
  EXPECT_FALSE(trial.session.wait(behind, 5ms));
  trial.session.release(held);
  EXPECT_TRUE(trial.session.wait(behind, patience));
  EXPECT_TRUE(trial.session.wait(held, {}));
}

TEST(Session, CodeEndsWithTheSessionThoughThePolicyHasKeptItsStates) {
  std::shared_ptr<const void> kept;
  const auto keep = [&kept](const std::shared_ptr<const void>& world) {
    kept = world;
    return make_policy("fifo");
  };
  Session session(realtime_device(small_device(), 1, 1.0), keep);
  auto code = std::make_shared<const DeviceCode>();
  const std::weak_ptr<const DeviceCode> seen = code;
  session.submit(session.add({.name = "a"}), launch_of(1, 1000), std::move(code), true);
  EXPECT_THAT(session.status().applications, SizeIs(1));  // the thread has taken the job
  session.close();
  EXPECT_TRUE(seen.expired());
}

TEST(Session, TimeInWhichAJobIsHeldIsNoTurnaround) {
  TrialSession trial;
  const JobId held = trial.submit(trial.add("a"), 1, 1ms, true);
  std::this_thread::sleep_for(20ms);
  const auto released = std::chrono::steady_clock::now();
  trial.session.release(held);
  const SessionRecord record = trial.session.finish(patience);
  EXPECT_GE(record.turnarounds.front(), 1ms);
  EXPECT_LE(record.turnarounds.front(), std::chrono::steady_clock::now() - released);
}

TEST(Session, HeldJobsAreReleasedInAnyOrderAndRunInTheirOwn) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  const JobId first = trial.submit(a, 1, 1ms, true);
  const JobId second = trial.submit(a, 1, 1ms, true);
  trial.session.release(second);
  trial.session.release(second);
  EXPECT_FALSE(trial.session.wait(second, 5ms));
  trial.session.release(first);
  EXPECT_TRUE(trial.session.wait(second, patience));
  EXPECT_THAT(trial.session.finish(patience).workload.applications.front().operations, SizeIs(2));
}

TEST(Session, HeldJobIsCancelledWhereWhatItWaitsForHasFailed) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  const JobId held = trial.submit(a, 1, 1ms, true);
  const JobId behind = trial.submit(a, 1, 1ms);
  trial.session.release(held, "it has failed");
  EXPECT_TRUE(trial.session.wait(behind, patience));
  EXPECT_THAT(message_of<Cancelled>([&] { trial.session.wait(held, patience); }), testing::HasSubstr("has failed"));
  EXPECT_THAT(trial.session.finish(patience).workload.applications.front().operations, SizeIs(1));
}

TEST(Session, HeldJobsGoWithTheirApplication) {
  for (const bool keeps_record : {true, false}) {
    TrialSession trial("fifo", {.keeps_record = keeps_record});
    const ApplicationId a = trial.add("a");
    const JobId held = trial.submit(a, 1, 1ms, true);
    const JobId behind = trial.submit(a, 1, 1ms);
    trial.session.withdraw(a);
    EXPECT_THROW(trial.session.wait(held, patience), Cancelled);
    EXPECT_THROW(trial.session.wait(behind, patience), Cancelled);
    trial.session.release(held);
    EXPECT_TRUE(trial.session.wait(trial.submit(trial.add("b"), 1, 1ms), patience));
  }
}

TEST(Session, HeldJobFailsWithASessionThatIsClosed) {
  TrialSession trial;
  const JobId held = trial.submit(trial.add("a"), 1, 1ms, true);
  trial.session.close();
  trial.session.release(held);
  EXPECT_THROW(trial.session.wait(held, patience), DeviceError);
}

TEST(Session, WaitingEndsWithItsTime) {
  TrialSession trial;
  const JobId job = trial.submit(trial.add("a"), 1, 1h);
  EXPECT_FALSE(trial.session.wait(job, 1ms));
  EXPECT_FALSE(trial.session.wait(job, 0s));
}

TEST(Session, LeavesARecordOfWhatWasDone) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  const ApplicationId b = trial.add("b");
  trial.submit(b, 5, 100us);
  trial.submit(a, 6, 100us);
  trial.submit(b, 7, 100us);
  const SessionRecord record = trial.session.finish(patience);
  ASSERT_THAT(record.workload.applications, SizeIs(2));
  EXPECT_THAT(record.workload.applications[1].operations, SizeIs(2));
  UsageMeter meter(small_device(2), record.workload);
  for (const Event& event : record.trace.events) meter.saw(event);
  EXPECT_EQ(meter.blocks(), 18);
}

TEST(Session, JobsFromManyThreadsAllEnd) {
  TrialSession trial("srtf");
  constexpr int threads = 4;
  constexpr int jobs = 300;
  std::vector<std::thread> submitters;
  for (int number = 0; number < threads; ++number) {
    submitters.emplace_back([&trial, number] {
      const ApplicationId application = trial.add(std::to_string(number));
      JobId last = 0;
      for (int job = 0; job < jobs; ++job) last = trial.submit(application, 3, 1us);
      EXPECT_TRUE(trial.session.wait(last, patience));
    });
  }
  for (std::thread& each : submitters) each.join();
  const SessionRecord record = trial.session.finish(patience);
  EXPECT_EQ(record.workload.operation_count(), static_cast<std::size_t>(threads * jobs));
}

TEST(Session, AnImpossibleLaunchIsRefusedAndOthersRun) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  Launch large = launch_of(1, 100);
  large.kernel.needs.threads = 1 << 16;
  EXPECT_THROW(trial.session.submit(a, large), InvalidInput);
  EXPECT_THROW(trial.session.submit(a, launch_of(0, 100)), InvalidInput);
  EXPECT_TRUE(trial.session.wait(trial.submit(a, 1, 1us), patience));
  EXPECT_THROW(trial.session.wait(JobId{1}, 0s), InvalidInput);
}

TEST(Session, CopiesAreOperationsToo) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  trial.session.submit(a, copy_to_device(1000));
  const JobId job = trial.session.submit(a, copy_to_host(1000));
  EXPECT_TRUE(trial.session.wait(job, patience));
  EXPECT_THROW(trial.session.submit(a, copy_to_host(0)), InvalidInput);
}

TEST(Session, FinishGivesUpWhatTakesTooLong) {
  TrialSession trial;
  const JobId job = trial.submit(trial.add("slow"), 1, 1h);
  trial.await(ApplicationId{0}, "running");
  EXPECT_THAT(message_of<DeviceError>([&] { trial.session.finish(10ms); }), naming("kernel", "slow", 0));
  EXPECT_THROW(trial.session.wait(job, 0s), DeviceError);
}

TEST(Session, CloseDoesNotWait) {
  TrialSession trial;
  const JobId job = trial.submit(trial.add("slow"), 1, 1h);  // it may have begun, or not
  trial.session.close();
  EXPECT_THROW(trial.session.wait(job, 0s), DeviceError);
  EXPECT_THROW(trial.submit(ApplicationId{0}, 1, 1us), DeviceError);
  EXPECT_THROW(trial.session.status(), DeviceError);
}

TEST(Session, APolicyThatFailsEndsTheSession) {
  const auto fails = [](const std::shared_ptr<const void>&) -> std::unique_ptr<Policy> {
    return std::make_unique<ScriptedPolicy>([](const State&) -> Plan { throw PolicyError("not today"); });
  };
  Session session(realtime_device(small_device(2), 1, 1.0), fails);
  const JobId job = session.submit(session.add({.name = "a"}), launch_of(1, 100));
  EXPECT_EQ(message_of<PolicyError>([&] { session.wait(job, patience); }), "not today");
  EXPECT_THROW(session.status(), PolicyError);
}

TEST(Session, AStarvingPolicyIsReported) {
  const auto starves = [](const std::shared_ptr<const void>&) -> std::unique_ptr<Policy> {
    return std::make_unique<ScriptedPolicy>([](const State&) { return Plan{}; });
  };
  Session session(realtime_device(small_device(2), 1, 1.0), starves);
  const JobId job = session.submit(session.add({.name = "a"}), launch_of(1, 100));
  EXPECT_THROW(session.wait(job, patience), PolicyError);
}

TEST(Session, AnUnknownDeviceOrPolicyIsSaidAtOnce) {
  EXPECT_THROW(TrialSession("no such policy"), InvalidInput);
  EXPECT_THROW(Session(realtime_device(small_device(2), 1, 0.0), named("fifo")), InvalidInput);
}

// Withdrawing.

TEST(Session, WithdrawnJobsAreCancelledAndOthersNoticeNothing) {
  TrialSession trial("even");
  const ApplicationId gone = trial.add("gone");
  const ApplicationId stays = trial.add("stays");
  const JobId running = trial.submit(gone, 1'000'000'000, 100us);
  const JobId waiting = trial.submit(gone, 8, 100us);
  trial.await(gone, "running");
  const JobId other = trial.submit(stays, 64, 1ms);
  trial.session.withdraw(gone);
  trial.session.withdraw(gone);
  for (const JobId job : {running, waiting}) {
    EXPECT_EQ(message_of<Cancelled>([&] { trial.session.wait(job, patience); }),
              "application 'gone' has been cancelled");
  }
  EXPECT_THROW(trial.submit(gone, 1, 1us), Cancelled);
  EXPECT_TRUE(trial.session.wait(other, patience));
  EXPECT_THAT(trial.session.status().applications, SizeIs(1));
  const SessionRecord record = trial.session.finish(patience);
  EXPECT_THAT(record.workload.applications[0].operations, SizeIs(1));  // what waited has never been
  EXPECT_THAT(record.workload.applications[1].operations, SizeIs(1));
}

TEST(Session, WhatHasEndedBeforeStaysEnded) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  const JobId job = trial.submit(a, 1, 1us);
  EXPECT_TRUE(trial.session.wait(job, patience));
  trial.session.withdraw(a);
  EXPECT_TRUE(trial.session.wait(job, 0s));
}

TEST(Session, OneThreadMayCloseWhatAnotherOneFinishes) {
  TrialSession trial;
  const ApplicationId a = trial.add("a");
  trial.submit(a, 1'000'000'000, 1ms);
  trial.await(a, "running");
  std::thread other([&] { trial.session.close(); });
  EXPECT_ANY_THROW(trial.session.finish(patience));  // whichever came first
  other.join();
}

// While it runs.

TEST(Session, AnotherPolicyTakesOver) {
  TrialSession trial("fifo");
  const ApplicationId first = trial.add("first");
  const ApplicationId urgent = trial.add("urgent", 5);
  trial.submit(first, 1'000'000'000, 1ms);
  trial.await(first, "running");
  const JobId job = trial.submit(urgent, 8, 1ms);
  EXPECT_FALSE(trial.session.wait(job, 20ms));
  trial.session.set_policy(named("effisha-static"));
  EXPECT_TRUE(trial.session.wait(job, patience));
}

TEST(Session, APolicyThatCannotBeMadeChangesNothing) {
  TrialSession trial("fifo");
  const JobId job = trial.submit(trial.add("a", -1), 8, 5ms);
  EXPECT_THAT(message_of<InvalidInput>([&] { trial.session.set_policy(named("none")); }), naming("none"));
  EXPECT_THROW(trial.session.set_policy(named("effisha-dynamic")), PolicyError);
  EXPECT_TRUE(trial.session.wait(job, patience));
}

TEST(Session, APriorityChangesWhileItRuns) {
  TrialSession trial("effisha-static");
  const ApplicationId first = trial.add("first", 3);
  const ApplicationId second = trial.add("second", 1);
  trial.submit(first, 1'000'000'000, 1ms);
  trial.await(first, "running");
  const JobId job = trial.submit(second, 8, 1ms);
  EXPECT_FALSE(trial.session.wait(job, 20ms));
  trial.session.set_priority(second, 4);
  EXPECT_TRUE(trial.session.wait(job, patience));
  const auto status = trial.session.status();
  EXPECT_EQ(status.applications.at(1).priority, 4);
}

TEST(Session, AStatusTellsWhatGoesOn) {
  TrialSession trial("fifo");
  const ApplicationId first = trial.add("first");
  const ApplicationId second = trial.add("second", 2);
  trial.submit(first, 1'000'000'000, 1ms);
  trial.submit(first, 1, 1ms);
  trial.submit(second, 1, 1ms);
  while (trial.await(first, "running").done < 8) {
  }
  const SessionStatus status = trial.session.status();
  ASSERT_THAT(status.applications, SizeIs(2));
  const ApplicationStatus& one = status.applications[0];
  EXPECT_EQ(one.name, "first");
  EXPECT_EQ(one.waiting, 1U);
  EXPECT_EQ(one.kernel, "kernel");
  EXPECT_EQ(one.blocks, 1'000'000'000);
  EXPECT_GE(one.done, 8);
  EXPECT_GE(one.started, one.done);  // fewer than there is room for in the midst of a wave's ends
  EXPECT_LE(one.started, one.done + 8);
  EXPECT_EQ(one.quota, "4");
  EXPECT_GE(one.sm_time, 2ms);
  EXPECT_GE(one.elapsed, 1ms);
  ASSERT_TRUE(one.remaining);
  EXPECT_NEAR(nanoseconds(*one.remaining), 1e9 / 8 * 1e6, 0.5e9 / 8 * 1e6);
  EXPECT_EQ(status.applications[1].priority, 2);
  EXPECT_EQ(status.applications[1].started, 0);
}

// Who listens.

class Counts : public SessionListener {
 public:
  void job_ended(const JobEnd& end) override { (end.is_cancelled ? cancelled : ended)++; }
  void session_failed(const SessionFailure&) override { ++failed; }
  std::atomic<int> ended = 0;
  std::atomic<int> cancelled = 0;
  std::atomic<int> failed = 0;
};

TEST(Session, TheListenerIsToldOfEveryJob) {
  Counts counts;
  {
    TrialSession trial("even", {.listener = &counts, .keeps_record = false});
    const ApplicationId a = trial.add("a");
    const ApplicationId b = trial.add("b");
    JobId last = 0;
    for (int job = 0; job < 20; ++job) last = trial.submit(a, 1, 1us);
    EXPECT_TRUE(trial.session.wait(last, patience));
    for (int job = 0; job < 5; ++job) last = trial.submit(b, 1, 1h);
    trial.await(b, "running");
    trial.session.withdraw(b);
    EXPECT_FALSE(trial.session.wait(last - 4, 0s));  // a block is never cut short
    EXPECT_THROW(trial.session.wait(last, patience), Cancelled);
    EXPECT_EQ(counts.ended, 20);
    EXPECT_EQ(counts.cancelled, 4);
    EXPECT_EQ(counts.failed, 0);
  }
  EXPECT_EQ(counts.failed, 1);
}

}  // namespace
}  // namespace gpushare
