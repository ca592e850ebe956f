// SPDX-License-Identifier: Apache-2.0
// SMs in proportion to weights, more for whoever has had less SM time than his weight says. Owners are served first,
// and each one's applications by what is his.
#pragma once

#include <vector>

#include "core/model/sm_part.hpp"
#include "core/tuning/attendance.hpp"
#include "core/tuning/sm_time.hpp"

namespace gpushare {

class FairDivision {
 public:
  /// What somebody is owed is paid back within this time, as far as half to twice his part allow.
  explicit FairDivision(Duration period) : period_(period) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state) { time_.observe(event, state); }

  /// Divides anew. A division that differs by one SM here and there stays as it was, as moving costs, until somebody is
  /// owed a period.
  void divide(const State& state, const Attendance& attendance);

  /// In the order of the SMs; what is missing from all SMs nobody could use.
  const std::vector<SmPart>& parts() const { return parts_; }

 private:
  struct Claim {
    ApplicationId application{};
    double own_weight = 1;  // that it has asked for
    double weight = 1;      // among owners
    int most = 0;           // SMs that it has blocks for
    double served = 0;      // virtual time
  };
  std::vector<Claim> claims(const State& state, const Attendance& attendance) const;
  static void weigh(std::vector<Claim>& claims, const State& state);
  static std::vector<Claim> least_served(std::vector<Claim> claims, const State& state);
  std::vector<int> shares(const std::vector<Claim>& claims, double mean, const State& state) const;

  Duration period_;
  SmTime time_;
  std::vector<SmPart> parts_;
};

}  // namespace gpushare
