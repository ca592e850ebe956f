// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace gpushare::daemon {

/// Throws the error of the last system call.
[[noreturn]] inline void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// An open file, closed by the destructor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }

  /// Another descriptor of a file that stays with its present owner. Programs started later do not inherit it.
  static FileDescriptor duplicate(int number) {
    const int copy = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw_errno("descriptor " + std::to_string(number));
    return FileDescriptor(copy);
  }

  int number() const { return number_; }
  /// The caller closes it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace gpushare::daemon
