// SPDX-License-Identifier: Apache-2.0
#include "programs/program_port.hpp"

namespace gpushare::programs {

ProgramPort::ProgramPort(Session& session, std::shared_ptr<daemon::SessionApplication> application,
                         std::shared_ptr<Programs> programs, std::shared_ptr<Program> program,
                         ProgramGpuSettings settings)
    : session_(session),
      application_(std::move(application)),
      programs_(std::move(programs)),
      program_(std::move(program)),
      settings_(settings) {
  programs_->add(program_);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (...) {
    programs_->remove(program_);
    throw;
  }
}

void ProgramPort::close() {
  if (!thread_.joinable()) return;
  application_->withdraw();
  programs_->remove(program_);
  thread_.join();
}

std::string ProgramPort::state(std::string of_session) const {
  const GangMember& gang = program_->gang();
  const bool is_led_elsewhere = !gang.leads();
  if (of_session == "cancelled") return of_session;
  if (is_led_elsewhere && gang.led_elsewhere().sms > 0) return "running";
  const bool may_run = is_led_elsewhere || of_session == "starting" || of_session == "running";
  if (may_run && program_->is_held()) return "waiting";
  return is_led_elsewhere ? "idle" : of_session;
}

void ProgramPort::serve() {
  try {
    serve_tasks();
    serve_pieces();
  } catch (const std::exception&) {  // cancelled, or the session has failed: the program runs unscheduled
    programs_->remove(program_);
  }
}

/// Until the program is let go, or says that it cannot wait at gates. At once where no ordering is set.
void ProgramPort::serve_tasks() {
  while (auto runs = program_->tasks().await_complete()) submit(*std::move(runs));
}

/// All at once, so that the ordering knows a task as a whole.
void ProgramPort::submit(std::vector<PhaseRun> runs) {
  std::vector<SubmittedOperation> operations;
  for (PhaseRun& run : runs) {
    Operation operation = program_->tasks().operation_of(run, application_->name());
    operations.push_back({std::move(operation), std::make_shared<PhaseCode>(program_, std::move(run))});
  }
  const ApplicationId number = application_->arrive_with(operations.front().operation);
  session_.submit(number, std::move(operations));
}

void ProgramPort::serve_pieces() {
  while (program_->wait_for_piece()) {
    const Launch piece = piece_of(application_->name(), *program_, settings_);
    const ApplicationId number = application_->arrive_with(piece);
    session_.submit(number, piece, std::make_shared<PieceCode>(program_));
  }
}

}  // namespace gpushare::programs
