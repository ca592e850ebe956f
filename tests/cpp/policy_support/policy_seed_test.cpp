// SPDX-License-Identifier: Apache-2.0
#include "core/policy_support/policy_seed.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "core/policy_support/whole_up_to.hpp"

namespace gpushare::test {
namespace {

TEST(PolicySeed, DiffersBetweenRunsAndBetweenPoliciesAndIsTheSameInEqualRuns) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t run = 0; run < 1000; ++run) {
    for (const char* policy : {"a", "b", "ab", ""}) seeds.insert(policy_seed(run, policy));
  }
  EXPECT_EQ(seeds.size(), 4000u);
  EXPECT_EQ(policy_seed(7, "a"), policy_seed(7, "a"));
  EXPECT_NE(policy_seed(std::uint64_t{1} << 63, "a"), policy_seed(0, "a"));
}

class SeededPolicy : public Policy {
 public:
  explicit SeededPolicy(std::uint64_t& seed) : seed_(seed) {}
  void begin(std::uint64_t seed) override { seed_ = seed; }
  Plan decide(const State& /*state*/) const override { return {}; }

 private:
  std::uint64_t& seed_;
};

TEST(PolicySeed, ReachesThePolicyBehindTheOneThatLeavesLaunchesWhole) {
  std::uint64_t seed = 0;
  WholeUpTo(std::make_unique<SeededPolicy>(seed), Duration(5'000)).begin(42);
  EXPECT_EQ(seed, 42u);
}

}  // namespace
}  // namespace gpushare::test
