"""Counters and histograms as plain values, which can be stored and restored, for Prometheus to collect."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

LabelValues = tuple[str, ...]


@dataclass(slots=True)
class Total:
    """A counter: its name, its meaning, the names of its labels, and its value for each of their values."""

    name: str
    meaning: str
    labels: Sequence[str]
    values: dict[LabelValues, float] = field(default_factory=dict)

    def add(self, labels: LabelValues, amount: float = 1.0) -> None:
        """Add to the value for these labels."""
        self.values[labels] = self.values.get(labels, 0.0) + amount

    def family(self) -> Metric:
        """Return what Prometheus collects."""
        family = CounterMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, value in self.values.items():
            family.add_metric(labels, value)
        return family


@dataclass(slots=True)
class Distribution:
    """A histogram: the values per bucket, whose upper bounds are `bounds` and infinity; last comes their sum."""

    name: str
    meaning: str
    labels: Sequence[str]
    bounds: Sequence[float]
    values: dict[LabelValues, list[float]] = field(default_factory=dict)

    def observe(self, labels: LabelValues, value: float) -> None:
        """Count a value."""
        counts = self.values.setdefault(labels, [0.0] * (len(self.bounds) + 2))
        counts[bisect_left(self.bounds, value)] += 1
        counts[-1] += value

    def family(self) -> Metric:
        """Return what Prometheus collects, whose buckets include all smaller ones."""
        family = HistogramMetricFamily(self.name, self.meaning, labels=self.labels)
        names = [*(str(float(bound)) for bound in self.bounds), "+Inf"]
        for labels, (*counts, total) in self.values.items():
            cumulative = [sum(counts[: end + 1]) for end in range(len(counts))]
            family.add_metric(labels, buckets=list(zip(names, cumulative, strict=True)), sum_value=total)
        return family


class Totals(Collector):
    """Counters and histograms, collected and stored together."""

    def __init__(self, totals: Iterable[Total | Distribution]) -> None:
        self._totals = {total.name: total for total in totals}

    def collect(self) -> Iterator[Metric]:
        """Yield each counter and histogram."""
        for total in self._totals.values():
            yield total.family()

    def stored(self) -> str:
        """Return all values as JSON."""
        return json.dumps({name: list(total.values.items()) for name, total in self._totals.items()})

    def restore(self, stored: str) -> None:
        """Restore what `stored` returned; values of a total that no longer exists are left out."""
        for name, values in json.loads(stored).items():
            if name in self._totals:
                self._totals[name].values = {tuple(labels): value for labels, value in values}
