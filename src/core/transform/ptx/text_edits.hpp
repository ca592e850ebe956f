// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gpushare::ptx {

/// Changes to a text, collected in any order and made in one pass. Edits must not overlap; those at the same place
/// appear in the order they were made.
class TextEdits {
 public:
  bool empty() const { return edits_.empty(); }
  void insert(std::size_t offset, std::string text) { edits_.push_back({offset, 0, std::move(text)}); }
  void replace(std::size_t offset, std::size_t length, std::string text) {
    edits_.push_back({offset, length, std::move(text)});
  }

  std::string apply(std::string_view text) { return apply(text, 0, text.size()); }

  /// The part of the text from `begin` to `end`, in which all edits lie.
  std::string apply(std::string_view text, std::size_t begin, std::size_t end) {
    std::ranges::stable_sort(edits_, {}, &Edit::offset);
    std::size_t added = 0;
    for (const Edit& edit : edits_) added += edit.text.size();
    std::string result;
    result.reserve(end - begin + added);
    std::size_t copied = begin;
    for (const Edit& edit : edits_) {
      result += text.substr(copied, edit.offset - copied);
      result += edit.text;
      copied = edit.offset + edit.length;
    }
    return result += text.substr(copied, end - copied);
  }

 private:
  struct Edit {
    std::size_t offset;
    std::size_t length;
    std::string text;
  };
  std::vector<Edit> edits_;
};

}  // namespace gpushare::ptx
