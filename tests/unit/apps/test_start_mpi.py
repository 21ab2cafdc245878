"""What a rank tells Open MPI before it initialises it."""

from apps.start.mpi import UNUSED_COMPONENTS, exclude_unused_components

RANK = {"PMIX_NAMESPACE": "3698655233"}


def test_components_that_no_rank_uses_are_left_out() -> None:
    environment = dict(RANK)
    exclude_unused_components(environment)
    for framework, unused in UNUSED_COMPONENTS.items():
        assert environment[framework] == "^" + ",".join(unused)


def test_what_mpirun_leaves_out_stays_out() -> None:
    environment = RANK | {"OMPI_MCA_pmix": "^s1,s2,cray,isolated", "OMPI_MCA_btl": "self,vader"}
    exclude_unused_components(environment)
    assert environment["OMPI_MCA_pmix"] == "^s1,s2,cray,isolated,flux"
    assert environment["OMPI_MCA_btl"] == "self,vader"


def test_components_that_a_user_asks_for_are_opened() -> None:
    environment = RANK | {"OMPI_MCA_coll": "tuned,basic"}
    exclude_unused_components(environment)
    assert environment["OMPI_MCA_coll"] == "tuned,basic"


def test_leaving_out_twice_is_leaving_out_once() -> None:
    once = RANK | {"OMPI_MCA_coll": "^han"}
    exclude_unused_components(once)
    twice = dict(once)
    exclude_unused_components(twice)
    assert twice == once


def test_a_process_that_no_mpirun_started_is_left_alone() -> None:
    environment = {"HOME": "/"}
    exclude_unused_components(environment)
    assert environment == {"HOME": "/"}
