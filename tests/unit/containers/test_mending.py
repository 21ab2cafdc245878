"""What `up` does about each part of a testbed, decided from what it finds."""

import itertools
from collections.abc import Mapping

import pytest

from emulator.containers.mending import (
    GONE,
    Action,
    FoundPart,
    Remedy,
    RenderedPart,
    actions_for,
    actions_for_all,
    touch_wide_area,
    tried_after,
)

EAST = RenderedPart("lab-east", "east", "cluster", {"lab-control": "10.1.0.10", "lab-site-east": "10.1.128.10"})
WEST = RenderedPart("lab-west", "west", "cluster", {"lab-control": "10.1.0.11", "lab-site-west": "10.1.129.10"})
ROUTER = RenderedPart("lab-wan", "wan", "router", {"lab-site-east": "10.1.128.2", "lab-site-west": "10.1.129.2"})
BROKER = RenderedPart("lab-broker", "broker", "broker", {"lab-control": "10.1.0.2"})
ALL = (EAST, WEST, ROUTER, BROKER)


def well(part: RenderedPart, status: str = "running", *faults: str) -> FoundPart:
    return FoundPart(status, part.addresses, faults)


def everything(**changed: FoundPart) -> Mapping[str, FoundPart]:
    return {part.name: changed.get(part.service, well(part)) for part in ALL}


def remedies(actions: tuple[Action, ...]) -> list[tuple[str, str]]:
    return [(action.part.service, action.remedy.value) for action in actions]


def test_nothing_is_done_about_a_testbed_that_is_as_rendered() -> None:
    assert actions_for_all(ALL, everything(), {}) == ()


@pytest.mark.parametrize("part", ALL, ids=lambda part: part.service)
@pytest.mark.parametrize(
    ("status", "done"),
    [
        ("exited", ["start"]),
        ("created", ["start"]),
        ("paused", ["unpause"]),
        ("dead", ["recreate"]),
        (GONE, ["recreate"]),
        ("restarting", []),
    ],
)
def test_a_part_that_does_not_run_gets_the_mildest_remedy(part: RenderedPart, status: str, done: list[str]) -> None:
    assert [action.remedy for action in actions_for(part, well(part, status), ())] == done


def test_two_dead_parts_are_mended_at_once_and_the_others_left_alone() -> None:
    found = everything(east=well(EAST, "exited"), wan=FoundPart(GONE, {}))
    assert remedies(actions_for_all(ALL, found, {})) == [("east", "start"), ("wan", "recreate")]


def test_a_cluster_that_lost_a_network_is_attached_with_its_address_and_its_jobs_go_on() -> None:
    found = FoundPart("running", {"lab-site-east": "10.1.128.10"})
    (action,) = actions_for(EAST, found, ())
    assert (action.remedy, action.network, action.address) == (Remedy.ATTACH, "lab-control", "10.1.0.10")
    assert action.described == "lab-east is not on lab-control: attaching it with 10.1.0.10"


def test_a_part_with_another_address_is_attached_again() -> None:
    found = FoundPart("running", {"lab-control": "10.1.0.77", "lab-site-east": "10.1.128.10"})
    (action,) = actions_for(EAST, found, ())
    assert action.address == "10.1.0.10"
    assert action.why == "has 10.1.0.77 on lab-control"


@pytest.mark.parametrize("part", [ROUTER, BROKER], ids=["router", "broker"])
def test_a_router_or_broker_with_new_interfaces_is_restarted(part: RenderedPart) -> None:
    done = [action.remedy for action in actions_for(part, FoundPart("running", {}), ())]
    assert done == [Remedy.ATTACH] * len(part.addresses) + [Remedy.RESTART]


def test_a_stopped_part_is_attached_before_it_is_started() -> None:
    done = [action.remedy for action in actions_for(EAST, FoundPart("exited", {}), ())]
    assert done == [Remedy.ATTACH, Remedy.ATTACH, Remedy.START]


def test_networks_that_a_user_added_are_left_alone() -> None:
    found = FoundPart("running", {**BROKER.addresses, "office": "192.168.7.9"})
    assert actions_for(BROKER, found, ()) == ()


def test_an_unhealthy_part_is_restarted_then_made_anew_then_given_up() -> None:
    sick, tried, done = well(EAST, "running", "has no slurmctld"), set[Remedy](), []
    while actions := actions_for(EAST, sick, tried):
        for action in actions:
            tried = tried_after(tried, action)
            done.append(action.remedy)
    assert done == [Remedy.RESTART, Remedy.RECREATE]


def test_a_container_made_anew_is_attached_and_started_as_any_other() -> None:
    tried = tried_after({Remedy.START}, Action(Remedy.RECREATE, EAST, "is exited"))
    found = FoundPart("created", {"lab-control": "10.1.0.10"})
    assert [action.remedy for action in actions_for(EAST, found, tried)] == [Remedy.ATTACH, Remedy.START]


def test_a_broker_that_misses_a_cluster_is_not_blamed_while_the_cluster_is_being_mended() -> None:
    lonely = well(BROKER, "running", "does not reach east")
    broken = everything(east=well(EAST, "exited"), broker=lonely)
    assert remedies(actions_for_all(ALL, broken, {})) == [("east", "start")]
    assert remedies(actions_for_all(ALL, everything(broker=lonely), {})) == [("broker", "restart")]


def test_links_are_programmed_again_unless_only_the_broker_was_mended() -> None:
    assert not touch_wide_area(actions_for(BROKER, well(BROKER, "exited"), ()))
    assert touch_wide_area(actions_for(EAST, well(EAST, "exited"), ()))
    assert touch_wide_area(actions_for(ROUTER, well(ROUTER, "exited"), ()))


def test_whatever_is_found_an_end_is_reached_and_no_remedy_is_repeated_for_ever() -> None:
    statuses = ("running", "restarting", "paused", "exited", "created", "dead", "removing", GONE)
    attachments = [{}, EAST.addresses, {"lab-control": "10.1.0.77"}]
    for status, addresses, faults in itertools.product(statuses, attachments, [(), ("is ill",)]):
        found, tried = FoundPart(status, addresses, faults), set[Remedy]()
        turns = 0
        while status != "paused" and (actions := actions_for(EAST, found, tried)):
            for action in actions:
                tried = tried_after(tried, action)
            turns += 1
            assert turns < 5, found


def test_what_is_done_is_said_with_its_reason() -> None:
    (action,) = actions_for(BROKER, well(BROKER, "exited"), ())
    assert action.described == "lab-broker is exited: starting it again with its journal"
