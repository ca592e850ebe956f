// SPDX-License-Identifier: Apache-2.0
// Sessions whose device fails while jobs are on it, evicted from it, and waiting.
#include "core/session/session_failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <semaphore>
#include <stdexcept>
#include <vector>

#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/session/session.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr Duration long_enough = 30s;

/// Looks until it holds.
template <class Holds>
void await_that(Holds holds) {
  const auto deadline = std::chrono::steady_clock::now() + long_enough;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::logic_error("this does not come to hold");
  }
}

/// A simulated device that fails once it is told to.
class FragileGpu final : public LiveGpu {
 public:
  FragileGpu(const Device& device, const std::atomic<bool>& is_broken, const std::atomic<bool>& ends_first,
             std::atomic<int>& stops)
      : gpu_(device, 1, 1.0), is_broken_(is_broken), ends_first_(ends_first), stops_(stops) {}

  const Device& device() const override { return gpu_.device(); }
  void submit(const Submission& submission) override { gpu_.submit(submission); }
  void announce(const Submission& next) override { gpu_.announce(next); }
  void apply(const Plan& plan) override { gpu_.apply(plan); }
  void admit(OperationId launch) override { gpu_.admit(launch); }
  void withdraw(OperationId operation) override { gpu_.withdraw(operation); }
  std::optional<Event> next_event(std::optional<Time> deadline) override {
    if (is_broken_) throw DeviceError("broken");
    return gpu_.next_event(deadline);
  }
  Time now() const override { return gpu_.now(); }
  void wake() override { gpu_.wake(); }
  bool is_idle() const override { return gpu_.is_idle(); }
  bool stop(Duration patience) override {
    ++stops_;
    return gpu_.stop(patience);
  }
  std::vector<BegunOperation> begun() const override {
    std::vector<BegunOperation> all = gpu_.begun();
    if (ends_first_) all.front().stage = Stage::Ended;
    return all;
  }
  [[noreturn]] void fail(const std::string& message) const override { gpu_.fail(message); }

 private:
  RealtimeSimulatedGpu gpu_;
  const std::atomic<bool>& is_broken_;
  const std::atomic<bool>& ends_first_;  // and nobody has been told by then
  std::atomic<int>& stops_;
};

/// Remembers what is said of the jobs that it is asked for.
class Fates : public SessionListener {
 public:
  void job_ended(const JobEnd& end) override { ended_.push_back(end.job); }
  /// After those who wait for the jobs have been told.
  void session_failed(const SessionFailure& failure) override {
    for (JobId job = 0; job < 8; ++job) fates_[job] = failure.fate_of(job);
    has_failed_.release();
  }
  JobFate of(JobId job) {
    await_failure();
    return fates_.at(job);
  }
  const std::vector<JobId>& ended() {
    await_failure();
    return ended_;
  }

 private:
  void await_failure() {
    if (!knows_ && !has_failed_.try_acquire_for(long_enough)) throw std::logic_error("nothing has failed");
    knows_ = true;
  }

  std::vector<JobId> ended_;
  std::map<JobId, JobFate> fates_;
  std::binary_semaphore has_failed_{0};
  bool knows_ = false;  // does who asks
};

/// On two SMs with room for four blocks each.
struct FragileSession {
  explicit FragileSession(const std::string& policy)
      : session(
            {.description = std::make_shared<const Device>(small_device(2)),
             .open = [this] { return std::make_unique<FragileGpu>(small_device(2), is_broken, ends_first, stops); }},
            [policy](const std::shared_ptr<const void>&) { return make_policy(policy); }, {.listener = &fates}) {}

  ApplicationId add(const std::string& name, int priority = 0) {
    return session.add({.name = name, .priority = priority});
  }
  JobId submit(ApplicationId application, Duration block_time, std::int64_t blocks = 8) {
    return session.submit(application, launch_of(blocks, block_time.count()));
  }
  void await_begin(ApplicationId application) {
    await_that([&] {
      const auto applications = session.status().applications;
      return std::ranges::any_of(applications, [&](const auto& each) {
        return each.id == application && each.state == "running" && each.started > 0;
      });
    });
  }
  std::string fails_with(JobId job) {
    return message_of<DeviceError>([&] { session.wait(job, long_enough); });
  }
  void break_device() {
    is_broken = true;
    EXPECT_THROW(await_that([&] {
                   session.status();
                   return false;
                 }),
                 DeviceError);
  }

  std::atomic<bool> is_broken = false;
  std::atomic<bool> ends_first = false;
  std::atomic<int> stops = 0;
  Fates fates;
  Session session;
};

TEST(SessionFailure, TheOnlyJobOnTheDeviceIsNamedAndTheOthersHaveNotRun) {
  FragileSession trial("fifo");
  const ApplicationId a = trial.add("a");
  const ApplicationId b = trial.add("b");
  const JobId done = trial.submit(a, 1us);
  EXPECT_TRUE(trial.session.wait(done, long_enough));
  const JobId culprit = trial.submit(a, 1h);
  trial.await_begin(a);
  const JobId behind_it = trial.submit(a, 1us);
  const JobId others = trial.submit(b, 1us);
  trial.break_device();
  const std::string cause = "job 'kernel' of 'a' (launch 1) failed: broken";
  const std::string not_run = "this job did not run, and may be submitted again: " + cause;
  EXPECT_TRUE(trial.session.wait(done, 0s));
  EXPECT_EQ(trial.fails_with(culprit), cause);
  EXPECT_EQ(trial.fails_with(behind_it), not_run);
  EXPECT_EQ(trial.fails_with(others), not_run);
  EXPECT_EQ(message_of<DeviceError>([&] { trial.submit(b, 1us); }), not_run);
  EXPECT_EQ(message_of<DeviceError>([&] { trial.session.finish(long_enough); }), cause);
  EXPECT_EQ(trial.fates.of(culprit), JobFate::Culprit);
  EXPECT_EQ(trial.fates.of(behind_it), JobFate::NotRun);
}

TEST(SessionFailure, OfSeveralOnTheDeviceItMayHaveBeenAny) {
  FragileSession trial("even");
  const ApplicationId a = trial.add("a");
  const ApplicationId b = trial.add("b");
  const JobId first = trial.submit(a, 1h, 1);  // and room for others
  const JobId second = trial.submit(b, 100us, 1'000'000'000);
  trial.await_begin(a);
  trial.await_begin(b);
  trial.break_device();
  const std::string cause = "a job failed, one of: 'kernel' of 'a' (launch 0), 'kernel' of 'b' (launch 0): broken";
  EXPECT_EQ(trial.fails_with(first), cause);
  EXPECT_EQ(trial.fails_with(second), cause);
  EXPECT_EQ(trial.fates.of(first), JobFate::Suspect);
  EXPECT_EQ(trial.fates.of(second), JobFate::Suspect);
  EXPECT_EQ(trial.stops, 1);  // one of them was not to blame, and may still have been running
}

TEST(SessionFailure, AJobWhoseEndWasNotToldYetHasEnded) {
  for (const bool is_closed : {false, true}) {
    FragileSession trial("even");
    const ApplicationId a = trial.add("a");
    const ApplicationId b = trial.add("b");
    const JobId first = trial.submit(a, 1h, 1);
    const JobId second = trial.submit(b, 1h, 1);
    trial.await_begin(a);
    trial.await_begin(b);
    trial.ends_first = true;
    if (is_closed) {
      trial.session.close();
    } else {
      trial.break_device();
    }
    EXPECT_TRUE(trial.session.wait(first, 0s));
    EXPECT_THAT(trial.fails_with(second), naming("kernel", "b", 0));
    EXPECT_THAT(trial.fates.ended(), testing::ElementsAre(first));
  }
}

TEST(SessionFailure, AJobThatWasEvictedIsNotToBlameAndNotComplete) {
  FragileSession trial("effisha-static");
  const ApplicationId evicted = trial.add("evicted", 1);
  const ApplicationId urgent = trial.add("urgent", 2);
  const JobId begun = trial.submit(evicted, 1ms, 1'000'000);
  trial.await_begin(evicted);
  const JobId culprit = trial.submit(urgent, 1h, 1'000);
  trial.await_begin(urgent);
  await_that([&] { return trial.session.status().applications.front().state == "waiting"; });
  trial.break_device();
  const std::string cause = "job 'kernel' of 'urgent' (launch 0) failed: broken";
  EXPECT_EQ(trial.fails_with(culprit), cause);
  EXPECT_EQ(trial.fails_with(begun), "this job had begun, and what it writes is not complete: " + cause);
  EXPECT_EQ(trial.fates.of(begun), JobFate::Begun);
}

TEST(SessionFailure, AFailureWithoutACauseOnTheDeviceReachesEveryWait) {
  FragileSession trial("fifo");
  trial.add("a");
  trial.break_device();
  EXPECT_EQ(message_of<DeviceError>([&] { trial.submit(ApplicationId{0}, 1us); }),
            "this job did not run, and may be submitted again: broken");
}

TEST(SessionFailure, ABlockThatDoesNotEndIsReportedWithItsJob) {
  FragileSession trial("even");
  const ApplicationId a = trial.add("a");
  const ApplicationId stuck = trial.add("stuck");
  trial.submit(stuck, 1us);
  const JobId endless = trial.submit(stuck, 1h, 1);
  const JobId waiting = trial.submit(stuck, 1us);
  trial.await_begin(stuck);
  trial.session.fail_for(a, "it has nothing there");
  const JobId other = trial.submit(a, 1ms, 1'000'000);
  trial.await_begin(a);
  trial.session.fail_for(stuck, "no block has ended for an hour");
  const std::string cause = "job 'kernel' of 'stuck' (launch 1) does not end: no block has ended for an hour";
  EXPECT_EQ(trial.fails_with(endless), cause);
  EXPECT_EQ(trial.fails_with(waiting), "this job did not run, and may be submitted again: " + cause);
  EXPECT_EQ(trial.fails_with(other), "this job had begun, and what it writes is not complete: " + cause);
  EXPECT_EQ(trial.fates.of(endless), JobFate::Culprit);
}

}  // namespace
}  // namespace gpushare
