# SPDX-License-Identifier: Apache-2.0
"""Steps of gradient descent in JAX; prints one JSON line."""

from __future__ import annotations

import json
import time

import jax
import jax.numpy as jnp

STEPS, WIDTH = 50, 1024


@jax.jit
def step(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    """One step of a perceptron that learns the identity."""

    def loss(weights: list[jax.Array]) -> jax.Array:
        y = x
        for each in weights:
            y = jnp.tanh(y @ each)
        return jnp.mean((y - x) ** 2)

    return [each - 0.1 * slope for each, slope in zip(weights, jax.grad(loss)(weights), strict=True)]


def main() -> None:
    """Runs all steps."""
    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    weights = [jax.random.normal(key, (WIDTH, WIDTH)) / 32 for key in keys[:4]]
    x = jax.random.normal(keys[4], (256, WIDTH))
    weights = jax.block_until_ready(step(weights, x))
    began = time.perf_counter()
    for _ in range(STEPS):
        weights = step(weights, x)
    total = float(jax.block_until_ready(sum(each.sum() for each in weights)))
    took = time.perf_counter() - began
    print(json.dumps({"program": "jax", "steps": STEPS, "steps_per_s": STEPS / took, "sum": total}), flush=True)


if __name__ == "__main__":
    main()
