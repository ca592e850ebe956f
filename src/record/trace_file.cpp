// SPDX-License-Identifier: Apache-2.0
#include "record/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

namespace gpushare::recording {

TraceFile TraceFile::create(const std::string& folder, std::uint32_t process) {
  for (int program = 0;; ++program) {
    std::string path = folder + "/" + std::to_string(process) + "-" + std::to_string(program) + ".part";
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), path);
    TraceFile file(descriptor, std::move(path));
    const FileHeader header;
    if (::write(descriptor, &header, sizeof(header)) != sizeof(header)) file.give_up();
    return file;
  }
}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

TraceFile::~TraceFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void TraceFile::write(const RecordBatch& batch) noexcept {
  const std::lock_guard lock(mutex_);
  std::string_view left = batch.bytes();
  while (!left.empty() && descriptor_ >= 0) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) give_up();
  }
}

void TraceFile::give_up() noexcept {
  std::fprintf(stderr, "gpushare record: %s: %s: the rest is not recorded\n", path_.c_str(), std::strerror(errno));
  close(std::exchange(descriptor_, -1));
}

}  // namespace gpushare::recording
