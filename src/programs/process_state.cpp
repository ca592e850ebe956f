// SPDX-License-Identifier: Apache-2.0
#include "programs/process_state.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gpushare::programs {
namespace {

/// A line of /proc about a thread, or about a process, which is its first thread.
struct ThreadState {
  char state = ' ';
  unsigned flags = 0;
  int threads = 0;  ///< of its process
};

/// PF_EXITING of the kernel: the thread runs no code of its program any more.
constexpr unsigned is_exiting = 0x4;

/// The text behind the command's name, which may contain any characters: the state, 5 numbers, the flags, 10 numbers,
/// and that of the threads.
constexpr const char* behind_name = ") %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d";

bool read_state(const char* path, ThreadState& found) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[512];
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  const char* rest = std::strrchr(text, ')');
  return rest != nullptr && std::sscanf(rest, behind_name, &found.state, &found.flags, &found.threads) == 3;
}

bool read_state(std::int32_t pid, ThreadState& found) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  return read_state(path, found);
}

/// A first thread may end before the others do, and is a zombie then as well.
bool is_zombie(std::int32_t pid) {
  ThreadState found;
  return read_state(pid, found) && found.state == 'Z' && found.threads <= 1;
}

bool have_all_threads_ended(std::int32_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* threads = opendir(path);
  if (threads == nullptr) return false;
  bool have_ended = true;
  while (const dirent* thread = readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    ThreadState found;
    std::snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", pid, thread->d_name);
    if (read_state(path, found) && (found.flags & is_exiting) == 0) have_ended = false;
  }
  closedir(threads);
  return have_ended;
}

}  // namespace

bool is_dead(std::int32_t pid) { return (kill(pid, 0) != 0 && errno == ESRCH) || is_zombie(pid); }

bool is_ending(std::int32_t pid) {
  if (is_dead(pid)) return true;
  ThreadState first;
  return read_state(pid, first) && (first.flags & is_exiting) != 0 && have_all_threads_ended(pid);
}

}  // namespace gpushare::programs
