# SPDX-License-Identifier: Apache-2.0
"""Ray tracing of spheres above a chequered floor, with hard shadows and reflections.

Source: T. Whitted, An improved illumination model for shaded display, 1980, without refraction and as a loop, in blocks
of 128 threads as ERCBench's RayTracing. Both sides round every fp32 operation on its own, so they see the same.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

BLOCK = (16, 8, 1)
SHAPE = {"small": (90, 120), "large": (2_048, 2_048)}
SPHERES = {"small": 9, "large": 24}
BOUNCES = 4
FLOOR_MIRROR = np.float32(0.3)
ROWS_AT_ONCE = 8
FAR, START = np.float32(1000), np.float32(1e-2)
FLOOR, NOTHING = -1, -2
ONE, SHADE = np.float32(1), np.float32(0.15)


def _vector(x: float, y: float, z: float) -> np.ndarray:
    return np.array([[x], [y], [z]], np.float32)


EYE, UP = _vector(0, 2, -6), _vector(0, 1, 0)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _normalized(a: np.ndarray) -> np.ndarray:
    return a * (ONE / np.sqrt(_dot(a, a)))


def nearest_hits(origin: np.ndarray, direction: np.ndarray, spheres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance along each ray to the nearest object, and the object: the number of a sphere, FLOOR or NOTHING."""
    is_down = direction[1] < 0
    to_floor = np.where(is_down, -origin[1] / np.where(is_down, direction[1], -ONE), FAR)
    distances, objects = np.minimum(to_floor, FAR), np.where(to_floor < FAR, FLOOR, NOTHING)
    for i, sphere in enumerate(spheres):
        to_centre = sphere[:3, np.newaxis] - origin
        middle = _dot(to_centre, direction)
        half_chord = sphere[3] * sphere[3] - (_dot(to_centre, to_centre) - middle * middle)
        distance = middle - np.sqrt(np.maximum(half_chord, np.float32(0)))
        is_nearer = (half_chord > 0) & (distance > START) & (distance < distances)
        distances[is_nearer], objects[is_nearer] = distance[is_nearer], i
    return distances, objects


def _sky(direction: np.ndarray) -> np.ndarray:
    return _vector(0.7, 0.8, 0.9) - _vector(0.5, 0.4, 0.1) * np.maximum(direction[1], np.float32(0))


def _surface(
    point: np.ndarray, objects: np.ndarray, spheres: np.ndarray, colours: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Its normal, its colour, and the share of light that it reflects."""
    is_floor = objects == FLOOR
    is_bright = (np.floor(point[0]).astype(np.int32) + np.floor(point[2]).astype(np.int32)) & 1
    on_floor = np.where(is_bright, np.float32(0.9), np.float32(0.2))
    normal = _normalized(np.where(is_floor, UP, point - spheres[objects, :3].T))
    own = np.where(is_floor, on_floor, colours[objects, :3].T)
    return np.where(is_floor, UP, normal), own, np.where(is_floor, FLOOR_MIRROR, colours[objects, 3])


def traced(direction: np.ndarray, spheres: np.ndarray, colours: np.ndarray, light: np.ndarray) -> np.ndarray:
    """The reference: the colours (3, rays) of rays from the eye."""
    rays = np.arange(direction.shape[1])
    origin, share = np.broadcast_to(EYE, direction.shape), np.ones(rays.size, np.float32)
    found = np.zeros(direction.shape, np.float32)
    for _ in range(BOUNCES + 1):
        distance, objects = nearest_hits(origin, direction, spheres)
        is_lost = objects == NOTHING
        found[:, rays[is_lost]] += _sky(direction[:, is_lost]) * share[is_lost]
        rays, share, distance, objects = (each[~is_lost] for each in (rays, share, distance, objects))
        origin, direction = origin[:, ~is_lost], direction[:, ~is_lost]
        point = origin + direction * distance
        normal, own, mirror = _surface(point, objects, spheres, colours)
        direction = direction - normal * (np.float32(2) * _dot(direction, normal))
        origin, facing = point + normal * START, _dot(normal, light)
        is_lit = (facing > 0) & (nearest_hits(origin, np.broadcast_to(light, origin.shape), spheres)[1] == NOTHING)
        bright = np.where(is_lit, SHADE + np.float32(0.85) * facing, SHADE)
        shine = np.where(is_lit, np.maximum(_dot(direction, light), np.float32(0)), np.float32(0))
        for _ in range(4):
            shine = shine * shine
        found[:, rays] += (own * bright + shine) * (share * (ONE - mirror))
        share = share * mirror
        direction = _normalized(direction)
    return found


def first_rays(rows: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Directions (3, rays) from the eye through the pixels of these rows of an image."""
    row, column = (each.ravel() for each in np.meshgrid(rows, np.arange(shape[1]), indexing="ij"))
    height = np.float32(shape[0])
    x = (2 * column - shape[1]).astype(np.float32) / height
    y = (shape[0] - 2 * row).astype(np.float32) / height - np.float32(0.25)
    return _normalized(np.stack([x, y, np.full_like(x, 1.75)]))


def image(shape: tuple[int, int], spheres: np.ndarray, colours: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Packed pixels of the whole picture."""
    pixels = np.empty(shape, np.uint32)
    for first in range(0, shape[0], ROWS_AT_ONCE):
        rows = np.arange(first, min(first + ROWS_AT_ONCE, shape[0]))
        seen = traced(first_rays(rows, shape), spheres, colours, light)
        red, green, blue = (np.minimum(seen, ONE) * np.float32(255)).astype(np.uint32)
        packed = red | green << np.uint32(8) | blue << np.uint32(16) | np.uint32(255 << 24)
        pixels[rows] = packed.reshape(rows.size, shape[1])
    return pixels


def _scene(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Spheres with their radius, their colours with what they reflect, the direction of the light."""
    radius = random.uniform(0.4, 1.0, count)
    place = random.uniform([-4, 0, -1], [4, 1.5, 8], (count, 3)) + np.stack([0 * radius, radius, 0 * radius], axis=1)
    spheres = np.column_stack([place, radius]).astype(np.float32)
    colours = random.uniform([0.2, 0.2, 0.2, 0.2], [0.9, 0.9, 0.9, 0.8], (count, 4)).astype(np.float32)
    light = _normalized(_vector(random.uniform(-1, 1), 1.5, random.uniform(-1, 0)))
    return spheres, colours, light


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    spheres, colours, light = _scene(random, SPHERES[size])
    return Case(
        grid=grid_over((columns, rows), BLOCK[:2]),
        block=BLOCK,
        arguments=[
            output("pixels", (rows, columns), np.uint32),
            Argument("spheres", spheres),
            Argument("colours", colours),
            Argument("count", np.int32(len(spheres))),
            *(Argument(f"light_{axis}", light[i, 0]) for i, axis in enumerate("xyz")),
            Argument("floor_mirror", FLOOR_MIRROR),
            Argument("bounces", np.int32(BOUNCES)),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"pixels": image((rows, columns), spheres, colours, light)},
    )


KERNEL = SuiteKernel(
    "ray_trace",
    "Ray tracing: 128 threads, loops and branches that differ from ray to ray",
    _build,
    {"SRTF": "RayTracing"},
)
