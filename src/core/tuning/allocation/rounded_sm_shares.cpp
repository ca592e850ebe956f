// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/rounded_sm_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpushare {
namespace {

/// Fractions that add up to `sms` as far as the limits allow: what is above a limit is left to the others.
std::vector<double> fractions(std::span<const double> wanted, std::span<const int> most, int sms) {
  std::vector<double> parts(wanted.size(), 0);
  std::vector<bool> settled(wanted.size(), false);
  double room = sms;
  for (std::size_t round = 0; round < wanted.size(); ++round) {
    double sum = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) sum += settled[i] ? 0 : wanted[i];
    bool any = false;
    const double before = room;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (settled[i]) continue;
      parts[i] = before * wanted[i] / sum;
      if (parts[i] < most[i]) continue;
      parts[i] = most[i];
      room -= most[i];
      settled[i] = any = true;
    }
    if (!any) break;
  }
  return parts;
}

}  // namespace

std::vector<int> rounded_sm_shares(std::span<const double> wanted, std::span<const int> most, int sms) {
  const std::vector<double> parts = fractions(wanted, most, sms);
  std::vector<int> shares;
  for (const double part : parts) shares.push_back(std::max(1, static_cast<int>(part)));
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return parts[i] - std::floor(parts[i]); });
  int left = sms - std::accumulate(shares.begin(), shares.end(), 0);
  for (const std::size_t i : order) {
    if (left <= 0) break;
    if (shares[i] >= most[i]) continue;
    ++shares[i];
    --left;
  }
  // One SM at least for each may be more than there is: then the largest shares lose some.
  for (; left < 0; ++left) --*std::ranges::max_element(shares);
  return shares;
}

}  // namespace gpushare
