// SPDX-License-Identifier: Apache-2.0
#include "programs/process_state.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gpushare::programs {
namespace {

/// The text behind the command's name, which may contain any characters: the state, 16 numbers, and that of the
/// threads.
constexpr const char* behind_name = ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d";

/// A first thread may end before the others do, and is a zombie then as well.
bool is_zombie(std::int32_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[512];
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  char state = ' ';
  int threads = 0;
  const char* rest = std::strrchr(text, ')');
  return rest != nullptr && std::sscanf(rest, behind_name, &state, &threads) == 2 && state == 'Z' && threads <= 1;
}

}  // namespace

bool is_dead(std::int32_t pid) { return (kill(pid, 0) != 0 && errno == ESRCH) || is_zombie(pid); }

}  // namespace gpushare::programs
