// SPDX-License-Identifier: Apache-2.0
// Threads of this library's own.
#pragma once

#include <pthread.h>
#include <signal.h>

#include "intercept/membership.hpp"

namespace gpushare::intercept {

/// Starts one that takes no signals: the program's handlers run in its own threads. False where there can be none.
inline bool is_started(void* (*run)(void* member), const Membership& member) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool is_there = pthread_create(&thread, nullptr, run, const_cast<Membership*>(&member)) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_there) pthread_detach(thread);
  return is_there;
}

}  // namespace gpushare::intercept
