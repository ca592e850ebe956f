// SPDX-License-Identifier: Apache-2.0
// Between a program and the session that schedules it: a thread that submits a piece of work whenever the program has
// something to do.
#pragma once

#include <exception>
#include <memory>
#include <thread>

#include "daemon/session_application.hpp"
#include "programs/program_gpu.hpp"

namespace gpushare::programs {

class ProgramPort {
 public:
  /// `application`: what the program is in the session, whose device is a ProgramGpu with these `programs`.
  ProgramPort(Session& session, std::shared_ptr<daemon::SessionApplication> application,
              std::shared_ptr<Programs> programs, std::shared_ptr<Program> program, ProgramGpuSettings settings = {});
  ProgramPort(const ProgramPort&) = delete;
  ProgramPort& operator=(const ProgramPort&) = delete;
  ~ProgramPort() { close(); }

  /// The program goes on without a scheduler, and its application is withdrawn.
  void close();

 private:
  void serve();

  Session& session_;
  const std::shared_ptr<daemon::SessionApplication> application_;
  const std::shared_ptr<Programs> programs_;
  const std::shared_ptr<Program> program_;
  const ProgramGpuSettings settings_;
  std::thread thread_;
};

}  // namespace gpushare::programs
