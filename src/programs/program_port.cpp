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

void ProgramPort::serve() {
  while (program_->wait_for_piece()) {
    try {
      const Launch piece = piece_of(application_->name(), *program_, settings_);
      const ApplicationId number = application_->arrive_with(piece);
      session_.submit(number, piece, std::make_shared<PieceCode>(program_));
    } catch (const std::exception&) {  // cancelled, or the session has failed: the program runs unscheduled
      programs_->remove(program_);
      return;
    }
  }
}

}  // namespace gpushare::programs
