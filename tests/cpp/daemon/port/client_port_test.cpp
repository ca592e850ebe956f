// SPDX-License-Identifier: Apache-2.0
// Clients and worker in one process: what goes in comes out, in every order of doing.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/plane.hpp"
#include "messages.hpp"

namespace gpushare::test {
namespace {

TEST(ClientPort, LaunchesAndHearsOfTheEnd) {
  PortServer server(echo());
  TestClient alice(server);
  const JobNumber job = alice.launch();
  EXPECT_EQ(job, 1u);
  const auto end = alice.port.wait(job, 10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::Done) << end->message;
  EXPECT_LE(end->accepted, end->ended);
  EXPECT_LE(end->started, end->ended);
  EXPECT_EQ(alice.port.wait(job, 0s)->ended, end->ended);  // says the same again
  alice.port.forget(job);
  EXPECT_THROW(alice.port.wait(job, 0s), InvalidInput);
}

TEST(ClientPort, WaitsNoLongerThanItIsTold) {
  PortServer server(echo(10s));
  TestClient alice(server);
  const JobNumber job = alice.launch();
  EXPECT_EQ(alice.port.wait(job, 0s), std::nullopt);
  EXPECT_EQ(alice.port.wait(job, 20ms), std::nullopt);
}

TEST(ClientPort, RefusedCommandsEndWithAReasonAndNothingElseDoes) {
  PortServer server(echo());
  TestClient alice(server);
  LaunchRequest request = alice.request();
  request.kernel += 1;
  const JobNumber forged = alice.port.launch(request);
  request = alice.request();
  request.grid = {1, 70'000, 1};
  const JobNumber large = alice.port.launch(request);
  const JobNumber good = alice.launch();
  EXPECT_EQ(alice.port.wait(good, 10s)->status, JobStatus::Done);
  EXPECT_EQ(alice.port.wait(forged, 0s)->status, JobStatus::Refused);
  EXPECT_NE(alice.port.wait(forged, 0s)->message.find("kernel handle"), std::string::npos);
  EXPECT_THAT(alice.port.wait(large, 0s)->message, naming(70000));
  EXPECT_EQ(alice.at_worker->statistics().refused, 2u);
}

TEST(ClientPort, HandlesOfOneClientAreNoneOfAnother) {
  PortServer server(echo());
  TestClient alice(server), bob(server);
  const Handle extra = alice.at_worker->tables().kernels.add(
      std::make_shared<KernelEntry>(KernelEntry{.name = "secret", .argument_bytes = argument_bytes}));
  LaunchRequest request = bob.request();
  request.kernel = extra;
  EXPECT_EQ(bob.port.wait(bob.port.launch(request), 10s)->status, JobStatus::Refused);
  request.application = alice.handles.application;
  EXPECT_EQ(alice.port.wait(alice.port.launch(request), 10s)->status, JobStatus::Done);
}

TEST(ClientPort, StaleHandlesAreRefused) {
  PortServer server(echo());
  TestClient alice(server);
  alice.at_worker->tables().kernels.remove(alice.handles.kernel);
  EXPECT_EQ(alice.port.wait(alice.launch(), 10s)->status, JobStatus::Refused);
  give_handles(*alice.at_worker);  // takes the same place
  EXPECT_EQ(alice.port.wait(alice.launch(), 10s)->status, JobStatus::Refused);
}

TEST(ClientPort, CopiesBetweenArenasAndArrays) {
  PortServer server(echo());
  TestClient alice(server);
  const SharedMemory arena = SharedMemory::create("arena", 4096);
  std::vector<std::byte> array(1000);
  ClientTables& tables = alice.at_worker->tables();
  CopyRequest request{.application = alice.handles.application, .array_offset = 100, .arena_offset = 5, .bytes = 300};
  request.arena = tables.arenas.add(
      std::make_shared<ArenaEntry>(SharedMemory::map(FileDescriptor::duplicate(arena.descriptor()), 1 << 20), nullptr));
  request.array = tables.arrays.add(
      std::make_shared<ArrayEntry>(reinterpret_cast<std::uint64_t>(array.data()), array.size(), nullptr));
  for (std::size_t at = 0; at < 300; ++at) arena.bytes()[5 + at] = static_cast<std::byte>(at);
  EXPECT_EQ(alice.wait_for_memory(alice.port.copy_in(request))->status, JobStatus::Done);
  EXPECT_EQ(std::memcmp(array.data() + 100, arena.bytes().data() + 5, 300), 0);
  EXPECT_EQ(array[99], std::byte{});
  request.arena_offset = 2000;
  EXPECT_EQ(alice.wait_for_memory(alice.port.copy_out(request))->status, JobStatus::Done);
  EXPECT_EQ(std::memcmp(array.data() + 100, arena.bytes().data() + 2000, 300), 0);
  request.bytes = 4096;
  EXPECT_EQ(alice.wait_for_memory(alice.port.copy_out(request))->status, JobStatus::Refused);
}

TEST(ClientPort, AFenceEndsAfterAllThatWasBefore) {
  PortServer server(echo(2ms));
  TestClient alice(server);
  EXPECT_EQ(alice.port.wait(alice.port.fence(), 10s)->status, JobStatus::Done);
  std::vector<JobNumber> before;
  for (int time = 0; time < 100; ++time) before.push_back(alice.launch());
  const JobNumber fence = alice.port.fence();
  const JobNumber after = alice.launch();
  const auto end = alice.port.wait(fence, 10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::Done);
  for (const JobNumber job : before) {
    const auto job_end = alice.port.wait(job, 0s);
    ASSERT_TRUE(job_end) << job;
    EXPECT_LE(job_end->ended, end->ended);
  }
  EXPECT_TRUE(alice.port.wait(after, 10s));
}

TEST(ClientPort, AFenceDoesNotCountWhatCameAfterIt) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  TestClient alice(server);
  alice.launch();
  const JobNumber fence = alice.port.fence();
  const JobNumber after = alice.launch();
  while (alice.at_worker->statistics().commands < 3) std::this_thread::yield();
  sink->end_last();
  EXPECT_EQ(alice.port.wait(after, 10s)->status, JobStatus::Done);
  EXPECT_EQ(alice.port.wait(fence, 0s), std::nullopt);
  sink->end_last();
  EXPECT_EQ(alice.port.wait(fence, 10s)->status, JobStatus::Done);
}

TEST(ClientPort, TellsOneThreadOfAllEndsOnce) {
  PortServer server(echo());
  TestClient alice(server);
  const JobNumber before = alice.launch();
  EXPECT_TRUE(alice.port.wait(before, 10s));
  for (int time = 0; time < 100; ++time) alice.launch();
  std::vector<JobNumber> told;
  std::vector<EndedJob> ended;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (told.size() < 101 && std::chrono::steady_clock::now() < deadline) {
    alice.port.take_all_ended(ended);
    if (ended.empty()) std::this_thread::sleep_for(1ms);
    for (const auto& [job, completion, owner] : ended) {
      EXPECT_EQ(completion.status, JobStatus::Done);
      told.push_back(job);
    }
  }
  ASSERT_EQ(told.size(), 101u);
  std::ranges::sort(told);
  for (JobNumber job = 1; job <= 101; ++job) EXPECT_EQ(told[job - 1], job);
  EXPECT_EQ(alice.port.kept_jobs(), 0u);
  alice.port.take_all_ended(ended);
  EXPECT_TRUE(ended.empty());
}

/// Listens until the bell rings; false: it has not in time.
bool bell_rings(ClientPort& port, int timeout_ms) {
  pollfd listening{.fd = port.bell(), .events = POLLIN, .revents = 0};
  return ::poll(&listening, 1, timeout_ms) > 0 && port.hear();
}

/// All that has ended has been told, and the next end rings the bell.
void come_to_rest(ClientPort& port) {
  std::vector<EndedJob> ended;
  while (port.take_all_ended(ended)) continue;
}

TEST(ClientPort, SignalsEndsWithoutAWaiter) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  TestClient alice(server);
  come_to_rest(alice.port);
  const JobNumber job = alice.launch();
  EXPECT_FALSE(bell_rings(alice.port, 5));
  while (!sink->end_last()) std::this_thread::yield();
  EXPECT_TRUE(bell_rings(alice.port, 10'000));
  std::vector<EndedJob> ended;
  EXPECT_TRUE(alice.port.take_all_ended(ended));  // more may come soon, for which it does not ring
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended.front().job, job);
  EXPECT_FALSE(alice.port.take_all_ended(ended));
}

TEST(ClientPort, AWaitForAJobReceivesItsEndAndThoseOfOtherJobs) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  TestClient alice(server);
  come_to_rest(alice.port);
  const JobNumber first = alice.launch(), second = alice.launch();
  EXPECT_EQ(alice.port.await(first, 5ms).job, Awaited::Job::Unfinished);
  std::thread ends([&] {
    while (alice.at_worker->statistics().commands < 2) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);  // in which it goes to sleep
    while (sink->end_last()) continue;
  });
  const Awaited awaited = alice.port.await(first, 10s);
  ends.join();
  EXPECT_EQ(awaited.job, Awaited::Job::Ended);
  ASSERT_EQ(awaited.ended.size(), 2u);
  EXPECT_EQ(awaited.ended[0].job, second);
  EXPECT_EQ(awaited.ended[1].job, first);
  EXPECT_EQ(alice.port.await(first, 10s).job, Awaited::Job::Unknown);
  EXPECT_EQ(alice.port.kept_jobs(), 0u);
}

TEST(ClientPort, EveryThreadGetsTheEndThatItWaitsFor) {
  PortServer server(echo());
  TestClient alice(server);
  std::atomic<int> told = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int time = 0; time < 2'000; ++time) {
        const Awaited awaited = alice.port.await(alice.launch(), 30s);
        ASSERT_NE(awaited.job, Awaited::Job::Unfinished);
        told += static_cast<int>(awaited.ended.size());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 8'000);
  EXPECT_EQ(alice.port.kept_jobs(), 0u);
}

TEST(ClientPort, WhatIsLeftIsToldLater) {
  PortServer server(echo());
  TestClient alice(server);
  Awaited awaited = alice.port.await(alice.launch(), 10s);
  alice.port.leave(std::move(awaited.ended));
  std::vector<EndedJob> ended;
  alice.port.take_all_ended(ended);
  EXPECT_EQ(ended.size(), 1u);
}

TEST(ClientPort, ServesManyThreads) {
  PortServer server(echo());
  TestClient alice(server);
  std::vector<std::thread> threads;
  for (int number = 0; number < 6; ++number) {
    threads.emplace_back([&] {
      for (int time = 0; time < 3'000; ++time) {
        const JobNumber job = alice.launch();
        if (time % 3 != 0) {
          const auto end = alice.port.wait(job, 30s);
          ASSERT_TRUE(end);
          ASSERT_EQ(end->status, JobStatus::Done);
        }
        alice.port.forget(job);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alice.port.kept_jobs(), 0u);
  EXPECT_TRUE(alice.port.wait(alice.port.fence(), 30s));
  EXPECT_EQ(alice.at_worker->statistics().completions, 18'001u);
}

/// So slow that the ring is always full.
class SlowSink : public CommandSink {
 public:
  void launch(LaunchCommand&& command) override {
    const auto until = std::chrono::steady_clock::now() + 5us;
    while (std::chrono::steady_clock::now() < until) relax();
    command.reply.complete({});
  }
  void copy(CopyCommand&& command) override { command.reply.complete({}); }
  void client_gone(ClientId) noexcept override {}
};

TEST(ClientPort, NumbersTheJobsOfAllThreadsThatWaitForRoom) {
  PortServer server(std::make_shared<SlowSink>());
  TestClient alice(server, PortLimits{.command_ring_bytes = 1024, .most_jobs = 60'000}, 150us);
  std::atomic<bool> stops = false;
  std::thread impatient([&] {
    while (!stops) {
      try {
        alice.port.forget(alice.port.launch(alice.request(), Duration{}));
      } catch (const PeerBusy&) {
      } catch (const PeerGone&) {
        return;
      }
    }
  });
  for (int time = 0; time < 100'000; ++time) {
    EXPECT_NO_THROW(alice.port.forget(alice.launch())) << time;
    if (HasFailure()) break;
  }
  stops = true;
  impatient.join();
  EXPECT_FALSE(server.wait_gone(0s));
}

TEST(ClientPort, LargestArgumentsFitAndLargerOnesAreRefused) {
  PortServer server(echo());
  TestClient alice(server);
  const std::vector<std::byte> arguments(wire::most_argument_bytes + 1);
  LaunchRequest request = alice.request();
  request.kernel = alice.at_worker->tables().kernels.add(
      std::make_shared<KernelEntry>(KernelEntry{.name = "wide", .argument_bytes = wire::most_argument_bytes}));
  request.arguments = std::span(arguments).first(wire::most_argument_bytes);
  EXPECT_EQ(alice.port.wait(alice.port.launch(request), 10s)->status, JobStatus::Done);
  request.arguments = arguments;
  EXPECT_THROW(alice.port.launch(request), InvalidInput);
}

TEST(ClientPort, TheEndOfTheWorkerEndsEveryWait) {
  auto server = std::make_unique<PortServer>(echo(60s));
  TestClient alice(*server);
  const JobNumber job = alice.launch();
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&] { EXPECT_THROW(alice.port.wait(job, 60s), PeerGone); });
  }
  std::this_thread::sleep_for(5ms);
  server.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THROW(alice.launch(), PeerGone);
}

TEST(ClientPort, WhatEndedBeforeTheWorkerDidIsStillTold) {
  auto server = std::make_unique<PortServer>(echo());
  TestClient alice(*server);
  const JobNumber done = alice.launch();
  const JobNumber fence = alice.port.fence();
  while (alice.at_worker->statistics().completions < 2) std::this_thread::yield();
  server.reset();
  EXPECT_EQ(alice.port.wait(fence, 1s)->status, JobStatus::Done);
  EXPECT_EQ(alice.port.wait(done, 1s)->status, JobStatus::Done);
}

TEST(ClientPort, AClosedPortReportsEveryJobOnce) {
  PortServer server(echo(60s));
  PortServer quick_server(echo());
  TestClient slow(server), quick(quick_server);
  std::array<int, 3> owners{};
  LaunchRequest request = slow.request();
  for (int& owner : owners) {
    request.owner = &owner;
    slow.port.launch(request);
  }
  const auto lost = slow.port.abandon();
  ASSERT_EQ(lost.size(), 3u);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_TRUE(lost[at].result.is_lost);
    EXPECT_EQ(lost[at].owner, &owners[at]);
  }
  EXPECT_TRUE(slow.port.abandon().empty());
  EXPECT_THROW(slow.launch(), PeerGone);

  quick.launch();
  while (quick.at_worker->statistics().completions < 1) std::this_thread::yield();
  const auto ended = quick.port.abandon();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_FALSE(ended.front().result.is_lost);
}

TEST(ClientPort, FreedArraysWaitForCommandsThatMayNameThem) {
  PortServer server(echo());
  TestClient alice(server);
  auto& arrays = alice.at_worker->tables().arrays;
  const Handle array = arrays.add(std::make_shared<ArrayEntry>(4096, 64));
  const auto launch_with_it = [&] {
    const std::array references{wire::ArrayReference{.array = array}};
    LaunchRequest request = alice.request();
    request.arrays = references;
    return alice.port.wait(alice.port.launch(request), 10s)->status;
  };
  const auto eventually_gone = [&] {  // a client hears of an end before the worker has turned to something else
    for (int look = 0; arrays.size() > 0 && look < 5'000; ++look) std::this_thread::sleep_for(1ms);
    return arrays.size() == 0;
  };
  alice.at_worker->remove_array_after(array, 2);
  EXPECT_EQ(launch_with_it(), JobStatus::Done);
  EXPECT_EQ(arrays.size(), 1u);
  EXPECT_EQ(launch_with_it(), JobStatus::Done);
  EXPECT_TRUE(eventually_gone());
  EXPECT_EQ(launch_with_it(), JobStatus::Refused);
  EXPECT_THROW(alice.at_worker->remove_array_after(array, 2), InvalidInput);
  const Handle other = arrays.add(std::make_shared<ArrayEntry>(4096, 64));
  alice.at_worker->remove_array_after(other, 3);
  EXPECT_TRUE(eventually_gone());
}

/// The table keeps one entry up to the second command, and a third one is refused.
template <typename Table>
void expect_to_go_after_two(TestClient& client, const Table& table) {
  EXPECT_EQ(client.port.wait(client.launch(), 10s)->status, JobStatus::Done);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(client.port.wait(client.launch(), 10s)->status, JobStatus::Done);
  for (int look = 0; table.size() > 0 && look < 5'000; ++look) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(client.port.wait(client.launch(), 10s)->status, JobStatus::Refused);
}

TEST(ClientPort, AnApplicationGoesOnceTheCommandsBeforeHaveBeenTaken) {
  PortServer server(echo());
  TestClient alice(server);
  alice.at_worker->remove_application_after(alice.handles.application, 2);
  expect_to_go_after_two(alice, alice.at_worker->tables().applications);
}

TEST(ClientPort, AKernelGoesOnceTheCommandsBeforeHaveBeenTaken) {
  PortServer server(echo());
  TestClient alice(server);
  alice.at_worker->remove_kernel_after(alice.handles.kernel, 2);
  expect_to_go_after_two(alice, alice.at_worker->tables().kernels);
}

/// Keeps the commands whole.
class KeepingSink : public CommandSink {
 public:
  void launch(LaunchCommand&& command) override {
    const std::lock_guard lock(mutex);
    commands.push_back(std::move(command));
  }
  void copy(CopyCommand&&) override {}
  void client_gone(ClientId) noexcept override {}

  std::mutex mutex;
  std::vector<LaunchCommand> commands;
};

TEST(ClientPort, ALaunchUnderWayKeepsAKernelThatIsGivenUp) {
  const auto sink = std::make_shared<KeepingSink>();
  PortServer server(sink);
  TestClient alice(server);
  const auto owner = std::make_shared<int>();
  LaunchRequest request = alice.request();
  request.kernel = alice.at_worker->tables().kernels.add(
      std::make_shared<KernelEntry>(KernelEntry{.name = "new", .argument_bytes = argument_bytes, .owner = owner}));
  const JobNumber job = alice.port.launch(request);
  alice.at_worker->remove_kernel_after(request.kernel, job);
  for (int look = 0; alice.at_worker->tables().kernels.size() > 1 && look < 5'000; ++look) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(alice.at_worker->tables().kernels.size(), 1u);
  EXPECT_EQ(owner.use_count(), 2);
  {
    const std::lock_guard lock(sink->mutex);
    ASSERT_EQ(sink->commands.size(), 1u);
    sink->commands.front().reply.complete({});
    sink->commands.clear();
  }
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(alice.port.wait(job, 10s)->status, JobStatus::Done);
}

TEST(ClientPort, ClosingEndsTheWaitsOfOtherThreads) {
  PortServer server(echo(60s));
  TestClient alice(server);
  const JobNumber job = alice.launch();
  std::thread waiting([&] { EXPECT_THROW(alice.port.wait(job, 60s), PeerGone); });
  std::this_thread::sleep_for(5ms);
  alice.port.close();
  waiting.join();
  EXPECT_EQ(server.wait_gone(10s)->client, alice.at_worker->client());
}

}  // namespace
}  // namespace gpushare::test
