// SPDX-License-Identifier: Apache-2.0
// The control blocks and SM tables of launches, side by side in device memory, so that one read shows them all. There
// are more places than launches on the GPU at a time: who has been evicted makes way, and later goes on where it was.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "core/transform/worker/worker_control.hpp"
#include "cuda/table_reader.hpp"

namespace gpushare::cuda {

/// A launch's place in the tables.
using Slot = std::size_t;

class WorkerTables {
 public:
  static constexpr Slot usual_slots = 128;

  WorkerTables(const SharedContext& context, Completions& completions, int sms, Slot slots = usual_slots);
  ~WorkerTables() { drain(writes_); }
  WorkerTables(const WorkerTables&) = delete;
  WorkerTables& operator=(const WorkerTables&) = delete;

  bool is_full() const { return std::ranges::find(taken_, false) == taken_.end(); }
  std::optional<Slot> take();
  void give_back(Slot slot) { taken_[slot] = false; }

  CUdeviceptr control_address(Slot slot) const { return device_.get() + slot * stride_; }
  CUdeviceptr table_address(Slot slot) const { return control_address(slot) + sizeof(WorkerControl); }

  CUdeviceptr orders_address(Slot slot) const { return control_address(slot) + orders_offset_; }

  /// Sets everything to the beginning of a launch.
  void reset(Slot slot, std::span<const WorkerOrder> orders) { restore(slot, {{}, orders, no_workers_}); }
  /// Sets everything to what a look has shown.
  void restore(Slot slot, const WorkerLook& tables);
  /// Workers look at their SM's order at every claim. Takes effect within some microseconds.
  void write_orders(Slot slot, std::span<const WorkerOrder> orders);
  /// Behind what reset(), restore() and write_orders() wrote last: workers that start before it may find orders of
  /// yesterday.
  CUevent written(Slot slot) const { return written_[slot].get(); }

  /// Starts reading all the tables. One look at a time.
  void start_look();
  bool is_looking() const { return reader_.is_reading(); }
  bool look_has_ended() const { return reader_.has_ended(); }
  void end_look() { reader_.end(); }
  /// The look takes too long: starts it once more, in another way. False if there is none left.
  bool hurry_look() { return reader_.hurry(); }
  /// Waits until none is under way: that of a run which has ended would be taken for one of the next.
  void drop_look();
  /// What a look needs on some SM, where looks have been late.
  std::optional<BlockNeeds> room_for_look() const { return reader_.room(); }

  /// As of the last look that has ended.
  WorkerLook look(Slot slot) const;

 private:
  std::size_t sms_;
  std::size_t orders_offset_;
  std::size_t stride_;
  DeviceMemory device_;
  TableReader reader_;
  Stream writes_;
  std::vector<bool> taken_;
  std::vector<Event> written_;  // by slot
  std::optional<Slot> reset_;   // the last one since the last look began
  const std::vector<WorkerSm> no_workers_;
  std::vector<std::byte> image_;
};

}  // namespace gpushare::cuda
