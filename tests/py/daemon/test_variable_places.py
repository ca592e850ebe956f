# SPDX-License-Identifier: Apache-2.0
"""What a client is told of its kernels' variables when a worker is lost."""

from messages import raises_naming

import gpushare as gs
from gpushare.daemon.client.variable_places import VariablePlaces


def test_of_another_worker_it_is_told_once():
    places = VariablePlaces()
    places.require_there("module", 1, "count")
    places.require_there("module", 1, "count")
    with raises_naming(gs.WorkerLostError, "count"):
        places.require_there("module", 2, "count")
    places.require_there("module", 2, "count")
    places.require_there("other", 2, "read")


def test_variables_are_found_where_they_were_last_used():
    places = VariablePlaces()
    places.require_there("module", 1, "count")
    places.used("module", 2)
    places.require_there("module", 2, "count")
