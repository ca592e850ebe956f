// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

#include "served.hpp"

using namespace std::chrono_literals;

namespace {

class Launches : public Served {
 protected:
  std::vector<char> file_of(const char* variable) {
    std::ifstream file(std::getenv(variable), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  void expect_sum(const gs::Kernel& add, int count = 1003) {
    std::vector<float> a(count);
    std::vector<float> b(count);
    std::iota(a.begin(), a.end(), 0.5F);
    std::iota(b.begin(), b.end(), -7.0F);
    gs::Memory sum = session.allocate(count * sizeof(float));
    const gs::Memory on_device[] = {uploaded(a), uploaded(b)};
    application.launch(add, {.grid = 16, .block = 64}, {on_device[0], on_device[1], sum, count}).wait();
    std::vector<float> expected(count);
    for (int i = 0; i < count; ++i) expected[i] = a[i] + b[i];
    EXPECT_EQ(downloaded<float>(sum), expected);
  }

  gs::Application application = session.application("alice");
};

TEST_F(Launches, VectorsAreAdded) { expect_sum(kernel("add")); }

TEST_F(Launches, KernelsMayBePtx) {
  const auto ptx = file_of("GPUSHARE_TEST_PTX");
  expect_sum(session.kernel({ptx.data(), ptx.size()}, "add"));
}

TEST_F(Launches, KernelsMayBeMachineCode) {
  const auto code = file_of("GPUSHARE_TEST_CUBIN");
  gs::KernelOptions options;
  options.parameters = {"const float*", "const float*", "float*", "int"};
  expect_sum(session.cubin(std::as_bytes(std::span(code)), "add", options));
}

TEST_F(Launches, OptionsReachTheCompiler) {
  gs::KernelOptions options;
  options.compiler = {"-DNUMBER=42u"};
  options.preemptible = false;
  const gs::Kernel fill =
      session.kernel("__global__ void fill(unsigned int* value) { *value = NUMBER; }", "fill", options);
  gs::Memory value = session.allocate(sizeof(std::uint32_t));
  application.launch(fill, {}, {value}).wait();
  EXPECT_EQ(downloaded<std::uint32_t>(value), std::vector<std::uint32_t>{42});
}

TEST_F(Launches, TheyRunInOrder) {
  const gs::Kernel append = kernel("append");
  gs::Memory value = session.allocate(sizeof(std::uint32_t));
  std::uint32_t expected = 0;
  for (std::uint32_t number = 0; number < 50; ++number) {
    application.launch(append, {}, {value, number});  // and go on without their objects
    expected = expected * 31 + number;
  }
  session.synchronize();
  EXPECT_EQ(downloaded<std::uint32_t>(value), std::vector<std::uint32_t>{expected});
}

TEST_F(Launches, ArgumentsHaveTheTypesOfTheParameters) {
  gs::Memory out = session.allocate(10 * sizeof(double));
  const Pair pair{-5, 0.125};
  application
      .launch(kernel("types"), {},
              {gs::Argument(out, sizeof(double)), -100, 65'535, true, -(1LL << 60), 0.1, 0.1,
               gs::Argument::bytes_of(pair), nullptr})
      .wait();
  const std::vector<double> expected{0,   -100, 65'535, 1, -std::ldexp(1.0, 60), static_cast<double>(0.1F),
                                     0.1, -5,   0.125,  1};
  EXPECT_EQ(downloaded<double>(out), expected);
}

TEST_F(Launches, GridsAndBlocksHaveThreeExtents) {
  const unsigned threads = 4 * 2 * 3;
  gs::Memory out = session.allocate(12 * threads * sizeof(std::uint32_t));
  application
      .launch(kernel("places"),
              {.grid = {3, 2, 2}, .block = {4, 2, 3}, .shared_bytes = threads * sizeof(std::uint32_t)}, {out})
      .wait();
  std::vector<std::uint32_t> expected;
  for (unsigned block = 0; block < 12; ++block) {
    for (unsigned thread = 0; thread < threads; ++thread) expected.push_back(1000 * block + threads - 1 - thread);
  }
  EXPECT_EQ(downloaded<std::uint32_t>(out), expected);
}

TEST_F(Launches, AJobThatDoesNotEndIsWaitedForInTimeAndCancelled) {
  gs::Application endless = session.application("endless");
  gs::Memory value = session.allocate(sizeof(std::uint32_t));
  const gs::Kernel increment = kernel("increment");
  gs::Job job = endless.launch(increment, {.grid = 1U << 30}, {value});
  gs::Job behind = endless.launch(increment, {}, {value});
  EXPECT_FALSE(job.wait_for(50ms));
  EXPECT_FALSE(behind.done());
  EXPECT_FALSE(session.synchronize_for(10ms));
  endless.cancel();
  expect_error_naming<gs::Cancelled>({"endless"}, [&] { job.wait(); });
  expect_error_naming<gs::Cancelled>({"endless"}, [&] { job.done(); });
  expect_error_naming<gs::Cancelled>({"endless"}, [&] { behind.wait(); });
  expect_error_naming<gs::Cancelled>({"endless"}, [&] { endless.launch(increment, {}, {value}); });
  EXPECT_TRUE(session.synchronize_for(60s));
  expect_sum(kernel("add"));
}

TEST_F(Launches, TenThreadsSubmit) {
  const gs::Kernel increment = kernel("increment");
  const gs::Kernel add = kernel("add");
  gs::Memory total = session.allocate(sizeof(std::uint32_t));
  gs::Application shared = session.application("shared");
  std::vector<std::thread> threads;
  for (int number = 0; number < 10; ++number) {
    threads.emplace_back([&, number] {
      gs::Application own = session.application("thread " + std::to_string(number));
      gs::Memory value = session.allocate(sizeof(std::uint32_t));
      std::vector<gs::Job> jobs;
      for (int launch = 0; launch < 20; ++launch) {
        jobs.push_back(own.launch(increment, {.grid = 2, .block = 1}, {value}));
        jobs.push_back(shared.launch(increment, {}, {total}));
      }
      for (gs::Job& job : jobs) job.wait();
      EXPECT_EQ(downloaded<std::uint32_t>(value), std::vector<std::uint32_t>{40});
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(downloaded<std::uint32_t>(total), std::vector<std::uint32_t>{200});
}

TEST_F(Launches, ObjectsOutliveTheirSession) {
  std::optional<gs::Session> first(std::in_place);
  gs::Application alice = first->application("alice");
  const gs::Kernel increment = first->kernel(served_source, "increment");
  gs::Memory value = first->allocate(sizeof(std::uint32_t));
  first.reset();
  alice.launch(increment, {}, {value}).wait();
  EXPECT_EQ(downloaded<std::uint32_t>(value), std::vector<std::uint32_t>{1});
}

TEST_F(Launches, PrioritiesAndTermsAreTaken) {
  const std::string name = application.name();
  EXPECT_EQ(name, "alice");
  gs::Application bob = session.application("bob", {.weight = 2.5, .deadline = 1s});
  expect_error_naming<gs::RefusedError>({"bob", "1000"}, [&] { bob.set_priority(1000); });
  bob.set_priority(-1);
  gs::Memory value = session.allocate(sizeof(std::uint32_t));
  bob.launch(kernel("increment"), {}, {value}).wait();
  EXPECT_EQ(downloaded<std::uint32_t>(value), std::vector<std::uint32_t>{1});
}

}  // namespace
