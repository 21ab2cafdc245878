"""The analysis of an ensemble Kalman filter: how observations turn a forecast ensemble into an analysed one.

The deterministic transform of Hunt, Kostelich and Szunyogh (Physica D 230, 2007), without localization: every analysed
member is a combination of the forecast members, whose mean and covariance are those of the Kalman filter's update of
the forecast ensemble's. Only the members' observed values are needed to find it, whatever the size of their states.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from emulator.model.errors import InvalidInput

Values = npt.NDArray[np.float64]


def analysis_weights(observed: Values, observations: Values, deviation: float) -> Values:
    """Return the weights w of the analysis: analysed member i is the sum over j of w[i, j] times forecast member j.

    `observed` holds a row for each member, its prediction of the observations; `observations` the actual ones, with
    independent errors of standard deviation `deviation`. Every row of weights adds up to 1.

    Raises:
        InvalidInput: if there are fewer than two members, or the errors of the observations are not positive.
    """
    members = len(observed)
    if members < 2:
        raise InvalidInput(f"An ensemble needs at least 2 members, not {members}.")
    if not 0.0 < deviation < math.inf:
        raise InvalidInput(f"The deviation of the observations must be positive, not {deviation}.")
    mean = observed.mean(axis=0)
    anomalies = (observed - mean) / deviation
    innovation = (observations - mean) / deviation
    # In the space that the members' anomalies span, the forecast's precision is members - 1 in every direction.
    precision = (members - 1) * np.eye(members) + anomalies @ anomalies.T
    eigenvalues, directions = np.linalg.eigh(precision)
    mean_weights = directions @ ((directions.T @ (anomalies @ innovation)) / eigenvalues)
    anomaly_weights = (directions * np.sqrt((members - 1) / eigenvalues)) @ directions.T
    on_anomalies = mean_weights + anomaly_weights
    weights: Values = 1.0 / members + on_anomalies - on_anomalies.mean(axis=1, keepdims=True)
    return weights
