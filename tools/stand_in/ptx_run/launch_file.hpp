// SPDX-License-Identifier: Apache-2.0
// One launch as a folder: PTX, arrays as raw bytes, and launch.txt with one fact a line:
//
//   ptx kernel.ptx
//   entry scale
//   grid 4 1 1
//   block 256 1 1
//   shared 0                   dynamic shared memory of a block, in bytes
//   array x.bin                one line per parameter, in order: the address of an array,
//   value 0000803f             or a value's bytes in hexadecimal
//   run original               or: run worker
//   seed 1                     of the order in which threads run, and of the quotas
//   workers 9                  the rest is for workers alone; see WorkerPlan
//   chunk 3
//   guide 2
//   quotas random              or: quotas full
//
// What is left out is as in the struct below.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptx_interpreter/run.hpp"

namespace gpushare::interpreter {

struct LaunchFile {
  struct Parameter {
    std::filesystem::path array;  ///< empty for a value
    Argument value;
  };

  std::filesystem::path ptx;
  std::string entry;
  Grid grid;
  std::vector<Parameter> parameters;
  bool by_workers = false;
  std::uint64_t seed = 1;
  std::uint32_t workers = 4;
  std::uint32_t chunk = 1;
  std::uint32_t guide = 0;
  bool random_quotas = false;
};

/// Reads launch.txt in the folder; throws InvalidInput, naming the line, for what it does not know.
LaunchFile read_launch(const std::filesystem::path& folder);

/// Throws InvalidInput where the file cannot be read.
std::vector<std::byte> read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::vector<std::byte>& bytes);

}  // namespace gpushare::interpreter
