// SPDX-License-Identifier: Apache-2.0
// Allocates SMs in proportion to weights, with more for applications that have had less SM time than their weight says.
// SMs are shared among owners first, then among the applications of each.
#pragma once

#include <vector>

#include "core/model/sm_part.hpp"
#include "core/tuning/active_applications.hpp"
#include "core/tuning/allocation/sm_time_account.hpp"

namespace gpushare {

class FairAllocation {
 public:
  /// A lag in SM time is made up for within this time, as far as half to twice the application's share allow.
  explicit FairAllocation(Duration period) : period_(period) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state) { time_.observe(event, state); }

  /// Makes a new allocation. It is dropped if it moves no application by more than one SM, because moving costs, unless
  /// an application lags by a period.
  void update(const State& state, const ActiveApplications& active);

  /// In the order of the SMs; SMs that no application could use are left out.
  const std::vector<SmPart>& parts() const { return parts_; }

 private:
  struct Claim {
    ApplicationId application{};
    double own_weight = 1;  // asked for by the application
    double weight = 1;      // among owners
    int most = 0;           // the SMs that its blocks could fill
    double served = 0;      // its virtual time
  };
  std::vector<Claim> claims(const State& state, const ActiveApplications& active) const;
  static void weigh(std::vector<Claim>& claims, const State& state);
  static std::vector<Claim> least_served(std::vector<Claim> claims, const State& state);
  std::vector<int> shares(const std::vector<Claim>& claims, double mean, const State& state) const;

  Duration period_;
  SmTimeAccount time_;
  std::vector<SmPart> parts_;
};

}  // namespace gpushare
