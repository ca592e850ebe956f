// SPDX-License-Identifier: Apache-2.0
// The project's central mechanism, without a GPU: a kernel run by workers that are resized, evicted and resumed at any
// point leaves every byte of memory as the original leaves it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "transform/sample_launches.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;

class EveryKernel : public testing::TestWithParam<std::size_t> {
 protected:
  /// Runs the kernel both ways and compares everything.
  void expect_equal(const WorkerPlan& plan, std::uint64_t seed) {
    Scheduler scheduler(seed);
    Outcome by_workers;
    run_workers(launch, worker, plan, scheduler, by_workers);
    Outcome original_outcome;
    run_original(launch, original, by_workers, scheduler, original_outcome);
    ASSERT_EQ(GlobalMemory::difference(original_outcome.memory, by_workers.memory), "");
    ASSERT_EQ(by_workers.tasks_done(), tasks(launch.grid)) << "no task may be lost or done twice";
    ASSERT_EQ(by_workers.places_kept(), 0u) << "every worker gives its place back";
    looks = by_workers.looks;
    launches = by_workers.launches;
    chunks = by_workers.chunks_done();
  }

  /// Once for every look at which that can be; from which SMs, `leaves` says.
  template <typename Leaves>
  void expect_equal_if_evicted(std::uint32_t chunk, Leaves leaves) {
    const WorkerPlan undisturbed{.workers = 4, .chunk = chunk, .guide = 2};
    expect_equal(undisturbed, chunk);
    const std::size_t all_looks = looks;
    for (std::size_t evicted_at = 0; evicted_at < all_looks; ++evicted_at) {
      SCOPED_TRACE("chunk " + std::to_string(chunk) + ", evicted at look " + std::to_string(evicted_at));
      WorkerPlan plan = undisturbed;
      plan.at_look = [&](std::size_t look, const auto& set) {
        for (std::uint32_t sm = 0; look == evicted_at && sm < sms; ++sm) {
          if (leaves(sm)) set(sm, 0);
        }
      };
      expect_equal(plan, chunk);
    }
  }

  const SampleLaunch launch = sample_launches()[GetParam()];
  const Kernel original{ptx_file(launch.file)};
  const Kernel worker{ptx::make_preemptible(ptx_file(launch.file)).ptx};
  std::size_t looks = 0;
  std::size_t launches = 0;
  std::size_t chunks = 0;
};

std::string name_of(const testing::TestParamInfo<std::size_t>& info) { return sample_launches()[info.param].kernel; }

INSTANTIATE_TEST_SUITE_P(Suite, EveryKernel, testing::Range<std::size_t>(0, sample_launches().size()), name_of);

TEST_P(EveryKernel, AnyNumberOfWorkersAndAnyChunk) {
  for (std::uint32_t chunk = 1; chunk <= 8; ++chunk) {
    for (const std::uint32_t workers : {1u, 2u, 5u, 9u}) {
      SCOPED_TRACE("chunk " + std::to_string(chunk) + ", " + std::to_string(workers) + " workers");
      expect_equal({.workers = workers, .chunk = chunk}, chunk * 10 + workers);
      EXPECT_EQ(launches, 1u) << "nobody was evicted";
    }
  }
}

TEST_P(EveryKernel, AWorkerClaimsChunksThatShrinkTowardsTheEnd) {
  const bool one_at_a_time = worker.module.text.find("mov.u32 \t%gpushare_j, 1;") != std::string::npos;
  for (const std::uint32_t chunk : {1u, 3u, 8u}) {
    for (const std::uint32_t guide : {0u, 2u}) {
      std::uint32_t claims = 0, claimed = 0, claimed_before = 0;
      while (claimed < tasks(launch.grid)) {
        const std::uint32_t size = std::min(chunk, (tasks(launch.grid) - claimed_before) >> guide);
        claimed_before = std::exchange(claimed, claimed + (one_at_a_time ? 1 : std::max(size, 1u)));
        ++claims;
      }
      expect_equal({.workers = 1, .chunk = chunk, .guide = guide}, chunk);
      EXPECT_EQ(chunks, claims) << "chunk " << chunk << ", guide " << guide;
    }
  }
}

TEST_P(EveryKernel, EvictedAtEveryPollAndResumed) {
  for (std::uint32_t chunk = 1; chunk <= 8; ++chunk) expect_equal_if_evicted(chunk, [](std::uint32_t) { return true; });
}

TEST_P(EveryKernel, EvictedFromOneSmAtEveryPoll) {
  for (std::uint32_t only = 0; only < sms; ++only) {
    SCOPED_TRACE("SM " + std::to_string(only));
    for (const std::uint32_t chunk : {1u, 3u}) {
      expect_equal_if_evicted(chunk, [only](std::uint32_t sm) { return sm == only; });
    }
  }
}

TEST_P(EveryKernel, ResizedAtRandomInEveryOrder) {
  std::size_t resumptions = 0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    const WorkerPlan plan{
        .workers = 1 + pick(9), .chunk = 1 + pick(8), .guide = pick(5), .at_look = resized_at_random(random)};
    expect_equal(plan, seed);
    resumptions += launches - 1;
  }
  constexpr std::uint32_t many = 20;  // a small grid may be claimed before anybody has to leave
  if (tasks(launch.grid) >= many) {
    EXPECT_GT(resumptions, 0u) << "the seeds should evict somebody";
  }
}

/// The order that a worker has read may be an old one by the time it leaves. `lowered`: for one look there is no place
/// for who is on its SM, and at the next there is one again.
TEST(Workers, NoWorkerLeavesByAWithdrawnOrder) {
  const SampleLaunch launch = sample_launches().front();
  const Kernel worker(ptx::make_preemptible(ptx_file(launch.file)).ptx);
  Machine one_each = machine;
  one_each.blocks_per_sm = 1;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    Outcome outcome;
    bool lowered = false;
    int times = 0;
    const auto at_look = [&](std::size_t, const SetQuota& set) {
      const std::vector<WorkerSm> now = outcome.memory.read<WorkerSm>(outcome.sm_table, sms);
      lowered = !lowered && random() % 2 == 0;
      for (std::uint32_t sm = 0; sm < sms; ++sm) {
        const bool is_taken = now[sm].workers == 1;
        times += lowered && is_taken ? 1 : 0;
        set(sm, lowered && is_taken ? 0 : 1);
      }
    };
    Scheduler scheduler(seed);
    run_workers(launch, worker, {.workers = sms, .at_look = at_look}, scheduler, outcome, one_each);
    EXPECT_GT(times, 0);
    EXPECT_EQ(outcome.launches, 1u);
  }
}

TEST(Workers, WithoutQuotaNoWorkerStarts) {
  const SampleLaunch launch = sample_launches().front();
  const Kernel worker(ptx::make_preemptible(ptx_file(launch.file)).ptx);
  Outcome outcome;
  Scheduler scheduler(1);
  const auto starve = [](std::size_t look, const auto& set) {
    for (std::uint32_t sm = 0; look < 16 && sm < sms; ++sm) set(sm, 0);
  };
  run_workers(launch, worker, {.workers = 4, .at_look = starve}, scheduler, outcome);
  EXPECT_EQ(outcome.launches, 3u) << "two launches of four workers, who look twice, found no place";
  EXPECT_EQ(outcome.tasks_done(), tasks(launch.grid));
}

}  // namespace
}  // namespace gpushare::interpreter
