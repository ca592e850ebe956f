// SPDX-License-Identifier: Apache-2.0
#include "core/residency/contenders.hpp"

#include <gmock/gmock.h>

namespace gpushare {
namespace {

using testing::ElementsAre;

const std::vector<int> all_sms{4, 4, 4};
const std::vector<int> no_sms{0, 0, 0};
const std::vector<int> last_sm{0, 0, 4};
const std::vector<int> all_but_last{4, 4, 0};

constexpr RankedLaunch begun(std::span<const int> wanted) { return {.has_begun = true, .wanted = wanted}; }
constexpr RankedLaunch waiting(std::span<const int> wanted) { return {.wanted = wanted}; }

TEST(Contenders, OfWaitingLaunchesTheFirstOnesAre) {
  const std::vector<RankedLaunch> ranked(5, waiting(all_sms));
  EXPECT_THAT(contenders(ranked, 3, 1), ElementsAre(0, 1, 2));
}

TEST(Contenders, ABegunLaunchIsWhateverItsRank) {
  const std::vector<RankedLaunch> ranked{waiting(all_sms), waiting(all_sms), waiting(all_sms), begun(all_sms),
                                         begun(no_sms)};
  EXPECT_THAT(contenders(ranked, 3, 1), ElementsAre(0, 3, 4));
}

TEST(Contenders, AWaitingLaunchIsWhateverTheNumberBegun) {
  std::vector<RankedLaunch> ranked(4, begun(all_sms));
  ranked.insert(ranked.end(), 3, waiting(all_sms));
  EXPECT_THAT(contenders(ranked, 3, 2), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Contenders, ALaunchWithoutQuotaTakesNoSlotOfOthers) {
  const std::vector<RankedLaunch> ranked{waiting(no_sms), waiting(no_sms), waiting(all_sms), waiting(all_sms)};
  EXPECT_THAT(contenders(ranked, 1, 1), ElementsAre(2));
}

TEST(Contenders, AnUncontendedSmMakesOne) {
  const std::vector<RankedLaunch> ranked{waiting(all_but_last), waiting(all_but_last), waiting(last_sm),
                                         waiting(last_sm)};
  EXPECT_THAT(contenders(ranked, 1, 1), ElementsAre(0, 2));
}

TEST(Contenders, NoLaunchesMakeNoContenders) { EXPECT_THAT(contenders({}, 3, 1), ElementsAre()); }

}  // namespace
}  // namespace gpushare
