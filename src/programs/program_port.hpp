// SPDX-License-Identifier: Apache-2.0
// Connects a program with the session that schedules it: a thread that submits a piece of work whenever the program has
// work; where an ordering is set, a program's tasks.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <thread>

#include "daemon/session_application.hpp"
#include "programs/program_gpu.hpp"

namespace gpushare::programs {

class ProgramPort {
 public:
  /// `application`: the program's application in the session, which runs on a ProgramGpu with these `programs`.
  ProgramPort(Session& session, std::shared_ptr<daemon::SessionApplication> application,
              std::shared_ptr<Programs> programs, std::shared_ptr<Program> program, ProgramGpuSettings settings = {});
  ProgramPort(const ProgramPort&) = delete;
  ProgramPort& operator=(const ProgramPort&) = delete;
  ~ProgramPort() { close(); }

  /// The program continues without a scheduler, and its application is withdrawn.
  void close();

  /// What holds on this GPU of a program whose application has the state `of_session` (session_status.hpp): the session
  /// does not know what the schedulers of its other GPUs decide, nor that it is held though a plan lets it run. From
  /// any thread.
  std::string state(std::string of_session) const;

 private:
  void serve();
  void serve_pieces();
  void serve_tasks();
  void submit(std::vector<PhaseRun> runs);

  Session& session_;
  const std::shared_ptr<daemon::SessionApplication> application_;
  const std::shared_ptr<Programs> programs_;
  const std::shared_ptr<Program> program_;
  const ProgramGpuSettings settings_;
  std::thread thread_;
};

}  // namespace gpushare::programs
