"""The contenders of `tests.bench.kernels`: each application's update compiled, as numpy, and as a bare C loop.

An application is a function of the compiled kernels, the C library and a block's side. It returns its three contenders,
each a function without arguments that updates all side x side points once, and one that tells how far apart their
values are; each contender has values of its own. To add an application, write such a function and name it in `TABLE`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tests import shallow_water

Values = npt.NDArray[np.float64]

LAPLACE_RELAXATION = 1.2
HEAT_RATIO = 0.1
# Of a layer with depth, cells and gravity of size 1.
FLOW = {"step": 0.1, "gravity": 1.0, "coriolis": 0.1, "viscosity": 0.01}


@dataclass(frozen=True)
class Contenders:
    """One application's update, three times; `disagreement` is the largest difference of a point between them."""

    compiled: Callable[[], object]
    numpy: Callable[[], object]
    bare_loop: Callable[[], object]
    disagreement: Callable[[], float]


@dataclass(frozen=True)
class Application:
    """A row of the table: which kernels it needs compiled, and its contenders on a block of side x side points."""

    kernels: tuple[str, ...]
    contenders: Callable[[Mapping[str, ModuleType], ctypes.CDLL, int], Contenders]


def poisson(kernels: Mapping[str, ModuleType], library: ctypes.CDLL, side: int) -> Contenders:
    """Red-black Gauss-Seidel with its largest change."""
    source = _block(side, seed=1)
    compiled, plain, bare = (_block(side, seed=2) for _ in range(3))
    row, column = np.indices((side, side))
    colours = [((row + column) % 2 == colour).astype(float) for colour in (0, 1)]

    def update_plainly() -> float:
        largest = 0.0
        for colour in colours:
            inner = plain[1:-1, 1:-1]
            beside = plain[:-2, 1:-1] + plain[2:, 1:-1] + plain[1:-1, :-2] + plain[1:-1, 2:] + source[1:-1, 1:-1]
            change = colour * (0.25 * beside - inner)
            inner += change
            largest = max(largest, float(np.abs(change).max()))
        return largest

    return Contenders(
        kernels["red_black"].RedBlackUpdate(compiled, source, True).update,
        update_plainly,
        _bare(library.poisson, ctypes.c_double, bare, source, side, side),
        lambda: _disagreement(compiled, plain, bare),
    )


def laplace(kernels: Mapping[str, ModuleType], library: ctypes.CDLL, side: int) -> Contenders:
    """Two phases of corners; numpy cannot use a row's new values within the row, and updates colour by colour."""
    compiled, plain, bare = (_block(side, seed=3) for _ in range(3))
    update = kernels["laplace"].CornerUpdate(compiled, np.zeros_like(compiled), LAPLACE_RELAXATION)
    row, column = np.indices((side, side))
    colours = [((row + column) % 2 == colour).astype(float) for colour in (0, 1)]

    def update_compiled() -> None:
        update.update_first()
        update.update_second()

    def update_plainly() -> None:
        for colour in colours:
            inner = plain[1:-1, 1:-1]
            beside = plain[:-2, 1:-1] + plain[2:, 1:-1] + plain[1:-1, :-2] + plain[1:-1, 2:]
            inner += colour * LAPLACE_RELAXATION * (0.25 * beside - inner)

    return Contenders(
        update_compiled,
        update_plainly,
        _bare(library.laplace, None, bare, side, side, LAPLACE_RELAXATION),
        lambda: _disagreement(compiled, bare),
    )


def heat(kernels: Mapping[str, ModuleType], library: ctypes.CDLL, side: int) -> Contenders:
    """One explicit step; numpy and the C loop take turns with two arrays."""
    compiled = _block(side, seed=4)
    plain, bare = ([_block(side, seed=4), _block(side, seed=4)] for _ in range(2))
    to_second = _bare(library.heat, None, bare[0], bare[1], side, side, HEAT_RATIO)
    to_first = _bare(library.heat, None, bare[1], bare[0], side, side, HEAT_RATIO)

    def step_plainly() -> None:
        old, new = plain
        here = old[1:-1, 1:-1]
        beside = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
        new[1:-1, 1:-1] = here + HEAT_RATIO * (beside - 4.0 * here)
        plain.reverse()

    def step_bare() -> None:
        nonlocal to_second, to_first
        to_second()
        to_second, to_first = to_first, to_second
        bare.reverse()

    return Contenders(
        kernels["heat"].HeatStep(compiled, HEAT_RATIO, False, False, False).step,
        step_plainly,
        step_bare,
        lambda: _disagreement(compiled, plain[0], bare[0]),
    )


def ensflow(kernels: Mapping[str, ModuleType], library: ctypes.CDLL, side: int) -> Contenders:
    """One time step of three stages; a point's three values count as one update."""
    compiled, plain, bare = (_layer(side) for _ in range(3))
    flow = kernels["shallow_water"].ShallowWater(
        side, 1.0, FLOW["step"], FLOW["gravity"], FLOW["coriolis"], FLOW["viscosity"]
    )
    work = np.zeros((10, side + 2, side + 2))
    change = partial(
        shallow_water.tendency,
        gravity=FLOW["gravity"],
        coriolis=FLOW["coriolis"],
        viscosity=FLOW["viscosity"],
    )

    def step_plainly() -> None:
        plain[:, 1:-1, 1:-1] = shallow_water.step(plain[:, 1:-1, 1:-1].copy(), FLOW["step"], change)

    def inner(state: Values) -> Values:
        return state[:, 1:-1, 1:-1]

    return Contenders(
        lambda: flow.advance(compiled, 1),
        step_plainly,
        _bare(library.ensflow, None, bare, work, side, side, *FLOW.values()),
        lambda: _disagreement(inner(compiled), inner(plain), inner(bare)),
    )


TABLE = {
    "poisson": Application(("red_black",), poisson),
    "laplace": Application(("laplace",), laplace),
    "heat": Application(("heat",), heat),
    "ensflow": Application(("shallow_water",), ensflow),
}


def _block(side: int, seed: int) -> Values:
    return np.random.default_rng(seed).random((side + 2, side + 2))


def _layer(side: int) -> Values:
    """Thickness, eastward and northward velocity of a layer in a little motion."""
    generator = np.random.default_rng(5)
    return np.stack([average + 0.01 * generator.random((side + 2, side + 2)) for average in (1.0, 0.0, 0.0)])


def _disagreement(first: Values, *others: Values) -> float:
    return max(float(np.abs(first - other).max()) for other in others)


def _bare(function: Any, result: Any, *arguments: Values | int | float) -> Callable[[], Any]:
    """A C function bound to its arguments, converted once."""
    bound = [_in_c(argument) for argument in arguments]
    function.restype = result
    return lambda: function(*bound)


def _in_c(argument: Values | int | float) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return ctypes.c_long(argument) if isinstance(argument, int) else ctypes.c_double(argument)
