// SPDX-License-Identifier: Apache-2.0
// A device that works on by itself: what sessions run on. Beyond the seam that every device has
// (core/engine/gpu.hpp) it has a clock, can be woken, and can be stopped. CudaGpu is one, and RealtimeSimulatedGpu
// makes one of the simulated device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/gpu.hpp"

namespace gpushare {

/// How far something has come that has begun.
enum class Stage {
  OffDevice,  ///< nothing of it is there at present
  OnDevice,
  Ended  ///< and that has not been reported
};

struct BegunOperation {
  OperationId id{};
  Stage stage{};
  bool operator==(const BegunOperation&) const = default;
};

/// Like the others' methods, these are called from one thread, except for wake().
class LiveGpu : public Gpu {
 public:
  /// The time of the run: 0 when the device was opened. Never before what has been reported; nothing is reported before
  /// it from now on.
  virtual Time now() const = 0;

  /// Makes next_event() return nullopt soon. From any thread.
  virtual void wake() = 0;

  /// Is nothing under way, and nothing left to report?
  virtual bool is_idle() const = 0;

  /// Neither the session nor the policy has anything for it: will nothing ever happen on it? Where another device may
  /// yet end something here, that is found out with time, for which it wakes itself.
  virtual bool waits_in_vain() { return is_idle(); }
  /// One of them has, where it would be asked that otherwise.
  virtual void goes_on() {}

  /// Stops everything at the next block boundary. False if something is still there after `patience`, or the device has
  /// failed for good: then it is of no more use to this process. Throws nothing.
  virtual bool stop(Duration patience) = 0;

  /// Operations that have begun and whose ends have not been reported, also where the device has failed: then one of
  /// the launches on it is to blame.
  virtual std::vector<BegunOperation> begun() const = 0;

  /// Throws what this kind of device throws when it fails.
  [[noreturn]] virtual void fail(const std::string& message) const = 0;
};

/// A device to open sessions on.
struct LiveDevice {
  std::shared_ptr<const Device> description;
  /// Called in the thread that will use the device. Throws InvalidInput while another run is on it.
  std::function<std::unique_ptr<LiveGpu>()> open;
};

}  // namespace gpushare
