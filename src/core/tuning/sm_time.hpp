// SPDX-License-Identifier: Apache-2.0
// How much SM time every application has had: one SM with at least one of its blocks, for one nanosecond, is one. An
// application's virtual time is that by weight: who has the least of it has been served worst.
#pragma once

#include <map>
#include <span>

#include "core/engine/state.hpp"

namespace gpushare {

class SmTime {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// From now on; what it has had until now counts as before.
  void weigh(ApplicationId application, double weight, const State& state);

  /// In nanoseconds.
  double virtual_time(ApplicationId application, const State& state) const;

  /// The mean by weight.
  double mean(std::span<const ApplicationId> present, const State& state) const;

  /// Nobody of these is owed more than `most` nanoseconds of virtual time against the mean: nobody saves up by staying
  /// away, and what somebody could not use is lost.
  void forgive(std::span<const ApplicationId> present, double most, const State& state);

 private:
  struct Account {
    double ended = 0;   // SM time of launches whose blocks have all ended
    double offset = 0;  // virtual time that was never had
    double weight = 1;
    OperationId launch{};
    bool is_running = false;
    bool is_new = true;
  };

  std::map<ApplicationId, Account> accounts_;  // that have not ended
};

}  // namespace gpushare
