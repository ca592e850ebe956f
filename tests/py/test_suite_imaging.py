# SPDX-License-Identifier: Apache-2.0
"""References of the imaging kernels against other ways to the same result, and what their small cases reach."""

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.imaging import dct_8x8, dwt_2d, dxtc, leukocyte, nlm_denoise, ray_trace, sad, srad


def values_of(case):
    return {argument.name: argument.value for argument in case.arguments}


def small(name):
    case = KERNELS[name].case()
    return values_of(case), case.expected


# BC1.


def colour_of(word):
    """5:6:5 as bytes."""
    red, green, blue = word >> 11, word >> 5 & 63, word & 31
    return np.array([red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2])


def decoded(block):
    """The 16 colours of a block, as BC1 defines them."""
    first, second = colour_of(int(block[0]) & 0xFFFF), colour_of(int(block[0]) >> 16)
    palette = [first, second, (2 * first + second) / 3, (first + 2 * second) / 3]
    return np.array([palette[int(block[1]) >> 2 * i & 3] for i in range(16)])


def test_decoded_blocks_are_as_near_as_the_best_cluster_fit():
    values, expected = small("dxtc")
    weights = np.stack([dxtc.SHARES / 3, 1 - dxtc.SHARES / 3], axis=2)
    onto_lines = weights @ np.linalg.pinv(weights)  # least squares by another way, and without rounding to 5:6:5
    for tile, block in zip(dxtc.tiles_of(values["pixels"]), expected["blocks"], strict=True):
        ordered = tile[dxtc.in_order(tile[np.newaxis])[0]].astype(float)
        best = ((onto_lines @ ordered - ordered) ** 2).sum(axis=(1, 2)).min()
        error = ((decoded(block) - tile) ** 2).sum()
        # Rounding moves a channel by up to 4.2, 2.1 and 4.2; the triangle inequality does the rest.
        assert np.sqrt(error) <= np.sqrt(best) + np.sqrt(16 * (4.2**2 + 2.1**2 + 4.2**2))


def test_small_tiles_reach_both_modes_of_the_encoder():
    first, second = (small("dxtc")[1]["blocks"][:, 0] >> shift & 0xFFFF for shift in (0, 16))
    assert (first >= second).all()  # four colours
    assert (first == second).any()  # tiles of one colour


# The cosine transform.


def test_levels_are_those_of_the_exact_transform():
    random = np.random.default_rng(5)
    pixels = dct_8x8.picture(random, (64, 64))
    blocks = (pixels - 128.0).reshape(8, 8, 8, 8).swapaxes(1, 2)
    matrix = dct_8x8.cosine_matrix()
    assert matrix @ matrix.T == pytest.approx(np.eye(8), abs=1e-12)
    exact = (matrix @ blocks @ matrix.T / dct_8x8.STEPS).swapaxes(1, 2).reshape(64, 64)
    assert np.abs(dct_8x8.quantised(pixels) - exact).max() < 0.56  # half a step, and what fixed point adds


def test_what_is_restored_differs_by_quantisation_alone():
    pixels = dct_8x8.picture(np.random.default_rng(6), (64, 64)).astype(int)
    restored = dct_8x8.restored(dct_8x8.quantised(pixels.astype(np.uint8)))
    assert np.abs(restored - pixels).mean() < 8
    fine = np.ones((8, 8), np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dct_8x8, "STEPS", fine)
        assert np.abs(dct_8x8.restored(dct_8x8.quantised(pixels.astype(np.uint8))) - pixels).max() <= 2


def test_small_pictures_end_within_blocks_and_tiles_and_are_clamped():
    rows, columns = dct_8x8.SHAPE["small"]
    assert rows % 8
    assert columns % 8
    assert (-(-rows // 8)) % 2 == 1  # the last tile has blocks that are not there
    pixels = small("idct_8x8")[1]["pixels"]
    assert (pixels.min(), pixels.max()) == (0, 255)


# The wavelet.


def test_the_wavelet_is_the_lifting_of_the_standard():
    samples = np.array([10, 12, 9, 4, 7, 7, 30])
    # By hand, with x(-1) = x(1) and x(7) = x(5): d = 3, -4, -11; s = 10 + 2, 9 + 0, 7 - 4, 30 - 5.
    assert list(dwt_2d.lifted(samples)) == [12, 9, 3, 25, 3, -4, -11]


@pytest.mark.parametrize("count", [2, 3, 8, 33])
def test_the_wavelet_can_be_undone(count):
    samples = np.random.default_rng(count).integers(-128, 128, count)
    low, high = np.split(dwt_2d.lifted(samples), [(count + 1) // 2])
    restored = np.empty(count, int)
    before, after = np.append(high[:1], high), np.append(high, high[-1:])
    restored[::2] = low - (before[: low.size] + after[: low.size] + 2 >> 2)
    following = np.append(restored[2::2], restored[-1] if count % 2 else restored[-2])
    restored[1::2] = high + (restored[: 2 * high.size : 2] + following[: high.size] >> 1)
    assert np.array_equal(restored, samples)


# Non-local means.


def test_a_picture_without_noise_stays_and_noise_is_averaged_away():
    flat = np.full((16, 16, 3), 90)
    assert nlm_denoise.denoised(nlm_denoise.with_margin(flat)) == pytest.approx(90)
    noisy = flat + np.random.default_rng(4).normal(0, nlm_denoise.NOISE, flat.shape).astype(int)
    after = nlm_denoise.denoised(nlm_denoise.with_margin(noisy))
    assert after.std() < noisy.std() / 3


def test_small_pictures_have_flat_and_textured_blocks():
    image = small("nlm_denoise")[0]["pixels"]
    colours = np.stack([image >> shift & 255 for shift in (0, 8, 16)], axis=2)
    alike = (nlm_denoise.distances(nlm_denoise.with_margin(colours)) < nlm_denoise.ALIKE_BELOW).sum(axis=0)
    assert alike.min() < 20
    assert alike.max() > 60
    assert all(extent % nlm_denoise.SIDE for extent in image.shape)


# Rays.


def ray(*direction):
    return np.array(direction, np.float32)[:, np.newaxis]


def test_rays_meet_the_nearest_thing():
    spheres = np.array([[0, 2, 9, 1], [0, 2, 4, 1]], np.float32)
    distance, objects = ray_trace.nearest_hits(ray_trace.EYE, ray(0, 0, 1), spheres)
    assert (distance[0], objects[0]) == (9, 1)
    distance, objects = ray_trace.nearest_hits(ray_trace.EYE, ray(0, -1, 0), spheres)
    assert (distance[0], objects[0]) == (2, ray_trace.FLOOR)
    assert ray_trace.nearest_hits(ray_trace.EYE, ray(0, 1, 0), spheres)[1] == ray_trace.NOTHING


def test_the_small_scene_has_sky_floor_shadow_and_spheres_in_mirrors():
    values, expected = small("ray_trace")
    shape = expected["pixels"].shape
    rays = ray_trace.first_rays(np.arange(shape[0]), shape)
    distance, objects = ray_trace.nearest_hits(ray_trace.EYE, rays, values["spheres"])
    assert {ray_trace.NOTHING, ray_trace.FLOOR} < set(objects)
    light = ray(*(values[f"light_{axis}"] for axis in "xyz"))
    on_floor = objects == ray_trace.FLOOR
    points = (ray_trace.EYE + rays * distance + ray_trace.UP * ray_trace.START)[:, on_floor]
    towards_light = np.broadcast_to(light, points.shape)
    in_shade = ray_trace.nearest_hits(points, towards_light, values["spheres"])[1] >= 0
    assert 0 < np.count_nonzero(in_shade) < in_shade.size
    upward = rays[:, on_floor] * ray(1, -1, 1)
    assert (ray_trace.nearest_hits(points, upward, values["spheres"])[1] >= 0).any()


# Motion estimation.


def test_the_best_place_is_where_the_scene_lay():
    frame = np.random.default_rng(3).integers(0, 256, (32, 32)).astype(np.int16)
    surroundings = np.pad(np.roll(frame, (2, -5), axis=(0, 1)), sad.REACH, mode="edge")
    inner = sad.sums_of_rows(frame, surroundings)[2:-2, 2:-2]
    assert (inner.argmin(axis=2) == (sad.REACH + 2) * sad.WINDOW + sad.REACH - 5).all()
    assert (inner.min(axis=2) == 0).all()


# Diffusion.


def test_diffusion_smooths_speckle_and_keeps_edges():
    image, speckle = srad.speckled(np.random.default_rng(8), 80, 112)
    found = srad.diffusion(np.pad(image, 1, mode="edge"), speckle)
    after = srad.diffused(image, found)
    assert after[4:36, 4:52].std() < 0.9 * image[4:36, 4:52].std()
    edge = found.coefficients[5:35, 55:57].mean()  # between a bright area and a dark one
    assert edge < found.coefficients[5:35, 20:40].mean()


def test_small_coefficients_reach_the_limits():
    coefficients = small("srad_1")[1]["coefficients"]
    assert coefficients.min() < 0.2
    assert coefficients.max() == 1


# Leukocytes.


def test_scores_are_highest_in_the_middle_of_a_disc():
    frame = np.random.default_rng(2).normal(80, 4, (81, 81))
    y, x = np.mgrid[-40:41, -40:41]
    frame[x * x + y * y <= 12**2] += 60
    gradient_y, gradient_x = (each.astype(np.float32) for each in np.gradient(frame))
    scores = leukocyte.scores_of(gradient_x, gradient_y)
    assert np.unravel_index(scores.argmax(), scores.shape) == (20, 20)


def test_scores_are_squared_means_over_variances():
    random = np.random.default_rng(9)
    gradient_x, gradient_y = random.normal(0, 1, (2, 41, 41)).astype(np.float32)
    y, x = leukocyte.MARGIN + leukocyte.STEPS_Y, leukocyte.MARGIN + leukocyte.STEPS_X
    outward = gradient_x[y, x] * np.cos(leukocyte.ANGLES) + gradient_y[y, x] * np.sin(leukocyte.ANGLES)
    score = (outward.mean(axis=1) ** 2 / outward.var(axis=1, ddof=1)).max()
    assert leukocyte.scores_of(gradient_x, gradient_y)[0, 0] == pytest.approx(score, rel=1e-4)


def test_small_frames_have_areas_without_a_gradient():
    scores = small("leukocyte")[1]["scores"]
    assert (scores == 0).any()
    assert (scores > 0).any()
