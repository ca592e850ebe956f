// SPDX-License-Identifier: Apache-2.0
// What a forked child answers.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>

namespace intercepted {

struct ChildsAnswer {
  std::string said;  ///< to its last command
  int status = 0;    ///< of waitpid()
};

/// Forks; the child obeys the rest of the line, in which a semicolon separates commands.
template <class Answer>
ChildsAnswer answered_by_child(std::istringstream& words, const Answer& answer) {
  std::string line;
  std::getline(words >> std::ws, line);
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    std::string said;
    for (std::istringstream lines(line); std::getline(lines, line, ';');) said = answer(line);
    std::exit(write(pipe_ends[1], said.data(), said.size()) < 0 ? 1 : 0);
  }
  close(pipe_ends[1]);
  ChildsAnswer found{.said = std::string(1000, ' ')};
  const ssize_t length = read(pipe_ends[0], found.said.data(), found.said.size());
  found.said.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  close(pipe_ends[0]);
  waitpid(child, &found.status, 0);
  return found;
}

}  // namespace intercepted
