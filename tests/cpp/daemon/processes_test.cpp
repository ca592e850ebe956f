// SPDX-License-Identifier: Apache-2.0
// Clients in processes of their own: lost wake-ups, death, forks, and one that writes rubbish.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "daemon/channel/peer_errors.hpp"
#include "plane.hpp"
#include "sample_devices.hpp"

namespace gpushare::test {
namespace {

/// A port for a client that another process will be.
struct Connection {
  explicit Connection(PortServer& server, const PortLimits& limits = {}) {
    auto opened = server.add(limits);
    port = std::move(opened.first);
    ends = std::move(opened.second);
    handles = give_handles(*port);
  }
  LaunchRequest request() const {
    return {.application = handles.application, .kernel = handles.kernel, .arguments = arguments};
  }
  /// Runs in a new process; `work` gives its exit status. This process keeps no end of the client's.
  template <typename Work>
  pid_t fork(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 99;
      try {
        status = work(*this);
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "client: %s\n", failure.what());
      }
      ::_exit(status);
    }
    ends = ClientEnds();
    return child;
  }

  std::shared_ptr<ServerPort> port;
  ClientEnds ends;
  ClientHandles handles;
  std::array<std::byte, argument_bytes> arguments{};
};

int exit_status(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int launch_and_wait(Connection& connection, int count, Duration most_spin, int pause_every) {
  ClientPort port(std::move(connection.ends.memory), std::move(connection.ends.doorbell), most_spin);
  for (int time = 0; time < count; ++time) {
    const JobNumber job = port.launch(connection.request());
    const auto end = port.wait(job, 20s);
    if (!end || end->status != JobStatus::Done) return 1;
    port.forget(job);
    if (time % pause_every == 0) std::this_thread::sleep_for(Duration(time % 7 * 10'000));
  }
  return 0;
}

// Every round trip is a chance for each side to fall asleep just when the other has written: with spinning, which makes
// the two meet at every distance, and without, where each waits for the other's bell.
TEST(Processes, LoseNoWakeUp) {
  for (const Duration most_spin : {Duration(0), Duration(3'000), Duration(50'000)}) {
    PortServer server(echo(), {.most_spin = most_spin});
    std::vector<pid_t> children;
    for (int number = 0; number < 3; ++number) {
      Connection connection(server);
      children.push_back(
          connection.fork([&](Connection& mine) { return launch_and_wait(mine, 5'000, most_spin, 50); }));
    }
    for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
  }
}

TEST(Processes, TheEndOfAClientIsNoticedWhateverItWasDoing) {
  PortServer server(echo(1ms));
  TestClient steady(server);
  for (int time = 0; time < 20; ++time) {
    Connection connection(server);
    const ClientId client = connection.port->client();
    const pid_t child = connection.fork([](Connection& mine) {
      ClientPort port(std::move(mine.ends.memory), std::move(mine.ends.doorbell));
      while (true) port.forget(port.launch(mine.request()));
      return 0;
    });
    std::this_thread::sleep_for(Duration(time * 500'000));
    ::kill(child, SIGKILL);
    const auto gone = server.wait_gone(10s);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->client, client);
    ASSERT_EQ(steady.port.wait(steady.launch(), 10s)->status, JobStatus::Done);
    ::waitpid(child, nullptr, 0);
  }
}

TEST(Processes, AForkedChildIsRefusedAndDoesNotHideItsParentsEnd) {
  PortServer server(echo());
  auto alice = std::make_unique<TestClient>(server);
  const JobNumber job = alice->launch();
  EXPECT_TRUE(alice->port.wait(job, 10s));
  int wait_here[2];
  ASSERT_EQ(::pipe(wait_here), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(wait_here[1]);
    int refused = 0;
    const auto must_refuse = [&](auto call) {
      try {
        call();
      } catch (const PeerGone&) {
        ++refused;
      }
    };
    must_refuse([&] { alice->launch(); });
    must_refuse([&] { alice->port.wait(job, 0s); });
    must_refuse([&] { alice->port.fence(); });
    must_refuse([&] { alice->port.kept_jobs(); });
    alice->port.close();  // concerns nobody but the child
    alice->port.forget(job);
    char end;
    static_cast<void>(::read(wait_here[0], &end, 1));  // lives until the parent has seen all it wants
    ::_exit(refused == 4 ? 0 : 1);
  }
  ::close(wait_here[0]);
  EXPECT_EQ(alice->port.wait(alice->launch(), 10s)->status, JobStatus::Done);
  EXPECT_EQ(server.wait_gone(0s), std::nullopt);
  alice->port.close();
  EXPECT_TRUE(server.wait_gone(10s)) << "the child holds the doorbell";
  ::close(wait_here[1]);
  EXPECT_EQ(exit_status(child), 0);
}

TEST(Processes, AForkedChildDropsAPortAtWhichThreadsOfItsParentWait) {
  const auto sink = std::make_shared<HeldSink>();
  PortServer server(sink);
  auto alice = std::make_unique<TestClient>(server);
  {
    const std::array jobs{alice->launch(), alice->launch(), alice->launch()};
    std::vector<std::jthread> waiting;
    for (const JobNumber job : jobs) waiting.emplace_back([&alice, job] { alice->port.wait(job, 20s); });
    std::this_thread::sleep_for(200ms);  // until they do
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      alice.reset();
      ::_exit(0);
    }
    EXPECT_EQ(exit_status(child), 0);
    for (std::size_t ended = 0; ended < jobs.size();) ended += sink->end_first() ? 1 : 0;
  }
  EXPECT_EQ(alice->port.wait(alice->port.fence(), 10s)->status, JobStatus::Done);
}

/// One process tells another one something, once.
class Signal {
 public:
  Signal() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() {
    for (const int end : ends_) ::close(end);
  }
  void give() const { static_cast<void>(!::write(ends_[1], "x", 1)); }
  /// False if it has not come within a minute.
  bool wait() const {
    pollfd here{.fd = ends_[0], .events = POLLIN, .revents = 0};
    return ::poll(&here, 1, 60'000) == 1;
  }

 private:
  int ends_[2];
};

/// Changes bytes of its own port, rings, and now and then sends something correct, until it is dropped or has done
/// enough; then it stays until it is told to end.
int scribble(Connection& mine, std::uint64_t seed, const Signal& done, const Signal& may_end) {
  const SharedMemory memory = SharedMemory::map(FileDescriptor::duplicate(mine.ends.memory.number()), 1 << 26);
  const PortMemory port = PortMemory::map(std::move(mine.ends.memory));
  const Doorbell doorbell(std::move(mine.ends.doorbell));
  RingWriter writer(*port.commands().control, port.commands().bytes);
  Dice dice(seed);
  std::uint64_t job = 0;
  const int patience = dice.between(0, 60);  // correct commands before it begins
  for (int step = 0; step < 3'000; ++step) {
    wire::Launch launch{.header = {.kind = wire::CommandKind::Launch, .bytes = sizeof(wire::Launch) + 24, .job = ++job},
                        .application = mine.handles.application,
                        .kernel = mine.handles.kernel,
                        .grid = {1, 1, 1},
                        .argument_bytes = 24};
    auto* bytes = reinterpret_cast<std::byte*>(&launch);
    if (step > patience) bytes[dice.between(0, sizeof(launch) - 1)] = static_cast<std::byte>(dice.between(0, 255));
    try {
      writer.write({part_of(launch), mine.arguments});
    } catch (const PeerViolation&) {
    }
    if (step > patience + 20 && dice.once_in(4)) {
      const std::size_t within = dice.once_in(2) ? 1024 : memory.bytes().size();
      memory.bytes()[static_cast<std::size_t>(dice.between(0, static_cast<int>(within) - 1))] =
          static_cast<std::byte>(dice.between(0, 255));
    }
    doorbell.ring();
    if (!doorbell.hear()) break;
  }
  done.give();
  return may_end.wait() ? 0 : 1;
}

TEST(Processes, AClientThatWritesRubbishHarmsNoOtherClient) {
  PortServer server(echo(), {.most_spin = 5us});
  TestClient steady(server), witness(server);
  std::atomic<bool> is_over = false;
  std::thread working([&] {
    while (!is_over) {
      const JobNumber job = steady.launch();
      const auto end = steady.port.wait(job, 30s);
      ASSERT_TRUE(end);
      ASSERT_EQ(end->status, JobStatus::Done) << end->message;
      steady.port.forget(job);
    }
  });
  int violations = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Connection connection(server, {.command_ring_bytes = 8192, .completion_ring_bytes = 4096, .most_jobs = 50});
    const ClientId client = connection.port->client();
    const Signal done, may_end;
    const pid_t child = connection.fork([&](Connection& mine) { return scribble(mine, seed, done, may_end); });
    ASSERT_TRUE(done.wait());
    // All clients are served before one is served again, so all that it has written is seen before it ends.
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(witness.port.wait(witness.launch(), 30s)->status, JobStatus::Done);
    }
    may_end.give();
    EXPECT_EQ(exit_status(child), 0);
    const auto gone = server.wait_gone(10s);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->client, client);
    violations += gone->reason != "it has ended, or closed its port";
  }
  is_over = true;
  working.join();
  EXPECT_GT(violations, 30);  // and not only ends
}

/// Submits, rings, and never takes a completion, until it is killed.
int never_read(Connection& mine) {
  const PortMemory memory = PortMemory::map(std::move(mine.ends.memory));
  const Doorbell doorbell(std::move(mine.ends.doorbell));
  RingWriter writer(*memory.commands().control, memory.commands().bytes);
  wire::Fence fence{.header = {.kind = wire::CommandKind::Fence, .bytes = sizeof(wire::Fence)}};
  for (fence.header.job = 1; true; ++fence.header.job) {
    while (!writer.write({part_of(fence)})) std::this_thread::sleep_for(1ms);
    doorbell.ring();
  }
}

TEST(Processes, AClientThatNeverReadsStallsNoOtherClient) {
  PortServer server(echo());
  TestClient steady(server);
  constexpr std::uint64_t most_jobs = 300;
  Connection connection(server, {.command_ring_bytes = 4096, .completion_ring_bytes = 4096, .most_jobs = most_jobs});
  const auto port = connection.port;
  const pid_t child = connection.fork(never_read);
  const auto work = [&] {
    const JobNumber job = steady.launch();
    ASSERT_EQ(steady.port.wait(job, 10s)->status, JobStatus::Done);
    steady.port.forget(job);
  };
  while (port->statistics().commands < most_jobs && !HasFatalFailure()) work();
  for (int time = 0; time < 100 && !HasFatalFailure(); ++time) {
    std::this_thread::sleep_for(1ms);  // long enough for it to write more, if it can
    work();
  }
  // What fits the ring of completions, and 300 more.
  EXPECT_LE(port->statistics().commands, 4096 / sizeof(wire::Completion) + most_jobs);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace gpushare::test
