"""Searches a simulated device with the package MLRsearch, for procedure/tests/procedure/second_opinion.rs.

Arguments: capacity in frames/s, and the share of frames that is always lost. Prints a line for each goal: its number, the relevant
lower bound and the relevant upper bound, in frames/s.
"""

import sys

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

CAPACITY, LOSS = float(sys.argv[1]), float(sys.argv[2])
WIDTH = 0.005
# Final trial duration, duration sum, loss ratio, exceed ratio: as GOALS of second_opinion.rs.
GOALS = [(60.0, 60.0, 0.0, 0.0), (60.0, 120.0, 0.0, 0.5), (1.0, 21.0, 0.0, 0.5), (1.0, 21.0, 0.005, 0.5)]


class Device(AbstractMeasurer):
    """Forwards up to its capacity."""

    def measure(self, intended_duration, intended_load):
        sent = int(intended_load * intended_duration)
        carried = min(sent, int(CAPACITY * intended_duration))
        lost = sent - carried + int(carried * LOSS)
        return MeasurementResult(intended_duration, intended_load, offered_count=sent, loss_count=lost)


config = Config()
config.goals = [
    SearchGoal(
        loss_ratio=loss,
        exceed_ratio=exceed,
        relative_width=WIDTH,
        initial_trial_duration=1.0,
        final_trial_duration=final,
        duration_sum=total,
        fail_fast=False,
    )
    for final, total, loss, exceed in GOALS
    if loss >= LOSS
]
config.min_load, config.max_load, config.search_duration_max, config.warmup_duration = 10_000.0, 14_880_952.0, 600.0, None
results = MultipleLossRatioSearch(config).search(Device(), debug=lambda text: None)
for goal, result in results.items():
    number = GOALS.index((goal.final_trial_duration, goal.duration_sum, goal.loss_ratio, goal.exceed_ratio))
    print(number, float(result.relevant_lower_bound), float(result.relevant_upper_bound))
