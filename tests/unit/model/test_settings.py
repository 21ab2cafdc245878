"""The settings of a broker: how long a claim may wait for its processors."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.model.settings import BrokerSettings, Head

FILES = dict.fromkeys(("topology_file", "token_file", "key_file", "known_hosts_file", "journal_file"), Path("/nowhere"))


def settings(*real: bool, **stated) -> BrokerSettings:
    heads = tuple(Head(cluster=f"c{index}", address=f"10.0.0.{index}", real=each) for index, each in enumerate(real))
    return BrokerSettings(testbed="t", heads=heads, **FILES, **stated)


@pytest.mark.parametrize(("real", "limit_host_s"), [((False, False), 3.0), ((True,), 15.0), ((False, True), 15.0)])
def test_a_claim_may_wait_longer_where_a_real_cluster_takes_part(real, limit_host_s):
    assert settings(*real).grants_within_host_s == limit_host_s


def test_a_stated_limit_is_kept():
    assert settings(True, host_grant_limit_s=0.5).grants_within_host_s == 0.5
