"""The sentences of errors that depend on what is there when they are read."""

from pathlib import Path

from emulator.model.errors import RunEndedEarly


def test_an_early_end_names_the_folder_of_its_records_while_it_exists(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    error = RunEndedEarly("The run ended early because cluster 'delft' was lost.", 17, folder)
    assert str(error) == (f"The run ended early because cluster 'delft' was lost; 17 finished records are in {folder}.")
    folder.rmdir()
    assert str(error) == "The run ended early because cluster 'delft' was lost."


def test_one_record_is_one(tmp_path: Path) -> None:
    assert str(RunEndedEarly("It ended", 1, tmp_path)) == f"It ended; 1 finished record is in {tmp_path}."
