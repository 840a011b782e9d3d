"""What came of capturing on one target: launches, findings, cases, files."""

from __future__ import annotations

import msgspec

from tileport.verify.capture.request import Event, Failed, LaunchRecord, RepeatedLaunch, Reported
from tileport.verify.model import Finding


class Launch(msgspec.Struct, kw_only=True):
    """A launch of a target, with all cases that made it."""

    record: LaunchRecord
    cases: list[str]
    via: str
    candidates: int


class Outcome(msgspec.Struct, kw_only=True):
    """What the processes of one target reported; `failed` is set where nothing was captured."""

    target: str
    #: Whether any of it ran on the GPU.
    real: bool = False
    launches: list[Launch] = msgspec.field(default_factory=list)
    #: Findings by the number of their case, -1 where they are about no single one.
    findings: list[tuple[int, Finding]] = msgspec.field(default_factory=list)
    #: Names of the cases by their number.
    cases: dict[int, str] = msgspec.field(default_factory=dict)
    failed: Failed | None = None
    source: str = ""
    files: set[str] = msgspec.field(default_factory=set)
    kernels_defined: int = 0
    _base: int = 0

    def begin_process(self) -> None:
        """From now on another process reports, which counts its launches from 0."""
        self._base = len(self.launches)

    def with_cases_of(self, other: Outcome, again: set[int]) -> Outcome:
        """This outcome, with the cases of these numbers taken from another run of them."""
        names = {self.cases[index] for index in again}
        # What such a case launched before it failed, it launched in the other run as well.
        kept = [launch for launch in self.launches if not set(launch.cases) <= names]
        for launch in kept:
            launch.cases = [case for case in launch.cases if case not in names]
        return msgspec.structs.replace(
            self,
            real=True,
            launches=[*kept, *other.launches],
            findings=[
                *((index, finding) for index, finding in self.findings if index not in again),
                *other.findings,
            ],
            files=self.files | other.files,
        )

    def take(self, event: Event) -> None:
        """Notes a launch, a finding or a failure; other events are for whoever runs the process."""
        match event:
            case LaunchRecord():
                launch = Launch(
                    record=event, cases=[event.case], via=event.via, candidates=event.candidates
                )
                self.launches.append(launch)
            case RepeatedLaunch():
                launch = self.launches[self._base + event.launch]
                if event.case not in launch.cases:
                    launch.cases.append(event.case)
                if event.via == "launch":
                    launch.via = "launch"
                launch.candidates = max(launch.candidates, event.candidates)
            case Reported():
                self.findings.append((event.index, event.finding))
            case Failed():
                self.failed = event
