"""The units of the testbed, and the only places where one is turned into another.

Inside the testbed there is one unit per quantity: seconds, bytes, and megabits per second (10**6 bits). Values that
leave a function carry theirs in the name: ``delay_s``, ``size_bytes``, ``rate_mbit``.
"""

from __future__ import annotations

BITS_PER_BYTE = 8
BITS_PER_MBIT = 1_000_000
BYTES_PER_MEGABYTE = 1_000_000
BYTES_PER_GIGABYTE = 1_000_000_000
NANOSECONDS_PER_SECOND = 1_000_000_000
MICROSECONDS_PER_SECOND = 1_000_000


def rate_bytes_per_s(rate_mbit: float) -> float:
    """Bytes per second that a rate of `rate_mbit` megabits per second carries."""
    return rate_mbit * BITS_PER_MBIT / BITS_PER_BYTE


def rate_mbit(size_bytes: float, duration_s: float) -> float:
    """Megabits per second at which `size_bytes` pass in `duration_s` seconds."""
    return size_bytes * BITS_PER_BYTE / BITS_PER_MBIT / duration_s


def megabytes_per_s(rate_mbit: float) -> float:
    """Megabytes (10**6 bytes) per second that a rate of `rate_mbit` megabits per second carries."""
    return rate_bytes_per_s(rate_mbit) / BYTES_PER_MEGABYTE


def gigabytes(size_bytes: float) -> float:
    """Gigabytes (10**9 bytes) in `size_bytes`."""
    return size_bytes / BYTES_PER_GIGABYTE


def nanoseconds(duration_s: float) -> int:
    """Whole nanoseconds in `duration_s` seconds."""
    return round(duration_s * NANOSECONDS_PER_SECOND)


def seconds_from_nanoseconds(duration_ns: float) -> float:
    """Seconds in `duration_ns` nanoseconds."""
    return duration_ns / NANOSECONDS_PER_SECOND


def microseconds(duration_s: float) -> float:
    """Microseconds in `duration_s` seconds."""
    return duration_s * MICROSECONDS_PER_SECOND
