// SPDX-License-Identifier: Apache-2.0
// A forked process has its parent's memory but none of its threads, and shares its rings: two writers would destroy
// them. So the parent's ports are unusable in the child; and the child closes the doorbell, or the worker would not
// notice the end of the parent while the child lives.
#pragma once

namespace gpushare::daemon {

class ForkGuard {
 public:
  /// The descriptor is guarded while this lives. In a child it keeps its number, which its owner will close, but is
  /// another file.
  explicit ForkGuard(int descriptor);
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard();

  /// Has this process been forked since this was made? Costs no system call.
  bool is_in_child() const { return is_in_child_; }

 private:
  static void before_fork();
  static void in_parent();
  static void in_child();

  int descriptor_;
  bool is_in_child_ = false;  // written where there is but one thread
  ForkGuard* next_ = nullptr;
};

}  // namespace gpushare::daemon
