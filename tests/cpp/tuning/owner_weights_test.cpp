// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/owner_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::DoubleEq;
using testing::ElementsAre;

/// Of applications with these owners and weights, all of them present.
std::vector<double> weights_of(const std::vector<std::pair<std::string, double>>& owners_and_weights,
                               double weight_of_alice = 1) {
  Workload workload = workload_of(std::vector<Launch>(owners_and_weights.size(), launch_of(10, 1000)));
  std::vector<OwnWeight> present;
  for (std::size_t i = 0; i < owners_and_weights.size(); ++i) {
    Application& application = workload.applications[i];
    std::tie(application.owner, application.weight) = owners_and_weights[i];
    if (application.owner == "alice") application.owner_weight = weight_of_alice;
    present.push_back({static_cast<ApplicationId>(i), application.weight});
  }
  const Device device = small_device(4);
  return weights_among_owners(present, State(device, workload));
}

TEST(OwnerWeights, WithoutOwnersAreThoseThatWereAskedFor) {
  EXPECT_THAT(weights_of({{"", 3}, {"", 1e6}}), ElementsAre(3, 1e6));
}

TEST(OwnerWeights, AnOwnersApplicationsShareOne) {
  EXPECT_THAT(weights_of({{"alice", 7}, {"bob", 1}, {"bob", 3}}), ElementsAre(1, 0.25, 0.75));
}

TEST(OwnerWeights, AnOwnerMayWeighMore) {
  EXPECT_THAT(weights_of({{"alice", 1}, {"bob", 1e6}, {"alice", 1}}, 4), ElementsAre(2, 1, 2));
}

TEST(OwnerWeights, ApplicationsWithoutAnOwnerAreWeightedByThemselves) {
  EXPECT_THAT(weights_of({{"", 2}, {"bob", 5}, {"bob", 5}}), ElementsAre(DoubleEq(2), DoubleEq(0.5), DoubleEq(0.5)));
}

TEST(OwnerWeights, NoApplicationsHaveNoWeights) { EXPECT_THAT(weights_of({}), ElementsAre()); }

}  // namespace
}  // namespace gpushare
