// SPDX-License-Identifier: Apache-2.0
// The control blocks and SM tables of launches, side by side in device memory, so that one read shows them all. There
// are more places than launches on the GPU at a time: an evicted launch gives up its place, and later resumes.
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

  /// Initializes the slot for the beginning of a launch.
  void reset(Slot slot, std::span<const WorkerOrder> orders) { restore(slot, {{}, orders, no_workers_}); }
  /// Restores the slot from a poll.
  void restore(Slot slot, const WorkerLook& tables);
  /// Workers read their SM's order at every claim. Takes effect within some microseconds.
  void write_orders(Slot slot, std::span<const WorkerOrder> orders);
  /// Behind the last writes of reset(), restore() and write_orders(): workers that start before it may find old orders.
  CUevent written(Slot slot) const { return written_[slot].get(); }

  /// Starts reading all the tables. One poll at a time.
  void start_look();
  bool is_looking() const { return reader_.is_reading(); }
  bool look_has_ended() const { return reader_.has_ended(); }
  void end_look() { reader_.end(); }
  /// The poll takes too long: starts it once more, in another way. False if there is none left.
  bool hurry_look() { return reader_.hurry(); }
  /// Waits until none is running: one of an earlier run would be taken for one of the next.
  void drop_look();
  /// The resources that polls need on some SM, where they have been late.
  std::optional<BlockNeeds> room_for_look() const { return reader_.room(); }

  /// The tables as of the last poll that has ended.
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
  std::optional<Slot> reset_;   // the last one since the last poll began
  const std::vector<WorkerSm> no_workers_;
  std::vector<std::byte> image_;
};

}  // namespace gpushare::cuda
