// SPDX-License-Identifier: Apache-2.0
// Clients that submit more than the rings and the worker hold, or than they may.
#include <gtest/gtest.h>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/plane.hpp"

namespace gpushare::test {
namespace {

TEST(BackPressure, TooManyFencesAreRefused) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  TestClient alice(server, {.most_fences = 2});
  alice.launch();
  const JobNumber fence = alice.port.fence();
  alice.port.fence();
  const JobNumber refused = alice.port.fence();
  EXPECT_EQ(alice.port.wait(refused, 10s)->status, JobStatus::Refused);
  sink->end_all();
  EXPECT_EQ(alice.port.wait(fence, 10s)->status, JobStatus::Done);
}

// The client submits far more than the rings and the worker hold, and takes no completion before the end: it is made
// to wait, nothing is lost.
TEST(BackPressure, LosesNothing) {
  PortServer server(echo());
  TestClient alice(server, {.command_ring_bytes = 4096, .completion_ring_bytes = 4096, .most_jobs = 200});
  std::vector<JobNumber> jobs;
  for (int time = 0; time < 20'000; ++time) jobs.push_back(alice.launch());
  for (const JobNumber job : jobs) ASSERT_EQ(alice.port.wait(job, 10s)->status, JobStatus::Done);
}

// Nothing ends, so nothing else wakes a client that waits for room.
TEST(BackPressure, AWriterThatWaitsForRoomIsWoken) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  TestClient alice(server, {.command_ring_bytes = 1024, .most_jobs = 3'000}, 0us);
  for (int time = 0; time < 2'000; ++time) alice.launch();
  EXPECT_EQ(alice.at_worker->statistics().completions, 0u);
}

// More has ended at once than the ring of completions holds: the rest comes as the client takes what is there.
TEST(BackPressure, AWaitForALateEndIsWoken) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  constexpr std::uint64_t many = 1'000;
  TestClient alice(server, {.completion_ring_bytes = 4096, .most_jobs = many}, 0us);
  const JobNumber first = alice.launch();  // the last to end
  for (std::uint64_t time = 1; time < many; ++time) alice.launch();
  while (alice.at_worker->statistics().commands < many) std::this_thread::yield();
  sink->end_all();
  const auto end = alice.port.wait(first, 20s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::Done);
}

TEST(BackPressure, AWorkerThatTakesNothingIsAnErrorInTheEnd) {
  PortServer server(echo(60s));
  TestClient alice(server, {.command_ring_bytes = 1024, .most_jobs = 4});
  EXPECT_THROW(
      {
        for (int time = 0; time < 100; ++time) alice.port.launch(alice.request(), 50ms);
      },
      PeerBusy);
}

TEST(BackPressure, MoreJobsThanMayBeKeptAreRefused) {
  PortServer server(echo());
  TestClient alice(server);
  for (std::size_t time = 0; time < ClientPort::most_jobs; ++time) alice.launch();
  EXPECT_THROW(alice.launch(), InvalidInput);
  alice.port.forget(1);
  alice.launch();
}

/// Two clients of one user: each has two jobs for itself, and three more are for whichever comes first.
class SharedPlaces : public testing::Test {
 protected:
  static constexpr std::size_t own = 2, shared = 3;

  std::uint64_t accepted(const TestClient& client) { return client.at_worker->statistics().commands; }
  /// For a moment longer than it takes, so that one more would be seen.
  bool settles_at(const TestClient& client, std::uint64_t commands) {
    for (int look = 0; accepted(client) < commands && look < 5'000; ++look) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(5ms);
    return accepted(client) == commands;
  }

  std::shared_ptr<HeldSink> sink = std::make_shared<HeldSink>();
  std::shared_ptr<JobPool> pool = std::make_shared<JobPool>(shared);
  const PortLimits limits{.own_jobs = own, .pool = pool};
  PortServer server{sink};
};

TEST_F(SharedPlaces, OneClientTakesThemAllAndTheOtherHasItsOwn) {
  TestClient alice(server, limits), bob(server, limits);
  for (int time = 0; time < 10; ++time) alice.launch();
  EXPECT_TRUE(settles_at(alice, own + shared));
  for (int time = 0; time < 10; ++time) bob.launch();
  EXPECT_TRUE(settles_at(bob, own));
  EXPECT_TRUE(settles_at(alice, own + shared));
  EXPECT_EQ(pool->free(), 0u);
}

TEST_F(SharedPlaces, AClientThatWaitsForAPlaceOfAnotherIsServedWhenThatIsFree) {
  TestClient alice(server, limits), bob(server, limits);
  for (std::size_t time = 0; time < own + shared; ++time) alice.launch();
  EXPECT_TRUE(settles_at(alice, own + shared));
  std::vector<JobNumber> jobs;
  for (int time = 0; time < 10; ++time) jobs.push_back(bob.launch());
  EXPECT_TRUE(settles_at(bob, own));
  sink->end_first();  // of Alice's, whose port has nothing more to read
  EXPECT_TRUE(settles_at(bob, own + 1));
  // A job counts as accepted before the sink has it, so what has ended is counted.
  for (std::size_t ended = 1; ended < own + shared + jobs.size();) ended += sink->end_first() ? 1 : 0;
  for (const JobNumber job : jobs) EXPECT_EQ(bob.port.wait(job, 10s)->status, JobStatus::Done);
}

TEST_F(SharedPlaces, AClientThatGoesGivesItsPlacesBackWhenItsJobsHaveEnded) {
  TestClient bob(server, limits);
  {
    TestClient alice(server, limits);
    for (std::size_t time = 0; time < own + shared; ++time) alice.launch();
    EXPECT_TRUE(settles_at(alice, own + shared));
    for (int time = 0; time < 10; ++time) bob.launch();
    EXPECT_TRUE(settles_at(bob, own));
  }
  EXPECT_TRUE(settles_at(bob, own));
  for (std::size_t time = 0; time < own + shared; ++time) sink->end_first();
  EXPECT_TRUE(settles_at(bob, own + shared));
  sink->end_all();
}

}  // namespace
}  // namespace gpushare::test
