// SPDX-License-Identifier: Apache-2.0
#include "core/model/job_names.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sample_workloads.hpp"

namespace gpushare::test {
namespace {

TEST(JobNames, LaunchesAreCountedInTheirApplicationFromZero) {
  Workload workload{.name = "two"};
  workload.applications.push_back({.name = "a", .operations = {launch_of(1, 1), copy_to_host(1)}});
  workload.applications.push_back({.name = "b", .operations = {copy_to_device(1), launch_of(1, 1), launch_of(1, 1)}});
  const std::array<std::string, 5> names{"'kernel' of 'a' (launch 0)", "a copy of 'a'", "a copy of 'b'",
                                         "'kernel' of 'b' (launch 0)", "'kernel' of 'b' (launch 1)"};
  for (std::size_t id = 0; id < names.size(); ++id) {
    EXPECT_EQ(job_name(workload, static_cast<OperationId>(id)), names.at(id));
  }
}

TEST(JobNames, AFailureIsOneOfThoseOnTheDevice) {
  const std::array<std::string, 2> both{"A", "B"};
  EXPECT_EQ(failure_among({}, "broken"), "broken");
  EXPECT_EQ(failure_among(std::span(both).first(1), "broken"), "job A failed: broken");
  EXPECT_EQ(failure_among(both, "broken"), "a job failed, one of: A, B: broken");
}

}  // namespace
}  // namespace gpushare::test
