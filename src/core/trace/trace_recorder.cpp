// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_recorder.hpp"

#include <utility>

namespace gpushare {
namespace {

/// Events of a piece: 1.5 MB.
constexpr std::size_t most_events = 32'768;

}  // namespace

TraceRecorder::TraceRecorder() {
  pieces_.emplace_back(most_events);
  pieces_.back().clear();
}

void TraceRecorder::saw(const Event& event) {
  if (pieces_.empty() || pieces_.back().size() == most_events) pieces_.emplace_back().reserve(most_events);
  pieces_.back().push_back(event);
  ++events_;
}

void TraceRecorder::decided(const Plan& plan) { decisions_.push_back({events_ - 1, plan}); }

Trace TraceRecorder::take() {
  Trace trace{.decisions = std::move(decisions_)};
  trace.events.reserve(events_);
  for (const std::vector<Event>& piece : pieces_) trace.events.insert(trace.events.end(), piece.begin(), piece.end());
  pieces_.clear();
  decisions_.clear();
  events_ = 0;
  return trace;
}

}  // namespace gpushare
