// SPDX-License-Identifier: Apache-2.0
// Clients through rings, under a policy, on a simulated device that follows the wall clock.
#include "daemon/session_sink.hpp"

#include <gtest/gtest.h>

#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "messages.hpp"
#include "plane.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"

namespace gpushare::test {
namespace {

Session::MakePolicy policy(const std::string& name) {
  return [name](std::shared_ptr<const void>) { return make_policy(name); };
}

std::shared_ptr<SessionSink> simulated_session() {
  return std::make_shared<SessionSink>(realtime_device(small_device(2), 0, 1), policy("round-robin"));
}

/// A client with an application in the session and two kernels: blocks of 10 us, and of 20 ms.
struct SessionClient {
  SessionClient(PortServer& server, SessionSink& sink, const std::string& name) : client(server) {
    auto in_session = std::make_shared<SessionApplication>(sink.session(), Application{.name = name});
    ClientTables& tables = client.at_worker->tables();
    application = tables.applications.add(std::make_shared<ApplicationEntry>(name, std::move(in_session)));
    quick = add_kernel("quick", Duration(10'000));
    slow = add_kernel("slow", Duration(20'000'000));
  }

  Handle add_kernel(const std::string& name, Duration latency) {
    auto code = std::make_shared<SessionKernel>(
        SessionKernel{.model = {.name = name, .needs = {.threads = 128}, .cost = {.latency = latency}}});
    return client.at_worker->tables().kernels.add(
        std::make_shared<KernelEntry>(KernelEntry{.name = name, .code = std::move(code)}));
  }

  JobNumber launch(Handle kernel, std::uint32_t blocks = 4) {
    return client.port.launch({.application = application, .kernel = kernel, .grid = {blocks, 1, 1}});
  }

  TestClient client;
  Handle application = 0;
  Handle quick = 0;
  Handle slow = 0;
};

TEST(SessionSink, RunsTheLaunchesOfAllClients) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice"), bob(server, *sink, "bob");
  for (int time = 0; time < 100; ++time) {
    alice.launch(alice.quick);
    bob.launch(bob.quick);
  }
  EXPECT_EQ(alice.client.port.wait(alice.client.port.fence(), 20s)->status, JobStatus::Done);
  EXPECT_EQ(bob.client.port.wait(bob.client.port.fence(), 20s)->status, JobStatus::Done);
  for (JobNumber job = 1; job <= 100; ++job) EXPECT_EQ(alice.client.port.wait(job, 0s)->status, JobStatus::Done);
}

TEST(SessionSink, ALaunchTakesAsLongAsItsModelSays) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  const auto end = alice.client.port.wait(alice.launch(alice.slow), 20s);  // 4 blocks, 2 SMs with room for two each
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::Done) << end->message;
  EXPECT_GE(end->ended - end->accepted, 20'000'000);
}

/// How much later than the first one the second job started.
std::int64_t apart(const std::optional<JobResult>& first, const std::optional<JobResult>& second) {
  return second->started - first->started;
}

TEST(SessionSink, JobsStartedWhenTheSessionSaysThatTheyBegan) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  const auto begin = std::chrono::steady_clock::now();
  const JobNumber long_one = alice.launch(alice.slow, 8);  // two waves of 20 ms
  const JobNumber behind_it = alice.launch(alice.slow);
  const auto second = alice.client.port.wait(behind_it, 20s);
  const auto first = alice.client.port.wait(long_one, 0s);
  const std::vector<PastOperation> past = sink->session().history(60s).operations;
  ASSERT_EQ(past.size(), 2U);
  const Duration began_apart = *past[1].began - *past[0].began;
  EXPECT_GE(began_apart, 40ms);
  // The device falls behind the wall clock while its thread has no processor.
  const Duration behind = std::chrono::steady_clock::now() - begin - began_apart;
  EXPECT_NEAR(nanoseconds(Duration(apart(first, second))), nanoseconds(began_apart), nanoseconds(behind));
  EXPECT_GE(first->started, first->accepted);
  EXPECT_GE(second->ended - second->started, 20'000'000);
}

/// Has a block of the first job started?
bool has_begun(SessionSink& sink) {
  const std::vector<PastOperation> past = sink.session().history(60s).operations;
  return !past.empty() && past.front().began.has_value();
}

TEST(SessionSink, AJobThatWasWithdrawnSaysWhetherItHadStarted) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  const JobNumber running = alice.launch(alice.slow, 4'000);
  const JobNumber waiting = alice.launch(alice.quick);
  while (!has_begun(*sink)) std::this_thread::sleep_for(1ms);
  sink->session().withdraw(ApplicationId{0});
  EXPECT_GT(alice.client.port.wait(running, 10s)->started, 0);
  EXPECT_EQ(alice.client.port.wait(waiting, 10s)->started, 0);
}

TEST(SessionSink, WhatTheSessionRefusesIsRefused) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  const Handle large = alice.client.at_worker->tables().kernels.add(std::make_shared<KernelEntry>(KernelEntry{
      .name = "large",
      .code = std::make_shared<SessionKernel>(SessionKernel{.model = {.name = "large", .needs = {.threads = 512}}})}));
  const auto end = alice.client.port.wait(alice.launch(large), 20s);
  EXPECT_EQ(end->status, JobStatus::Refused);
  EXPECT_EQ(alice.client.port.wait(alice.launch(alice.quick), 20s)->status, JobStatus::Done);
}

TEST(SessionSink, AnApplicationWhoseFirstLaunchIsRefusedIsNotAdded) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  const Application hurried{.name = "hurried", .deadline = Duration(1'000'000)};
  alice.application = alice.client.at_worker->tables().applications.add(
      std::make_shared<ApplicationEntry>(hurried.name, std::make_shared<SessionApplication>(sink->session(), hurried)));
  const auto end = alice.client.port.wait(alice.launch(alice.slow), 20s);
  EXPECT_EQ(end->status, JobStatus::Refused);
  EXPECT_THAT(end->message, naming("hurried", 1000000));
  EXPECT_EQ(sink->session().status().applications.size(), 0U);
  EXPECT_EQ(alice.client.port.wait(alice.launch(alice.quick), 20s)->status, JobStatus::Done);
  EXPECT_EQ(sink->session().status().applications.size(), 1U);
}

TEST(SessionSink, CopiesArriveInTheOrderOfTheApplication) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  ClientTables& tables = alice.client.at_worker->tables();
  const SharedMemory arena = SharedMemory::create("arena", 4096);
  std::vector<std::byte> array(2048);
  CopyRequest request{.application = alice.application, .bytes = 2048};
  request.arena = tables.arenas.add(
      std::make_shared<ArenaEntry>(SharedMemory::map(FileDescriptor::duplicate(arena.descriptor()), 1 << 20), nullptr));
  request.array = tables.arrays.add(
      std::make_shared<ArrayEntry>(reinterpret_cast<std::uint64_t>(array.data()), array.size(), nullptr));
  for (std::size_t at = 0; at < 2048; ++at) arena.bytes()[at] = static_cast<std::byte>(at * 3);
  alice.client.port.copy_in(request);
  alice.launch(alice.quick);
  request.arena_offset = 2048;
  const auto end = alice.client.wait_for_memory(alice.client.port.copy_out(request));
  EXPECT_EQ(end->status, JobStatus::Done) << end->message;
  EXPECT_TRUE(std::ranges::equal(arena.bytes().first(2048), arena.bytes().last(2048)));
  EXPECT_EQ(array[5], std::byte{15});
}

TEST(SessionSink, AClientThatGoesIsWithdrawnAndOthersNoticeNothing) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient steady(server, *sink, "steady");
  {
    SessionClient visitor(server, *sink, "visitor");
    visitor.launch(visitor.slow, 4'000);  // 20 s
    for (int time = 0; time < 10; ++time) visitor.launch(visitor.quick);
    while (visitor.client.at_worker->statistics().commands < 11) std::this_thread::yield();
  }
  ASSERT_TRUE(server.wait_gone(10s));
  EXPECT_EQ(steady.client.port.wait(steady.launch(steady.quick), 10s)->status, JobStatus::Done);
  for (int look = 0; sink->session().status().applications.size() > 1; ++look) {
    ASSERT_LT(look, 1'000);
    std::this_thread::sleep_for(10ms);
  }
}

TEST(SessionSink, JobsOfAWithdrawnApplicationSaySo) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  const JobNumber running = alice.launch(alice.slow, 4'000);
  const JobNumber waiting = alice.launch(alice.quick);
  EXPECT_EQ(alice.client.port.wait(running, 30ms), std::nullopt);
  sink->session().withdraw(ApplicationId{0});
  EXPECT_EQ(alice.client.port.wait(running, 10s)->status, JobStatus::Withdrawn);
  EXPECT_EQ(alice.client.port.wait(waiting, 10s)->status, JobStatus::Withdrawn);
  EXPECT_EQ(alice.client.port.wait(alice.launch(alice.quick), 10s)->status, JobStatus::Withdrawn);
}

TEST(SessionSink, OfAFailedSessionEveryJobHearsWhetherItIsToBlame) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice"), bob(server, *sink, "bob");
  const JobNumber endless = alice.launch(alice.slow, 4'000);
  const JobNumber waiting = alice.launch(alice.quick);
  while (!has_begun(*sink)) std::this_thread::sleep_for(1ms);
  sink->session().fail_for(ApplicationId{0}, "it says so");
  const auto culprit = alice.client.port.wait(endless, 10s);
  EXPECT_EQ(culprit->status, JobStatus::Culprit);
  EXPECT_EQ(culprit->message, "job 'slow' of 'alice' (launch 0) does not end: it says so");
  const std::string not_run = "this job did not run, and may be submitted again: " + culprit->message;
  for (const auto& end : {alice.client.port.wait(waiting, 10s), bob.client.port.wait(bob.launch(bob.quick), 10s)}) {
    EXPECT_EQ(end->status, JobStatus::Retryable);
    EXPECT_EQ(end->message, not_run);
  }
}

/// Remembers in which order it is told, and of what.
class ToldJobs : public CompletionTarget {
 public:
  void complete(std::uint64_t job, std::int64_t, const JobOutcome& outcome) override {
    const std::scoped_lock lock(mutex_);
    told_.emplace_back(job, outcome.status);
  }
  std::vector<std::pair<std::uint64_t, JobStatus>> told() {
    const std::scoped_lock lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, JobStatus>> told_;
};

/// A ring that is full when the process ends lacks what was told last.
TEST(SessionSink, OfAFailedSessionTheCulpritHearsFirstAndThenWhatHadBegun) {
  const auto sink = simulated_session();
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice"), bob(server, *sink, "bob");
  const auto jobs = std::make_shared<ToldJobs>();
  std::vector<std::pair<std::uint64_t, JobStatus>> expected;
  std::uint64_t submitted = 0;
  const auto launch = [&](SessionClient& client, Handle kernel, std::uint32_t blocks) {
    const ClientTables& tables = client.client.at_worker->tables();
    sink->launch({.application = tables.applications.find(client.application),
                  .kernel = tables.kernels.find(kernel),
                  .grid = {blocks, 1, 1},
                  .reply = JobReply(jobs, ++submitted)});
    expected.emplace_back(submitted, JobStatus::Retryable);
  };
  for (int time = 0; time < 100; ++time) launch(alice, alice.quick, 1'000'000'000);
  for (int time = 0; time < 100; ++time) launch(bob, bob.quick, 1'000'000'000);
  while (!has_begun(*sink)) std::this_thread::sleep_for(1ms);
  sink->session().fail_for(ApplicationId{1}, "it says so");
  ASSERT_TRUE(sink->wait_failure(10s));
  std::ranges::rotate(expected.begin(), expected.begin() + 100, expected.begin() + 101);
  expected.front().second = JobStatus::Culprit;
  EXPECT_EQ(jobs->told(), expected);
}

class BreakingPolicy : public Policy {
 public:
  Plan decide(const State&) const override { throw std::runtime_error("the policy's own words"); }
};

TEST(SessionSink, JobsOfAFailedSessionCanBeTriedAgain) {
  const auto sink =
      std::make_shared<SessionSink>(realtime_device(small_device(2), 0, 1),
                                    [](std::shared_ptr<const void>) { return std::make_unique<BreakingPolicy>(); });
  PortServer server(sink);
  SessionClient alice(server, *sink, "alice");
  for (int time = 0; time < 2; ++time) {  // one is there when it fails, one comes after that
    const auto end = alice.client.port.wait(alice.launch(alice.quick), 10s);
    EXPECT_EQ(end->status, JobStatus::Retryable);
    EXPECT_EQ(end->message, "");  // all that there is to say is the session's
  }
  EXPECT_THAT(message_of<PolicyError>([&] { std::rethrow_exception(sink->wait_failure(10s)); }),
              naming("the policy's own words"));
}

}  // namespace
}  // namespace gpushare::test
