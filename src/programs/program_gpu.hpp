// SPDX-License-Identifier: Apache-2.0
// The GPU as shared by unmodified programs: a device that runs pieces of a program's work as launches, without using
// CUDA itself. By leases it controls which programs may launch, and it reads what they have launched and what has
// ended.
//
// A piece begins with a program's first launch after a pause and ends with the next pause. Its blocks are units for
// policies: one ends with every millisecond of predicted GPU time. A program is held when its piece has lost all its
// SMs; when its work under way has ended, its blocks have ended too, and its SMs are free.
//
// A block takes as much of an SM as its program uses of the GPU, so that programs that leave the GPU idle, because
// their hosts are slower, may run together under any policy. The hardware schedules the kernels of these: how many SMs
// each has is not enforced.
//
// A program on several GPUs is scheduled here as any other while this GPU's scheduler leads (gang.hpp). While another
// one does, and the program runs, its blocks go first here.
//
// Where an ordering is set, a program's copies and launches come as phases (phases.hpp). Those of kernels are launches
// with a block on each SM from the begin of the phase to its end; the gate opens with the first block.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "core/session/live_gpu.hpp"
#include "programs/copy_gates.hpp"
#include "programs/program.hpp"

namespace gpushare::programs {

struct ProgramGpuSettings {
  Duration block{1'000'000};             ///< GPU time of one block
  Duration idle_after{300'000};          ///< a program that has launched nothing for so long has ended its piece
  Duration longest_pause{3'000'000};     ///< the same of one that goes before others, where it mostly pauses for less
  Duration drain_patience{50'000'000};   ///< after this the SMs of a held program are free in any case
  std::uint32_t limit_us = 500;          ///< limit of a program's predicted work under way where programs are held
  Duration limited_for{60'000'000'000};  ///< so long after a program has last been held
  bool run_at_once = false;  ///< kernels of different programs run at the same time, as under MPS, not in time slices

  /// There, programs seldom have to be held, and a limit would cost them more than holds that take effect late.
  static ProgramGpuSettings under_mps() { return {.limited_for = Duration(1'000'000'000), .run_at_once = true}; }
};

/// The device code of a piece of work.
struct PieceCode final : DeviceCode {
  explicit PieceCode(std::shared_ptr<Program> of) : program(std::move(of)) {}
  std::shared_ptr<Program> program;
};

/// A device of eight SMs, each with room for one block of a program that keeps the GPU busy, or for several blocks of
/// programs that do not. Where programs run at once, each has room for a block of all.
Device program_device(const std::string& name);
/// The kernel by which policies know pieces of this program's work.
Launch piece_of(const std::string& name, const Program& program, const ProgramGpuSettings& settings);

class ProgramGpu final : public LiveGpu {
 public:
  ProgramGpu(const Device& device, std::shared_ptr<Programs> programs, ProgramGpuSettings settings = {});
  ~ProgramGpu() override;

  const Device& device() const override { return device_; }
  void submit(const Submission& submission) override;
  void apply(const Plan& plan) override;
  void admit(OperationId launch) override;
  void withdraw(OperationId operation) override;
  std::optional<Event> next_event(std::optional<Time> deadline) override;

  Time now() const override;
  void wake() override;
  bool is_idle() const override { return pieces_.empty() && events_.empty() && copies_.is_idle(); }
  bool stop(Duration patience) override;
  std::vector<BegunOperation> begun() const override;
  [[noreturn]] void fail(const std::string& message) const override { throw DeviceError(message); }

 private:
  struct Piece {
    OperationId id{};
    ApplicationId application{};
    std::shared_ptr<Program> program;
    std::int64_t blocks = 0;
    std::int64_t started = 0;
    std::int64_t ended = 0;
    Duration launched_before{};       ///< by the program, before this piece
    Duration credited{};              ///< GPU time for which blocks have ended
    int threads = 0;                  ///< of a block
    std::optional<Duration> block{};  ///< of its kernels, as policies have heard when it was submitted
    Duration measured_done{};         ///< GPU time and time up to which its program's share of the GPU has been noted
    Time measured_at{};
    bool was_alone = true;  ///< since then
    Work work{};            ///< at the last poll
    Time changed{};         ///< the last change of it
    std::optional<Time> held_since{};
    bool has_ended = false;
    const PhaseCode* phase = nullptr;  ///< that it is, and not a piece of unordered work
    Time opened{};                     ///< its gate

    std::int64_t resident() const { return started - ended; }
    std::int64_t unstarted() const { return blocks - started; }
  };
  struct Resident {
    OperationId piece{};
    Time since{};
  };
  using Sm = std::vector<Resident>;  // a block of each piece at most

  Piece* find(OperationId id);
  void poll(Time now);
  void poll(Piece& piece, Time now);
  void poll_phase(Piece& piece, Time now);
  bool has_other_kernels(const Piece& piece) const;
  bool has_ended_by_prediction(const Piece& piece, Time now) const;
  Duration longest_pause(const Piece& piece) const;
  void share_out(Time now);
  std::vector<OperationId> claims(SmId sm);
  bool is_on(const Piece& piece, SmId sm) const;
  int threads_on(SmId sm);
  int threads_led_elsewhere(SmId sm) const;
  void note_busy(Piece& piece, Time now);
  void lease_out(Time now);
  RunningPart running_part(const Piece& piece) const;
  void note_demands(Time now);
  static Event event_of(const Piece& piece, EventKind kind, Time now, SmId sm = {});
  void start_block(Piece& piece, SmId sm, Time now);
  void end_block(Piece& piece, SmId sm, Time now);
  void end_all_blocks(Piece& piece, Time now);
  void end_piece(Piece& piece, Time now);
  void forget_ended();
  Duration pause() const;
  void sleep_until(Time time);
  std::chrono::steady_clock::time_point steady(Time time) const;
  std::optional<Event> take_event();

  Device device_;
  std::shared_ptr<Programs> programs_;
  ProgramGpuSettings settings_;
  std::chrono::steady_clock::time_point opened_;
  std::vector<Piece> pieces_;
  CopyGates copies_;
  std::vector<Sm> sms_;
  std::vector<Share> shares_;    // of the plan
  std::vector<Share> admitted_;  // and not in any plan since
  std::optional<Time> last_held_;
  std::deque<Event> events_;
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_woken_ = false;
};

/// A device for sessions. `programs` are the present ones at any time.
LiveDevice program_live_device(const Device& device, std::shared_ptr<Programs> programs,
                               ProgramGpuSettings settings = {});

}  // namespace gpushare::programs
