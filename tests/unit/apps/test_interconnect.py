"""The interconnect inside a cluster: how it is stated, and what cannot be meant."""

import pytest

from apps.interconnect import Interconnect
from emulator.model.errors import InvalidInput


def test_an_interconnect_is_stated_in_one_word() -> None:
    assert Interconnect.parse("myrinet:20e-6:1000:5e-6") == Interconnect("myrinet", 20e-6, 1000.0, 5e-6)
    assert Interconnect.parse("ethernet:1e-4:100") == Interconnect("ethernet", 1e-4, 100.0, 0.0)


def test_bytes_pass_at_the_rate() -> None:
    assert Interconnect("ethernet", 0.0, 100.0).transmission_s(12_500) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("myrinet", "is stated as"),
        ("myrinet:1e-6", "is stated as"),
        ("myrinet:1e-6:100:0:0", "is stated as"),
        ("myrinet:fast:100", "is stated as"),
        (":1e-6:100", "needs a name"),
        ("fast net:1e-6:100", "needs a name"),
        ("shared-memory:1e-6:100", "choose another name"),
        ("myrinet:-1:100", "latency of myrinet"),
        ("myrinet:nan:100", "latency of myrinet"),
        ("myrinet:inf:100", "latency of myrinet"),
        ("myrinet:0:0", "rate of myrinet"),
        ("myrinet:0:nan", "rate of myrinet"),
        ("myrinet:0:1:-1", "message over myrinet"),
        ("myrinet:0:1:nan", "message over myrinet"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        Interconnect.parse(text)
