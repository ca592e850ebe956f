// SPDX-License-Identifier: Apache-2.0
// Many clients: who is served when, who comes, who goes.
#include "daemon/port_server.hpp"

#include <gtest/gtest.h>

#include "daemon/channel/peer_errors.hpp"
#include "plane.hpp"

namespace gpushare::test {
namespace {

/// Notes whose commands come, in order; ends them at once.
class NotingSink : public CommandSink {
 public:
  void launch(LaunchCommand&& command) override {
    while (is_held) std::this_thread::yield();
    order.push_back(command.client);
    command.reply.complete({});
  }
  void copy(CopyCommand&&) override { throw std::runtime_error("the copy engine is on fire"); }
  void client_gone(ClientId client) noexcept override { gone.push_back(client); }

  std::atomic<bool> is_held = false;
  std::vector<ClientId> order;  // of the server's thread until there is no server
  std::vector<ClientId> gone;
};

TEST(PortServer, ServesClientsRoundRobin) {
  const auto sink = std::make_shared<NotingSink>();
  ClientId greedy{}, modest{};
  {
    PortServer server(sink, {.turn_commands = 16});
    TestClient alice(server), bob(server);
    greedy = alice.at_worker->client();
    modest = bob.at_worker->client();
    sink->is_held = true;
    for (int time = 0; time < 1'000; ++time) alice.launch();
    for (int time = 0; time < 20; ++time) bob.launch();
    sink->is_held = false;
    EXPECT_TRUE(alice.port.wait(alice.port.fence(), 10s));
    EXPECT_TRUE(bob.port.wait(bob.port.fence(), 10s));
  }
  ASSERT_EQ(sink->order.size(), 1'020u);
  // Bob's 20 take two turns, and before each Alice has at most one of 16, and perhaps one that was under way.
  const auto last_of_bob = std::ranges::find(sink->order.rbegin(), sink->order.rend(), modest);
  const auto before = std::count(last_of_bob, sink->order.rend(), greedy);
  EXPECT_LE(before, 3 * 16);
}

TEST(PortServer, AnErrorOfTheSinkIsTheJobsEnd) {
  PortServer server(std::make_shared<NotingSink>());
  TestClient alice(server);
  std::vector<std::byte> array(16);
  ClientTables& tables = alice.at_worker->tables();
  const CopyRequest request{
      .application = alice.handles.application,
      .array = tables.arrays.add(std::make_shared<ArrayEntry>(1, 16, nullptr)),
      .arena = tables.arenas.add(std::make_shared<ArenaEntry>(SharedMemory::create("arena", 16), nullptr)),
      .bytes = 16};
  const auto end = alice.port.wait(alice.port.copy_in(request), 10s);
  EXPECT_EQ(end->status, JobStatus::Failed);
  EXPECT_EQ(end->message, "the copy engine is on fire");
}

/// Drops every launch.
class CarelessSink : public NotingSink {
 public:
  void launch(LaunchCommand&& command) override { const LaunchCommand dropped = std::move(command); }
};

TEST(PortServer, AJobThatTheSinkDropsHasFailed) {
  PortServer server(std::make_shared<CarelessSink>());
  TestClient alice(server);
  const auto end = alice.port.wait(alice.launch(), 10s);
  EXPECT_EQ(end->status, JobStatus::Failed);
  EXPECT_NE(end->message.find("gave this job up"), std::string::npos);
}

/// Every launch fails, with a long list in the middle of what it says.
class TalkativeSink : public NotingSink {
 public:
  void launch(LaunchCommand&& command) override {
    command.reply.complete({.status = JobStatus::Suspect, .message = "one of: " + std::string(3'000, 'x') + ": why"});
  }
};

TEST(PortServer, OfALongMessageTheBeginningAndTheEndArrive) {
  PortServer server(std::make_shared<TalkativeSink>());
  TestClient alice(server);
  const auto end = alice.port.wait(alice.launch(), 10s);
  EXPECT_EQ(end->status, JobStatus::Suspect);
  EXPECT_TRUE(end->message.starts_with("one of: xxx")) << end->message;
  EXPECT_NE(end->message.find("xxx ... xxx"), std::string::npos) << end->message;
  EXPECT_TRUE(end->message.ends_with("xxx: why")) << end->message;
}

TEST(PortServer, ForgetsClientsThatGoAndSaysSo) {
  const auto sink = std::make_shared<NotingSink>();
  PortServer server(sink);
  TestClient alice(server);
  ClientId gone{};
  {
    TestClient bob(server);
    gone = bob.at_worker->client();
    EXPECT_TRUE(bob.port.wait(bob.launch(), 10s));
  }
  const auto left = server.wait_gone(10s);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->client, gone);
  EXPECT_EQ(sink->gone, std::vector{gone});
  EXPECT_TRUE(alice.port.wait(alice.launch(), 10s));
  EXPECT_EQ(server.wait_gone(0s), std::nullopt);
}

TEST(PortServer, AClientThatLeavesOutAJobNumberIsDropped) {
  PortServer server(echo());
  auto [at_worker, ends] = server.add({});
  const PortMemory memory = PortMemory::map(std::move(ends.memory));
  RingWriter writer(*memory.commands().control, memory.commands().bytes);
  const wire::Fence fence{.header = {.kind = wire::CommandKind::Fence, .bytes = sizeof(wire::Fence), .job = 2}};
  writer.write({part_of(fence)});
  Doorbell(std::move(ends.doorbell)).ring();
  const auto left = server.wait_gone(10s);
  ASSERT_TRUE(left);
  EXPECT_NE(left->reason.find("not the next one"), std::string::npos) << left->reason;
}

TEST(PortServer, RemovedClientsAreNotServedAnyMore) {
  const auto sink = std::make_shared<NotingSink>();
  PortServer server(sink);
  TestClient alice(server), bob(server);
  const JobNumber job = alice.launch();
  EXPECT_TRUE(alice.port.wait(job, 10s));
  server.remove(alice.at_worker->client());
  EXPECT_EQ(sink->gone, std::vector{alice.at_worker->client()});
  EXPECT_THROW(
      {
        while (true) alice.port.wait(alice.launch(), 1s);
      },
      PeerGone);
  EXPECT_EQ(server.wait_gone(0s), std::nullopt);
  EXPECT_TRUE(bob.port.wait(bob.launch(), 10s));
  server.remove(alice.at_worker->client());  // once more does nothing
}

TEST(PortServer, CompletionsOfAClientThatHasGoneGoNowhere) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  std::shared_ptr<ServerPort> port;
  {
    TestClient alice(server);
    port = alice.at_worker;
    for (int time = 0; time < 10; ++time) alice.launch();
    while (port->statistics().commands < 10) std::this_thread::yield();
  }
  ASSERT_TRUE(server.wait_gone(10s));
  EXPECT_EQ(port->statistics().unfinished, 10u);
  sink->end_all();
  EXPECT_EQ(port->statistics().completions, 0u);
  EXPECT_EQ(port->statistics().unfinished, 0u);
}

TEST(PortServer, ClientsComeAndGoWhileOthersWork) {
  PortServer server(echo());
  TestClient steady(server);
  std::atomic<bool> is_over = false;
  std::thread working([&] {
    while (!is_over) {
      const JobNumber job = steady.launch();
      const auto end = steady.port.wait(job, 30s);
      ASSERT_TRUE(end);
      ASSERT_EQ(end->status, JobStatus::Done);
      steady.port.forget(job);
    }
  });
  std::vector<std::thread> visitors;
  for (int number = 0; number < 3; ++number) {
    visitors.emplace_back([&] {
      for (int time = 0; time < 100; ++time) {
        TestClient visitor(server);
        for (int launch = 0; launch < 20; ++launch) visitor.launch();
        if (time % 2 == 0) {
          ASSERT_TRUE(visitor.port.wait(visitor.port.fence(), 30s));
        }
        if (time % 3 == 0) server.remove(visitor.at_worker->client());
      }
    });
  }
  for (std::thread& visitor : visitors) visitor.join();
  is_over = true;
  working.join();
}

}  // namespace
}  // namespace gpushare::test
