// SPDX-License-Identifier: Apache-2.0
#include "device/module.hpp"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/model/errors.hpp"
#include "device/limits.hpp"

namespace gpushare::stand_in {
namespace {

/// What a driver that assembles PTX itself would find is not known here.
constexpr int registers_without_report = 32;

int number_behind(std::string_view text, std::string_view words, int otherwise) {
  const std::size_t at = text.find(words);
  if (at == text.npos) return otherwise;
  const char* first = text.data() + at + words.size();
  int value = otherwise;
  std::from_chars(first, text.data() + text.size(), value);
  return value;
}

/// As ptxas reports them: "Compiling entry function 'name' for 'sm_90'", and lines later "Used 32 registers".
int registers_of(std::string_view text, std::string_view name) {
  const std::size_t entry = text.find("// ptxas info    : Compiling entry function '" + std::string(name) + "'");
  if (entry == text.npos) return registers_without_report;
  return number_behind(text.substr(entry), ": Used ", registers_without_report);
}

/// .maxntid x, y, z and .reqntid the same: at most, and exactly, so many threads.
int threads_allowed(const ptx::Module& module, const ptx::Function& entry) {
  int most = Limits::threads_per_block;
  for (const ptx::TokenRange& directive : entry.directives) {
    const std::string_view first = module.token(directive.begin).text;
    if (first != ".maxntid" && first != ".reqntid") continue;
    int threads = 1;
    for (std::size_t token = directive.begin + 1; token < directive.end; ++token) {
      const std::string_view word = module.token(token).text;
      if (word != ",") threads *= number_behind(word, "", 1);
    }
    most = std::min(most, threads);
  }
  return most;
}

std::uint32_t magic_of(const void* image) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, strnlen(static_cast<const char*>(image), sizeof magic));
  return magic;
}

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t fat_binary_magic = 0xBA55ED50;

bool is_fat_binary(const void* image) {
  return magic_of(image) == wrapper_magic || magic_of(image) == fat_binary_magic;
}

template <class Number>
Number number_at(const char* bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes + offset, sizeof number);
  return number;
}

/// The first PTX in it that is not compressed.
const char* ptx_in_fat_binary(const void* image) {
  const char* binary = static_cast<const char*>(image);
  if (magic_of(image) == wrapper_magic) binary = number_at<const char*>(binary, 8);
  const char* entry = binary + number_at<std::uint16_t>(binary, 6);
  const char* const end = entry + number_at<std::uint64_t>(binary, 8);
  while (entry < end) {
    const char* const code = entry + number_at<std::uint32_t>(entry, 4);
    const bool is_compressed = (number_at<std::uint64_t>(entry, 40) & 0xa000) != 0;
    if (number_at<std::uint16_t>(entry, 0) == 1 && !is_compressed) return code;
    entry = code + number_at<std::uint64_t>(entry, 8);
  }
  throw InvalidInput("a fat binary without PTX that is not compressed");
}

}  // namespace

/// A cubin's tables are the last of it.
const char* ptx_of(const void* image) {
  const char* text = static_cast<const char*>(image);
  if (is_fat_binary(image)) return ptx_in_fat_binary(image);
  if (std::memcmp(text, ELFMAG, SELFMAG) != 0) return text;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  text += std::max(header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize,
                   header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  require(*text != '\0', "machine code, and no PTX behind it");
  return text;
}

Function function_of(std::shared_ptr<const Module> module, std::string_view name) {
  const interpreter::FunctionCode& code = module->program.entry(name);
  const int registers = registers_of(module->text.text, name);
  const int fitting = Limits::registers_per_sm / footprint(Limits::warp, registers, 0).registers * Limits::warp;
  const int most_threads = std::min(threads_allowed(module->text, module->text.entry(name)), fitting);
  const int dynamic = std::max(Limits::usual_shared_per_block - static_cast<int>(code.static_shared_bytes), 0);
  return {.module = std::move(module),
          .code = &code,
          .registers = registers,
          .most_threads = most_threads,
          .dynamic_shared_allowed = dynamic};
}

const interpreter::Variable* variable_of(const Module& module, std::string_view name) {
  const auto& variables = module.program.variables();
  const auto found = std::ranges::find_if(variables, [name](const interpreter::Variable& each) {
    const bool is_in_memory = each.space == interpreter::Space::Global || each.space == interpreter::Space::Constant;
    return is_in_memory && !each.is_extern && each.name == name;
  });
  return found == variables.end() ? nullptr : &*found;
}

}  // namespace gpushare::stand_in
