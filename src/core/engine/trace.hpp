// SPDX-License-Identifier: Apache-2.0
// A run written down: every event and every plan. Enough to draw it, to measure it, and to decide it again.
#pragma once

#include <string>
#include <vector>

#include "core/engine/event.hpp"
#include "core/engine/plan.hpp"

namespace gpushare {

/// A plan and the event after which it was decided.
struct Decision {
  std::size_t after_event = 0;  ///< index into Trace::events
  Plan plan;
  friend bool operator==(const Decision&, const Decision&) = default;
};

struct Trace {
  std::vector<Event> events;
  std::vector<Decision> decisions;
  friend bool operator==(const Trace&, const Trace&) = default;
};

/// The trace as bytes: little-endian, the same on every machine. Equal traces give equal bytes.
std::string to_bytes(const Trace& trace);

/// Throws InvalidInput where the bytes are no trace, are cut short, or come from another version.
Trace trace_from_bytes(const std::string& bytes);

}  // namespace gpushare
