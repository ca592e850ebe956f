// SPDX-License-Identifier: Apache-2.0
// The free resources of each SM beside all that launches have there or request. SMs that are alike in this share an
// entry, until a launch takes places on some of them: counting the places of one SM takes tens of nanoseconds.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/residency/requests_by_sm.hpp"
#include "core/residency/residency_need.hpp"

namespace gpushare {

class LeftoverBySm {
 public:
  /// Starts with the present workers, and the requests of the launches that are not small.
  LeftoverBySm(const RequestsBySm& claims, std::span<const Need> needs);

  /// Selects the launch that places are counted for and taken by.
  void select(const ResidencyRequest& launch);
  int places(std::size_t sm);
  void take(std::size_t sm, int blocks);

 private:
  struct Leftover {
    SmRoom room;
    Bytes narrowest{std::numeric_limits<std::int64_t>::max()};  // split of the launches that will be there

    void take(const ResidencyRequest& launch, int blocks);
    int places(const ResidencyRequest& launch, std::size_t sm) const;
  };
  static constexpr int not_counted = -1;
  struct SharedLeftover {
    Leftover leftover;
    int selection = 0;  // the following fields belong to this one
    int places = not_counted;
    int taken = 0;             // by the last take()
    std::size_t without_them;  // the entry without these
  };

  std::size_t add(const Leftover& leftover);
  SharedLeftover& for_launch(std::size_t entry);

  std::vector<SharedLeftover> entries_;
  std::vector<std::size_t> entry_of_;  // by SM
  const ResidencyRequest* launch_ = nullptr;
  int selection_ = 0;
};

}  // namespace gpushare
