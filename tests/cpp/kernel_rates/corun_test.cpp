// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/corun.hpp"

#include <gtest/gtest.h>

#include "core/model/residency.hpp"
#include "core/simulation/simulated_gpu.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

Kernel compute_bound() {
  Kernel kernel = launch_of(1, 1000).kernel;
  kernel.cost.issue = Duration(900);
  return kernel;
}

Kernel memory_bound() {
  Kernel kernel = launch_of(1, 1000).kernel;
  kernel.cost.issue = Duration(20);
  kernel.cost.off_sm = Bytes{20000};
  return kernel;
}

Device narrow_device() {
  Device device = small_device();
  device.off_sm.dram = Bandwidth{8e9};
  return device;
}

TEST(Corun, AKernelThatOnlyIssuesIsAsFastAsItsSmsAreMany) {
  const Kernel kernel = compute_bound();
  const Device device = narrow_device();
  EXPECT_NEAR(rate_alone(device, kernel, device.sms, 2), device.sms * rate_alone(device, kernel, 1, 2), 1e-12);
}

TEST(Corun, AKernelThatFillsTheMemoryGainsNothingFromMoreSms) {
  const Kernel kernel = memory_bound();
  const Device device = narrow_device();
  const double bytes_per_ns = 20000 * rate_alone(device, kernel, device.sms, 2);
  EXPECT_NEAR(bytes_per_ns, 8.0, 1e-6);
  EXPECT_NEAR(rate_alone(device, kernel, 2, 2), rate_alone(device, kernel, 1, 2), 1e-6);
}

TEST(Corun, OnSmsOfTheirOwnKernelsThatShareNothingKeepTheirRates) {
  const Kernel one = compute_bound();
  const Kernel other = compute_bound();
  const Device device = narrow_device();
  const Kernel* kernels[] = {&one, &other};
  const SmGroup groups[] = {{1, {2, 0}}, {1, {0, 2}}};
  const auto rates = corun_rates(device, kernels, groups);
  EXPECT_NEAR(rates[0], rate_alone(device, one, 1, 2), 1e-12);
  EXPECT_NEAR(rates[1], rate_alone(device, other, 1, 2), 1e-12);
}

TEST(Corun, OnTheSameSmsTwoThatIssueShareWhatOneHadAndOneThatWaitsCostsLittle) {
  const Kernel issues = compute_bound();
  const Kernel waits = memory_bound();
  const Device device = narrow_device();
  const Kernel* alike[] = {&issues, &issues};
  const Kernel* unlike[] = {&issues, &waits};
  const SmGroup groups[] = {{device.sms, {1, 1}}};
  const double together = rate_alone(device, issues, device.sms, 2);
  const auto same = corun_rates(device, alike, groups);
  EXPECT_NEAR(same[0] + same[1], together, 1e-9);
  EXPECT_GT(corun_rates(device, unlike, groups)[0], 0.9 * rate_alone(device, issues, device.sms, 1));
}

TEST(Corun, WhereTheOldestIssueFirstTheFirstKernelIsTheOldest) {
  const Kernel one = compute_bound();
  const Kernel other = compute_bound();
  Device device = narrow_device();
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  const Kernel* kernels[] = {&one, &other};
  const SmGroup groups[] = {{device.sms, {2, 2}}};
  const auto rates = corun_rates(device, kernels, groups);
  EXPECT_EQ(rates[0], rate_alone(device, one, device.sms, 2));
  EXPECT_LT(rates[1], 0.1 * rates[0]);
  EXPECT_GT(rates[1], 0);
}

TEST(Corun, AKernelWithoutBytesGainsWhatAnOlderOneLosesToMemory) {
  Kernel older = memory_bound();
  older.cost.issue = Duration(300);
  older.cost.memory = Duration(600);
  const Kernel younger = compute_bound();
  Device device = narrow_device();
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  device.off_sm.delay = {.linear = 0.45, .saturating = 0.25};
  const Kernel* kernels[] = {&older, &younger};
  const SmGroup groups[] = {{device.sms, {2, 2}}};
  const double beside_a_busy_memory = corun_rates(device, kernels, groups)[1];
  device.off_sm = {};
  EXPECT_GT(beside_a_busy_memory, 1.3 * corun_rates(device, kernels, groups)[1]);
}

TEST(Corun, NoLaunchHasNoRate) {
  const Kernel one = compute_bound();
  const Kernel* kernels[] = {&one};
  EXPECT_EQ(corun_rates(narrow_device(), kernels, {}).front(), 0);
  const SmGroup empty[] = {{1, {0}}};
  EXPECT_EQ(corun_rates(narrow_device(), kernels, empty).front(), 0);
}

}  // namespace
}  // namespace gpushare
