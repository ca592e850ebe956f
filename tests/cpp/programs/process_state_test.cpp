// SPDX-License-Identifier: Apache-2.0
#include "programs/process_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace gpushare::programs {
namespace {

/// A child process that runs this, and is killed and waited for at the end.
class Child {
 public:
  explicit Child(void (*run)()) : pid_(::fork()) {
    if (pid_ != 0) return;
    run();
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  /// Returns when it has this state in /proc.
  void await_state(char wanted) const {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid_);
    for (char state = ' '; state != wanted; std::this_thread::yield()) {
      std::FILE* file = std::fopen(path, "r");
      ASSERT_NE(file, nullptr);
      ASSERT_EQ(std::fscanf(file, "%*d (%*[^)]) %c", &state), 1);
      std::fclose(file);
    }
  }

 private:
  pid_t pid_;
};

void wait_for_ever() {
  while (true) ::pause();
}

/// Its other thread goes on.
void end_first_thread() {
  std::thread(wait_for_ever).detach();
  ::syscall(SYS_exit, 0);  // of this thread alone, without unwinding its stack
}

TEST(ProcessState, KnowsARunningProcess) {
  EXPECT_FALSE(is_dead(::getpid()));
  EXPECT_FALSE(is_ending(::getpid()));
}

TEST(ProcessState, TakesAProcessOfWhichOneThreadIsLeftForRunning) {
  const Child child(end_first_thread);
  child.await_state('Z');
  EXPECT_FALSE(is_dead(child.pid()));
  EXPECT_FALSE(is_ending(child.pid()));
}

TEST(ProcessState, KnowsAProcessThatWasKilled) {
  const Child child(wait_for_ever);
  ::kill(child.pid(), SIGKILL);
  child.await_state('Z');
  EXPECT_TRUE(is_dead(child.pid()));
  EXPECT_TRUE(is_ending(child.pid()));
}

TEST(ProcessState, KnowsAProcessThatIsGone) {
  pid_t pid = 0;
  {
    const Child child(wait_for_ever);
    pid = child.pid();
  }
  EXPECT_TRUE(is_dead(pid));
  EXPECT_TRUE(is_ending(pid));
}

}  // namespace
}  // namespace gpushare::programs
