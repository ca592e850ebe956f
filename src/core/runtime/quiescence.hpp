// SPDX-License-Identifier: Apache-2.0
// The scheduler's side of drains (drain_requests.hpp): when launches may be on the GPU, when all of them leave, and
// when they return.
#pragma once

#include "core/runtime/drain_requests.hpp"

namespace gpushare {

class Quiescence {
 public:
  explicit Quiescence(DrainRequests& requests) : requests_(requests) {}
  /// One that never began may be beside another run, which uses the GPU.
  ~Quiescence() {
    if (phase_ != Phase::Unused) requests_.end_use();
  }
  Quiescence(const Quiescence&) = delete;
  Quiescence& operator=(const Quiescence&) = delete;

  bool is_draining() const { return phase_ == Phase::Draining || phase_ == Phase::Drained; }

  /// What the scheduler has to do now.
  enum class Action {
    None,
    Drain,  ///< all launches leave
    Resume  ///< launches may go to the hardware again
  };
  /// Before each launch goes to the hardware: Drain, and none may, while a thread holds a drain.
  Action begin_use(Time now);
  bool may_use() const { return phase_ == Phase::InUse; }
  /// Again and again. `is_empty`: has everything left the GPU?
  template <class IsEmpty>
  Action check(Time now, const IsEmpty& is_empty);

  /// The caller may not come back for long, so drains must not wait for it: what is empty is not in use any more.
  template <class IsEmpty>
  void leave_use(const IsEmpty& is_empty);

 private:
  enum class Phase {
    Unused,    ///< nothing is on the GPU
    InUse,     ///< launches may be on the GPU
    Draining,  ///< a drain was requested, and launches may be on the GPU
    Drained    ///< and they have left
  };

  void drain(Time now);
  bool end_drain(Time now);

  /// The longest drain for one call. A launch that has not left by then, with a long block or in its original form, may
  /// not end at all; and a call that has not returned may wait for kernels of other processes.
  static constexpr Duration longest_drain{2'000'000'000};

  DrainRequests& requests_;
  Phase phase_ = Phase::Unused;
  Time began_{};  // the last drain
  Time no_drain_before_{};
};

template <class IsEmpty>
Quiescence::Action Quiescence::check(Time now, const IsEmpty& is_empty) {
  if (phase_ == Phase::Draining && is_empty()) {
    requests_.end_use();
    phase_ = Phase::Drained;
  }
  if (is_draining()) return end_drain(now) ? Action::Resume : Action::None;
  if (phase_ != Phase::InUse || now < no_drain_before_ || !requests_.is_wanted()) return Action::None;
  drain(now);
  return Action::Drain;
}

template <class IsEmpty>
void Quiescence::leave_use(const IsEmpty& is_empty) {
  if (phase_ == Phase::InUse && is_empty()) phase_ = Phase::Unused;
  if (phase_ == Phase::Draining && is_empty()) phase_ = Phase::Drained;
  if (phase_ == Phase::Unused || phase_ == Phase::Drained) requests_.end_use();
}

}  // namespace gpushare
