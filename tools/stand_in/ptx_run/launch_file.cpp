// SPDX-License-Identifier: Apache-2.0
#include "ptx_run/launch_file.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

#include "core/model/errors.hpp"

namespace gpushare::interpreter {
namespace {

/// A line of launch.txt: a key and what follows.
class Line {
 public:
  explicit Line(const std::string& text) : text_(text), words_(text) { words_ >> key; }

  std::string word() {
    std::string next;
    require(static_cast<bool>(words_ >> next), "launch.txt, `" + text_ + "`: something is missing");
    return next;
  }
  template <class T>
  T number() {
    const std::string digits = word();
    T value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    require(error == std::errc{} && end == digits.data() + digits.size(), complaint(digits));
    return value;
  }
  /// Whether it is the second of two words.
  bool is_second(std::string_view first, std::string_view second) {
    const std::string found = word();
    require(found == first || found == second, complaint(found));
    return found == second;
  }
  Argument bytes() {
    const std::string digits = word();
    require(digits.size() % 2 == 0, complaint(digits));
    Argument value;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      unsigned byte = 0;
      const auto [end, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
      require(error == std::errc{} && end == digits.data() + i + 2, complaint(digits));
      value.push_back(static_cast<std::byte>(byte));
    }
    return value;
  }
  std::string complaint(const std::string& word) const { return "launch.txt, `" + text_ + "`: '" + word + "'?"; }

  std::string key;

 private:
  std::string text_;
  std::istringstream words_;
};

Dimensions dimensions(Line& line) {
  Dimensions size;
  for (std::uint32_t* each : {&size.x, &size.y, &size.z}) *each = line.number<std::uint32_t>();
  return size;
}

/// Whether the key is one of the options of workers.
bool read_worker_option(Line& line, LaunchFile& launch) {
  if (line.key == "quotas") {
    launch.random_quotas = line.is_second("full", "random");
    return true;
  }
  const std::pair<std::string_view, std::uint32_t*> numbers[] = {
      {"workers", &launch.workers}, {"chunk", &launch.chunk}, {"guide", &launch.guide}};
  for (const auto& [key, value] : numbers) {
    if (line.key != key) continue;
    *value = line.number<std::uint32_t>();
    return true;
  }
  return false;
}

void read_line(Line& line, const std::filesystem::path& folder, LaunchFile& launch) {
  if (line.key == "ptx") {
    launch.ptx = folder / line.word();
  } else if (line.key == "entry") {
    launch.entry = line.word();
  } else if (line.key == "grid") {
    launch.grid.blocks = dimensions(line);
  } else if (line.key == "block") {
    launch.grid.threads = dimensions(line);
  } else if (line.key == "shared") {
    launch.grid.dynamic_shared_bytes = line.number<std::size_t>();
  } else if (line.key == "array") {
    launch.parameters.push_back({.array = folder / line.word()});
  } else if (line.key == "value") {
    launch.parameters.push_back({.value = line.bytes()});
  } else if (line.key == "run") {
    launch.by_workers = line.is_second("original", "worker");
  } else if (line.key == "seed") {
    launch.seed = line.number<std::uint64_t>();
  } else {
    require(read_worker_option(line, launch), line.complaint(line.key));
  }
}

}  // namespace

LaunchFile read_launch(const std::filesystem::path& folder) {
  std::ifstream file(folder / "launch.txt");
  require(file.is_open(), "cannot read " + (folder / "launch.txt").string());
  LaunchFile launch;
  for (std::string text; std::getline(file, text);) {
    Line line(text);
    if (!line.key.empty()) read_line(line, folder, launch);
  }
  require(!launch.ptx.empty() && !launch.entry.empty(), "launch.txt needs `ptx` and `entry`");
  require(launch.chunk > 0 && launch.workers > 0, "launch.txt: `chunk` and `workers` are at least 1");
  return launch;
}

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "cannot read " + path.string());
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  require(static_cast<bool>(file), "cannot read all of " + path.string());
  return bytes;
}

void write_bytes(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  require(static_cast<bool>(file.flush()), "cannot write " + path.string());
}

}  // namespace gpushare::interpreter
