// SPDX-License-Identifier: Apache-2.0
// The control blocks and SM tables of all launches, side by side in device memory, so that one copy shows them all.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/transform/worker_control.hpp"
#include "cuda/completions.hpp"

namespace gpushare::cuda {

/// A launch's place in the tables.
using Slot = std::size_t;

class WorkerTables {
 public:
  WorkerTables(const SharedContext& context, Completions& completions, int sms);

  std::optional<Slot> take();
  void give_back(Slot slot);

  CUdeviceptr control_address(Slot slot) const { return device_.get() + slot * stride_; }
  CUdeviceptr table_address(Slot slot) const { return control_address(slot) + sizeof(WorkerControl); }

  /// Sets everything to the beginning of a launch.
  void reset(Slot slot, std::uint32_t chunk, std::span<const std::uint32_t> quotas);
  /// Workers look at their quota before they claim. Takes effect within some microseconds.
  void write_quotas(Slot slot, std::span<const std::uint32_t> quotas);
  /// Behind what reset() and write_quotas() wrote last: workers that start before it may find quotas of yesterday.
  CUevent written(Slot slot) const { return written_[slot].get(); }
  void write_chunk(Slot slot, std::uint32_t chunk);

  /// Starts reading all the tables. One look at a time.
  void start_look();
  bool is_looking() const { return look_.word != nullptr; }
  bool look_has_ended() const { return is_looking() && look_.reached(); }
  void end_look();

  /// As of the last look that has ended.
  const WorkerControl& control(Slot slot) const;
  std::span<const WorkerSm> table(Slot slot) const;

 private:
  Completions& completions_;
  std::size_t sms_;
  std::size_t stride_;
  DeviceMemory device_;
  PinnedMemory host_;
  Stream writes_;
  Stream reads_;
  std::vector<bool> taken_;
  std::vector<Event> written_;  // by slot
  Completion look_;
  std::vector<std::byte> initial_;
};

}  // namespace gpushare::cuda
