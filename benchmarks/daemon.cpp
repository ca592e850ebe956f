// SPDX-License-Identifier: Apache-2.0
// What the daemon's data plane costs: client processes, rings, the port server, and a device that ends every launch at
// once. For scale: the same exchange as a ping over a Unix socket, without any encoding.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "daemon/echo_sink.hpp"
#include "daemon/port/client_port.hpp"
#include "daemon/port_server.hpp"

namespace gpushare::benchmarks {
namespace {

using namespace gpushare::daemon;

constexpr std::size_t argument_bytes = 32;
constexpr int latency_samples = 3'000;

struct Sample {
  std::int64_t to_worker = 0;
  std::int64_t round_trip = 0;
};

/// A client process: the function gets its port and a launch to submit.
template <typename Work>
pid_t fork_client(PortServer& server, Work work) {
  auto [port, ends] = server.add();
  const std::array<std::byte, argument_bytes> arguments{};
  const LaunchRequest request{
      .application = port->tables().applications.add(std::make_shared<ApplicationEntry>("client")),
      .kernel = port->tables().kernels.add(std::make_shared<KernelEntry>(KernelEntry{"kernel", argument_bytes})),
      .grid = {100, 1, 1},
      .arguments = arguments};
  const pid_t child = ::fork();
  if (child != 0) return child;
  {
    ClientPort client(std::move(ends.memory), std::move(ends.doorbell));
    work(client, request);
  }
  ::_exit(0);
}

/// Processor time of this process, or of its children that have ended, in nanoseconds.
double processor_time(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto count = [](const timeval& time) { return static_cast<double>(time.tv_sec) * 1e9 + time.tv_usec * 1e3; };
  return count(usage.ru_utime) + count(usage.ru_stime);
}

/// Every client submits as fast as it can and waits for the end of all in the end.
void submits(benchmark::State& timing) {
  constexpr int launches = 50'000;
  PortServer server(std::make_shared<EchoSink>(Duration{}));
  const double own = processor_time(RUSAGE_SELF);
  const double of_children = processor_time(RUSAGE_CHILDREN);
  for (auto _ : timing) {
    std::vector<pid_t> children;
    for (std::int64_t number = 0; number < timing.range(0); ++number) {
      children.push_back(fork_client(server, [](ClientPort& client, const LaunchRequest& request) {
        for (int time = 0; time < launches; ++time) client.forget(client.launch(request));
        client.wait(client.fence(), std::chrono::minutes(1));
      }));
    }
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  }
  const std::int64_t all = timing.iterations() * timing.range(0) * launches;
  timing.SetItemsProcessed(all);
  timing.counters["worker_cpu_ns"] = (processor_time(RUSAGE_SELF) - own) / static_cast<double>(all);
  timing.counters["client_cpu_ns"] = (processor_time(RUSAGE_CHILDREN) - of_children) / static_cast<double>(all);
}
BENCHMARK(submits)->ArgName("clients")->Arg(1)->Arg(8)->UseRealTime()->Unit(benchmark::kMillisecond);

double at(std::span<const Sample> samples, std::int64_t Sample::* what, double share) {
  std::vector<std::int64_t> sorted;
  for (const Sample& sample : samples) sorted.push_back(sample.*what);
  std::ranges::sort(sorted);
  return static_cast<double>(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]) * 1e-3;
}

void report(benchmark::State& timing, std::span<const Sample> samples) {
  timing.counters["to_worker_us"] = at(samples, &Sample::to_worker, 0.5);
  timing.counters["to_worker_p99"] = at(samples, &Sample::to_worker, 0.99);
  timing.counters["round_trip_us"] = at(samples, &Sample::round_trip, 0.5);
  timing.counters["round_trip_p99"] = at(samples, &Sample::round_trip, 0.99);
}

/// Memory that a child fills.
std::span<Sample> shared_samples() {
  void* const start =
      ::mmap(nullptr, latency_samples * sizeof(Sample), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return {static_cast<Sample*>(start), latency_samples};
}

/// One launch at a time, with pauses (us) between them: 0 finds the server looking for work, 500 finds it asleep.
void latency(benchmark::State& timing) {
  const std::span<Sample> samples = shared_samples();
  const auto pause = std::chrono::microseconds(timing.range(0));
  PortServer server(std::make_shared<EchoSink>(Duration{}));
  for (auto _ : timing) {
    const pid_t child = fork_client(server, [&](ClientPort& client, const LaunchRequest& request) {
      for (Sample& sample : samples) {
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        const std::int64_t start = monotonic_now();
        const JobNumber job = client.launch(request);
        const auto end = client.wait(job, std::chrono::minutes(1));
        sample = {.to_worker = end->accepted - start, .round_trip = monotonic_now() - start};
        client.forget(job);
      }
    });
    ::waitpid(child, nullptr, 0);
  }
  report(timing, samples);
  ::munmap(samples.data(), samples.size_bytes());
}
BENCHMARK(latency)->ArgName("pause_us")->Arg(0)->Arg(500)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

/// As many bytes there and back as a launch and its completion have.
void socket_ping(benchmark::State& timing) {
  const std::span<Sample> samples = shared_samples();
  const auto pause = std::chrono::microseconds(timing.range(0));
  for (auto _ : timing) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return timing.SkipWithError("socketpair");
    std::array<char, sizeof(wire::Launch) + argument_bytes> command{};
    std::array<char, sizeof(wire::Completion)> completion{};
    const pid_t child = ::fork();
    if (child == 0) {
      while (::recv(ends[1], command.data(), command.size(), MSG_WAITALL) > 0) {
        const std::int64_t now = monotonic_now();
        std::memcpy(completion.data(), &now, sizeof(now));
        static_cast<void>(::send(ends[1], completion.data(), completion.size(), 0));
      }
      ::_exit(0);
    }
    for (Sample& sample : samples) {
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      const std::int64_t start = monotonic_now();
      static_cast<void>(::send(ends[0], command.data(), command.size(), 0));
      static_cast<void>(::recv(ends[0], completion.data(), completion.size(), MSG_WAITALL));
      std::int64_t accepted = 0;
      std::memcpy(&accepted, completion.data(), sizeof(accepted));
      sample = {.to_worker = accepted - start, .round_trip = monotonic_now() - start};
    }
    ::shutdown(ends[0], SHUT_RDWR);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  report(timing, samples);
  ::munmap(samples.data(), samples.size_bytes());
}
BENCHMARK(socket_ping)
    ->ArgName("pause_us")
    ->Arg(0)
    ->Arg(500)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpushare::benchmarks
