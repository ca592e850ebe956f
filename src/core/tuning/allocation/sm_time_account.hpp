// SPDX-License-Identifier: Apache-2.0
// The SM time that every application has had: one SM with at least one of its blocks, for one nanosecond, counts as
// one. Its virtual time is its SM time divided by its weight: the application with the least has been served worst.
#pragma once

#include <map>
#include <span>

#include "core/engine/state.hpp"

namespace gpushare {

class SmTimeAccount {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Sets the weight from now on; the virtual time up to now stays as it is.
  void set_weight(ApplicationId application, double weight, const State& state);

  /// In nanoseconds.
  double virtual_time(ApplicationId application, const State& state) const;

  /// The mean virtual time of these applications, by weight.
  double mean(std::span<const ApplicationId> present, const State& state) const;

  /// Limits the lag of each of these applications behind the mean to `most` nanoseconds of virtual time: time away from
  /// the GPU, or time that an application could not use, is not saved up.
  void limit_lag(std::span<const ApplicationId> present, double most, const State& state);

 private:
  struct Account {
    double ended = 0;   // SM time of launches without unfinished blocks
    double offset = 0;  // virtual time that was not spent on an SM
    double weight = 1;
    OperationId launch{};
    bool is_running = false;
    bool is_new = true;
  };

  std::map<ApplicationId, Account> accounts_;  // that have not ended
};

}  // namespace gpushare
