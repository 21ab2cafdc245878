"""The units of the testbed, and all conversions between units.

The testbed uses one unit per quantity: seconds, bytes, and megabits per second (10**6 bits). Names of values end in
their unit: ``delay_s``, ``size_bytes``, ``rate_mbit``.
"""

from __future__ import annotations

BITS_PER_BYTE = 8
BITS_PER_MBIT = 1_000_000
BYTES_PER_MEGABYTE = 1_000_000
BYTES_PER_GIGABYTE = 1_000_000_000
NANOSECONDS_PER_SECOND = 1_000_000_000
MICROSECONDS_PER_SECOND = 1_000_000
MILLISECONDS_PER_SECOND = 1_000
BYTES_PER_POINT = 8
"""Bytes per grid point of a working set, as in the measurement study on DAS-2 (Bucur and Epema)."""


def rate_bytes_per_s(rate_mbit: float) -> float:
    """Return the bytes per second of a rate of `rate_mbit` megabits per second."""
    return rate_mbit * BITS_PER_MBIT / BITS_PER_BYTE


def rate_mbit(size_bytes: float, duration_s: float) -> float:
    """Return the megabits per second of `size_bytes` in `duration_s` seconds."""
    return size_bytes * BITS_PER_BYTE / BITS_PER_MBIT / duration_s


def megabytes_per_s(rate_mbit: float) -> float:
    """Return the megabytes (10**6 bytes) per second of a rate of `rate_mbit` megabits per second."""
    return rate_bytes_per_s(rate_mbit) / BYTES_PER_MEGABYTE


def gigabytes(size_bytes: float) -> float:
    """Convert `size_bytes` to gigabytes (10**9 bytes)."""
    return size_bytes / BYTES_PER_GIGABYTE


def nanoseconds(duration_s: float) -> int:
    """Convert `duration_s` seconds to nanoseconds, rounded to a whole number."""
    return round(duration_s * NANOSECONDS_PER_SECOND)


def seconds_from_nanoseconds(duration_ns: float) -> float:
    """Convert `duration_ns` nanoseconds to seconds."""
    return duration_ns / NANOSECONDS_PER_SECOND


def microseconds(duration_s: float) -> float:
    """Convert `duration_s` seconds to microseconds."""
    return duration_s * MICROSECONDS_PER_SECOND
