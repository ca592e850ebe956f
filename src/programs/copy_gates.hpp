// SPDX-License-Identifier: Apache-2.0
// The two copy engines as programs use them: a copy is under way from when its gate is opened until its phases have
// ended. One at a time in each direction, by rank, whole or in pieces.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "core/engine/copy_line.hpp"
#include "core/session/live_gpu.hpp"
#include "programs/program.hpp"

namespace gpushare::programs {

/// What a phase's operation is on the device of programs.
struct PhaseCode final : DeviceCode {
  PhaseCode(std::shared_ptr<Program> of, PhaseRun phases) : program(std::move(of)), run(std::move(phases)) {}
  std::shared_ptr<Program> program;
  PhaseRun run;
};

class CopyGates {
 public:
  /// The submission has a PhaseCode.
  void submit(const Submission& copy, Time now, std::deque<Event>& events);
  /// Ends those that have ended, and begins others.
  void poll(Time now, std::deque<Event>& events);

  bool has_any_under_way() const;
  bool is_idle() const;
  void add_begun(std::vector<BegunOperation>& all) const;

 private:
  struct UnderWay {
    CopyPiece piece;
    std::uint64_t up_to = 0;  ///< number of its last phase
    Time opened{};
  };
  struct Engine {
    CopyLine waiting;
    std::vector<UnderWay> under_way;  // in the order in which they were opened
    CopyStarts starts;
  };

  static void begin_some(Engine& engine, Time now, std::deque<Event>& events);
  static bool end_first(Engine& engine, Time now, std::deque<Event>& events);

  std::array<Engine, 2> engines_;
};

}  // namespace gpushare::programs
