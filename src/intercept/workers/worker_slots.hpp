// SPDX-License-Identifier: Apache-2.0
// Device memory of launches that are made as workers: the task counter, the SM tables, and the orders of a last round,
// which never change.
#pragma once

#include <cstddef>

#include "core/transform/worker/worker_control.hpp"
#include "intercept/driver.hpp"
#include "programs/program_page.hpp"

namespace gpushare::intercept {

struct WorkerSlot {
  static constexpr std::size_t orders_at = 64;
  static constexpr std::size_t sms_at = orders_at + programs::most_sms * sizeof(WorkerOrder);
  static constexpr std::size_t bytes = (sms_at + programs::most_sms * sizeof(WorkerSm) + 255) / 256 * 256;

  CUdeviceptr control = 0;
  CUevent ended = nullptr;  ///< behind the last launch that used it
  CUcontext context = nullptr;
  bool is_clear = false;  ///< its tables have been set to what every launch leaves them at
  bool is_taken = false;  ///< a launch is being made
  bool is_used = false;   ///< `ended` has been recorded

  CUdeviceptr orders() const { return control + orders_at; }
  CUdeviceptr sms() const { return control + sms_at; }
};

/// One in the current context, for a launch in a stream of it. nullptr where there is none: the launch runs whole.
WorkerSlot* take_slot(CUcontext context);
/// The launch has been made, and its end is recorded by the event; or no launch was made.
void give_back(WorkerSlot& slot, bool is_used);

/// A context is gone, with its memory; the slots of other contexts are dropped as well.
void drop_slots();

}  // namespace gpushare::intercept
