# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Times come in three forms, and nothing else is one."""

from datetime import timedelta

import numpy as np
import pytest
import taut


def test_three_forms() -> None:
    assert taut.ns("1.5ms") == taut.ns(1_500_000) == taut.ns(timedelta(microseconds=1500)) == 1_500_000
    assert taut.ns(np.uint64(7)) == 7
    assert taut.ns("0ns") == 0 and taut.ns(2**64 - 1) == 2**64 - 1
    assert taut.show(1_500_000) == "1.5ms" and taut.show("90us") == "90us"


def test_timedelta_of_pandas_is_finer() -> None:
    pandas = pytest.importorskip("pandas")
    assert taut.ns(pandas.Timedelta(1_234_567, "ns")) == 1_234_567


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (1.5, TypeError),
        (True, TypeError),
        (None, TypeError),
        (b"1ms", TypeError),
        (-1, ValueError),
        (timedelta(seconds=-1), ValueError),
        ("1", ValueError),
        ("ms", ValueError),
        ("1 fortnight", ValueError),
        ("0.5ns", ValueError),
        (2**64, OverflowError),
        (timedelta.max, OverflowError),
    ],
)
def test_what_is_no_time(value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        taut.ns(value)  # type: ignore[arg-type]
