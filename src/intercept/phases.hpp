// SPDX-License-Identifier: Apache-2.0
// The program's copies and launches as phases of tasks (programs/phases.hpp), where a scheduler orders them: puts gates
// in front of phases, and marks behind them. Without an ordering all of this is a load.
#pragma once

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Are copies and launches of this program ordered?
inline bool is_ordered(const Membership& member) {
  return member.page->ordering.load(std::memory_order_acquire) == programs::Ordered::Yes;
}

/// What a call adds to its phase.
struct PhaseWork {
  programs::PhaseKind kind{};
  std::uint64_t bytes = 0;         ///< of a copy
  std::uint64_t predicted_ns = 0;  ///< of a launch
  bool is_known = true;            ///< is this time known?
  bool begins_phase = false;       ///< a piece of a large copy
};

/// Around a call that does not wait and whose stream is not captured: made before it, and gone when it has been made.
/// Calls of several threads go one after the other, so that phases have an order.
class PhaseCall {
 public:
  /// `stream` as `named` names it.
  PhaseCall(const Membership& member, CUstream stream, const PhaseWork& work);
  ~PhaseCall();
  PhaseCall(const PhaseCall&) = delete;
  PhaseCall& operator=(const PhaseCall&) = delete;

 private:
  const Membership* ordered_ = nullptr;
};

/// Around a copy to the host for which the call waits: its phase begins and its task is complete when this is made, and
/// the phase has ended when this is gone.
class AwaitedPhase {
 public:
  AwaitedPhase(const Membership& member, CUstream stream, std::uint64_t bytes);
  ~AwaitedPhase();
  AwaitedPhase(const AwaitedPhase&) = delete;
  AwaitedPhase& operator=(const AwaitedPhase&) = delete;

 private:
  programs::Phase* phase_ = nullptr;
};

/// The program may wait for what it has issued or look at it: that is a complete task now.
void complete_task(const Membership& member);
/// The same for a process that may be none of a program's.
inline void complete_task() {
  const Membership* member = this_member();
  if (member != nullptr && is_ordered(*member)) [[unlikely]]
    complete_task(*member);
}

/// A call has this result; not while a PhaseCall exists. Where a kernel has failed, the GPU does nothing more for this
/// process, and no mark comes: its phases have ended. Else other programs would wait for them.
void note_result(const Membership& member, CUresult result);

/// The process is still at it, though it issues nothing.
void keep_task_open(const Membership& member);

/// A context is gone, with its streams. To be called before.
void forget_phase_of_context();

}  // namespace gpushare::intercept
