"""Comparison of two benchmark runs, by ratios of recorded to unrecorded cost of the same work."""
import collections
from statistics import median
from typing import NamedTuple


class Row(NamedTuple):
    work: str
    figure: str  # "target" or "all processes"
    earlier: float
    later: float

    @property
    def change(self):
        return self.later / self.earlier - 1


def ratios(samples):
    """(work, figure) -> median over the rounds of heaptap's CPU time relative to the work's own. Works too short to measure have
    none."""
    rounds = collections.defaultdict(dict)
    for sample in samples:
        rounds[sample["work"], sample["round"]][sample["variant"]] = sample
    found = collections.defaultdict(list)
    for (work, _), variants in rounds.items():
        bare, heaptap = variants.get("bare"), variants.get("heaptap")
        if bare is None or heaptap is None or bare["target_cpu_s"] < 0.05:
            continue
        found[work, "target"].append(heaptap["target_cpu_s"] / bare["target_cpu_s"])
        found[work, "all processes"].append((heaptap["target_cpu_s"] + heaptap["helpers_cpu_s"]) / bare["target_cpu_s"])
    return {key: median(values) for key, values in found.items()}


def compare(earlier, later):
    """A row for each figure of each work in both runs."""
    before, after = ratios(earlier), ratios(later)
    return [Row(work, figure, before[work, figure], after[work, figure]) for work, figure in before if (work, figure) in after]
