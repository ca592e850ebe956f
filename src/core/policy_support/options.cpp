// SPDX-License-Identifier: Apache-2.0
#include "core/policy_support/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/model/errors.hpp"
#include "core/model/quoted_list.hpp"

namespace gpushare {
namespace {

std::string text_of(double value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

/// The text without the underscores between digits, which group the digits of long numbers.
std::string without_underscores(std::string_view text) {
  const auto has_digit_at = [text](std::size_t place) {
    return place < text.size() && text[place] >= '0' && text[place] <= '9';
  };
  std::string number;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const bool groups = text[place] == '_' && place > 0 && has_digit_at(place - 1) && has_digit_at(place + 1);
    if (!groups) number += text[place];
  }
  return number;
}

/// Takes the text before the first colon off the front, and the colon with it.
std::string_view take_part(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  const std::string_view part = rest.substr(0, colon);
  rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  return part;
}

}  // namespace

PolicyOptions::PolicyOptions(std::string_view text, std::string_view kind) : kind_(kind) {
  const std::string whole = kind_ + " '" + std::string(text) + "'";
  require(!text.ends_with(':'), whole + ": options are written NAME:KEY=VALUE, and none follows the colon");
  policy_ = take_part(text);
  while (!text.empty()) {
    const std::string part(take_part(text));
    const auto equals = part.find('=');
    require(equals != std::string::npos && equals > 0 && equals + 1 < part.size(),
            whole + ": options are written NAME:KEY=VALUE, got '" + part + "'");
    const bool is_new = values_.emplace(part.substr(0, equals), part.substr(equals + 1)).second;
    require(is_new, whole + ": option '" + part.substr(0, equals) + "' is given twice");
  }
}

const std::string* PolicyOptions::find(OptionEntry option) const {
  const auto value = values_.find(option.name);
  asked_.insert_or_assign(option.name, std::move(option));
  return value == values_.end() ? nullptr : &value->second;
}

std::string PolicyOptions::word(const std::string& key, std::string_view meaning,
                                std::initializer_list<std::string_view> words) const {
  std::string known;
  for (const std::string_view word : words) known += (known.empty() ? "" : ", ") + std::string(word);
  const std::string* value =
      find({.name = key, .meaning = std::string(meaning), .otherwise = std::string(*words.begin()), .values = known});
  if (value == nullptr) return std::string(*words.begin());
  if (std::ranges::find(words, *value) != words.end()) return *value;
  throw InvalidInput(shown() + ": " + key + " must be one of " + known + ", got '" + *value + "'");
}

double PolicyOptions::number(const std::string& key, std::string_view meaning, double otherwise, double least,
                             double most) const {
  return number({.name = key, .meaning = std::string(meaning)}, otherwise, least, most);
}

double PolicyOptions::number(OptionEntry option, double otherwise, double least, double most) const {
  const std::string key = option.name;
  if (otherwise >= least && otherwise <= most) option.otherwise = text_of(otherwise);
  option.values += text_of(least) + ".." + text_of(most);
  const std::string* value = find(std::move(option));
  if (value == nullptr) return otherwise;
  double number = 0;
  const std::string digits = without_underscores(*value);
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  require(error == std::errc{} && stopped == end && number >= least && number <= most,
          shown() + ": " + key + " must be a number in " + text_of(least) + ".." + text_of(most) + ", got '" + *value +
              "'");
  return number;
}

std::int64_t PolicyOptions::whole(const std::string& key, std::string_view meaning, std::int64_t otherwise,
                                  std::int64_t least, std::int64_t most) const {
  const double value = number({.name = key, .meaning = std::string(meaning), .values = "whole number in "},
                              static_cast<double>(otherwise), static_cast<double>(least), static_cast<double>(most));
  require_lazily(value == std::floor(value),
                 [&] { return shown() + ": " + key + " must be a whole number, got '" + values_.at(key) + "'"; });
  return static_cast<std::int64_t>(value);
}

Duration PolicyOptions::duration(const std::string& key, std::string_view meaning, Duration otherwise, Duration least,
                                 Duration most) const {
  return Duration(std::llrint(number(key, meaning, nanoseconds(otherwise), nanoseconds(least), nanoseconds(most))));
}

void PolicyOptions::require_not_both(const std::string& key, const std::string& other) const {
  require(!values_.contains(key) || !values_.contains(other),
          shown() + ": " + key + " and " + other + " are two ways to say the same; give one of them");
}

void PolicyOptions::require_all_known() const {
  for (const auto& [key, value] : values_) {
    if (asked_.contains(key)) continue;
    const std::string known =
        asked_.empty() ? "it has none" : "known: " + quoted_list(asked_, [](const auto& asked) { return asked.first; });
    throw InvalidInput(shown() + " has no option '" + key + "'; " + known);
  }
}

std::vector<OptionEntry> PolicyOptions::described() const {
  std::vector<OptionEntry> options;
  for (const auto& [name, option] : asked_) options.push_back(option);
  return options;
}

}  // namespace gpushare
