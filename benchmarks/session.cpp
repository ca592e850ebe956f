// SPDX-License-Identifier: Apache-2.0
// What a session costs whoever submits, and how many launches of one block its thread gets through. The simulated
// device runs much faster than the wall clock, so that it is not what is waited for.
#include <benchmark/benchmark.h>

#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/session/session.hpp"
#include "scenario.hpp"

namespace gpushare {
namespace {

Session::MakePolicy named(std::string name) {
  return [name](const std::shared_ptr<const void>& /*world*/) { return make_policy(name); };
}

Launch small_launch() {
  return {.kernel = {.name = "a_kernel_with_a_name_of_its_own",
                     .needs = {.threads = 64},
                     .cost = {.latency = Duration(1000)}},
          .blocks = 1};
}

/// Batches of 1000 from one thread, each waited for: the time in submit() alone, and for all of it.
void submit(benchmark::State& state, const std::string& policy) {
  constexpr int batch = 1000;
  Session session(realtime_device(benchmarks::device_of({}), 1, 1e4), named(policy), {.keeps_record = false});
  std::vector<ApplicationId> applications;
  for (int number = 0; number < 8; ++number) applications.push_back(session.add({.name = std::to_string(number)}));
  double in_submit_ns = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    JobId last = 0;
    for (int job = 0; job < batch; ++job) {
      last = session.submit(applications[static_cast<std::size_t>(job % 8)], small_launch());
    }
    in_submit_ns += nanoseconds(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin));
    for (int job = 0; job < 8; ++job) session.wait(last - static_cast<JobId>(job), std::chrono::seconds(60));
  }
  const auto jobs = static_cast<double>(state.iterations()) * batch;
  state.counters["submit_ns"] = in_submit_ns / jobs;
  state.counters["launches/s"] = benchmark::Counter(jobs, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(submit, fifo, "fifo")->UseRealTime();
BENCHMARK_CAPTURE(submit, srtf, "srtf")->UseRealTime();

}  // namespace
}  // namespace gpushare
