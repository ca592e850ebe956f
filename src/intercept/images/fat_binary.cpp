// SPDX-License-Identifier: Apache-2.0
#include "intercept/images/fat_binary.hpp"

#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/model/errors.hpp"
#include "intercept/images/decompression.hpp"

namespace gpushare::images {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t binary_magic = 0xBA55ED50;
constexpr std::uint32_t elf_magic = 0x464c457f;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_elf = 2;
constexpr std::uint64_t is_lz4 = 0x2000;
constexpr std::uint64_t is_zstd = 0x8000;
constexpr std::uint64_t is_of_one_architecture = 0x100000;  ///< the `a` in sm_90a
/// More than any program has; sizes beyond this are damage.
constexpr std::size_t most_bytes = std::size_t{1} << 28;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* binary;
};
struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};
static_assert(sizeof(Header) == 16);
struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t unknown;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
  std::uint64_t name;
  std::uint64_t flags;
  std::uint64_t zero;
  std::uint64_t uncompressed_bytes;

  bool is_exact() const { return (flags & is_of_one_architecture) != 0; }
};
static_assert(sizeof(Entry) == 64);

template <class Read>
Read read(Bytes bytes) {
  require(bytes.size() >= sizeof(Read), "its fat binary is cut off");
  Read found;
  std::memcpy(&found, bytes.data(), sizeof found);
  return found;
}

struct Code {
  Entry entry;
  Bytes bytes;
};

/// PTX runs on later architectures as well, machine code only on later ones with the same major number.
bool suits(const Entry& entry, int capability) {
  const auto own = static_cast<std::uint32_t>(capability);
  if (entry.is_exact()) return entry.architecture == own;
  if (entry.kind == kind_elf && entry.architecture / 10 != own / 10) return false;
  return entry.architecture <= own;
}

/// The later one, or of one architecture the one for it alone.
bool is_better(const Entry& entry, const std::optional<Code>& than) {
  if (!than) return true;
  if (entry.architecture != than->entry.architecture) return entry.architecture > than->entry.architecture;
  require(entry.is_exact() != than->entry.is_exact(), "its fat binary has several codes for one architecture");
  return entry.is_exact();
}

std::string text_of(const Code& code) {
  const std::uint64_t flags = code.entry.flags;
  if ((flags & (is_lz4 | is_zstd)) == 0) {
    const auto* text = reinterpret_cast<const char*>(code.bytes.data());
    return {text, strnlen(text, code.bytes.size())};
  }
  require(code.entry.compressed_bytes <= code.bytes.size() && code.entry.uncompressed_bytes <= most_bytes,
          "its compressed code is damaged");
  const Compression how = (flags & is_zstd) != 0 ? Compression::Zstd : Compression::Lz4;
  std::string text = decompressed(how, code.bytes.first(code.entry.compressed_bytes),
                                  static_cast<std::size_t>(code.entry.uncompressed_bytes));
  text.resize(strnlen(text.data(), text.size()));
  return text;
}

std::string ptx_at(const void* image, int capability) {
  Header header;
  std::memcpy(&header, image, sizeof header);
  require(header.magic == binary_magic && header.bytes <= most_bytes, "it has no fat binary that is known here");
  const auto* first = static_cast<const std::byte*>(image);
  return ptx_of_fat_binary({first, header.header_bytes + static_cast<std::size_t>(header.bytes)}, capability);
}

}  // namespace

std::string ptx_of_fat_binary(Bytes binary, int capability) {
  const auto header = read<Header>(binary);
  require(header.magic == binary_magic && header.version == 1 && header.header_bytes >= sizeof(Header) &&
              header.bytes <= most_bytes && header.header_bytes + header.bytes <= binary.size(),
          "its fat binary is not of a kind that is known here");
  Bytes rest = binary.subspan(header.header_bytes, static_cast<std::size_t>(header.bytes));
  std::optional<Code> ptx;
  std::optional<Code> machine_code;
  while (!rest.empty()) {
    const auto entry = read<Entry>(rest);
    require(entry.header_bytes >= sizeof(Entry) && entry.header_bytes <= rest.size() &&
                entry.bytes <= rest.size() - entry.header_bytes,
            "its fat binary is damaged");
    const Code code{entry, rest.subspan(entry.header_bytes, static_cast<std::size_t>(entry.bytes))};
    rest = rest.subspan(entry.header_bytes + static_cast<std::size_t>(entry.bytes));
    if ((entry.kind != kind_ptx && entry.kind != kind_elf) || !suits(entry, capability)) continue;
    std::optional<Code>& best = entry.kind == kind_ptx ? ptx : machine_code;
    if (is_better(entry, best)) best = code;
  }
  require(ptx.has_value(), "it has no PTX for this GPU");
  const bool is_older = machine_code && (machine_code->entry.architecture > ptx->entry.architecture ||
                                         machine_code->entry.is_exact() != ptx->entry.is_exact());
  require(!is_older, "its PTX is for another architecture than its machine code");
  return text_of(*ptx);
}

std::string ptx_of(const void* image, int capability) {
  std::uint32_t magic = 0;
  const auto* text = static_cast<const char*>(image);
  // A text may be shorter, and ends with a zero.
  std::memcpy(&magic, text, strnlen(text, sizeof magic));
  if (magic == wrapper_magic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof wrapper);
    require(wrapper.version == 1 && wrapper.binary != nullptr, "its code was linked from several files (-rdc)");
    return ptx_at(wrapper.binary, capability);
  }
  if (magic == binary_magic) return ptx_at(image, capability);
  require(magic != elf_magic, "it is machine code without PTX");
  const auto first = static_cast<unsigned char>(*text);
  require(std::isprint(first) != 0 || std::isspace(first) != 0, "it is no PTX");
  std::string found(text, strnlen(text, most_bytes));
  require(found.find(".version") != found.npos, "it is no PTX");
  return found;
}

}  // namespace gpushare::images
