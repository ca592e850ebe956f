// SPDX-License-Identifier: Apache-2.0
#include "programs/program_gpu.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "core/model/residency.hpp"

namespace gpushare::programs {
namespace {

constexpr int program_sms = 8;
constexpr int threads_per_sm = 1024;
constexpr int most_blocks_per_sm = 16;

/// A program that keeps the GPU busy for longer than this share gets it exclusively: together with another one, which
/// cannot continue before the GPU switches between them, both would be slower.
constexpr double busy_alone = 0.6;
constexpr double busy_margin = 1.2;
/// The interval over which a program's use of the GPU is measured.
constexpr Duration busy_window(20'000'000);

/// The poll interval while a program is held, or another one waits. Longer where no event would change a lease.
constexpr Duration pause_in_contention(50'000);
constexpr Duration pause_beside_others(250'000);
constexpr Duration pause_alone(1'000'000);
/// The same while a phase is under way: the next one waits for its end.
constexpr Duration pause_in_phase(20'000);

/// A piece may take longer than earlier ones: then it gets more blocks.
constexpr double margin_ratio = 1.5;
constexpr double most_blocks = 1e6;

/// Work that only a mark can show has not ended before that; other work ends when predicted. But there may be no marks
/// at all, as where the driver rejects them.
constexpr int patience_ratio = 4;

/// The part of an SM's threads that a block of the program's pieces takes.
int block_threads(const Program& program, const ProgramGpuSettings& settings) {
  const double busy = settings.run_at_once ? 0 : program.busy_ratio();
  const double part = busy > busy_alone ? 1.0 : busy * busy_margin;
  return 32 * std::clamp(static_cast<int>(part * threads_per_sm / 32), 2, threads_per_sm / 32);
}

}  // namespace

Device program_device(const std::string& name) {
  Device device{.name = name, .sms = program_sms, .clock_hz = 1e9};
  device.to_device = device.to_host = {.latency = Duration(10'000), .bandwidth = {20e9}};
  device.per_sm = {.threads = threads_per_sm,
                   .warps = threads_per_sm / 32,
                   .blocks = most_blocks_per_sm,
                   .registers = 65536,
                   .shared_memory = Bytes{65536}};
  return device;
}

Launch piece_of(const std::string& name, const Program& program, const ProgramGpuSettings& settings) {
  const double usual = nanoseconds(program.usual_piece()) / nanoseconds(settings.block);
  const double blocks = std::clamp(usual * margin_ratio, double{program_sms}, most_blocks);
  Kernel kernel{.name = name, .needs = {.threads = block_threads(program, settings)}, .is_profiled = false};
  if (settings.run_at_once) kernel.program_block = program.usual_block();
  return {.kernel = std::move(kernel), .blocks = static_cast<std::int64_t>(blocks)};
}

ProgramGpu::ProgramGpu(const Device& device, std::shared_ptr<Programs> programs, ProgramGpuSettings settings)
    : device_(device),
      programs_(std::move(programs)),
      settings_(settings),
      opened_(std::chrono::steady_clock::now()),
      sms_(static_cast<std::size_t>(device.sms)) {
  programs_->on_change([this] { wake(); });
}

ProgramGpu::~ProgramGpu() {
  programs_->on_change({});
  stop({});
}

std::chrono::steady_clock::time_point ProgramGpu::steady(Time time) const { return opened_ + time.time_since_epoch(); }

Time ProgramGpu::now() const {
  return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - opened_));
}

void ProgramGpu::submit(const Submission& submission) {
  const auto* launch = std::get_if<Launch>(submission.operation);
  const auto* code = dynamic_cast<const PieceCode*>(submission.code);
  const auto* phase = dynamic_cast<const PhaseCode*>(submission.code);
  const Time time = now();
  if (launch == nullptr && phase != nullptr) return copies_.submit(submission, time, events_);
  require(launch != nullptr && (code != nullptr || phase != nullptr),
          "this device runs the work of programs, and nothing else");
  Piece piece{.id = submission.id,
              .application = submission.application,
              .program = code != nullptr ? code->program : phase->program,
              .blocks = launch->blocks,
              .threads = launch->kernel.needs.threads,
              .block = phase == nullptr ? launch->kernel.program_block : std::nullopt,
              .measured_at = time,
              .changed = time,
              .phase = phase};
  piece.work = piece.program->poll();
  piece.program->pauses().end(time, piece.work.launched, settings_.longest_pause);
  piece.launched_before = piece.work.launched - piece.work.under_way;
  pieces_.push_back(std::move(piece));
}

void ProgramGpu::apply(const Plan& plan) {
  shares_ = plan.shares;
  std::erase_if(admitted_, [&](const Share& share) {
    return std::ranges::find(shares_, share.launch, &Share::launch) != shares_.end();
  });
  share_out(now());
}

void ProgramGpu::admit(OperationId launch) {
  admitted_.push_back({.launch = launch, .quota = Quota::everywhere(1)});
  share_out(now());
}

void ProgramGpu::withdraw(OperationId operation) {
  Piece* const piece = find(operation);
  if (piece == nullptr) return;
  const Time time = now();
  end_all_blocks(*piece, time);
  end_piece(*piece, time);
  forget_ended();
  share_out(time);
}

ProgramGpu::Piece* ProgramGpu::find(OperationId id) {
  const auto found = std::ranges::find(pieces_, id, &Piece::id);
  return found == pieces_.end() ? nullptr : &*found;
}

std::optional<Event> ProgramGpu::next_event(std::optional<Time> deadline) {
  while (true) {
    if (auto event = take_event()) return event;
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(is_woken_, false)) return std::nullopt;
    }
    const Time time = now();
    poll(time);
    if (!events_.empty()) continue;
    if (deadline && time >= *deadline) return std::nullopt;
    const bool goes_on = copies_.has_any_under_way() || (!pieces_.empty() && threads_led_elsewhere({}) > 0) ||
                         std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.resident() > 0; });
    if (!goes_on && !deadline) return std::nullopt;
    const Time next = goes_on ? time + pause() : *deadline;
    sleep_until(deadline ? std::min(next, *deadline) : next);
  }
}

std::optional<Event> ProgramGpu::take_event() {
  if (events_.empty()) return std::nullopt;
  Event event = events_.front();
  events_.pop_front();
  event.next_is_known = !events_.empty();
  return event;
}

/// Policies that heard of other kernels when the piece was submitted have to hear of these.
bool ProgramGpu::has_other_kernels(const Piece& piece) const {
  constexpr Duration short_block(100'000);
  constexpr int much = 4;
  if (!piece.block) return false;
  const Duration heard = std::max(*piece.block, short_block);
  const Duration present = std::max(piece.program->usual_block(), short_block);
  return present > much * heard || heard > much * present;
}

void ProgramGpu::poll(Time now) {
  copies_.poll(now, events_);
  for (Piece& piece : pieces_) piece.phase != nullptr ? poll_phase(piece, now) : poll(piece, now);
  forget_ended();
  share_out(now);
}

void ProgramGpu::poll(Piece& piece, Time now) {
  const Work work = piece.program->poll();
  const bool is_same = work.launched == piece.work.launched && work.under_way == piece.work.under_way;
  // A program that continues with an evicted kernel has its work under way in front of it.
  if (!is_same || work.going != piece.work.going) {
    const Time idle_since = piece.changed + piece.work.under_way;
    if (piece.resident() > 0 && now - idle_since >= settings_.idle_after) {
      piece.program->pauses().begin(idle_since);
      piece.program->pauses().end(now, work.launched, settings_.longest_pause);
    }
    piece.changed = now;
  }
  piece.work = work;
  if (!piece.program->gang().leads()) {  // another GPU's scheduler goes on with it
    end_all_blocks(piece, now);
    return end_piece(piece, now);
  }
  const bool is_idle = has_ended_by_prediction(piece, now);
  if (piece.held_since) {
    if (is_idle || now - *piece.held_since >= settings_.drain_patience) end_all_blocks(piece, now);
  } else {
    const Duration done = work.launched - work.under_way - piece.launched_before;
    for (std::size_t sm = 0; sm < sms_.size() && done - piece.credited >= settings_.block; ++sm) {
      if (!is_on(piece, static_cast<SmId>(sm))) continue;
      end_block(piece, static_cast<SmId>(sm), now);
      piece.credited += settings_.block;
    }
    if (now - piece.measured_at >= busy_window) note_busy(piece, now);
    const bool has_paused = piece.resident() > 0 && is_idle && now - piece.changed >= longest_pause(piece) &&
                            !piece.program->is_busy_after_all();
    if (has_paused) {
      note_busy(piece, piece.changed);
      piece.program->pauses().begin(piece.changed + work.under_way);
    }
    if (has_paused || (piece.resident() > 0 && has_other_kernels(piece))) {
      end_all_blocks(piece, now);
      piece.program->note_piece(work.launched - piece.launched_before);
      end_piece(piece, now);
    }
  }
  if (piece.ended == piece.blocks && !piece.has_ended) {
    piece.program->note_piece(work.launched - piece.launched_before);
    end_piece(piece, now);
  }
}

void ProgramGpu::poll_phase(Piece& piece, Time now) {
  ProgramTasks& tasks = piece.program->tasks();
  const PhaseRun& run = piece.phase->run;
  if (piece.has_ended || piece.started == 0 || !tasks.have_ended(run, run.last(), now - piece.opened)) return;
  tasks.notice(run, std::nullopt);
  end_all_blocks(piece, now);
  end_piece(piece, now);
}

/// Where programs run at once, none waits for another's pause.
Duration ProgramGpu::longest_pause(const Piece& piece) const {
  Program& program = *piece.program;
  const auto comes_behind = [&](const auto& other) { return other->priority() < program.priority(); };
  const bool lets_others_wait = !settings_.run_at_once && program.priority() > 0 &&
                                program.pauses().are_to_be_waited_through() &&
                                std::ranges::any_of(programs_->all(), comes_behind);
  return lets_others_wait ? settings_.longest_pause : settings_.idle_after;
}

bool ProgramGpu::has_ended_by_prediction(const Piece& piece, Time now) const {
  const Duration under_way = piece.held_since ? piece.work.going : piece.work.under_way;
  if (piece.work.is_awaited && under_way > Duration{}) return false;
  const Duration unchanged = now - piece.changed;
  return unchanged >= (piece.work.beyond_marks == Duration{} ? under_way : patience_ratio * under_way);
}

/// Measurements beside another program count for less, and none are made while the program is held.
void ProgramGpu::note_busy(Piece& piece, Time now) {
  const Duration done = piece.work.launched - piece.work.under_way - piece.launched_before;
  piece.program->note_busy(done - piece.measured_done, now - piece.measured_at, piece.was_alone);
  piece.measured_done = done;
  piece.measured_at = now;
  piece.was_alone = true;
}

bool ProgramGpu::is_on(const Piece& piece, SmId sm) const {
  return std::ranges::find(sms_[index(sm)], piece.id, &Resident::piece) != sms_[index(sm)].end();
}

int ProgramGpu::threads_on(SmId sm) {
  int threads = 0;
  for (const Resident& resident : sms_[index(sm)]) threads += find(resident.piece)->threads;
  return threads;
}

/// Those of the SM for programs that run by the decision of another GPU's scheduler.
int ProgramGpu::threads_led_elsewhere(SmId sm) const {
  int threads = 0;
  for (const auto& program : programs_->all()) {
    const RunningPart part = program->gang().led_elsewhere();
    if (static_cast<int>(index(sm)) < part.sms) threads += part.threads;
  }
  return threads;
}

/// The launches that may have blocks on the SM, in order of rank, as many as fit. One that does not fit keeps the rest
/// free.
std::vector<OperationId> ProgramGpu::claims(SmId sm) {
  std::vector<OperationId> found;
  int room = threads_per_sm - threads_led_elsewhere(sm);
  for (const std::vector<Share>* list : {&admitted_, &shares_}) {
    for (const Share& share : *list) {
      const Piece* const piece = find(share.launch);
      if (piece == nullptr || share.quota.at(sm) == 0) continue;
      if (piece->unstarted() == 0 && !is_on(*piece, sm)) continue;
      if (piece->threads > room) return found;
      room -= piece->threads;
      found.push_back(piece->id);
    }
  }
  return found;
}

void ProgramGpu::share_out(Time now) {
  std::vector<std::vector<OperationId>> claimed(sms_.size());
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) claimed[sm] = claims(static_cast<SmId>(sm));
  const auto has_claim = [&](const Piece& piece, std::size_t sm) {
    return std::ranges::find(claimed[sm], piece.id) != claimed[sm].end();
  };
  for (Piece& piece : pieces_) {
    bool may_go = false;
    for (std::size_t sm = 0; sm < sms_.size(); ++sm) may_go |= has_claim(piece, sm);
    if (may_go || piece.resident() == 0 || piece.phase != nullptr) {
      piece.held_since.reset();
    } else if (!piece.held_since) {
      piece.held_since = now;
    }
  }
  for (std::size_t number = 0; number < sms_.size(); ++number) {
    const auto sm = static_cast<SmId>(number);
    for (Piece& piece : pieces_) {
      const bool may_leave = piece.phase == nullptr && !piece.held_since;
      if (may_leave && is_on(piece, sm) && !has_claim(piece, number)) end_block(piece, sm, now);
    }
    for (const OperationId id : claimed[number]) {
      Piece& piece = *find(id);
      const bool fits = threads_on(sm) + piece.threads <= threads_per_sm;
      if (!is_on(piece, sm) && piece.unstarted() > 0 && fits) start_block(piece, sm, now);
    }
  }
  const auto running = std::ranges::count_if(pieces_, [](const Piece& piece) { return piece.resident() > 0; });
  for (Piece& piece : pieces_) {
    if (running > 1) piece.was_alone = false;
    if (piece.held_since || piece.resident() == 0) {
      piece.measured_at = now;
      piece.measured_done = piece.work.launched - piece.work.under_way - piece.launched_before;
    }
  }
  note_demands(now);
  lease_out(now);
}

/// Where the policy lets no other program run beside it here, none is to do so on its other GPUs.
RunningPart ProgramGpu::running_part(const Piece& piece) const {
  const bool has_company = std::ranges::any_of(
      pieces_, [&](const Piece& other) { return &other != &piece && other.resident() > 0 && !other.held_since; });
  return {static_cast<int>(piece.resident()), has_company ? piece.threads : threads_per_sm};
}

void ProgramGpu::note_demands(Time now) {
  const std::vector<std::shared_ptr<Program>> all = programs_->all();
  for (const auto& program : all) {
    OtherPrograms others;
    for (const auto& other : all) {
      if (other == program || !other->asks(now)) continue;
      others.priority = others.count == 0 ? other->priority() : std::max(others.priority, other->priority());
      ++others.count;
    }
    program->gang().note(others);
    program->gang().drop_ended();
  }
}

/// A limit makes the next hold take effect soon, and costs the program speed: there is none where no plan holds
/// programs.
void ProgramGpu::lease_out(Time now) {
  const std::vector<std::shared_ptr<Program>> all = programs_->all();
  const auto is_held = [](const Piece& piece) {
    return piece.phase == nullptr && (piece.held_since || piece.resident() == 0);
  };
  if (std::ranges::any_of(pieces_, is_held)) {
    last_held_ = now;
    for (const auto& program : all) program->gang().limit_until(steady(now) + settings_.limited_for);
  }
  const bool is_limited = all.size() > 1 && last_held_ && now - *last_held_ <= settings_.limited_for;
  for (const auto& program : all) {
    GangMember& gang = program->gang();
    if (!gang.leads()) continue;
    const auto piece = std::ranges::find(pieces_, program, &Piece::program);
    const bool is_ordered = program->tasks().are_ordered();  // its work waits at gates, and not its threads
    // A hold goes on from one piece to the next: an evicted kernel would begin again for a moment.
    const bool stays_held = piece == pieces_.end() && program->is_held() && program->is_busy();
    const bool waits = !is_ordered && (stays_held || (piece != pieces_.end() && is_held(*piece)));
    const bool soon_held = is_limited || gang.is_limited(steady(now));
    const Lease go = soon_held ? Lease{LeaseState::Limited, settings_.limit_us} : Lease{};
    program->set_lease(is_ordered ? Lease{} : waits ? Lease{LeaseState::Held} : go);
    gang.show(piece != pieces_.end() && !waits ? running_part(*piece) : RunningPart{});
  }
}

Event ProgramGpu::event_of(const Piece& piece, EventKind kind, Time now, SmId sm) {
  return {.time = now, .application = piece.application, .operation = piece.id, .sm = sm, .kind = kind};
}

void ProgramGpu::start_block(Piece& piece, SmId sm, Time now) {
  if (piece.resident() == 0) piece.changed = now;  // a program that was held needs a moment to launch again
  Event event = event_of(piece, EventKind::BlockStarted, now, sm);
  if (piece.phase != nullptr && piece.started == 0) {
    piece.program->tasks().open(piece.phase->run, piece.phase->run.last());
    piece.opened = now;
  }
  event.block = piece.started++;
  events_.push_back(event);
  sms_[index(sm)].push_back({.piece = piece.id, .since = now});
}

void ProgramGpu::end_block(Piece& piece, SmId sm, Time now) {
  Sm& residents = sms_[index(sm)];
  const auto resident = std::ranges::find(residents, piece.id, &Resident::piece);
  Event event = event_of(piece, EventKind::BlockEnded, now, sm);
  event.started = resident->since;
  event.block = piece.ended++;
  events_.push_back(event);
  residents.erase(resident);
}

void ProgramGpu::end_all_blocks(Piece& piece, Time now) {
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
    if (is_on(piece, static_cast<SmId>(sm))) end_block(piece, static_cast<SmId>(sm), now);
  }
  piece.held_since.reset();
}

void ProgramGpu::end_piece(Piece& piece, Time now) {
  piece.has_ended = true;
  events_.push_back(event_of(piece, EventKind::LaunchEnded, now));
}

void ProgramGpu::forget_ended() {
  for (const Piece& piece : pieces_) {
    if (!piece.has_ended) continue;
    const auto is_of_piece = [&](const Share& share) { return share.launch == piece.id; };
    std::erase_if(shares_, is_of_piece);
    std::erase_if(admitted_, is_of_piece);
    piece.program->piece_ended();
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.has_ended; });
}

Duration ProgramGpu::pause() const {
  const bool has_phase = std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.phase != nullptr; });
  if (has_phase || copies_.has_any_under_way()) return pause_in_phase;
  const bool is_contended =
      std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.held_since || piece.resident() == 0; });
  if (is_contended) return pause_in_contention;
  return programs_->all().size() > 1 ? pause_beside_others : pause_alone;
}

void ProgramGpu::sleep_until(Time time) {
  std::unique_lock lock(mutex_);
  wakes_.wait_until(lock, steady(time), [this] { return is_woken_; });
}

void ProgramGpu::wake() {
  const std::scoped_lock lock(mutex_);
  is_woken_ = true;
  wakes_.notify_all();
}

bool ProgramGpu::stop(Duration /*patience*/) {
  for (const auto& program : programs_->all()) program->set_lease({});
  return true;
}

std::vector<BegunOperation> ProgramGpu::begun() const {
  std::vector<BegunOperation> all;
  for (const Piece& piece : pieces_) {
    if (piece.started > 0) all.push_back({piece.id, piece.resident() > 0 ? Stage::OnDevice : Stage::OffDevice});
  }
  copies_.add_begun(all);
  return all;
}

LiveDevice program_live_device(const Device& device, std::shared_ptr<Programs> programs, ProgramGpuSettings settings) {
  return {.description = std::make_shared<const Device>(device),
          .open = [device, programs, settings] { return std::make_unique<ProgramGpu>(device, programs, settings); }};
}

}  // namespace gpushare::programs
