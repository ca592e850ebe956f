// SPDX-License-Identifier: Apache-2.0
// The seam between scheduling and the device. SimulatedGpu (virtual time) and CudaGpu (a real one) implement it; they
// know nothing of each other, and the engine knows nothing of either.
#pragma once

#include <optional>

#include "core/engine/event.hpp"
#include "core/engine/plan.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// An operation in the form that one kind of device runs, such as machine code with its arguments. Only that device
/// interprets it.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
};

/// An operation that is ready to run: everything before it in its application has ended.
struct Submission {
  OperationId id{};
  ApplicationId application{};
  const Operation* operation = nullptr;  ///< owned by the workload, which outlives the run
  /// Made from the application's name and the operation's place in it: the same in every workload that holds them.
  std::uint64_t identity = 0;
  const DeviceCode* code = nullptr;  ///< set where work is submitted during a run; lives as long as the operation
  /// Among the waiting copies of a direction the smallest rank goes first, equal ranks in order of arrival.
  std::int64_t rank = 0;
  /// A copy goes in pieces of this size, between which one of a smaller rank may go. 0: whole.
  Bytes piece{};
  /// The number of its pieces that the engine holds at a time: more keep the engine busier and make other copies wait
  /// longer.
  int pieces_at_a_time = 1;
};

class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual const Device& device() const = 0;

  /// Hands over an operation. A launch does not start before a plan gives it a quota or it is admitted; copies are
  /// served by rank, one at a time per direction. Must not block. Emits no arrival events: the engine does.
  virtual void submit(const Submission& submission) = 0;

  /// Names an operation that will be submitted as soon as the one before it in its application has ended, unless the
  /// run ends earlier. A device may queue the launch behind that one, on its SMs. The device reports nothing of it
  /// before it has been submitted; from then on plans apply to it as to any other launch.
  virtual void announce(const Submission& /*next*/) {}

  /// Is this announced operation still on the GPU, though its application has been withdrawn, so that it will never be
  /// submitted? Until it has left, the end of the operation before it is not reported.
  virtual bool is_leaving(OperationId /*announced*/) const { return false; }

  /// Makes the plan hold from now on, as soon as the device can: blocks that already run are never cut short, so a
  /// quota that shrinks takes effect at block boundary. Replaces the previous plan as a whole. Must not block.
  virtual void apply(const Plan& plan) = 0;

  /// Starts a launch that was just submitted at once, ahead of all others and without a quota, until a plan names it.
  /// The policy that admits it has reserved SMs for it, so the device need not evict any block. Must not block. A
  /// device may run `admitted_at_once` (plan.hpp) of them at a time; each further one starts when one has ended.
  virtual void admit(OperationId launch) = 0;

  /// Takes a submitted launch off the GPU for good, whatever plans say: no further block of it starts, and when those
  /// that run have ended the launch ends, perhaps with blocks that never ran. An operation that cannot be stopped,
  /// such as a copy, runs to its end. Must not block.
  virtual void withdraw(OperationId operation) = 0;

  /// Advances to the next event and returns it, but not beyond the deadline: nullopt means that the deadline was
  /// reached, or, without one, that nothing can happen any more under the present plan. A real device that has fallen
  /// behind its deadlines returns what it has seen since all the same, now and then.
  virtual std::optional<Event> next_event(std::optional<Time> deadline) = 0;
};

}  // namespace gpushare
