// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/kernel_catalogue.hpp"

#include <gtest/gtest.h>

#include "core/kernel_rates/corun.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

class Catalogued : public testing::Test {
 protected:
  Device device_ = mixing_device();
  KernelCatalogue catalogue_;
};

TEST_F(Catalogued, AKernelIsFoundAgain) {
  const auto first = catalogue_.find(device_, issuing_kernel());
  EXPECT_EQ(catalogue_.find(device_, issuing_kernel()), first);
  EXPECT_NE(catalogue_.find(device_, streaming_kernel())->number, first->number);
}

TEST_F(Catalogued, KernelsOfOneNameDifferByWhatTheyNeed) {
  Kernel larger = issuing_kernel();
  larger.needs.threads *= 2;
  EXPECT_NE(catalogue_.find(device_, larger), catalogue_.find(device_, issuing_kernel()));
}

TEST_F(Catalogued, TheRateAloneComesFromTheProfile) {
  EXPECT_DOUBLE_EQ(catalogue_.find(device_, issuing_kernel())->rate_alone, rate_alone(device_, issuing_kernel()));
}

TEST_F(Catalogued, TheCostOfAnUnprofiledKernelIsIgnored) {
  Kernel unknown = issuing_kernel();
  unknown.is_profiled = false;
  const auto entry = catalogue_.find(device_, unknown);
  EXPECT_EQ(entry->rate_alone, 0);
  unknown.cost = streaming_kernel().cost;
  EXPECT_EQ(catalogue_.find(device_, unknown), entry);
}

TEST_F(Catalogued, AMeasuredRateIsUpdated) {
  const auto entry = catalogue_.find(device_, issuing_kernel());
  Kernel measured = issuing_kernel();
  measured.rate_as_written = 0.5;
  catalogue_.find(device_, measured);
  EXPECT_EQ(entry->kernel.rate_as_written, 0.5);
}

}  // namespace
}  // namespace gpushare
