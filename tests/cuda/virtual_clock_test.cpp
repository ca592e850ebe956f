// SPDX-License-Identifier: Apache-2.0
// Runs in the stand-in's virtual time: what happens depends on the host's calls alone, so equal runs give equal traces.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>

#include "core/policies/registry.hpp"
#include "core/trace/trace_recorder.hpp"
#include "cuda/cuda_gpu.hpp"
#include "sample_work.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

constexpr const char* trace_file = "GPUSHARE_TEST_TRACE_FILE";

WallClock::Clock::time_point virtual_now() {
  using TimeNs = unsigned long long (*)();
  static const auto time_ns =
      reinterpret_cast<TimeNs>(dlsym(dlopen(getenv("GPUSHARE_LIBCUDA"), RTLD_NOW), "gpushare_stand_in_time_ns"));
  return WallClock::Clock::time_point(std::chrono::nanoseconds(time_ns()));
}

class InVirtualTime : public OnStandIn, public testing::WithParamInterface<PolicyEntry> {
 protected:
  /// Two applications, of which the second comes while the first runs. Their results are checked, too.
  Trace run_here() {
    const auto kernel = load("saxpy");
    Saxpys first(array(Saxpys::input()), array(Saxpys::input()));
    Saxpys second(array(Saxpys::input()), array(Saxpys::input()));
    Work work;
    work.add_application("first");
    first.add_to(work, kernel, 6);
    work.add_application("second", 300'000);
    second.add_to(work, kernel, 4);
    TraceRecorder recorder;
    const std::array<RunObserver*, 1> observers{&recorder};
    {
      CudaGpu gpu(*resources, work.program, WallClock(&virtual_now));
      run(gpu, *make_policy(GetParam().name), work.workload, observers);
    }
    EXPECT_EQ(values<float>(first.result(), Saxpys::count), first.expected());
    EXPECT_EQ(values<float>(second.result(), Saxpys::count), second.expected());
    Trace trace = recorder.take();
    gpushare::test::expect_time_moves_forward(trace);
    return trace;
  }

  /// The bytes of the trace of this test in a process of its own: the driver's devices are those of a process.
  static std::string trace_of_process(const std::string& seed) {
    const auto file = std::filesystem::path(testing::TempDir()) / ("trace " + std::to_string(getpid()));
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    std::vector<std::string> variables{"GPUSHARE_STAND_IN_CLOCK=virtual", "GPUSHARE_STAND_IN_SEED=" + seed,
                                       std::string(trace_file) + "=" + file.string()};
    std::vector<char*> environment;  // of two values of one variable, the first counts
    for (std::string& each : variables) environment.push_back(each.data());
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe";
    std::string brief = "--gtest_brief=1";
    const std::array<char*, 4> arguments{program.data(), filter.data(), brief.data(), nullptr};
    pid_t child = -1;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environment.data()), 0);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    const std::string bytes = read_file(file);
    std::filesystem::remove(file);
    return bytes;
  }
};

TEST_P(InVirtualTime, EqualRunsGiveEqualTracesAndOtherOrdersOfThreadsOthers) {
  if (const char* file = getenv(trace_file)) {
    std::ofstream(file, std::ios::binary) << to_bytes(run_here());
    return;
  }
  const std::string trace = trace_of_process("1");
  EXPECT_GT(trace_from_bytes(trace).events.size(), 20U);
  EXPECT_EQ(trace_of_process("1"), trace);
  EXPECT_NE(trace_of_process("2"), trace);
}

INSTANTIATE_TEST_SUITE_P(Policies, InVirtualTime, testing::ValuesIn(policies().begin(), policies().end()),
                         [](const auto& each) {
                           std::string name(each.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace gpushare::cuda::test
