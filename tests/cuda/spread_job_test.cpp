// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks run on both devices of the stand-in, each with a session of its own.
#include "core/session/spread/spread_job.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "cuda/cuda_gpu.hpp"
#include "cuda/memory/peer_access.hpp"
#include "on_stand_in.hpp"

namespace gpushare::cuda::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;

constexpr Duration patience = 60s;

/// Every block counts itself, and takes so many nanoseconds.
const std::string count_blocks = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry count_blocks(.param .u64 counts, .param .u64 takes)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [counts];
  ld.param.u64 %rd2, [takes];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  atom.global.add.u32 %r2, [%rd1], 1;
  mov.u64 %rd4, %globaltimer;
  add.u64 %rd2, %rd2, %rd4;
again:
  mov.u64 %rd4, %globaltimer;
  setp.lt.u64 %p, %rd4, %rd2;
  @%p bra again;
  ret;
}
)";

enum class DoorState { Closed, OneBlock, Open };

/// Every launch gets all, one block at a time, or nothing.
class Door : public Policy {
 public:
  explicit Door(const std::atomic<DoorState>& state) : state_(state) {}
  bool wants(const gpushare::Event& /*event*/) const override { return true; }
  Plan decide(const State& state) const override {
    Plan plan;
    const DoorState now = state_;
    if (now == DoorState::Closed) return plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back(full_share(launch));
      if (now == DoorState::Open) continue;
      std::vector<int> blocks(static_cast<std::size_t>(state.sms()));
      blocks.front() = 1;
      plan.shares.back().quota = Quota::per_sm(std::move(blocks));
    }
    return plan;
  }

 private:
  const std::atomic<DoorState>& state_;
};

/// Every launch gets all; remembers how many blocks the last one had left at the last decision.
class Looks : public Policy {
 public:
  explicit Looks(std::atomic<std::int64_t>& unfinished) : unfinished_(unfinished) {}
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) plan.shares.push_back(full_share(launch));
    unfinished_ = state.running().back().unfinished();
    return plan;
  }

 private:
  std::atomic<std::int64_t>& unfinished_;
};

class SpreadJobs : public OnStandIn {
 protected:
  static constexpr unsigned blocks = 300;

  SpreadJobs() {
    for (std::size_t device = 0; device < 2; ++device) {
      contexts_[device] = device == 0 ? context : std::make_shared<Context>(1);
      resources_[device] =
          device == 0 ? std::shared_ptr(std::move(resources)) : std::make_shared<GpuResources>(contexts_[device]);
      const std::string text = ptx::make_preemptible(count_blocks, {}, ptx::Reach::SeveralDevices).ptx;
      kernels_[device] = std::make_shared<KernelCode>(
          std::make_shared<KernelModule>(contexts_[device], std::span(text.c_str(), text.size() + 1),
                                         ModuleState::None),
          "count_blocks", ptx::worker_name("count_blocks"));
    }
    let_access(*contexts_[0], *contexts_[1]);
    for (std::size_t device = 0; device < 2; ++device) {
      sessions[device] = std::make_shared<Session>(live_device(resources_[device]), door_of(device));
      applications[device] = sessions[device]->add({.name = device == 0 ? "alice" : "alice@1"});
    }
    counts = std::make_shared<DeviceMemory>(array(std::vector<int>(blocks)));
  }
  ~SpreadJobs() override {
    for (auto& each : sessions) each.reset();
    counts.reset();
    for (auto& each : kernels_) each.reset();
    for (auto& each : resources_) each.reset();
    for (auto& each : contexts_) each.reset();
  }

  Session::MakePolicy door_of(std::size_t device) {
    return [this, device](const std::shared_ptr<const void>&) { return std::make_unique<Door>(doors[device]); };
  }
  void set_door(std::size_t device, DoorState state) {
    doors[device] = state;
    sessions[device]->set_policy(door_of(device));
  }
  /// One that is in the middle for seconds, on both devices.
  std::shared_ptr<SpreadJob> submit_slow() {
    doors[0] = doors[1] = DoorState::OneBlock;
    auto job = submit({0, 1}, 20'000'000);
    for (std::size_t device = 0; device < 2; ++device) wait_for_first_block_on(device);
    doors[0] = doors[1] = DoorState::Open;
    return job;
  }
  void wait_for_first_block_on(std::size_t device) {
    const auto has_begun = [](const ApplicationStatus& each) { return each.started > 0; };
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::ranges::none_of(sessions[device]->status().applications, has_begun)) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
    }
  }

  SpreadPlace place(std::size_t device, std::uint64_t takes) const {
    DeviceLaunch code{.kernel = kernels_[device], .grid = {blocks, 1, 1}, .arguments = arguments(counts->get(), takes)};
    return {.session = sessions[device],
            .application = applications[device],
            .launch = Launch{.kernel = {.name = "count_blocks",
                                        .needs = kernels_[device]->needs({1, 1, 1}, 0),
                                        .cost = {.latency = Duration(1)}},
                             .blocks = blocks},
            .code = [code](std::shared_ptr<GridPart> part) {
              DeviceLaunch of_part = code;
              of_part.part = std::move(part);
              return std::make_shared<SubmittedCode>(std::move(of_part));
            }};
  }

  std::shared_ptr<SpreadJob> submit(std::vector<std::size_t> devices, std::uint64_t takes, bool is_held = false,
                                    bool only_idle = false) {
    auto counter = std::make_shared<DeviceMemory>(array(std::vector{0}));
    const CUdeviceptr address = counter->get();
    auto job = std::make_shared<SpreadJob>(blocks, address, std::move(counter));
    for (std::size_t device = 0; device < 2; ++device) job->add_place(device, place(device, takes));
    submitted = job->submit(0, place(0, takes), std::move(devices), is_held, only_idle);
    return job;
  }

  std::vector<int> times_run() { return values<int>(*counts, blocks); }

  /// Blocks that were reported there, of launches that ended.
  std::int64_t blocks_on(std::size_t device) {
    std::int64_t started = 0;
    std::int64_t ended = 0;
    std::size_t launches = 0;
    for (const gpushare::Event& event : sessions[device]->finish(patience).trace.events) {
      if (event.kind == EventKind::BlockStarted) started += event.blocks;
      if (event.kind == EventKind::BlockEnded) ended += event.blocks;
      if (event.kind == EventKind::LaunchEnded) ++launches;
    }
    EXPECT_EQ(started, ended);
    return ended;
  }

  std::array<std::atomic<DoorState>, 2> doors{DoorState::Open, DoorState::Open};
  std::array<std::shared_ptr<Session>, 2> sessions;
  std::array<ApplicationId, 2> applications{};
  std::shared_ptr<DeviceMemory> counts;
  JobId submitted = 0;  // the last one, in the session of the first device

 private:
  std::array<SharedContext, 2> contexts_;
  std::array<std::shared_ptr<GpuResources>, 2> resources_;
  std::array<std::shared_ptr<KernelCode>, 2> kernels_;
};

TEST_F(SpreadJobs, EveryBlockRunsOnceOnOneOfTheDevices) {
  doors[0] = DoorState::Closed;
  doors[1] = DoorState::OneBlock;
  const auto job = submit({0, 1}, 20'000'000);
  wait_for_first_block_on(1);
  set_door(0, DoorState::Open);
  set_door(1, DoorState::Closed);
  EXPECT_TRUE(job->wait(patience));
  EXPECT_THAT(times_run(), Each(1));
  const std::int64_t on_first = blocks_on(0);
  const std::int64_t on_second = blocks_on(1);
  EXPECT_GT(on_first, 0);
  EXPECT_GT(on_second, 0);
  EXPECT_EQ(on_first + on_second, blocks);
}

TEST_F(SpreadJobs, OneDeviceDoesAllWhereThePolicyOfTheOtherHoldsItsPart) {
  for (const std::size_t held : {1u, 0u}) {
    doors[held] = DoorState::Closed;
    doors[1 - held] = DoorState::Open;
    EXPECT_TRUE(submit({0, 1}, 1000)->wait(patience));
  }
  EXPECT_THAT(times_run(), Each(2));
  EXPECT_TRUE(sessions[0]->wait_for_all(patience));
  EXPECT_TRUE(sessions[1]->wait_for_all(patience));
}

TEST_F(SpreadJobs, LaunchOnTheOtherDeviceAloneIsEmptyOnItsOwn) {
  EXPECT_TRUE(submit({1}, 1000)->wait(patience));
  EXPECT_THAT(times_run(), Each(1));
  EXPECT_EQ(blocks_on(1), blocks);
}

TEST_F(SpreadJobs, DevicesWithOtherWorkAtItsTurnAreLeftOut) {
  doors[1] = DoorState::OneBlock;
  const auto other = submit({1}, 20'000'000);
  wait_for_first_block_on(1);
  const auto job = submit({0, 1}, 1000, false, true);
  EXPECT_TRUE(job->wait(patience));
  EXPECT_THAT(job->devices(), testing::ElementsAre(0));
  EXPECT_FALSE(other->took().has_value());
  set_door(1, DoorState::Open);
  EXPECT_TRUE(other->wait(patience));
  EXPECT_TRUE(sessions[1]->wait_for_all(patience));
  const auto both = submit({0, 1}, 1000, false, true);
  EXPECT_TRUE(both->wait(patience));
  EXPECT_THAT(both->devices(), testing::ElementsAre(0, 1));
  EXPECT_THAT(times_run(), Each(3));
}

TEST_F(SpreadJobs, NoDeviceIsBusyWithTheLaunchThatItWaitsFor) {
  constexpr int launches = 50;
  std::vector<std::shared_ptr<SpreadJob>> jobs{submit({0, 1}, 1000, true, true)};
  const JobId first = submitted;
  while (jobs.size() < launches) {
    const auto before = jobs.back();
    jobs.push_back(submit({0, 1}, 1000, true, true));
    before->when_ended([this, next = submitted](const std::string& /*failure*/) { sessions[0]->release(next); });
  }
  sessions[0]->release(first);
  EXPECT_TRUE(jobs.back()->wait(patience));
  for (int after = 0; after < launches; ++after) {
    jobs.push_back(submit({0, 1}, 1000, false, true));
    EXPECT_TRUE(jobs.back()->wait(patience));
  }
  for (const auto& job : jobs) EXPECT_THAT(job->devices(), testing::ElementsAre(0, 1));
  EXPECT_THAT(times_run(), Each(2 * launches));
}

TEST_F(SpreadJobs, MovedOneGoesToABusyDeviceToo) {
  doors[1] = DoorState::OneBlock;
  const auto other = submit({1}, 20'000'000);
  wait_for_first_block_on(1);
  const auto job = submit({0, 1}, 1000, true, true);
  EXPECT_TRUE(job->move({1}));
  sessions[0]->release(submitted);
  EXPECT_TRUE(job->wait_for_leave(0, patience));
  set_door(1, DoorState::Open);
  EXPECT_TRUE(job->wait(patience));
  EXPECT_THAT(job->devices(), testing::ElementsAre(1));
  EXPECT_TRUE(other->wait(patience));
  EXPECT_THAT(times_run(), Each(2));
}

TEST_F(SpreadJobs, ItsTimeIsThatFromItsTurnToItsEnd) {
  constexpr std::uint64_t takes = 2'000'000;
  const auto before = submit({0}, takes);
  EXPECT_TRUE(before->wait(patience));
  const auto job = submit({0}, takes, true);
  std::this_thread::sleep_for(50ms);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(job->has_ended());
  sessions[0]->release(submitted);
  EXPECT_TRUE(job->wait(patience));
  EXPECT_TRUE(job->has_ended());
  EXPECT_GE(*job->took(), Duration(takes));
  EXPECT_LE(*job->took(), std::chrono::steady_clock::now() - begin);
}

TEST_F(SpreadJobs, RandomMovesLeaveNoBlockOutAndRunNoneTwice) {
  constexpr int most_moves = 200;  // of one job, which might otherwise never be anywhere for long enough
  std::mt19937_64 random(1);
  int moves = 0;
  int launches = 0;
  while (moves < most_moves) {
    const auto job = submit({random() % 2}, 50'000);
    ++launches;
    const std::array<std::vector<std::size_t>, 3> choices{{{0}, {1}, {0, 1}}};
    for (int own = 0; own < most_moves && !job->wait(Duration(static_cast<std::int64_t>(random() % 500'000))); ++own) {
      moves += job->move(choices[random() % 3]) ? 1 : 0;
    }
    ASSERT_TRUE(job->wait(patience));
    EXPECT_FALSE(job->move({0}));
  }
  EXPECT_THAT(times_run(), Each(launches));
  EXPECT_TRUE(sessions[0]->wait_for_all(patience));
  EXPECT_TRUE(sessions[1]->wait_for_all(patience));
}

TEST_F(SpreadJobs, LaterLaunchMayWaitForTheEndOnAllDevices) {
  const auto job = submit({1}, 100'000);
  const auto told = std::make_shared<std::promise<std::string>>();
  job->when_ended([told](const std::string& failure) { told->set_value(failure); });
  const auto end = told->get_future();
  ASSERT_EQ(end.wait_for(patience), std::future_status::ready);
  EXPECT_TRUE(job->wait(Duration{}));
}

TEST_F(SpreadJobs, WithdrawnApplicationCancelsItAndDisturbsNoOther) {
  const auto job = submit_slow();
  for (std::size_t device = 0; device < 2; ++device) sessions[device]->withdraw(applications[device]);
  EXPECT_THROW(job->wait(patience), Cancelled);
  for (std::size_t device = 0; device < 2; ++device) {
    EXPECT_TRUE(sessions[device]->wait_for_all(patience));
    applications[device] = sessions[device]->add({.name = "bob" + std::to_string(device)});
  }
  const auto again = submit({0, 1}, 1000);
  EXPECT_TRUE(again->wait(patience));
}

TEST_F(SpreadJobs, WithdrawnBeforeItsTurnItIsCancelled) {
  const auto first = submit({0}, 1000, true);
  const auto second = submit({0, 1}, 1000);
  sessions[0]->withdraw(applications[0]);
  EXPECT_THROW(second->wait(patience), Cancelled);
  EXPECT_THROW(first->wait(patience), Cancelled);
}

TEST_F(SpreadJobs, ClosedSessionFailsItAndTheOtherGoesOn) {
  const auto job = submit_slow();
  sessions[1]->close();
  EXPECT_THROW(job->wait(patience), DeviceError);
  EXPECT_TRUE(sessions[0]->wait_for_all(patience));
  EXPECT_TRUE(submit({0}, 1000)->wait(patience));
  EXPECT_THROW(submit({0, 1}, 1000)->wait(patience), std::exception);
}

TEST_F(SpreadJobs, PoliciesThatHoldAllPartsForGoodAreAtFault) {
  doors[0] = doors[1] = DoorState::Closed;
  const auto job = submit({0, 1}, 1000);
  EXPECT_THROW(job->wait(patience), PolicyError);
  EXPECT_NE(sessions[0]->failure() == nullptr, sessions[1]->failure() == nullptr);  // the other goes on
}

TEST_F(SpreadJobs, PolicyThatHoldsTheOnlyPartForGoodIsAtFault) {
  doors[1] = DoorState::Closed;
  EXPECT_THROW(submit({1}, 1000)->wait(patience), PolicyError);
  EXPECT_EQ(sessions[0]->failure(), nullptr);
}

TEST_F(SpreadJobs, GoesOnWhereItIsIfTheSessionThatItIsToGoToHasFailed) {
  doors[0] = DoorState::OneBlock;
  doors[1] = DoorState::Closed;
  const auto job = submit({0}, 1'000'000);
  wait_for_first_block_on(0);
  const ApplicationId held = sessions[1]->add({.name = "held"});
  const JobId of_held = sessions[1]->submit(held, place(1, 1000).launch, place(1, 1000).code(nullptr));
  EXPECT_THROW(sessions[1]->wait(of_held, patience), PolicyError);
  EXPECT_THROW(job->move({1}), PolicyError);
  EXPECT_THAT(job->devices(), testing::ElementsAre(0u));
  set_door(0, DoorState::Open);
  EXPECT_TRUE(job->wait(patience));
}

TEST_F(SpreadJobs, PartThatIsLeftOnItsOwnIsHeldForGood) {
  doors[0] = DoorState::Closed;
  doors[1] = DoorState::OneBlock;
  const auto job = submit({0, 1}, 20'000'000);
  wait_for_first_block_on(1);
  EXPECT_TRUE(job->move({0}));
  EXPECT_THROW(job->wait(patience), PolicyError);
  EXPECT_EQ(sessions[1]->failure(), nullptr);
}

TEST_F(SpreadJobs, PolicySeesTheBlocksThatAreLeftForItsDevice) {
  std::atomic<std::int64_t> unfinished = -1;
  const auto looks = [&](const std::shared_ptr<const void>&) { return std::make_unique<Looks>(unfinished); };
  sessions[0]->set_policy(looks);
  doors[1] = DoorState::OneBlock;
  const auto job = submit({1}, 5'000'000);
  while (!job->wait(1ms) && sessions[1]->status().applications.at(0).done < static_cast<std::int64_t>(blocks) / 2) {
  }
  unfinished = -1;
  EXPECT_TRUE(job->move({0, 1}));
  EXPECT_TRUE(job->wait(patience));
  EXPECT_GE(unfinished, 0);
  EXPECT_LE(unfinished, static_cast<std::int64_t>(blocks) / 2);
}

TEST_F(SpreadJobs, DeviceThatItLeavesCanBeWaitedFor) {
  const auto job = submit_slow();
  EXPECT_FALSE(job->wait_for_leave(1, Duration{}));
  EXPECT_TRUE(job->move({0}));
  EXPECT_THAT(job->devices(), testing::ElementsAre(0u));
  EXPECT_TRUE(job->wait_for_leave(1, patience));
  EXPECT_TRUE(job->wait(patience));
}

TEST_F(SpreadJobs, DeviceIsNoPeerOfItself) { EXPECT_THROW(let_access(*context, *context), InvalidInput); }

}  // namespace
}  // namespace gpushare::cuda::test
