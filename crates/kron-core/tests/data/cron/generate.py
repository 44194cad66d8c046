#!/usr/bin/env python3
"""Generates cronsim.tsv and cronsim-differs.tsv, next to this file.

Every row is a cron expression, a time zone and an instant, with the three
following times. They are worked out twice: by cronsim, and by a plain
brute-force walk over the minutes, written from the rule alone (class Oracle).
Rows where the two agree go to cronsim.tsv, the others to cronsim-differs.tsv.
In both files the expected times are those of the rule.

The rule:

* When both day fields are restricted (neither begins with `*`), a day matches
  if either field does; otherwise both must match.
* An expression is "fixed" if neither its minute nor its hour field begins with
  `*`. A local time in a gap then counts at the first instant after the gap
  (many such times are one), a repeated local time counts at its first
  occurrence only.
* Otherwise local times in a gap do not exist, and repeated ones count twice.

The random numbers are seeded: the same versions of cronsim and tzdata give the
same files.
"""

import random
import zoneinfo
from bisect import bisect_right
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

import tzdata
from cronsim import CronSim

zoneinfo.reset_tzpath(to=[])  # only the tzdata package, never the system's files

HERE = Path(__file__).resolve().parent
UTC = timezone.utc
SEED = 20050101
FIRST = datetime(2005, 1, 1, tzinfo=UTC)
LAST = datetime(2038, 1, 1, tzinfo=UTC)  # no time of any row is at or after this
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

# Zone, rows near a change of the UTC offset, rows at random instants.
ZONES = [
    ("UTC", 0, 600),
    ("Europe/Paris", 870, 400),
    ("Europe/London", 870, 400),
    ("America/New_York", 870, 400),
    ("America/Los_Angeles", 870, 400),
    ("America/Sao_Paulo", 870, 400),
    ("America/St_Johns", 870, 400),
    ("Australia/Lord_Howe", 1050, 400),
    ("Australia/Sydney", 870, 400),
    ("Asia/Tokyo", 0, 450),
    ("Asia/Kolkata", 0, 450),
    ("Asia/Kathmandu", 0, 450),
    ("Pacific/Apia", 870, 400),
    ("Pacific/Chatham", 870, 400),
    ("Africa/Casablanca", 870, 400),
    ("America/Havana", 870, 400),
    ("Asia/Tehran", 870, 400),
    ("Africa/Cairo", 700, 300),
    ("Antarctica/Troll", 870, 300),
    ("Europe/Dublin", 500, 200),
    ("America/Caracas", 250, 200),
]

# Spans in which releases of the time zone database between 2024a and 2026f do
# not agree. No row touches them, so that all rows hold with all these releases.
UNSETTLED = {
    "Africa/Casablanca": (datetime(2026, 9, 15, tzinfo=UTC), LAST),
    "America/Havana": (
        datetime(2026, 10, 25, tzinfo=UTC),
        datetime(2027, 3, 20, tzinfo=UTC),
    ),
}

MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
DOWS = "SUN MON TUE WED THU FRI SAT".split()
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
NAMES = [None, None, None, MONTHS, DOWS]


# ---------------------------------------------------------------- the oracle


class Expr:
    """A parsed expression. Shares no code with cronsim."""

    def __init__(self, text):
        self.text = text
        fields = text.split(" ")
        assert len(fields) == 5
        self.minutes, self.hours, self.doms, self.months, self.dows = [
            self.parse(f, *BOUNDS[i], NAMES[i]) for i, f in enumerate(fields)
        ]
        self.fixed = fields[0][0] != "*" and fields[1][0] != "*"
        self.either_day = fields[2][0] != "*" and fields[4][0] != "*"

    @staticmethod
    def parse(field, low, high, names):
        def number(s):
            n = names.index(s) + names_from if names and s in names else int(s)
            assert low <= n <= high
            return n

        names_from = low
        values = set()
        for item in field.split(","):
            span, _, step = item.partition("/")
            if span == "*":
                a, b = low, high
            elif "-" in span:
                a, b = map(number, span.split("-"))
                assert a <= b
            else:
                assert not step  # never `n/s`
                a = b = number(span)
            if step:
                assert 1 <= int(step) <= b - a
            values.update(range(a, b + 1, int(step or 1)))
        return values

    def matches_day(self, d):
        if d.month not in self.months:
            return False
        dom = d.day in self.doms
        dow = d.isoweekday() % 7 in self.dows
        return (dom or dow) if self.either_day else (dom and dow)


class Oracle:
    """The times of an expression in a zone, minute by minute."""

    def __init__(self, zone):
        self.tz = ZoneInfo(zone)
        # All changes of the UTC offset, to the minute: (instant, before, after).
        self.changes = []
        t = FIRST - 10 * DAY
        while t < LAST + 10 * DAY:
            before, after = self.offset(t), self.offset(t + HOUR)
            if before != after:
                while self.offset(t + MINUTE) == before:
                    t += MINUTE
                assert self.offset(t + MINUTE - timedelta(seconds=1)) == before
                self.changes.append((t + MINUTE, before, self.offset(t + MINUTE)))
                t += MINUTE
            else:
                t += HOUR
        self.instants = [c[0] for c in self.changes]
        offsets = [o for c in self.changes for o in c[1:]] or [self.offset(FIRST)]
        self.low, self.high = min(offsets), max(offsets)
        self.minutes_of_day = lru_cache(maxsize=300)(self.minutes_of_day)

    def offset(self, t):
        return t.astimezone(self.tz).utcoffset()

    def minutes_of_day(self, d):
        """Every UTC minute that is on the local date d, with its local time."""
        t = datetime(d.year, d.month, d.day, tzinfo=UTC) - self.high
        end = datetime(d.year, d.month, d.day, tzinfo=UTC) + DAY - self.low
        found = []
        while t < end:
            local = t.astimezone(self.tz)
            if local.date() == d:
                found.append((t, local.hour, local.minute))
            t += MINUTE
        return found

    def wildcard_times(self, expr, d):
        return [
            t
            for t, h, m in self.minutes_of_day(d)
            if h in expr.hours and m in expr.minutes
        ]

    def fixed_times(self, expr, d):
        return [
            self.fixed_time(datetime(d.year, d.month, d.day, h, m))
            for h in sorted(expr.hours)
            for m in sorted(expr.minutes)
        ]

    def fixed_time(self, local):
        first = local.replace(tzinfo=self.tz, fold=0).astimezone(UTC)
        second = local.replace(tzinfo=self.tz, fold=1).astimezone(UTC)
        if first <= second:  # an ordinary time (equal) or a repeated one
            assert first.astimezone(self.tz).replace(tzinfo=None) == local
            return first
        # In a gap: with the new offset it would be before the change, with the
        # old one at or after it.
        i = bisect_right(self.instants, first) - 1
        instant, before, after = self.changes[i]
        assert before < after and second < instant <= first
        return instant

    def next3(self, expr, after):
        """The three times strictly after `after`; None if there are not three
        before LAST."""
        times = set()
        day_times = self.fixed_times if expr.fixed else self.wildcard_times
        d = after.astimezone(self.tz).date() - 2 * DAY
        end = LAST.date()
        while d < end:
            if expr.matches_day(d):
                times.update(t for t in day_times(expr, d) if t > after)
            if len(times) >= 3:
                # Local dates are not quite in order (America/St_Johns), so go
                # on for two days more than needed.
                third = sorted(times)[2]
                end = min(end, third.astimezone(self.tz).date() + 3 * DAY)
            d += DAY
        times = sorted(times)[:3]
        return times if len(times) == 3 and times[2] < LAST else None


class Endless(Exception):
    pass


class BoundedCronSim(CronSim):
    """cronsim, stopped when it goes round in a loop."""

    rounds = 0

    def advance_month(self):
        self.rounds += 1
        if self.rounds > 20_000:
            raise Endless
        super().advance_month()


def cronsim_next3(zone, text, after):
    """cronsim's three times; fewer if it gets stuck."""
    times = BoundedCronSim(text, after.astimezone(ZoneInfo(zone)))
    found = []
    try:
        while len(found) < 3:
            found.append(next(times).astimezone(UTC))
    except Endless:
        pass
    return found


# ---------------------------------------------------------------- expressions


def pick(rng, *weighted):
    """pick(rng, (weight, value), ...)"""
    x = rng.random() * sum(w for w, _ in weighted)
    for w, value in weighted:
        x -= w
        if x < 0:
            return value
    return weighted[-1][1]


def step_for(rng, width):
    usual = [s for s in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 45) if s <= width]
    return rng.choice(usual) if rng.random() < 0.75 else rng.randint(1, width)


def number(rng, n, i):
    if NAMES[i] and rng.random() < 0.35:
        return NAMES[i][n - BOUNDS[i][0]]
    return str(n)


def span(rng, a, b, i):
    if NAMES[i] and rng.random() < 0.35:
        return f"{NAMES[i][a - BOUNDS[i][0]]}-{NAMES[i][b - BOUNDS[i][0]]}"
    return f"{a}-{b}"


def two(rng, values):
    return sorted(rng.sample(values, 2))


def item(rng, i, values, kind):
    """One item of field i; `values` are the numbers to prefer, in order."""
    low, high = BOUNDS[i]
    if kind == "n":
        return number(rng, rng.choice(values), i)
    if kind == "*":
        return "*"
    if kind == "*/s":
        return f"*/{step_for(rng, high - low)}"
    a, b = two(rng, values)
    if kind == "n-m":
        if rng.random() < 0.03:
            b = a
        return span(rng, a, b, i)
    assert kind == "n-m/s"
    return f"{span(rng, a, b, i)}/{step_for(rng, b - a)}"


def field(rng, i, kind, values=None):
    low, high = BOUNDS[i]
    if values is None or len(values) < 2:
        values = list(range(low, high + 1))
    if kind == "list":
        kinds = [
            pick(rng, (75, "n"), (15, "n-m"), (10, "n-m/s"))
            for _ in range(rng.randint(2, 4))
        ]
        if rng.random() < 0.12:
            kinds[rng.randrange(len(kinds))] = "*/s"
        return ",".join(item(rng, i, values, k) for k in kinds)
    return item(rng, i, values, kind)


def random_expr(rng):
    minute = field(rng, 0, pick(
        rng, (45, "n"), (12, "list"), (6, "n-m"), (9, "n-m/s"), (20, "*/s"), (8, "*")))
    hour = field(rng, 1, pick(
        rng, (35, "n"), (15, "list"), (10, "n-m"), (10, "n-m/s"), (12, "*/s"), (18, "*")))
    dom = field(rng, 2, pick(
        rng, (60, "*"), (14, "n"), (7, "list"), (6, "n-m"), (5, "n-m/s"), (8, "*/s")))
    month = field(rng, 3, pick(
        rng, (75, "*"), (7, "n"), (5, "list"), (5, "n-m"), (3, "n-m/s"), (5, "*/s")))
    dow = field(rng, 4, pick(
        rng, (60, "*"), (14, "n"), (7, "list"), (8, "n-m"), (4, "n-m/s"), (7, "*/s")))
    return " ".join([minute, hour, dom, month, dow])


def sparse_expr(rng):
    m = rng.choice(["0", "0", "30", str(rng.randrange(60)), "*/15", "0,30"])
    h = rng.choice(["0", "0", "2", str(rng.randrange(24)), "*", "*/6", "8-18/5"])
    feb = rng.choice(["2", "FEB"])
    month = field(rng, 3, "n")
    dow = field(rng, 4, "n")
    days = rng.choice([
        f"29 {feb} *",
        f"29 {feb} *",
        f"29 {feb} {dow}",
        f"29 {feb} */{rng.randint(1, 6)}",
        f"28-29 {feb} *",
        f"30 {feb} {dow}",
        "1 * *",
        "31 * *",
        "29-31/2 * *",
        f"{rng.randint(1, 31)} * *",
        f"1 {rng.choice(['1', 'JAN'])} *",
        f"31 12 {rng.choice(['*', '*/2', dow])}",
        "1 */3 *",
        "1,15 * *",
        "31 1-12/2 *",
        "30 4,6,9,11 *",
        f"13 * {rng.choice(['5', 'FRI'])}",
        f"1-7 * {dow}",
        f"*/7 * {dow}",
        f"1 * */{rng.randint(1, 6)}",
        f"{rng.randint(1, 28)} {month} {dow}",
        f"{rng.randint(1, 28)} {month} *",
        f"* {month} {dow}",
        f"*/{rng.randint(2, 30)} {month} {dow}",
    ])
    return f"{m} {h} {days}"


def near_expr(rng, change):
    """An expression with times near a change of the UTC offset."""
    instant, before, after = change
    old = (instant + before).replace(tzinfo=None)  # what the clocks would show
    new = (instant + after).replace(tzinfo=None)  # what they do show
    hours = sorted({(t + k * HOUR).hour for t in (old, new) for k in (-1, 0, 0, 1)})
    if abs(after - before) > 2 * HOUR:
        hours = list(range(24))
    minutes = sorted({
        0, 1, 15, 29, 30, 31, 45, 59, old.minute, new.minute, rng.randrange(60)})
    minute = field(rng, 0, pick(
        rng, (42, "n"), (12, "list"), (6, "n-m"), (10, "n-m/s"), (20, "*/s"), (10, "*")),
        minutes)
    hour = field(rng, 1, pick(
        rng, (42, "n"), (12, "list"), (10, "n-m"), (6, "n-m/s"), (10, "*/s"), (20, "*")),
        hours)
    d = rng.choice([old, new, old - MINUTE]).date()
    dom, month, dow = str(d.day), number(rng, d.month, 3), number(rng, d.isoweekday() % 7, 4)
    days = pick(
        rng,
        (55, "* * *"),
        (7, f"{dom} * *"),
        (10, f"* * {dow}"),
        (5, f"{dom} {month} *"),
        (4, f"* {month} {dow}"),
        (3, f"{dom} * {dow}"),
        (3, f"{field(rng, 2, 'n')} * {dow}"),
        (2, f"{dom} * {field(rng, 4, 'n')}"),
        (2, f"{field(rng, 2, 'n-m')} {month} {dow}"),
        (3, f"{field(rng, 2, '*/s')} * *"),
        (3, f"* * {field(rng, 4, '*/s')}"),
        (2, f"{dom} * {field(rng, 4, '*/s')}"),
        (1, f"{field(rng, 2, '*/s')} * {dow}"),
    )
    return f"{minute} {hour} {days}"


# ---------------------------------------------------------------- the rows


def near_instant(rng, change):
    instant, before, after = change
    size = min(abs(after - before), 3 * HOUR)
    minutes = int(size / MINUTE)
    kind = pick(rng, (38, "hours"), (27, "days"), (25, "around"), (10, "edge"))
    if kind == "hours":
        t = instant - rng.randint(0, 6 * 60) * MINUTE
    elif kind == "days":
        t = instant - rng.randint(6 * 60, 48 * 60) * MINUTE
    elif kind == "around":
        t = instant + rng.randint(-minutes, minutes + 30) * MINUTE
    else:
        t = rng.choice([instant, instant - size, instant + size])
        return t + rng.choice([-60, -1, 0, 0, 1, 60]) * timedelta(seconds=1)
    if rng.random() < 0.15:
        t -= rng.randint(1, 59) * timedelta(seconds=1)
    return t


def random_instant(rng, seconds):
    t = FIRST + rng.randrange(int((LAST - FIRST) / MINUTE)) * MINUTE
    return t + (rng.randint(1, 59) if rng.random() < seconds else 0) * timedelta(seconds=1)


def stamp(t):
    return t.strftime("%Y-%m-%dT%H:%M:%SZ")


def rows(zone, near, plain):
    """Rows of one zone: (text, after, expected, cronsim's, near a change?)."""
    rng = random.Random(f"{SEED} {zone}")
    oracle = Oracle(zone)
    changes = [c for c in oracle.changes if FIRST + 3 * DAY < c[0] < LAST - 3 * DAY]
    seen = set()
    for kind, count in (("near", near), ("plain", plain)):
        done = 0
        while done < count:
            if kind == "near":
                change = rng.choice(changes)
                after = near_instant(rng, change)
                text = near_expr(rng, change)
            else:
                after = random_instant(rng, 0.15)
                text = sparse_expr(rng) if rng.random() < 0.35 else random_expr(rng)
            expr = Expr(text)
            if (text, after) in seen:
                continue
            seen.add((text, after))
            expected = oracle.next3(expr, after)
            if expected is None:
                continue
            if zone in UNSETTLED:
                start, end = UNSETTLED[zone]
                if after - 3 * DAY < end and expected[2] >= start:
                    continue
            yield text, after, expected, cronsim_next3(zone, text, after), kind == "near"
            done += 1


DIFFERS = """\
# The rows on which cronsim does not follow the rule, in one of two ways.
# Fixed expressions: when `after` is in the second pass of a repeated hour, cronsim may answer with
# a time in the first pass, which is not after `after`.
# The others: cronsim steps by whole hours and starts a new day at local midnight; where the offset
# changes by part of an hour or off the full hour, or where midnight is in the gap, it skips times,
# repeats one, goes back, takes the first instant after the gap for midnight, or never ends (`never`).
"""


def main():
    tools = (
        f"# cronsim {version('cronsim')}, tzdata {version('tzdata')}"
        f" (time zone database {tzdata.IANA_VERSION}); written by generate.py\n"
    )
    columns = (
        "# columns, separated by tabs: zone, expression, after (UTC),"
        " the next three times (UTC, separated by spaces)"
    )
    same, other = [tools, columns + "\n"], [
        tools,
        DIFFERS,
        columns + ", what cronsim answers instead\n",
    ]
    counts = dict.fromkeys(["agree", "differ", "near", "within 800 days"], 0)
    for zone, near, plain in ZONES:
        for text, after, expected, theirs, is_near in sorted(
            rows(zone, near, plain), key=lambda r: (r[1], r[0])
        ):
            line = "\t".join([zone, text, stamp(after), " ".join(map(stamp, expected))])
            if expected == theirs:
                same.append(line + "\n")
                counts["agree"] += 1
                counts["near"] += is_near
            else:
                answer = [stamp(t) for t in theirs] + ["never"] * (len(theirs) < 3)
                other.append(line + "\t" + " ".join(answer) + "\n")
                counts["differ"] += 1
            counts["within 800 days"] += expected[2] - after <= 800 * DAY
    (HERE / "cronsim.tsv").write_text("".join(same), encoding="utf-8", newline="\n")
    (HERE / "cronsim-differs.tsv").write_text("".join(other), encoding="utf-8", newline="\n")
    print(counts)


if __name__ == "__main__":
    main()
