#!/usr/bin/env python3
"""A second, independent implementation of Kron's decision, and the golden vectors made with it.

    generate.py                   write golden-v1.json next to this file
    generate.py --reference DIR   also convert the public reference vectors in DIR (v*.json) to reference-v1.json
    generate.py --check           recompute every case of both files, write nothing

Needs Python 3.11 and the package `tzdata`; the time zones come from that package, never from the system.
The decision is written for reading, not for speed. Only valid schedules are parsed: there is no error handling.
"""

import argparse
import hashlib
import json
import math
import random
import re
import sys
import zoneinfo
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import tzdata

zoneinfo.reset_tzpath(to=[])  # no system database: the package's data is used

HERE = Path(__file__).resolve().parent
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NANOS = 1_000_000_000
MAX_ATTEMPTS = 4096
EPSILON = 2.0**-52


# --- Instants -------------------------------------------------------------------------------------------------------


def parse_instant(text):
    """RFC3339 UTC with whole seconds -> seconds since the epoch."""
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return (moment - EPOCH) // timedelta(seconds=1)


def format_nanos(nanos):
    """Nanoseconds since the epoch -> RFC3339 UTC; fractional digits only as needed."""
    seconds, fraction = divmod(nanos, NANOS)
    text = (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    if fraction:
        text += f".{fraction:09d}".rstrip("0")
    return text + "Z"


def format_seconds(seconds):
    return format_nanos(seconds * NANOS)


def local_time(seconds, zone):
    """The wall clock of `zone` at an instant. `fold` is 1 in the second pass of a repeated hour."""
    return (EPOCH + timedelta(seconds=seconds)).astimezone(zone)


# --- Reading a schedule line ----------------------------------------------------------------------------------------

UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS}
MONTHS = {name: i for i, name in enumerate("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(), 1)}
WEEKDAYS = {name: i for i, name in enumerate("SUN MON TUE WED THU FRI SAT".split())}


def split_outside_quotes(text, is_separator):
    """Split at separators that are not inside "..."; a backslash inside quotes protects the next character."""
    parts, part, quoted, escaped = [], "", False, False
    for char in text:
        if not quoted and is_separator(char):
            parts.append(part)
            part = ""
            continue
        part += char
        if escaped:
            escaped = False
        elif quoted and char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
    return parts + [part]


def unquote(text):
    """`"a \\" b \\\\ c"` -> `a " b \\ c`; text without quotes is taken as it is."""
    if text.startswith('"'):
        return re.sub(r'\\(["\\])', r"\1", text[1:-1])
    return text


def parse_duration(text):
    """Go's duration grammar, in nanoseconds."""
    if text == "0":
        return 0
    parts = re.findall(r"([0-9.]+)(ns|us|µs|ms|s|m|h)", text)
    assert "".join(number + unit for number, unit in parts) == text, text
    return sum(math.floor(Fraction(number) * UNITS[unit]) for number, unit in parts)


def parse_range_list(text, low, high, names):
    """`1-5,7,FRI-MON` -> set of numbers. A range whose end lies before its start wraps."""
    values = set()
    for item in text.split(","):
        first, _, last = item.partition("-")
        first = names[first] if first in names else int(first)
        last = first if not last else names[last] if last in names else int(last)
        value = first
        values.add(value)
        while value != last:
            value = low if value == high else value + 1
            values.add(value)
    return values


def parse_clock(text):
    """`hh:mm` -> minute of the day."""
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


def parse_clause(text):
    """One constraint clause -> (kind, value). `date` and `dates` are one kind."""
    key, _, value = text.partition("=")
    if key == "hours":
        return key, parse_range_list(value, 0, 23, {})
    if key == "dow":
        return key, parse_range_list(value, 0, 6, WEEKDAYS)
    if key == "dom":
        return key, parse_range_list(value, 1, 31, {})
    if key == "months":
        return key, parse_range_list(value, 1, 12, MONTHS)
    if key == "between":
        start, end = value.split("-")
        return key, (parse_clock(start), parse_clock(end))
    if key == "date":
        return "dates", (date.fromisoformat(value), date.fromisoformat(value))
    assert key == "dates", text
    start, end = value.split("..")
    return key, (date.fromisoformat(start), date.fromisoformat(end))


@dataclass
class Schedule:
    cron: list
    zone: str = "UTC"
    mode: str = "after"
    window: int = 0  # nanoseconds
    distribution: str = "uniform"
    parameters: dict = field(default_factory=dict)
    strategy: str = "stable"
    salt: str = ""
    only: list = field(default_factory=list)
    avoid: list = field(default_factory=list)


def parse_schedule(line):
    """Five cron fields, then modifiers in any order."""
    tokens = [token for token in split_outside_quotes(line, str.isspace) if token]
    schedule = Schedule(cron=tokens[:5])
    for token in tokens[5:]:
        name, body = re.fullmatch(r"@([a-z]+)\((.*)\)", token).groups()
        if name in ("only", "avoid"):
            clauses = [parse_clause(clause) for clause in body.split(";")]
            setattr(schedule, name, clauses)
            continue
        head, *pairs = split_outside_quotes(body, lambda char: char == ",")
        pairs = dict(pair.split("=", 1) for pair in pairs) if name in ("dist", "seed") else pairs
        if name == "tz":
            schedule.zone = head
        elif name == "win":
            schedule.mode, schedule.window = head, parse_duration(pairs[0])
        elif name == "dist":
            schedule.distribution, schedule.parameters = head, pairs
        elif name == "seed":
            schedule.strategy, schedule.salt = head, unquote(pairs.get("salt", ""))
        else:
            assert name == "policy", token  # does not take part in the decision
    return schedule


# --- Cron: is this instant a nominal time? --------------------------------------------------------------------------


def parse_cron_field(text, low, high, names):
    """Lists, ranges and steps; ranges do not wrap."""
    values = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        else:
            first, _, last = span.partition("-")
            first = names[first.upper()] if first.upper() in names else int(first)
            last = first if not last else names[last.upper()] if last.upper() in names else int(last)
        values.update(range(first, last + 1, int(step or 1)))
    return values


def cron_matches_wall(cron, wall):
    """Do the five fields match this wall-clock minute? Both day fields restricted: either one is enough;
    a day field whose text begins with `*` is not restricted, and then both must match."""
    minute, hour, dom, month, dow = cron
    if wall.minute not in parse_cron_field(minute, 0, 59, {}) or wall.hour not in parse_cron_field(hour, 0, 23, {}):
        return False
    if wall.month not in parse_cron_field(month, 1, 12, MONTHS):
        return False
    dom_holds = wall.day in parse_cron_field(dom, 1, 31, {})
    dow_holds = wall.isoweekday() % 7 in parse_cron_field(dow, 0, 6, WEEKDAYS)
    if dom.startswith("*") or dow.startswith("*"):
        return dom_holds and dow_holds
    return dom_holds or dow_holds


def is_nominal(cron, zone, seconds):
    """Fixed times (neither minute nor hour begins with `*`): the first of two passes only, and a time in a gap
    is moved to the first instant after the gap. Wildcard times: exactly what the wall clock shows."""
    wall = local_time(seconds, zone)
    if cron[0].startswith("*") or cron[1].startswith("*"):
        return cron_matches_wall(cron, wall)
    if wall.fold == 0 and cron_matches_wall(cron, wall):
        return True
    before = local_time(seconds - 60, zone).replace(tzinfo=None) + timedelta(minutes=1)
    skipped = wall.replace(tzinfo=None) - before  # positive if a gap ends here
    minutes = range(max(0, skipped // timedelta(minutes=1)))
    return any(cron_matches_wall(cron, before + timedelta(minutes=i)) for i in minutes)


# --- Window, period key, seed ---------------------------------------------------------------------------------------


def window_bounds(schedule, nominal):
    """Inclusive bounds in nanoseconds. Half of a window is rounded down to whole nanoseconds."""
    if schedule.mode == "after":
        return nominal * NANOS, nominal * NANOS + schedule.window
    half = schedule.window // 2
    return nominal * NANOS - half, nominal * NANOS + half


def period_key(schedule, nominal):
    """stable: the period id. daily, weekly: the date or ISO week of the nominal time in the schedule's zone."""
    wall = local_time(nominal, zoneinfo.ZoneInfo(schedule.zone))
    if schedule.strategy == "stable":
        return format_seconds(nominal)
    if schedule.strategy == "daily":
        return wall.strftime("%Y-%m-%d")
    iso = wall.isocalendar()
    return f"{iso.year:04d}-W{iso.week:02d}"


def seed_hash(identity, key, salt):
    return hashlib.sha256(f"{identity}\n{key}\n{salt}".encode()).hexdigest()


def split_mix_64(state):
    """The outputs of SplitMix64."""
    mask = (1 << 64) - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def draws(hash_hex):
    """Endless draws in [0,1): the generator starts from the first 8 bytes of the hash, big-endian."""
    for value in split_mix_64(int(hash_hex[:16], 16)):
        yield (value >> 11) / 2.0**53


# --- Distributions --------------------------------------------------------------------------------------------------
#
# Each maps a draw to (position, slack): the position in [0,n) seconds from the first whole second of the window,
# and how far another faithful implementation may be off, by rounding and by the last bits of its math functions.


def uniform(u, n):
    return u * n, 0.0


def skew_early(u, n, shape):
    position = math.pow(u, shape) * n
    return position, 4 * EPSILON * position


def skew_late(u, n, shape):
    return (1.0 - math.pow(1.0 - u, shape)) * n, 4 * EPSILON * n


def exponential(u, n, rate, direction):
    """Truncated to the window; `late` is the mirror image of `early`."""
    early = -math.log1p(u * math.expm1(-rate)) / rate
    x = early if direction == "early" else 1.0 - early
    argument = 1.0 + u * math.expm1(-rate)  # what the logarithm is taken of
    slack = 4 * EPSILON * n * (1.0 + 1.0 / (rate * argument))
    return x * n, slack


def normal_cdf(z):
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def normal(u, n, mean, sigma):
    """Truncated to [0,n) by the inverse CDF (Wichura's AS241)."""
    low, high = normal_cdf((0 - mean) / sigma), normal_cdf((n - mean) / sigma)
    p = low + u * (high - low)
    if p <= 0.0:
        return 0.0, 0.0
    if p >= 1.0:
        return float(n), 0.0
    z = NormalDist().inv_cdf(p)
    slope = sigma * math.sqrt(2 * math.pi) * math.exp(z * z / 2)
    return mean + sigma * z, 4 * EPSILON * (slope + mean + sigma * abs(z))


def normal_mean(schedule, first, n, nominal):
    """Anchors sit on the middle of their second. Default: nominal for around, mid for after."""
    anchor = schedule.parameters.get("mu", "nominal" if schedule.mode == "around" else "mid")
    return {"start": 0.5, "mid": n / 2, "end": n - 0.5, "nominal": (nominal - first) + 0.5}[anchor]


def normal_sigma(schedule):
    """In seconds. Default: a sixth of the window, in whole nanoseconds."""
    given = schedule.parameters.get("sigma")
    return (parse_duration(given) if given else schedule.window // 6) / NANOS


def position_of(schedule, first, n, nominal):
    """The distribution of a schedule as a function of one draw."""
    parameters = schedule.parameters
    if schedule.distribution == "uniform":
        return lambda u: uniform(u, n)
    if schedule.distribution == "skewEarly":
        return lambda u: skew_early(u, n, float(parameters.get("shape", 2)))
    if schedule.distribution == "skewLate":
        return lambda u: skew_late(u, n, float(parameters.get("shape", 2)))
    if schedule.distribution == "exponential":
        return lambda u: exponential(u, n, float(parameters.get("lambda", 1)), parameters.get("dir", "early"))
    assert schedule.distribution == "normal"
    mean, sigma = normal_mean(schedule, first, n, nominal), normal_sigma(schedule)
    return lambda u: normal(u, n, mean, sigma)


def is_fragile(position, slack, n):
    """Could another faithful implementation see another second here? Below 0 and from n on everything is
    clamped to the first and last second, so only the boundaries between them count."""
    boundary = round(position)
    return slack > 0 and 1 <= boundary <= n - 1 and abs(position - boundary) < max(1e-7, 4 * slack)


# --- Constraints ----------------------------------------------------------------------------------------------------


def clause_holds(clause, wall):
    """Both ends of `between` are included, the last up to its second 59; it wraps if its end lies before its start."""
    kind, value = clause
    if kind == "hours":
        return wall.hour in value
    if kind == "dow":
        return wall.isoweekday() % 7 in value
    if kind == "dom":
        return wall.day in value
    if kind == "months":
        return wall.month in value
    start, end = value
    if kind == "dates":
        return start <= wall.date() <= end
    minute = wall.hour * 60 + wall.minute
    return start <= minute <= end if start <= end else minute >= start or minute <= end


def is_allowed(schedule, seconds):
    """only: every kind that is named must hold, clauses of one kind are a union. avoid: no clause may hold."""
    if not schedule.only and not schedule.avoid:
        return True
    wall = local_time(seconds, zoneinfo.ZoneInfo(schedule.zone))
    for kind in {kind for kind, _ in schedule.only}:
        if not any(clause_holds(clause, wall) for clause in schedule.only if clause[0] == kind):
            return False
    return not any(clause_holds(clause, wall) for clause in schedule.avoid)


def any_second_allowed(schedule, first, last):
    """Constraints look at nothing finer than a minute, and offsets from UTC are whole minutes, so one second of
    each minute is enough."""
    offset = local_time(first, zoneinfo.ZoneInfo(schedule.zone)).utcoffset()
    assert offset % timedelta(minutes=1) == timedelta(0)
    probes = [first, *range(first - first % 60 + 60, last + 1, 60)]
    return any(is_allowed(schedule, probe) for probe in probes)


# --- The decision ---------------------------------------------------------------------------------------------------


def choose(schedule, nominal, hash_hex):
    """(chosen second or None, attempts, whether any draw was fragile)."""
    start, end = window_bounds(schedule, nominal)
    first, last = -(-start // NANOS), end // NANOS  # whole seconds: ceiling and floor
    n = last - first + 1
    if n == 1:  # nothing to draw, but constraints still apply
        return (first if is_allowed(schedule, first) else None), 0, False
    position_at = position_of(schedule, first, n, nominal)
    stream, fragile = draws(hash_hex), False
    for attempt in range(1, MAX_ATTEMPTS + 1):
        position, slack = position_at(next(stream))
        fragile = fragile or is_fragile(position, slack, n)
        candidate = first + max(0, min(n - 1, math.floor(position)))
        if is_allowed(schedule, candidate):
            return candidate, attempt, fragile
    # An impossible window is found before anything is drawn; looking for it last gives the same answer.
    if not any_second_allowed(schedule, first, last):
        return None, 0, False
    return None, MAX_ATTEMPTS, fragile


def decide(identity, line, nominal_text):
    """The expected decision, and whether it hinges on the last bits of a math function."""
    schedule, nominal = parse_schedule(line), parse_instant(nominal_text)
    start, end = window_bounds(schedule, nominal)
    key = period_key(schedule, nominal)
    hash_hex = seed_hash(identity, key, schedule.salt)
    chosen, attempts, fragile = choose(schedule, nominal, hash_hex)
    expect = {
        "periodId": format_seconds(nominal),
        "windowStart": format_nanos(start),
        "windowEnd": format_nanos(end),
        "chosenTime": None if chosen is None else format_seconds(chosen),
        "periodKey": key,
        "seedHash": hash_hex,
        "attempts": attempts,
        "unschedulable": chosen is None,
    }
    return expect, fragile


# --- Building cases -------------------------------------------------------------------------------------------------


def daily_cron(nominal, zone):
    """Minute and hour of the nominal time in the zone, every day."""
    wall = local_time(parse_instant(nominal), zoneinfo.ZoneInfo(zone))
    return f"{wall.minute} {wall.hour} * * *"


def assert_valid(line, nominal):
    """What a valid job must satisfy: the nominal time matches, D <= 366 days, at most 1024 windows open at once."""
    schedule = parse_schedule(line)
    assert is_nominal(schedule.cron, zoneinfo.ZoneInfo(schedule.zone), parse_instant(nominal)), (line, nominal)
    assert schedule.window <= 366 * 86400 * NANOS, line
    minutes = parse_cron_field(schedule.cron[0], 0, 59, {})
    hours = parse_cron_field(schedule.cron[1], 0, 23, {})
    per_day = len(minutes) * len(hours)
    closest = 86400 if per_day == 1 else 3600 if len(minutes) == 1 else 60
    days = math.ceil(schedule.window / (86400 * NANOS)) + 1
    assert min(per_day * days, schedule.window / NANOS / closest + 2) <= 1000, line


def slug(text):
    """Kebab-case of a piece of syntax."""
    return re.sub(r"[^a-z0-9]+", "-", text.replace("µs", "-micros").replace("skew", "skew-").lower()).strip("-")


class Book:
    """Collects cases; names are unique and no case is fragile."""

    def __init__(self):
        self.cases = []
        self.names = set()
        self.dropped = 0

    def keep(self, name, identity, line, nominal, expect):
        assert name not in self.names and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name
        assert_valid(line, nominal)
        self.names.add(name)
        case = {"name": name, "identity": identity, "schedule": line, "nominal": nominal, "expect": expect}
        self.cases.append(case)

    def add(self, name, nominal, modifiers="", zone="UTC", cron=None, identity=None, wanted=None):
        """Add one case. With `wanted`, identities are tried in turn until the decision is what the case is about;
        a fragile decision moves on to the next identity too."""
        line = cron or daily_cron(nominal, zone)
        if zone != "UTC":
            line += f" @tz({zone})"
        if modifiers:
            line += f" {modifiers}"
        assert_valid(line, nominal)
        for attempt in range(20_000):
            who = identity or "golden/" + name
            if attempt:
                who += f"-{attempt}"
            expect, fragile = decide(who, line, nominal)
            if fragile:
                self.dropped += 1
            elif wanted is None or wanted(expect):
                return self.keep(name, who, line, nominal, expect)
        raise AssertionError(f"no identity found for {name}")


def chosen_is(text):
    return lambda expect: expect["chosenTime"] == text


def chosen_between(start, end):
    return lambda expect: expect["chosenTime"] is not None and start <= expect["chosenTime"] <= end


def attempts_is(count):
    return lambda expect: expect["attempts"] == count and not expect["unschedulable"]


def impossible(expect):
    return expect["unschedulable"] and expect["attempts"] == 0


def exhausted(expect):
    return expect["unschedulable"] and expect["attempts"] == MAX_ATTEMPTS


def not_chosen(expect):
    return expect["unschedulable"]


# --- Cases, by subject ----------------------------------------------------------------------------------------------


def add_windows(book):
    """Every odd length of window in both modes, uniformly."""
    durations = """0s 1ns 500ms 999ms 1s 1.000000001s 1.999999999s 2s 2.000000001s 3s 90.5s 1h1m1s
        1h0m0.000000001s 8784h""".split()
    for duration in durations:
        for mode in ("after", "around"):
            book.add(f"window-{mode}-{slug(duration)}", "2026-03-05T12:00:00Z", f"@win({mode},{duration})")
    for duration in ("0", "7µs", "250us", "1.5h", "90m", "1h30m", "167h59m59.5s"):
        book.add(f"window-spelled-{slug(duration)}", "2026-03-05T12:00:00Z", f"@win(after,{duration})")
    book.add("window-default", "2026-03-05T12:00:00Z")
    book.add("window-around-1h1m1s-first-second", "2026-03-05T12:00:00Z", "@win(around,1h1m1s)",
             wanted=chosen_is("2026-03-05T11:29:30Z"))
    book.add("window-around-1h1m1s-last-second", "2026-03-05T12:00:00Z", "@win(around,1h1m1s)",
             wanted=chosen_is("2026-03-05T12:30:30Z"))
    book.add("window-after-2s-first-second", "2026-03-05T12:00:00Z", "@win(after,2s)",
             wanted=chosen_is("2026-03-05T12:00:00Z"))
    book.add("window-after-2s-last-second", "2026-03-05T12:00:00Z", "@win(after,2s)",
             wanted=chosen_is("2026-03-05T12:00:02Z"))
    book.add("window-after-1s-last-second", "2026-03-05T12:00:00Z", "@win(after,1s)",
             wanted=chosen_is("2026-03-05T12:00:01Z"))
    book.add("window-around-2s-first-second", "2026-03-05T12:00:00Z", "@win(around,2s)",
             wanted=chosen_is("2026-03-05T11:59:59Z"))


def add_distributions(book):
    """All distributions, default and extreme parameters, alternating the mode."""
    nominal = "2026-04-10T10:00:00Z"
    windows = ["@win(after,2h)", "@win(around,90m)"]
    book.add("uniform-explicit", nominal, "@win(after,2h) @dist(uniform)")
    turn = 0
    for name in ("skewEarly", "skewLate"):
        for shape in ("", "0.001", "0.5", "1", "1.5", "2.0", "3", "100", "1000"):
            turn += 1
            parameter = f",shape={shape}" if shape else ""
            label = f"{slug(name)}-shape-{slug(shape) or 'default'}"
            book.add(label, nominal, f"{windows[turn % 2]} @dist({name}{parameter})")
        for shape in ("0.001", "1.7", "1000"):
            label = f"{slug(name)}-shape-{slug(shape)}-366-days"
            book.add(label, nominal, f"@win(after,8784h) @dist({name},shape={shape})")
    for rate in ("", "0.001", "0.5", "1.2", "50", "1000"):
        for direction in ("early", "late") if rate else ("", "early", "late"):
            turn += 1
            parameters = (f",lambda={rate}" if rate else "") + (f",dir={direction}" if direction else "")
            label = f"exponential-lambda-{slug(rate) or 'default'}-dir-{direction or 'default'}"
            book.add(label, nominal, f"{windows[turn // 2 % 2]} @dist(exponential{parameters})")
    for rate, direction in (("0.001", "early"), ("0.8", "late"), ("1000", "late"), ("1000", "early")):
        label = f"exponential-lambda-{slug(rate)}-dir-{direction}-366-days"
        book.add(label, nominal, f"@win(around,8784h) @dist(exponential,dir={direction},lambda={rate})")
    for mode, duration in (("after", "2h"), ("around", "90m")):
        for anchor in ("", "start", "mid", "end", "nominal"):
            for sigma in ("", "1ms", "1.5s", "20m", "8784h"):
                turn += 1
                if sigma and turn % 2:  # every anchor with the default, half of the rest
                    continue
                parameters = (f",mu={anchor}" if anchor else "") + (f",sigma={sigma}" if sigma else "")
                label = f"normal-{mode}-mu-{anchor or 'default'}-sigma-{slug(sigma) or 'default'}"
                book.add(label, nominal, f"@win({mode},{duration}) @dist(normal{parameters})")
    for mode in ("after", "around"):
        for duration in ("0s", "5ns", "1s", "2s", "90.5s", "8784h"):
            book.add(f"normal-{mode}-default-window-{slug(duration)}", nominal, f"@win({mode},{duration}) @dist(normal)")
    book.add("normal-sigma-before-mu", nominal, "@win(around,2h) @dist(normal,sigma=17m30s,mu=end)")
    book.add("normal-mu-mid-even-count-sigma-1ms", nominal, "@win(after,1h0m1s) @dist(normal,mu=mid,sigma=1ms)")
    for mode, duration in (("after", "1s"), ("around", "2s")):
        for dist in ("skewEarly,shape=1000", "skewLate,shape=1000", "exponential,lambda=1000,dir=late"):
            book.add(f"tiny-window-{mode}-{slug(duration)}-{slug(dist)}", nominal, f"@win({mode},{duration}) @dist({dist})")


def add_seeds(book):
    """Strategies, the keys around day and week boundaries in several zones."""
    boundaries = [
        ("tokyo", "Asia/Tokyo", "2026-05-03T14:59:00Z", "2026-05-03T15:00:00Z"),
        ("los-angeles-winter", "America/Los_Angeles", "2026-01-05T07:59:00Z", "2026-01-05T08:00:00Z"),
        ("kathmandu", "Asia/Kathmandu", "2026-06-07T18:14:00Z", "2026-06-07T18:15:00Z"),
        ("chatham", "Pacific/Chatham", "2026-01-04T10:14:00Z", "2026-01-04T10:15:00Z"),
    ]
    for label, zone, before, after in boundaries:
        for strategy in ("daily", "weekly"):
            book.add(f"seed-{strategy}-{label}-before-midnight", before, f"@win(after,1h) @seed({strategy})", zone)
            book.add(f"seed-{strategy}-{label}-at-midnight", after, f"@win(after,1h) @seed({strategy})", zone)
    weeks = {
        "2027-01-01-is-2026-w53": "2027-01-01T09:00:00Z",
        "2027-01-03-is-2026-w53": "2027-01-03T23:59:00Z",
        "2027-01-04-is-2027-w01": "2027-01-04T00:00:00Z",
        "2024-12-30-is-2025-w01": "2024-12-30T00:00:00Z",
        "2024-12-29-is-2024-w52": "2024-12-29T23:59:00Z",
        "2021-01-03-is-2020-w53": "2021-01-03T12:00:00Z",
        "2023-01-01-is-2022-w52": "2023-01-01T00:00:00Z",
    }
    for label, nominal in weeks.items():
        year, week = label.split("-is-")[1].upper().split("-")
        book.add(f"seed-weekly-{label}", nominal, "@win(around,3h) @seed(weekly)",
                 wanted=lambda expect, key=f"{year}-{week}": expect["periodKey"] == key)
    book.add("seed-weekly-tokyo-new-year", "2026-12-31T15:00:00Z", "@win(after,1h) @seed(weekly)", "Asia/Tokyo")
    book.add("seed-daily-tokyo-new-year", "2026-12-31T15:00:00Z", "@win(after,1h) @seed(daily)", "Asia/Tokyo")
    book.add("seed-stable-explicit", "2026-06-01T10:00:00Z", "@win(after,1h) @seed(stable)")
    for hour in ("06", "18"):
        book.add(f"seed-daily-same-key-{hour}h", f"2026-06-01T{hour}:00:00Z", "@win(after,1h) @seed(daily)",
                 cron="0 6,18 * * *", identity="seed/twice-a-day")
    for day in ("01", "04"):
        book.add(f"seed-weekly-same-key-june-{day}", f"2026-06-{day}T06:00:00Z", "@win(after,1h) @seed(weekly)",
                 cron="0 6 * * MON,THU", identity="seed/twice-a-week")
    for strategy in ("stable", "daily", "weekly"):
        book.add(f"seed-{strategy}-kiritimati", "2026-06-06T10:00:00Z", f"@win(after,1h) @seed({strategy})",
                 "Pacific/Kiritimati", identity="seed/kiritimati")


def add_salts_and_identities(book):
    """Every way to write a salt, and identities that need care."""
    nominal, identity = "2026-08-09T10:00:00Z", "salt/job"
    salts = {
        "absent": "@seed(stable)",
        "empty-quoted": '@seed(stable,salt="")',
        "bare": "@seed(stable,salt=prod)",
        "quoted": '@seed(stable,salt="prod")',
        "bare-punctuation": "@seed(stable,salt=team-a_1.2/x:y)",
        "unicode": "@seed(stable,salt=caf\u00e9-\u6771\u4eac)",
        "unicode-decomposed": '@seed(stable,salt="cafe\u0301")',
        "unicode-composed": '@seed(stable,salt="caf\u00e9")',
        "emoji": '@seed(daily,salt="\U0001f552 o\'clock")',
        "spaces": '@seed(stable,salt="two  words")',
        "only-a-space": '@seed(stable,salt=" ")',
        "escaped-quote": r'@seed(stable,salt="say \"hi\"")',
        "escaped-backslash": r'@seed(stable,salt="a\\b")',
        "ends-in-backslash": r'@seed(stable,salt="a\\")',
        "backslash-then-quote": r'@seed(stable,salt="\\\"")',
        "comma": '@seed(stable,salt="a,b")',
        "parentheses": '@seed(stable,salt="(a)b)")',
        "semicolon": '@seed(weekly,salt="a;b")',
        "equals": '@seed(stable,salt="salt=x")',
        "at-sign-modifier": '@seed(stable,salt="x) @win(after,9h")',
        "hash-sign": '@seed(stable,salt="# no comment")',
    }
    for label, seed in salts.items():
        book.add(f"salt-{label}", nominal, f"@win(after,1h) {seed}", identity=identity)
    book.add("salt-before-other-modifiers", nominal, '@seed(daily,salt="a ; b") @dist(skewLate) @win(around,1h)')
    identities = {
        "plain": "backup",
        "namespaced": "prod/db-backup",
        "path-and-name": "/srv/jobs/nightly.kron:db/backup",
        "unicode": "\u00fcber/\u0441\u043f\u0443\u0442\u043d\u0438\u043a/\u6771\u4eac",
        "emoji": "ops/\U0001f680-launch",
        "spaces": "/srv/my jobs/a b.kron:c d",
        "colons": "a:b:c",
        "slashes": "a//b/",
        "upper-case": "Prod/DB-Backup",
        "one-letter": "x",
        "long": "n" * 300,
        "decomposed": "cafe\u0301",
        "composed": "caf\u00e9",
    }
    for label, identity in identities.items():
        book.add(f"identity-{label}", nominal, "@win(after,1h)", identity=identity)
    book.add("identity-and-salt-are-separate", nominal, "@win(after,1h) @seed(stable,salt=bc)", identity="a")
    book.add("identity-and-salt-swapped", nominal, "@win(after,1h) @seed(stable,salt=a)", identity="bc")


def add_constraints(book):
    """Each clause form in only and avoid, unions, intersections, wrapping, boundaries."""
    nominal = "2026-02-27T17:00:00Z"  # a Friday
    clauses = {
        "hours-range": "hours=19-21",
        "hours-list": "hours=18,20-22,3",
        "hours-wrapping": "hours=22-6",
        "dow-names": "dow=MON-FRI",
        "dow-names-wrapping": "dow=FRI-MON",
        "dow-numbers-wrapping": "dow=6-0",
        "dow-list": "dow=SUN,2,THU-FRI",
        "dom-list": "dom=1-5,28",
        "dom-single": "dom=27",
        "months-name": "months=MAR",
        "months-names-wrapping": "months=NOV-FEB",
        "months-numbers-wrapping": "months=11-2",
        "months-list": "months=1,3-4,DEC",
        "between": "between=19:30-20:15",
        "between-wrapping": "between=22:00-06:00",
        "between-all-but-a-minute": "between=17:01-16:59",
        "date": "date=2026-03-01",
        "dates": "dates=2026-02-28..2026-03-01",
    }
    for label, clause in clauses.items():
        for modifier in ("only", "avoid"):
            book.add(f"{modifier}-{label}", nominal, f"@win(after,120h) @{modifier}({clause})",
                     wanted=lambda expect: expect["attempts"] > 1)
    combined = {
        "only-kinds-intersect": "@only(dow=SAT-SUN;hours=8-18)",
        "only-three-kinds": "@only(months=FEB;dow=SAT;between=08:00-20:00)",
        "only-hours-clauses-unite": "@only(hours=3;hours=20)",
        "only-between-clauses-unite": "@only(between=20:00-20:30;between=06:00-06:30)",
        "only-date-and-dates-unite": "@only(date=2026-02-27;dates=2026-03-01..2026-03-02)",
        "only-two-dates-and-hours": "@only(date=2026-02-28;date=2026-03-01;hours=5-6)",
        "only-hours-and-between-intersect": "@only(hours=20;between=20:45-21:30)",
        "avoid-any-clause": "@avoid(dow=SAT;hours=17-23)",
        "avoid-all-kinds": "@avoid(hours=0-6;dow=SUN;dom=2;months=APR;between=12:00-14:30;date=2026-03-05;dates=2026-02-28..2026-02-28)",
        "only-and-avoid": "@only(dow=FRI-SAT) @avoid(between=18:00-09:59)",
        "avoid-before-only": "@avoid(hours=20) @only(hours=19-21)",
        "only-weekday-night-wraps-both": "@only(dow=SAT-MON;hours=23-1)",
    }
    for label, modifiers in combined.items():
        book.add(f"combined-{label}", nominal, f"@win(after,72h) {modifiers}")
    # The dow and dom clauses look at the candidate's own local day, not the day of the nominal time.
    book.add("only-dow-of-candidate-tokyo", "2026-02-27T10:00:00Z", "@win(after,12h) @only(dow=SAT)", "Asia/Tokyo")
    book.add("only-dom-of-candidate-kathmandu", "2026-02-27T10:00:00Z", "@win(after,24h) @only(dom=28)", "Asia/Kathmandu")
    book.add("only-hours-quarter-hour-zone", "2026-02-27T10:00:00Z", "@win(after,6h) @only(hours=17)", "Asia/Kathmandu")
    for mode in ("after", "around"):
        for dist in ("skewEarly", "skewLate,shape=3", "exponential,lambda=4,dir=late", "normal", "uniform"):
            book.add(f"constrained-{mode}-{slug(dist)}", "2026-02-27T12:00:00Z",
                     f"@win({mode},8h) @dist({dist}) @only(hours=9-10,15,18) @avoid(between=15:10-15:20)")


def add_constraint_boundaries(book):
    """The very first and last seconds that a clause covers, and windows with nothing to draw."""
    def edge(name, nominal, modifiers, second):
        book.add("boundary-" + name, nominal, modifiers, wanted=chosen_is(second))

    edge("only-between-last-second", "2026-05-06T19:59:00Z", "@win(after,4m) @only(between=08:00-20:00)", "2026-05-06T20:00:59Z")
    edge("only-between-first-second", "2026-05-06T07:59:00Z", "@win(after,4m) @only(between=08:00-20:00)", "2026-05-06T08:00:00Z")
    edge("avoid-between-second-after", "2026-05-06T19:59:00Z", "@win(after,4m) @avoid(between=08:00-20:00)", "2026-05-06T20:01:00Z")
    edge("avoid-between-second-before", "2026-05-06T07:58:00Z", "@win(after,4m) @avoid(between=08:00-20:00)", "2026-05-06T07:59:59Z")
    edge("only-between-wrapping-last-second", "2026-05-06T05:59:00Z", "@win(after,4m) @only(between=22:00-06:00)", "2026-05-06T06:00:59Z")
    edge("only-between-wrapping-first-second", "2026-05-06T21:59:00Z", "@win(after,4m) @only(between=22:00-06:00)", "2026-05-06T22:00:00Z")
    edge("only-between-to-midnight", "2026-05-06T23:58:00Z", "@win(after,4m) @only(between=22:00-23:59)", "2026-05-06T23:59:59Z")
    edge("only-between-from-midnight", "2026-05-06T23:58:00Z", "@win(after,4m) @only(between=00:00-00:00)", "2026-05-07T00:00:00Z")
    edge("only-hours-last-second", "2026-05-06T18:58:00Z", "@win(after,4m) @only(hours=8-18)", "2026-05-06T18:59:59Z")
    edge("avoid-hours-second-after", "2026-05-06T18:58:00Z", "@win(after,4m) @avoid(hours=8-18)", "2026-05-06T19:00:00Z")
    edge("only-date-last-second", "2026-05-06T23:58:00Z", "@win(after,4m) @only(date=2026-05-06)", "2026-05-06T23:59:59Z")
    edge("only-dates-first-second", "2026-05-06T23:58:00Z", "@win(after,4m) @only(dates=2026-05-07..2026-05-09)", "2026-05-07T00:00:00Z")
    edge("only-months-last-second", "2026-05-31T23:58:00Z", "@win(after,4m) @only(months=MAY)", "2026-05-31T23:59:59Z")
    edge("only-dow-first-second", "2026-05-09T23:58:00Z", "@win(after,4m) @only(dow=SUN)", "2026-05-10T00:00:00Z")
    single = {
        "only-between-end-minute": ("2026-05-06T20:00:00Z", "@only(between=08:00-20:00)", False),
        "only-between-minute-after": ("2026-05-06T20:01:00Z", "@only(between=08:00-20:00)", True),
        "only-between-one-minute": ("2026-05-06T20:00:00Z", "@only(between=20:00-20:00)", False),
        "avoid-between-start-minute": ("2026-05-06T08:00:00Z", "@avoid(between=08:00-20:00)", True),
        "avoid-between-minute-before": ("2026-05-06T07:59:00Z", "@avoid(between=08:00-20:00)", False),
        "only-hours-last-minute": ("2026-05-06T18:59:00Z", "@only(hours=8-18)", False),
        "only-hours-next-hour": ("2026-05-06T19:00:00Z", "@only(hours=8-18)", True),
        "only-dow-sunday-is-0": ("2026-05-10T12:00:00Z", "@only(dow=0)", False),
        "avoid-dow-saturday-is-6": ("2026-05-09T12:00:00Z", "@avoid(dow=6)", True),
        "only-month-12": ("2026-12-31T23:59:00Z", "@only(months=12)", False),
        "avoid-dom-31": ("2026-12-31T23:59:00Z", "@avoid(dom=31)", True),
    }
    for label, (nominal, modifiers, refused) in single.items():
        book.add(f"single-second-{label}", nominal, modifiers, wanted=lambda e, refused=refused: e["unschedulable"] == refused)
    for mode, duration in (("after", "999ms"), ("around", "1s"), ("around", "1.999999999s")):
        book.add(f"single-second-{mode}-{slug(duration)}-refused", "2026-05-06T20:00:00Z",
                 f"@win({mode},{duration}) @avoid(hours=20)", wanted=not_chosen)


def add_daylight_saving(book):
    """Days on which clocks change: constraints follow the wall clock, windows are elapsed time."""
    changes = {  # the instants at which clocks go forward and back
        "paris": ("Europe/Paris", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"),
        "new-york": ("America/New_York", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"),
        "lord-howe": ("Australia/Lord_Howe", "2026-10-03T15:30:00Z", "2026-04-04T15:00:00Z"),
        "chatham": ("Pacific/Chatham", "2026-09-26T14:00:00Z", "2026-04-04T14:00:00Z"),
    }
    for label, (zone, spring, autumn) in changes.items():
        for season, change in (("spring", spring), ("autumn", autumn)):
            before = format_seconds(parse_instant(change) - 3 * 3600)
            name = f"dst-{label}-{season}"
            book.add(f"{name}-window-crosses", before, "@win(after,6h)", zone,
                     wanted=lambda e, change=change: e["chosenTime"] > change)
            book.add(f"{name}-only-hours", before, "@win(after,6h) @only(hours=1-3)", zone)
            book.add(f"{name}-avoid-and-only", before, "@win(after,8h) @avoid(hours=0,3) @only(between=01:45-04:15)", zone)
            book.add(f"{name}-around", change, "@win(around,4h) @dist(normal) @seed(daily) @avoid(between=01:50-01:59)", zone,
                     cron="*/15 * * * *")
    book.add("dst-paris-gap-hour-is-impossible", "2026-03-28T22:00:00Z", "@win(after,20h) @only(hours=2)", "Europe/Paris", wanted=impossible)
    book.add("dst-new-york-gap-minutes-are-impossible", "2026-03-08T05:00:00Z", "@win(after,20h) @only(between=02:00-02:59)",
             "America/New_York", wanted=impossible)
    book.add("dst-lord-howe-half-hour-gap", "2026-10-03T13:00:00Z", "@win(after,20h) @only(between=02:00-02:29)",
             "Australia/Lord_Howe", wanted=impossible)
    book.add("dst-lord-howe-first-minute-after-gap", "2026-10-03T13:00:00Z", "@win(after,5h) @only(between=02:00-02:30)",
             "Australia/Lord_Howe", wanted=chosen_between("2026-10-03T15:30:00Z", "2026-10-03T15:30:59Z"))
    book.add("dst-chatham-gap", "2026-09-26T12:00:00Z", "@win(after,20h) @only(between=02:45-03:44)", "Pacific/Chatham", wanted=impossible)
    book.add("dst-paris-fold-first-pass", "2026-10-24T22:00:00Z", "@win(after,6h) @only(hours=2)", "Europe/Paris",
             wanted=chosen_between("2026-10-25T00:00:00Z", "2026-10-25T00:59:59Z"))
    book.add("dst-paris-fold-second-pass", "2026-10-24T22:00:00Z", "@win(after,6h) @only(hours=2)", "Europe/Paris",
             wanted=chosen_between("2026-10-25T01:00:00Z", "2026-10-25T01:59:59Z"))
    book.add("dst-lord-howe-fold-second-pass", "2026-04-04T13:00:00Z", "@win(after,6h) @only(between=01:30-01:59)", "Australia/Lord_Howe",
             wanted=chosen_between("2026-04-04T15:00:00Z", "2026-04-04T15:29:59Z"))
    # Nominal times that the change moves, doubles or keeps.
    book.add("dst-fixed-time-in-gap", "2026-03-29T01:00:00Z", "@win(after,1h) @seed(daily)", "Europe/Paris", cron="30 2 * * *")
    book.add("dst-fixed-time-in-half-hour-gap", "2026-10-03T15:30:00Z", "@win(around,1h)", "Australia/Lord_Howe", cron="15 2 * * *")
    book.add("dst-fixed-time-repeated", "2026-10-25T00:30:00Z", "@win(after,2h) @seed(daily)", "Europe/Paris", cron="30 2 * * *")
    book.add("dst-wildcard-second-pass", "2026-10-25T01:30:00Z", "@win(after,1h) @seed(stable)", "Europe/Paris", cron="30 * * * *")
    book.add("dst-wildcard-first-pass", "2026-10-25T00:30:00Z", "@win(after,1h) @seed(stable)", "Europe/Paris", cron="30 * * * *")
    book.add("dst-midnight-in-gap-daily-seed", "2018-11-04T03:00:00Z", "@win(after,1h) @seed(daily)", "America/Sao_Paulo", cron="0 0 * * *")
    book.add("dst-midnight-in-gap-only-hour-0", "2018-11-04T02:00:00Z", "@win(after,4h) @only(hours=0)", "America/Sao_Paulo", wanted=impossible)
    book.add("dst-midnight-repeated-daily-seed", "2018-11-04T04:00:00Z", "@win(after,2h) @seed(daily) @only(hours=0)",
             "America/Havana", cron="0 0 * * *", wanted=lambda e: e["chosenTime"] > "2018-11-04T05:00:00Z")
    book.add("dst-skipped-day-only-date", "2011-12-30T04:00:00Z", "@win(after,72h) @only(date=2011-12-30)", "Pacific/Apia", wanted=impossible)
    book.add("dst-skipped-day-avoid-next", "2011-12-30T04:00:00Z", "@win(after,36h) @avoid(date=2011-12-31) @seed(weekly)", "Pacific/Apia")
    book.add("dst-change-at-00-01", "2010-11-07T02:00:00Z", "@win(after,4h) @only(hours=23) @seed(daily)", "America/St_Johns",
             wanted=lambda e: e["chosenTime"] > "2010-11-07T02:31:00Z")


def add_attempts(book):
    """Rejected draws, both sides of the budget, exhausted and impossible windows."""
    for count in (2, 3, 5, 10, 25, 64, 65, 100, 200):
        book.add(f"attempts-{count}", "2026-07-01T00:00:00Z", "@win(after,24h) @only(between=13:00-13:19)", wanted=attempts_is(count))
    for count, dist in ((12, "skewEarly,shape=3"), (40, "skewLate"), (80, "exponential,lambda=3"), (120, "normal,sigma=3h")):
        book.add(f"attempts-{count}-{slug(dist)}", "2026-07-01T00:00:00Z",
                 f"@win(after,24h) @dist({dist}) @only(between=13:00-13:19)", wanted=attempts_is(count))
    # Identities found by search: the accepted draw is the last but one, the last, and the first beyond the budget.
    edge = "@win(after,68h) @only(date=2026-01-02;between=12:00-12:00)"
    for name, identity, wanted in (
        ("attempts-4095", "budget/edge-2325", attempts_is(4095)),
        ("attempts-4096-accepted", "budget/edge-18990", attempts_is(4096)),
        ("attempts-4097-is-beyond-the-budget", "budget/edge-1803", exhausted),
    ):
        book.add(name, "2026-01-01T00:00:00Z", edge, cron="0 0 1 1 *", identity=identity, wanted=wanted)
        assert book.cases[-1]["identity"] == identity  # taken as it is
    unlikely = {
        "uniform-one-minute-in-366-days": ("@win(after,8784h)", "@only(date=2026-09-17;between=04:05-04:05)"),
        "skew-late-wrong-end": ("@win(after,8784h) @dist(skewLate,shape=100)", "@only(date=2026-01-01;between=00:00-00:00)"),
        "skew-early-wrong-end": ("@win(after,8784h) @dist(skewEarly,shape=0.01)", "@only(date=2026-01-01;between=00:00-00:00)"),
        "exponential-late-wrong-end": ("@win(after,240h) @dist(exponential,lambda=50,dir=late)", "@only(date=2026-01-01)"),
        "normal-start-wrong-end": ("@win(after,2h) @dist(normal,mu=start,sigma=1ms)", "@only(hours=1)"),
        "normal-around-last-minutes": ("@win(around,240h) @dist(normal,sigma=1h)", "@only(date=2026-01-05)"),
    }
    for label, (modifiers, constraint) in unlikely.items():
        book.add(f"exhausted-{label}", "2026-01-01T00:00:00Z", f"{modifiers} {constraint}", cron="0 0 1 1 *", wanted=exhausted)
    never = {
        "hours-outside": "@win(after,1h) @only(hours=12)",
        "date-outside": "@win(after,48h) @only(date=2026-02-10)",
        "dow-outside": "@win(after,12h) @only(dow=SUN)",
        "dom-30-in-february": "@win(after,120h) @only(dom=30;months=FEB)",
        "months-outside": "@win(around,48h) @only(months=MAY-AUG)",
        "every-hour-avoided": "@win(after,720h) @avoid(hours=0-23)",
        "every-weekday-avoided": "@win(after,720h) @avoid(dow=SUN-SAT)",
        "whole-window-avoided-by-two": "@win(after,2h) @avoid(between=10:00-10:59;hours=11-12)",
        "only-and-avoid-contradict": "@win(after,720h) @only(dow=TUE) @avoid(dow=MON-WED)",
        "minute-just-past-the-end": "@win(after,1h) @only(between=11:01-11:01)",
        "kinds-never-meet": "@win(after,8784h) @only(dow=MON;date=2026-02-25)",
        "half-second-outside": "@win(around,2m1s) @dist(normal) @only(between=09:58-09:58)",
    }
    for label, modifiers in never.items():
        book.add(f"impossible-{label}", "2026-02-24T10:00:00Z", modifiers, wanted=impossible)
    book.add("possible-by-the-last-second-alone", "2026-02-24T10:00:00Z", "@win(after,1h) @only(hours=11)",
             wanted=chosen_is("2026-02-24T11:00:00Z"))
    book.add("possible-by-the-first-second-alone", "2026-02-24T10:00:00Z", "@win(after,1m) @only(hours=10)",
             wanted=chosen_is("2026-02-24T10:00:00Z"))


def add_years(book):
    """Leap days, the ends of 32-bit clocks, far years, the turn of years and centuries."""
    years = {
        "leap-day-2000": ("2000-02-29T12:00:00Z", "@win(around,36h) @only(date=2000-02-29)", "UTC"),
        "leap-day-2024": ("2024-02-29T00:00:00Z", "@win(after,24h) @seed(daily)", "UTC"),
        "leap-day-2028-dom-29": ("2028-02-28T20:00:00Z", "@win(after,48h) @only(dom=29)", "Europe/Paris"),
        "leap-day-2096": ("2096-02-29T06:30:00Z", "@win(after,24h) @seed(weekly) @dist(skewEarly)", "Asia/Kathmandu"),
        "no-leap-day-2100": ("2100-02-28T12:00:00Z", "@win(after,24h) @only(months=MAR)", "UTC"),
        "no-leap-day-2027": ("2027-02-28T23:00:00Z", "@win(after,4h) @avoid(dom=28)", "UTC"),
        "year-1999-eve": ("1999-12-31T23:30:00Z", "@win(after,1h) @dist(exponential)", "UTC"),
        "year-1999-new-york-summer": ("1999-07-04T16:00:00Z", "@win(around,6h) @only(hours=9-14)", "America/New_York"),
        "year-1999-lord-howe": ("1999-10-30T14:00:00Z", "@win(after,6h) @only(hours=3-4) @seed(weekly)", "Australia/Lord_Howe"),
        "year-2006-new-york-old-rules": ("2006-03-20T07:00:00Z", "@win(after,6h) @only(hours=3) @seed(daily)", "America/New_York"),
        "year-2038-signed-32-bit": ("2038-01-19T03:14:00Z", "@win(around,1m)", "UTC"),
        "year-2038-after-the-end": ("2038-01-20T00:00:00Z", "@win(after,24h) @dist(normal)", "UTC"),
        "year-2038-paris-summer": ("2038-07-14T08:00:00Z", "@win(after,4h) @only(hours=10-11) @seed(daily)", "Europe/Paris"),
        "year-2038-paris-spring": ("2038-03-28T00:00:00Z", "@win(after,4h) @only(hours=3) @seed(daily)", "Europe/Paris"),
        "year-2050-chatham-summer": ("2050-12-24T12:00:00Z", "@win(after,24h) @only(date=2050-12-25;between=08:00-10:00)", "Pacific/Chatham"),
        "year-2060-los-angeles-winter": ("2060-01-15T20:00:00Z", "@win(around,12h) @only(hours=12-13)", "America/Los_Angeles"),
        "year-2099-new-york-summer": ("2099-08-01T12:00:00Z", "@win(after,12h) @only(hours=8-9)", "America/New_York"),
        "year-2099-new-york-autumn": ("2099-11-01T04:00:00Z", "@win(after,6h) @only(hours=1)", "America/New_York"),
        "year-2099-eve": ("2099-12-31T23:59:00Z", "@win(after,2m) @seed(weekly)", "UTC"),
        "year-2099-into-2100-paris": ("2099-12-30T11:00:00Z", "@win(after,8784h) @only(months=7;hours=12)", "Europe/Paris"),
        "year-2106-unsigned-32-bit": ("2106-02-07T06:28:00Z", "@win(around,1m)", "UTC"),
        "year-1970-before-the-epoch": ("1970-01-01T00:00:00Z", "@win(around,1h1m1s)", "UTC"),
    }
    for label, (nominal, modifiers, zone) in years.items():
        book.add(label, nominal, modifiers, zone)
    book.add("year-1970-last-second-before-the-epoch", "1970-01-01T00:00:00Z", "@win(around,2.5s)",
             wanted=chosen_is("1969-12-31T23:59:59Z"))
    crons = {
        "leap-day-only": ("0 12 29 2 *", "2028-02-29T12:00:00Z"),
        "dom-or-dow": ("0 12 13 * FRI", "2026-02-06T12:00:00Z"),
        "star-step-dom-and-dow": ("0 12 */2 * FRI", "2026-02-13T12:00:00Z"),
        "names-lower-case": ("0 12 * feb mon-fri", "2026-02-13T12:00:00Z"),
        "range-with-step": ("10-50/20 6-18/6 * * *", "2026-02-13T12:30:00Z"),
    }
    for label, (cron, nominal) in crons.items():
        book.add(f"cron-{label}", nominal, "@win(around,1h) @dist(skewLate)", cron=cron)
    policy = "@policy(concurrency=replace,deadline=10m,suspend=true)"
    book.add("policy-takes-no-part", "2026-02-13T12:00:00Z", "@win(after,1h)", identity="policy/none")
    book.add("policy-takes-no-part-given", "2026-02-13T12:00:00Z", f"{policy} @win(after,1h)", identity="policy/none")


# --- Random mixtures ------------------------------------------------------------------------------------------------

ZONES = """UTC UTC Europe/Paris Europe/London America/New_York America/Los_Angeles America/St_Johns Asia/Tokyo
    Asia/Kathmandu Asia/Kolkata Australia/Lord_Howe Australia/Adelaide Pacific/Chatham Pacific/Kiritimati
    Pacific/Marquesas America/Chicago""".split()


class Dice:
    """Choices made with random() alone, whose sequence is the same in every Python version."""

    def __init__(self, seed):
        self.source = random.Random(seed)

    def below(self, limit):
        return int(self.source.random() * limit)

    def pick(self, items):
        return items[self.below(len(items))]

    def chance(self, probability):
        return self.source.random() < probability

    def shuffled(self, items):
        items, result = list(items), []
        while items:
            result.append(items.pop(self.below(len(items))))
        return result

    def magnitude(self, low, high):
        """A number spread evenly over orders of magnitude, with few digits."""
        value = math.exp(math.log(low) + self.source.random() * math.log(high / low))
        return f"{value:.3f}".rstrip("0").rstrip(".") if value >= 0.001 else str(low)


def random_cron(dice, wall):
    """A cron expression that matches a wall-clock minute, and the longest window that keeps it valid, in hours."""
    minute, hour, weekday = wall.minute, wall.hour, wall.isoweekday() % 7
    day_names, month_names = list(WEEKDAYS), list(MONTHS)
    style = dice.below(10)
    if style == 0:
        return f"{minute} * * * *", 30 * 24
    if style == 1:
        return "* * * * *", 12
    if style == 2:
        return f"*/{dice.pick([d for d in (1, 2, 3, 5, 10, 15, 20, 30) if minute % d == 0])} * * * *", 12
    if style == 3:
        return f"{minute} {hour} {wall.day} {wall.month} *", 8784
    if style == 4:
        return f"{minute} {hour} * * {day_names[weekday]}", 8784
    if style == 5:
        return f"{minute} {hour} {wall.day} * {dice.below(7)}", 8784
    if style == 6:
        return f"{minute} {max(0, hour - 2)}-{hour} * {month_names[wall.month - 1]} *", 2000
    if style == 7 and hour <= 20:
        return f"{minute} {hour}-23/3 * * *", 1000
    return f"{minute} {hour} * * *", 8784


def random_duration(dice, longest_hours):
    style = dice.below(12)
    if style == 0:
        return dice.pick(["0s", "1s", "2s", "3s", "500ms", "999ms", "1.5s"])
    if style == 1:
        return f"{1 + dice.below(120)}.{1 + dice.below(9)}s"
    if style == 2:
        return f"{1 + dice.below(5000)}s"
    if style == 3:
        return f"{dice.below(12)}h{dice.below(60)}m{dice.below(60)}s"
    if style == 4:
        return f"{dice.below(3)}h{dice.below(60)}m{dice.below(60)}.{dice.below(10**9):09d}s"
    if style <= 7:
        return f"{1 + dice.below(180)}m"
    if style <= 10:
        return f"{1 + dice.below(min(longest_hours, 48))}h"
    return f"{1 + dice.below(longest_hours)}h"


def random_distribution(dice):
    name = dice.pick(["", "uniform", "normal", "skewEarly", "skewLate", "exponential", "normal", "exponential"])
    parameters = []
    if name in ("skewEarly", "skewLate") and dice.chance(0.75):
        parameters = ["shape=" + dice.magnitude(0.001, 1000)]
    if name == "exponential":
        parameters = [p for p in ("lambda=" + dice.magnitude(0.001, 1000), f"dir={dice.pick(['early', 'late'])}") if dice.chance(0.7)]
    if name == "normal":
        sigma = dice.pick(["1ms", "750ms", "10s", "3m", "17m30s", "1.5h", "20h", "8784h", f"{1 + dice.below(7200)}s"])
        anchor = dice.pick(["start", "mid", "end", "nominal"])
        parameters = [p for p in (f"mu={anchor}", f"sigma={sigma}") if dice.chance(0.6)]
    return f"@dist({','.join([name, *dice.shuffled(parameters)])})" if name else ""


def random_clause(dice, wall, include):
    """A clause that covers the wall time (`include`) or was chosen without looking at it."""
    if not include:
        wall = wall + timedelta(minutes=dice.below(60 * 24 * 90))
    day_names, month_names = list(WEEKDAYS), list(MONTHS)
    weekday, minute = wall.isoweekday() % 7, wall.hour * 60 + wall.minute
    kind = dice.pick(["hours", "dow", "dom", "months", "between", "date", "dates", "hours", "between"])
    back, ahead = dice.below(4), dice.below(4)
    if kind == "hours":
        return f"hours={(wall.hour - back) % 24}-{(wall.hour + ahead) % 24}"
    if kind == "dow":
        first, last = (weekday - back % 3) % 7, (weekday + ahead % 3) % 7
        return f"dow={day_names[first]}-{day_names[last]}" if dice.chance(0.5) else f"dow={first}-{last}"
    if kind == "dom":
        return f"dom={max(1, wall.day - back)}-{min(31, wall.day + ahead)},{1 + dice.below(31)}"
    if kind == "months":
        first, last = (wall.month - 1 - back) % 12, (wall.month - 1 + ahead) % 12
        return f"months={month_names[first]}-{month_names[last]}" if dice.chance(0.5) else f"months={first + 1}-{last + 1}"
    if kind == "between":
        first, last = (minute - dice.below(90)) % 1440, (minute + dice.below(90)) % 1440
        return f"between={first // 60:02d}:{first % 60:02d}-{last // 60:02d}:{last % 60:02d}"
    first, last = wall.date() - timedelta(days=back), wall.date() + timedelta(days=ahead)
    return f"date={wall.date()}" if kind == "date" else f"dates={first}..{last}"


def random_constraints(dice, zone, start, end):
    """Clauses around one instant of the window; most of the time that instant is allowed."""
    inside = start + dice.below(end - start + 1)
    wall = local_time(inside, zone).replace(tzinfo=None)
    wants_only, wants_avoid = dice.chance(0.5), dice.chance(0.4)
    while True:
        modifiers, constraints = [], Schedule(cron=[], zone=zone.key)
        for name, wanted, include in (("only", wants_only, 0.9), ("avoid", wants_avoid, 0.2)):
            if wanted:
                clauses = [random_clause(dice, wall, dice.chance(include)) for _ in range(1 + dice.below(3))]
                setattr(constraints, name, [parse_clause(clause) for clause in clauses])
                modifiers.append(f"@{name}({';'.join(clauses)})")
        if is_allowed(constraints, inside) or dice.chance(0.05):
            return modifiers


def random_case(dice):
    """(identity, schedule line, nominal time), or None if the draw makes no valid job."""
    zone_name = dice.pick(ZONES)
    zone = zoneinfo.ZoneInfo(zone_name)
    low, high = parse_instant("1999-01-01T00:00:00Z"), parse_instant("2099-12-31T00:00:00Z")
    if dice.chance(0.5):
        low, high = parse_instant("2026-01-01T00:00:00Z"), parse_instant("2029-12-31T00:00:00Z")
    nominal = (low + dice.below(high - low)) // 60 * 60
    if dice.chance(0.6):
        nominal = nominal // 900 * 900
    cron, longest = random_cron(dice, local_time(nominal, zone))
    if not is_nominal(cron.split(), zone, nominal):
        return None
    duration = random_duration(dice, longest)
    mode = dice.pick(["after", "around"])
    salt = dice.pick(["", "", ",salt=prod", ',salt="a b"', ',salt=""', ",salt=\u00e9t\u00e9", r',salt="q\"\\;,)"'])
    modifiers = [f"@win({mode},{duration})", random_distribution(dice)]
    if zone_name != "UTC" or dice.chance(0.3):
        modifiers.append(f"@tz({zone_name})")
    if salt or dice.chance(0.7):
        modifiers.append(f"@seed({dice.pick(['stable', 'daily', 'weekly'])}{salt})")
    if dice.chance(0.15):
        modifiers.append("@policy(deadline=5m,concurrency=allow)")
    start, end = window_bounds(Schedule(cron=[], mode=mode, window=parse_duration(duration)), nominal)
    modifiers += random_constraints(dice, zone, -(-start // NANOS), end // NANOS)
    prefix = dice.pick(["prod/", "stage/", "", "a b:", "d\u00e9p\u00f4t/"])
    identity = f"{prefix}job-{dice.below(100000)}"
    separator = "  " if dice.chance(0.1) else " "
    line = separator.join([cron, *dice.shuffled(part for part in modifiers if part)])
    return identity, line, format_seconds(nominal)


def add_random(book, count):
    dice = Dice("golden-v1")
    number = 0
    while number < count:
        made = random_case(dice)
        if made is None:
            continue
        identity, line, nominal = made
        expect, fragile = decide(identity, line, nominal)
        if fragile:
            book.dropped += 1
            continue
        number += 1
        schedule = parse_schedule(line)
        parts = [slug(schedule.distribution), schedule.mode, schedule.strategy]
        parts += [name for name in ("only", "avoid") if getattr(schedule, name)]
        book.keep(f"random-{number:03d}-{'-'.join(parts)}", identity, line, nominal, expect)


def golden_cases():
    book = Book()
    add_windows(book)
    add_distributions(book)
    add_seeds(book)
    add_salts_and_identities(book)
    add_constraints(book)
    add_constraint_boundaries(book)
    add_daylight_saving(book)
    add_attempts(book)
    add_years(book)
    add_random(book, 160)
    return book


# --- The public reference vectors -----------------------------------------------------------------------------------

EXPECT_KEYS = ("periodId", "windowStart", "windowEnd", "chosenTime", "periodKey", "seedHash", "attempts", "unschedulable")


def reference_clauses(job, prefix):
    """The constraint lists of a reference case -> clauses of this syntax."""
    def clock(minute):
        return f"{minute // 60:02d}:{minute % 60:02d}"

    def day(number):
        return f"{number // 10000:04d}-{number // 100 % 100:02d}-{number % 100:02d}"

    clauses = []
    for key in ("Hours", "Dow", "Dom", "Months"):
        if prefix + key in job:
            clauses.append(f"{key.lower()}={','.join(map(str, job[prefix + key]))}")
    clauses += [f"between={clock(b['startMinute'])}-{clock(b['endMinute'])}" for b in job.get(prefix + "Between", [])]
    clauses += [f"dates={day(d['startDay'])}..{day(d['endDay'])}" for d in job.get(prefix + "Dates", [])]
    return ";".join(clauses)


def reference_schedule(job):
    """A schedule line for a reference case. `center` is called `around` here; `before` has no counterpart."""
    zone = job.get("timezone", "UTC")
    line = daily_cron(job["periodStart"], zone)
    if zone != "UTC":
        line += f" @tz({zone})"
    if job["mode"] != "before":
        line += f" @win({job['mode'].replace('center', 'around')},{job['window']})"
    shape = f",shape={job['skewShape']}" if "skewShape" in job else ""
    line += f" @dist({job['distribution']}{shape})"
    salt = f",salt={json.dumps(job['salt'])}" if job["salt"] else ""
    line += f" @seed({job['seedStrategy']}{salt})"
    for prefix in ("only", "avoid"):
        if clauses := reference_clauses(job, prefix):
            line += f" @{prefix}({clauses})"
    return line


NOTES = {
    "mode": "The reference's mode `before` does not exist here, so only what does not depend on the window is compared.",
    "chosenTime": "The window of 1h1m1s starts and ends on a half second; the reference floors both bounds to whole seconds, "
    "so its first candidate lies before the window, whereas here the first candidate is the first whole second inside.",
    "attempts": "No second of the window is allowed, which is found before anything is drawn; the reference draws until its "
    "budget of 64 attempts is used up.",
}


def reference_case(case):
    """Our value in `expect`; where the reference differs, its own in `reference`, and a note that says why."""
    job, theirs = case["input"], {key: case["expected"].get(key) for key in EXPECT_KEYS}
    theirs["chosenTime"] = theirs["chosenTime"] or None
    theirs["unschedulable"] = bool(theirs["unschedulable"])
    line = reference_schedule(job)
    assert_valid(line, job["periodStart"])
    ours, fragile = decide(job["identity"], line, job["periodStart"])
    assert not fragile
    result = {"name": case["name"].replace("_", "-"), "identity": job["identity"], "schedule": line, "nominal": job["periodStart"]}
    if job["mode"] == "before":
        ours = {key: ours[key] for key in ("periodId", "periodKey", "seedHash")}
        assert all(theirs[key] == ours[key] for key in ours)
        reference = {"mode": "before", **{key: theirs[key] for key in EXPECT_KEYS if key not in ours}}
        return {**result, "expect": ours, "reference": reference, "note": NOTES["mode"]}
    reference = {key: theirs[key] for key in EXPECT_KEYS if theirs[key] != ours[key]}
    result["expect"] = ours
    if reference:
        result["reference"] = reference
        result["note"] = NOTES["attempts" if "attempts" in reference else "chosenTime"]
    return result


def check_reference_draws(case):
    """Also with the differences the generator and the mapping must be the reference's: recompute its chosen time
    from its own (whole-second) window."""
    expected = case["expected"]
    if not expected["chosenTime"] or expected["attempts"] == 0:
        return
    first, last = parse_instant(expected["windowStart"]), parse_instant(expected["windowEnd"])
    schedule = parse_schedule(reference_schedule(case["input"]))
    n = last - first + 1
    position, _ = position_of(schedule, first, n, first)(next(draws(expected["seedHash"])))
    assert format_seconds(first + math.floor(position)) == expected["chosenTime"], case["name"]


def convert_reference(directory):
    cases = []
    for path in sorted(Path(directory).glob("v*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            check_reference_draws(case)
            cases.append(reference_case(case))
    return cases


# --- Files ----------------------------------------------------------------------------------------------------------


def write_cases(path, version, cases):
    """One case a line. ASCII only, so that no editor can normalise a name."""
    lines = ",\n".join(json.dumps(case) for case in cases)
    text = f'{{\n"version": "{version}",\n"tzdb": "{tzdata.IANA_VERSION}",\n"cases": [\n{lines}\n]\n}}\n'
    path.write_text(text, encoding="ascii")


def check_file(path):
    """Recompute every case; returns how many differ."""
    wrong = 0
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        assert_valid(case["schedule"], case["nominal"])
        ours, _ = decide(case["identity"], case["schedule"], case["nominal"])
        differing = {key: ours[key] for key in case["expect"] if ours[key] != case["expect"][key]}
        if differing:
            wrong += 1
            print(f"{path.name}: {case['name']}: {differing}")
    return wrong


def print_statistics(book):
    schedules = [parse_schedule(case["schedule"]) for case in book.cases]
    expects = [case["expect"] for case in book.cases]
    print(f"golden: {len(book.cases)} cases, {book.dropped} fragile decisions left out, tzdb {tzdata.IANA_VERSION}")
    print("  distributions:", dict(Counter(s.distribution for s in schedules)))
    print("  modes:", dict(Counter(s.mode for s in schedules)))
    print("  seeds:", dict(Counter(s.strategy for s in schedules)), "salted:", sum(bool(s.salt) for s in schedules))
    print("  zones:", dict(Counter(s.zone for s in schedules).most_common()))
    print("  only:", sum(bool(s.only) for s in schedules), "avoid:", sum(bool(s.avoid) for s in schedules))
    print("  clause kinds:", dict(Counter(kind for s in schedules for kind, _ in s.only + s.avoid)))
    steps = [(0, 0), (1, 1), (2, 9), (10, 99), (100, 4095), (4096, 4096)]
    attempts = Counter(step for e in expects for step in steps if step[0] <= e["attempts"] <= step[1])
    print("  attempts:", {f"{a}-{b}": attempts[a, b] for a, b in steps})
    print("  unschedulable:", sum(e["unschedulable"] for e in expects), "of them exhausted:", sum(map(exhausted, expects)))


def check_oracle():
    """Values published elsewhere: SplitMix64, SHA-256, the normal distribution, ISO weeks."""
    assert next(split_mix_64(0)) == 0xE220A8397B1DCDAF
    assert next(split_mix_64(1234567)) == 6457827717110365317
    assert seed_hash("", "", "") == hashlib.sha256(b"\n\n").hexdigest()
    assert abs(normal_cdf(1.959963984540054) - 0.975) < 1e-15
    assert abs(NormalDist().inv_cdf(0.975) - 1.959963984540054) < 1e-15
    assert period_key(Schedule([], strategy="weekly"), parse_instant("2027-01-01T00:00:00Z")) == "2026-W53"
    for mean in (0.5, 50.0, 99.5):  # the position is monotonic and bounded
        positions = [normal(i / 1000, 100, mean, 7.0)[0] for i in range(1000)]
        assert positions == sorted(positions) and -1e-9 < positions[0] and positions[-1] < 100
    for rate in (0.001, 1.0, 1000.0):
        early = [exponential(i / 1000, 1, rate, "early")[0] for i in range(1000)]
        assert early == sorted(early) and early[0] == 0 and early[-1] < 1
    assert is_fragile(7 - 1e-8, 1e-12, 10) and is_fragile(7 + 1e-8, 1e-12, 10) and is_fragile(7.001, 1e-3, 10)
    assert not is_fragile(7.5, 1e-12, 10) and not is_fragile(1e-9, 1e-12, 10) and not is_fragile(10 - 1e-9, 1e-12, 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", metavar="DIR", help="directory of the public reference vectors")
    parser.add_argument("--check", action="store_true", help="recompute both files, write nothing")
    options = parser.parse_args()
    check_oracle()
    if options.check:
        wrong = sum(check_file(HERE / name) for name in ("golden-v1.json", "reference-v1.json"))
        print(f"{wrong} cases differ")
        return 1 if wrong else 0
    if options.reference:
        cases = convert_reference(options.reference)
        write_cases(HERE / "reference-v1.json", "reference-v1", cases)
        print(f"reference: {len(cases)} cases, {sum('reference' not in case for case in cases)} agree in everything")
        for case in (case for case in cases if "reference" in case):
            print(f"  {case['name']}: ours {case['expect']}\n    reference {case['reference']}")
    book = golden_cases()
    write_cases(HERE / "golden-v1.json", "golden-v1", book.cases)
    print_statistics(book)
    return 0


if __name__ == "__main__":
    sys.exit(main())
