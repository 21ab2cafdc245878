"""What is wrong with a document, in a sentence for people who do not know pydantic."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from emulator.model.documents import parse_document
from emulator.model.errors import InvalidInput
from emulator.model.faults import all_faults
from emulator.model.job import JobSpecification
from emulator.model.processor import Processor
from emulator.model.topology import Topology


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("components: 8", "job.yaml: components: must be a list, not 8."),
        ("components: []", "job.yaml: components: must have at least 1 item, not []."),
        ("components: [eight]", "job.yaml: components.0: must be a whole number, not 'eight'."),
        ("components: [8.5]", "job.yaml: components.0: must be a whole number, not 8.5."),
        ("components: [8]\narguments: 4", "job.yaml: arguments: must be a mapping of keys, not 4."),
        ("components: [8]\nprocessor_speed: fast", "job.yaml: processor_speed: must be a number, not 'fast'."),
        ("components: [8]\nrequest: any", "job.yaml: request: must be 'fixed', 'non-fixed', 'unordered', 'flexible'"),
        ("components: [8]\nname: 7", "job.yaml: name: must be text, not 7."),
        (
            "components: [8]\nname: my job",
            "job.yaml: name: must be 1 to 64 letters, digits, ., _ and -, a letter or digit first, not 'my job'.",
        ),
    ],
)
def test_a_fault_names_key_and_value_without_types_of_python(text, sentence):
    with pytest.raises(InvalidInput) as refused:
        parse_document(text, JobSpecification, source="job.yaml")
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "model", "sentence"),
    [
        ("", JobSpecification, "a.yaml: is empty, but needs the keys of a job (components)."),
        ("- 1", Topology, "a.yaml: holds [1] instead of the keys of a topology (name, processor, clusters)."),
        ("words", Processor, "a.yaml: holds 'words' instead of the keys of a processor profile (name)."),
    ],
)
def test_a_document_without_keys_is_told_what_it_needs(text, model, sentence):
    with pytest.raises(InvalidInput) as refused:
        parse_document(text, model, source="a.yaml")
    assert str(refused.value) == sentence


def test_all_faults_are_named_one_sentence_each():
    with pytest.raises(ValidationError) as refused:
        JobSpecification.model_validate({"components": [0], "processor_speed": -1, "sizes": 3})
    assert all_faults(refused.value) == [
        "components.0: must be greater than 0, not 0.",
        "processor_speed: must be greater than or equal to 0.000001, not -1.",
        "unknown key 'sizes' (value 3).",
    ]
