// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/kernel_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <unsupported/Eigen/NumericalDiff>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

constexpr double relative_error = 0.02;  // of a measured rate
constexpr double likely_memory_ratio = 0.3;
constexpr double least_bytes = 1e-3;
constexpr int most_evaluations = 400;
constexpr std::array first_issue_ratios{0.02, 0.2, 0.8};
constexpr std::array first_memory_ratios{0.1, 0.6};

/// Logarithms of positive values, which differ widely in size, and logits of parts of the latency.
enum Parameter : Eigen::Index { latency, issue_part, memory_part, cache_bytes, dram_bytes, parameter_count };
using Parameters = Eigen::VectorXd;

double bounded_exp(double value) { return std::exp(std::clamp(value, -30.0, 40.0)); }
double part(double logit) { return 1 / (1 + bounded_exp(-logit)); }
double logit(double part) { return std::log(part / (1 - part)); }

/// Residuals in units of their expected errors: rates first, then prior knowledge.
struct Misfit : Eigen::DenseFunctor<double> {
  Misfit(std::span<const RatePoint> points, const BlockTraffic& traffic, const OffSmBandwidth& off_sm)
      : Eigen::DenseFunctor<double>(parameter_count, static_cast<int>(points.size()) + 3),
        points(points),
        traffic(traffic),
        off_sm(off_sm) {}

  BlockFigures figures(const Parameters& at) const {
    const double whole = bounded_exp(at(latency));
    return {.latency = whole,
            .issue = whole * part(at(issue_part)),
            .memory = whole * part(at(memory_part)),
            .cache_bytes = bounded_exp(at(cache_bytes)),
            .dram_bytes = bounded_exp(at(dram_bytes)),
            .misses = std::min(traffic.dram_bytes / traffic.cache_bytes, 1.0)};
  }

  double log_error(const BlockFigures& block, const RatePoint& point) const {
    return std::log(steady_rate(block, point.sms, point.residency, off_sm) / point.blocks_per_ns);
  }

  int operator()(const Parameters& at, Eigen::VectorXd& misfit) const {
    const BlockFigures block = figures(at);
    Eigen::Index row = 0;
    for (const RatePoint& point : points) misfit(row++) = point.weight * log_error(block, point) / relative_error;
    misfit(row++) = (at(cache_bytes) - std::log(traffic.cache_bytes)) / traffic.cache_spread;
    misfit(row++) = (at(dram_bytes) - std::log(traffic.dram_bytes)) / traffic.dram_spread;
    const double likely_memory = traffic.memory > 0 ? traffic.memory : likely_memory_ratio * block.latency;
    const double excess = std::log(block.memory / likely_memory);
    misfit(row++) = excess / (excess > 0 ? traffic.memory_excess_spread : traffic.memory_spread);
    return 0;
  }

  std::span<const RatePoint> points;
  BlockTraffic traffic;
  OffSmBandwidth off_sm;
};

void require_usable(std::span<const RatePoint> points) {
  require(!points.empty(), "a fit needs at least one point");
  for (const RatePoint& point : points) {
    require(point.sms > 0 && point.residency > 0 && std::isfinite(point.blocks_per_ns) && point.blocks_per_ns > 0 &&
                std::isfinite(point.weight) && point.weight >= 0,
            "a fit needs points with positive SMs, blocks per SM and rates, and no negative weight");
  }
}

void require_usable(const BlockTraffic& traffic) {
  for (const double value : {traffic.cache_bytes, traffic.dram_bytes, traffic.memory}) {
    require(std::isfinite(value) && value >= 0,
            "a block's bytes and time in memory must be 0 or more, got " + std::to_string(value));
  }
}

/// Time of a block where there are fewest of them on an SM.
double first_latency(std::span<const RatePoint> points) {
  const auto fewest = std::ranges::min_element(points, {}, &RatePoint::residency);
  return fewest->sms * fewest->residency / fewest->blocks_per_ns;
}

}  // namespace

KernelFit fit_kernel(std::span<const RatePoint> points, const BlockTraffic& traffic, const OffSmBandwidth& off_sm) {
  require_usable(points);
  require_usable(traffic);
  BlockTraffic known = traffic;
  known.cache_bytes = std::max(known.cache_bytes, least_bytes);
  known.dram_bytes = std::max(known.dram_bytes, least_bytes);
  Eigen::NumericalDiff<Misfit> misfit(Misfit(points, known, off_sm), 1e-8);
  Parameters best;
  double least = std::numeric_limits<double>::infinity();
  for (const double issue_ratio : first_issue_ratios) {
    for (const double memory_ratio : first_memory_ratios) {
      const double start = first_latency(points);
      Parameters at(static_cast<Eigen::Index>(parameter_count));
      at << std::log(start), logit(issue_ratio), logit(memory_ratio), std::log(known.cache_bytes),
          std::log(known.dram_bytes);
      Eigen::LevenbergMarquardt solver(misfit);
      solver.setMaxfev(most_evaluations);
      solver.minimize(at);
      if (solver.fnorm() < least) {
        least = solver.fnorm();
        best = at;
      }
    }
  }
  KernelFit fit{.block = misfit.figures(best)};
  for (const RatePoint& point : points) fit.residuals.push_back(std::expm1(misfit.log_error(fit.block, point)));
  return fit;
}

}  // namespace gpushare
