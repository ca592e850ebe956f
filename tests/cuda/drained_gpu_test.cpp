// SPDX-License-Identifier: Apache-2.0
// Calls of the driver that wait for kernels, beside launches that take for ever: those leave for a moment.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "core/policies/registry.hpp"
#include "core/trace/trace_recorder.hpp"
#include "cuda/cuda_gpu.hpp"
#include "cuda/memory/registered_memory.hpp"
#include "sample_work.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The scheduler gives up after 2 s what does not come about.
constexpr auto soon = 1500ms;
constexpr std::uint64_t one_ms = 1'000'000;

/// A run in a thread of its own, of launches whose blocks take a millisecond as long as the gate is closed.
class DrainedGpu : public OnStandIn {
 protected:
  DrainedGpu() : gate_(array(std::vector{0})), kernel_(load("wait_at_gate", wait_at_gate)) {}
  ~DrainedGpu() override {
    if (run_.joinable()) end_run();
  }

  /// Seconds of work, on all places.
  void add_application(const std::string& name, int launches = 1, unsigned blocks = 30'000) {
    add_application(name, kernel_, launches, blocks, one_ms);
  }
  void add_application(const std::string& name, int launches, unsigned blocks, std::uint64_t block_ns) {
    add_application(name, kernel_, launches, blocks, block_ns);
  }
  void add_application(const std::string& name, const std::shared_ptr<KernelCode>& kernel, int launches,
                       unsigned blocks, std::uint64_t block_ns) {
    counters_.push_back(array(std::vector{0}));
    work_.add_application(name);
    for (int launch = 0; launch < launches; ++launch) {
      work_.add_launch(kernel, blocks, 1, arguments(gate_.get(), counters_.back().get(), block_ns));
    }
    expected_.push_back(launches * static_cast<int>(blocks));
  }

  void start(const std::string& policy = "fifo") {
    run_ = std::thread([this, policy] { run_under(policy); });
    for (std::size_t application = 0; application < counters_.size(); ++application) {
      while (count(application) == 0) std::this_thread::yield();
    }
  }
  void run_under(const std::string& policy) {
    TraceRecorder recorder;
    std::vector<RunObserver*> observers{&recorder};
    CudaGpu gpu(*resources, work_.program);
    gpu.set_heartbeat([this] {
      if (gives_up_) throw std::runtime_error("given up");
      if (drops_) dropped_.reset();
      drops_ = false;
      ++beats_;
    });
    try {
      run(gpu, *make_policy(policy), work_.workload, observers);
    } catch (const std::runtime_error&) {
      gpu.stop(Duration(10'000'000'000));
    }
    trace_ = recorder.take();
  }

  int count(std::size_t application = 0) { return values<int>(counters_[application], 1).front(); }
  bool runs() { return count() < expected_.front(); }
  /// Blocks begin again.
  bool goes_on() {
    const int before = count();
    const auto end = Clock::now() + soon;
    while (count() == before && Clock::now() < end) std::this_thread::yield();
    return count() > before;
  }
  void open_gate() { write(gate_, 1); }
  /// By the thread that schedules.
  void drop_there(std::shared_ptr<KernelCode> last) {
    dropped_ = std::move(last);
    drops_ = true;
    while (drops_) std::this_thread::yield();
  }
  /// The scheduler's thread has been round after this was called.
  void await_beat() {
    const int before = beats_;
    while (beats_ == before) std::this_thread::yield();
  }
  void give_up() {
    gives_up_ = true;
    run_.join();
    gives_up_ = false;
  }

  void end_run() {
    open_gate();
    run_.join();
  }
  void expect_all_ran() {
    end_run();
    for (std::size_t application = 0; application < counters_.size(); ++application) {
      EXPECT_EQ(count(application), expected_[application]);
    }
    gpushare::test::expect_time_moves_forward(trace_);
    gpushare::test::expect_streams_in_order(trace_, work_.workload);
  }

  template <class Action>
  std::chrono::milliseconds time_of(Action action) {
    const auto start = Clock::now();
    action();
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  }

 private:
  DeviceMemory gate_;
  std::vector<DeviceMemory> counters_;
  std::vector<int> expected_;
  std::shared_ptr<KernelCode> kernel_;
  Work work_;
  Trace trace_;
  std::atomic<bool> gives_up_ = false;
  std::shared_ptr<KernelCode> dropped_;
  std::atomic<bool> drops_ = false;
  std::atomic<int> beats_ = 0;
  std::thread run_;
};

/// Some pages of host memory.
class Pages {
 public:
  Pages() : first_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() { munmap(first_, bytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::span<std::byte> get() const { return {static_cast<std::byte*>(first_), bytes}; }

 private:
  static constexpr std::size_t bytes = 1 << 16;
  void* first_;
};

TEST_F(DrainedGpu, CodeIsLoadedAndUnloadedAndTheLaunchGoesOn) {
  add_application("endless");
  start();
  EXPECT_LT(time_of([&] { load("saxpy"); }), soon);
  EXPECT_TRUE(runs());
  EXPECT_TRUE(goes_on());
  expect_all_ran();
}

TEST_F(DrainedGpu, MemoryIsPinnedAndUnpinnedAndFreed) {
  const Pages pages;
  PinnedMemory pinned = make_pinned_memory(context, 1000);
  add_application("endless");
  start();
  EXPECT_LT(time_of([&] { register_memory(context, pages.get()); }), soon);
  EXPECT_LT(time_of([&] { const PinnedMemory freed = std::move(pinned); }), soon);
  EXPECT_TRUE(runs());
  EXPECT_TRUE(goes_on());
  expect_all_ran();
}

TEST_F(DrainedGpu, TheSchedulersOwnThreadDoesNotWait) {
  auto code = load("saxpy");
  add_application("endless");
  start();
  EXPECT_LT(time_of([&] { drop_there(std::move(code)); }), soon);
  EXPECT_TRUE(goes_on());
  EXPECT_TRUE(runs());
  expect_all_ran();
}

TEST_F(DrainedGpu, ResultsAreRightUnderEveryPolicy) {
  const auto kernel = load("saxpy");
  std::jthread caller([&](const std::stop_token& ends) {
    while (!ends.stop_requested()) {
      const Drain drain = context->drain_requests().ask();
      std::this_thread::sleep_for(100us);
    }
  });
  for (const PolicyEntry& policy : policies()) {
    Saxpys first(array(Saxpys::input()), array(Saxpys::input()));
    Saxpys second(array(Saxpys::input()), array(Saxpys::input()));
    Work work;
    work.add_application("first");
    first.add_to(work, kernel, 6);
    work.add_application("second");
    second.add_to(work, kernel, 4);
    CudaGpu gpu(*resources, work.program);
    run(gpu, *make_policy(std::string(policy.name) + ":whole_up_to_ns=100_000"), work.workload);
    EXPECT_EQ(values<float>(first.result(), Saxpys::count), first.expected()) << policy.name;
    EXPECT_EQ(values<float>(second.result(), Saxpys::count), second.expected()) << policy.name;
  }
}

TEST_F(DrainedGpu, AnsweredAreSeveralAtATime) {
  add_application("one", 1, 15'000);
  add_application("other", 1, 15'000);
  start("even");
  std::vector<std::future<void>> callers;
  const auto time = time_of([&] {
    for (int caller = 0; caller < 4; ++caller) {
      callers.push_back(std::async(std::launch::async, [&] {
        const Pages pages;
        for (int times = 0; times < 3; ++times) register_memory(context, pages.get());
      }));
    }
    callers.clear();
  });
  EXPECT_LT(time, 2 * soon);
  EXPECT_TRUE(runs());
  expect_all_ran();
}

TEST_F(DrainedGpu, NothingRunsMeanwhileWhateverTheLaunchesAre) {
  add_application("long");
  add_application("short ones", 400, 16);
  start("even:whole_up_to_ns=1e9");
  for (int times = 0; times < 5; ++times) {
    {
      const Drain drain = context->drain_requests().ask();
      const std::vector<int> before{count(0), count(1)};
      std::this_thread::sleep_for(10ms);
      EXPECT_EQ((std::vector{count(0), count(1)}), before);
    }
    EXPECT_TRUE(goes_on());
  }
  expect_all_ran();
}

// It may be over before the scheduler has put the others back on the GPU.
TEST_F(DrainedGpu, ATinyLaunchEndsBehindItsBlocks) {
  add_application("tiny", 300, 1, 1);
  for (const char* other : {"one", "two", "three"}) add_application(other, 1, 20'000, 10'000);
  start("even");
  for (int times = 0; times < 400 && count() < 300; ++times) {
    const Drain drain = context->drain_requests().ask();
  }
  expect_all_ran();
}

TEST_F(DrainedGpu, WhoAsksAllTheTimeLeavesTimeForLaunches) {
  add_application("endless");
  start();
  std::atomic<bool> ends = false;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      while (!ends) {
        const Drain drain = context->drain_requests().ask();
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  for (int times = 0; times < 10; ++times) EXPECT_TRUE(goes_on());
  ends = true;
  for (std::thread& each : callers) each.join();
  expect_all_ran();
}

TEST_F(DrainedGpu, ALaunchThatCannotLeaveIsWaitedForSoLongAndNoLonger) {
  const auto opaque = load("wait_at_gate", wait_at_gate, false);
  add_application("preemptible");
  add_application("opaque", opaque, 1, 1, for_ever);
  start("even");
  const auto time = time_of([&] { const Drain drain = context->drain_requests().ask(); });
  EXPECT_GT(time, 1900ms);
  EXPECT_LT(time, 4s);
  EXPECT_TRUE(goes_on());
  expect_all_ran();
}

TEST_F(DrainedGpu, ACallThatTakesTooLongHasTheGpuToItselfSoLongAndNoLonger) {
  add_application("endless");
  start();
  const Drain drain = context->drain_requests().ask();
  const auto time = time_of([&] {
    for (int times = 0; times < 4 && !goes_on(); ++times) {
    }
  });
  EXPECT_GT(time, 1500ms);
  EXPECT_LT(time, 4s);
  expect_all_ran();
}

TEST_F(DrainedGpu, ARunEndsWhileItIsQuietAndTheNextOneWaits) {
  add_application("endless");
  start();
  {
    const Drain drain = context->drain_requests().ask();
    give_up();
    const int before = count();
    start();
    await_beat();
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(count(), before);
  }
  EXPECT_TRUE(goes_on());
  give_up();
}

TEST_F(DrainedGpu, ARunEndsWhileSomebodyWaitsForQuiet) {
  const auto opaque = load("wait_at_gate", wait_at_gate, false);
  add_application("opaque", opaque, 1, 1, for_ever);
  start();
  std::thread caller([&] { const Drain drain = context->drain_requests().ask(); });
  while (!context->drain_requests().is_wanted()) std::this_thread::yield();
  std::thread ends([&] { give_up(); });
  std::this_thread::sleep_for(20ms);
  EXPECT_LT(time_of([&] {
              open_gate();
              ends.join();
              caller.join();
            }),
            soon);
}

}  // namespace
}  // namespace gpushare::cuda::test
