// Writes go.tsv to standard output: what Go's time.ParseDuration makes of many
// strings, valid and not. The random ones come from a fixed seed and from a
// generator written out here, so that every Go version gives the same inputs.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var inputs []string
var seen = map[string]bool{}

func add(list ...string) {
	for _, s := range list {
		// JSON cannot carry anything but UTF-8.
		if utf8.ValidString(s) && !seen[s] {
			seen[s] = true
			inputs = append(inputs, s)
		}
	}
}

// rng is splitmix64.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (r *rng) below(n int) int         { return int(r.next() % uint64(n)) }
func (r *rng) one(of []string) string  { return of[r.below(len(of))] }
func (r *rng) chance(percent int) bool { return r.below(100) < percent }

func (r *rng) digits(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('0' + r.below(10)))
	}
	return b.String()
}

const (
	micro = "\u00b5s" // micro sign
	mu    = "\u03bcs" // Greek mu
)

var units = []string{"ns", "us", micro, mu, "ms", "s", "m", "h"}

// number is what may stand before a unit.
func (r *rng) number() string {
	switch r.below(10) {
	case 0, 1, 2, 3:
		return strconv.Itoa(r.below(100))
	case 4:
		return strconv.Itoa(r.below(1000000))
	case 5:
		return r.digits(1+r.below(3)) + "." + r.digits(1+r.below(9))
	case 6:
		return "." + r.digits(1+r.below(12))
	case 7:
		return r.digits(1+r.below(2)) + "."
	case 8:
		return r.digits(1+r.below(3)) + "." + r.digits(10+r.below(30))
	default:
		return strings.Repeat("0", 1+r.below(4)) + r.digits(1+r.below(5))
	}
}

func (r *rng) duration() string {
	var b strings.Builder
	if r.chance(30) {
		b.WriteString(r.one([]string{"-", "+", "-"}))
	}
	for range 1 + r.below(4) {
		b.WriteString(r.number())
		b.WriteString(r.one(units))
	}
	return b.String()
}

var odd = []string{
	"-", "+", ".", " ", "\t", "\n", "\x00", "0", "9", "e", "E", "x", "_", ",", ":", "d", "w", "y",
	"M", "H", "S", "s", "m", "h", "n", "u", "\u00b5", "\u03bc", "\u0660", "\uff11", "\u00a0",
	"\u2212", "\ufeff", "\U0001f552", "\"", "\\", "1", "s1", "..", "P", "T",
}

// mutate changes one place of a duration, so that most results are not valid.
func (r *rng) mutate(s string) string {
	runes := []rune(s)
	at := r.below(len(runes))
	switch r.below(5) {
	case 0: // leave one character out
		return string(runes[:at]) + string(runes[at+1:])
	case 1: // put another in its place
		return string(runes[:at]) + r.one(odd) + string(runes[at+1:])
	case 2: // cut off
		return string(runes[:at])
	case 3: // swap two
		to := r.below(len(runes))
		runes[at], runes[to] = runes[to], runes[at]
		return string(runes)
	default:
		return string(runes[:at]) + r.one(odd) + string(runes[at:])
	}
}

func chosen() {
	add("0", "-0", "+0", "", ".", ".s", "1", "1.5h", ".5s", "1.s", "90m", "1h30m", "1h1h")
	add("00", "000", "0.", ".0", "0.0", "-", "+", "-.", "+.", "--0", "-+0", "+-0", "++0", "0-", "0+",
		" 0", "0 ", "0 0", "0s", "-0s", "+0s", "0h0m0s", "0.0s", ".0s", "0.s", "-.5s", "+.5s", "-.s",
		"+.s", "-0.0s", "00s", "00", "-00", "0x0", "0e0")

	for _, u := range units {
		add(u, "1"+u, "-1"+u, "+1"+u, "0"+u, "1.5"+u, "-1.5"+u, ".5"+u, "5."+u, "."+u, "0.1"+u, "0.9"+u,
			"0.3333333333333333333"+u, "0.6666666666666666666"+u, "0.999999999999999999"+u,
			"1.0000000000000000001"+u, "007"+u, "1 "+u, " 1"+u, "1"+u+" ", "1"+u+"1", "1"+u+u,
			"1"+u+"1"+u, "1"+u+"-1"+u, "1"+u+"+1"+u, "1"+u+" 1"+u, "1"+u+",1"+u, "1e3"+u, "1_000"+u,
			"0x1"+u, "1,5"+u, "1.5.5"+u, "1..5"+u, "--1"+u, "+-1"+u, "- 1"+u, "1-"+u, "\x001"+u,
			"1\x00"+u, "1"+u+"\x00", "\t1"+u, "1"+u+"\n", "1"+strings.ToUpper(u), "1"+strings.Title(u),
			"\uff11"+u, "\u0661"+u, "1\u00a0"+u, "\u22121"+u, "\ufeff1"+u,
			"0."+strings.Repeat("3", 40)+u, "1."+strings.Repeat("9", 50)+u,
			"0."+strings.Repeat("0", 40)+"1"+u, strings.Repeat("0", 40)+"1"+u,
			"1."+strings.Repeat("0", 100)+u, "9."+strings.Repeat("9", 18)+u,
			"0."+strings.Repeat("9", 19)+u)
		for _, v := range units {
			add("1"+u+"2"+v, "-3"+u+"0.5"+v, "1.25"+u+"."+v)
		}
	}
	for _, u := range []string{"d", "w", "y", "D", "W", "M", "Y", "mo", "day", "days", "hr", "hour", "hours",
		"min", "mins", "minute", "sec", "secs", "second", "msec", "usec", "nsec", "ps", "as", "n", "u",
		"\u00b5", "\u03bc", "\u00b5S", "\u00b5m", "\u33b2", "\u212b", "cs", "ds", "ks", "Ms", "mS", "hs", "sm",
		"%", "'", "\"", "\\", "/", "\U0001f552", "\u00e9", "\u017f"} {
		add("1"+u, "1.5"+u, "1h1"+u, "1"+u+"1h", u)
	}
	add("1d12h", "1w2d", "P1D", "PT1H", "PT1H30M", "1:30", "01:30:00", "1h:30m", "1h 30m", "1h30", "30m1h", "1s1ms1us1ns",
		"1ns1us1ms1s1m1h", "1h2m3s4ms5us6ns", "-1h2m3s4ms5us6ns", "1H30M", "1h30M", "1Ms", "inf", "-inf",
		"NaN", "nan", "infinity", "null", "true", "forever", "1e3s", "1E3s", "1e-3s", "1e+3s", "1es",
		"0x1s", "0X1s", "0b1s", "0o7s", "0x1p3s", "1f", "1ls", "1'000s", "1 000s", "1\u202f000s",
		"\u0661\u0662s", "\u096b\u0938", "\U0001d7cfs", "\u2460s", "\u00b2s", "\u00bdh", "1\u00bdh",
		"s1", "s", "h1m", "m1", "1s.", "1s.5", "1.5s.5", "1.5s.5s", "1h.m", "1h.5m", "1h-", "1h+", "-1h-1m",
		"+1h+1m", "1h--1m", "-1h1m", "1h-1m", "- 1h", "+ 1h", "1h- 1m", "\x00", "1\x00", "1s\x00", "\x00\x00",
		"1h\x0030m", "\t", "\n", " ", "  ", "\r\n", "1s\r\n", "\u00a0", "\u20031s", "1s\u2003", "\"1s\"", "'1s'",
		"1\\u00b5s", "3000s", "5s", "30s", "1478s", "-5s", "+5s", "5.0s", "5.6s", "5.s", ".5s", "1.0s",
		"1.00s", "1.004s", "1.0040s", "100.00100s", "10ns", "11us", "12\u00b5s", "12\u03bcs", "13ms", "14s",
		"15m", "16h", "3h30m", "10.5s4m", "-2m3.4s", "39h9m14.425s", "52763797000ns",
		"0.100000000000000000000h", "0.830103483285477580700h", "9007199254740993ns",
		"0.9223372036854775807h", "0.92233720368547758079h", "0.9223372036854775808h", "3.0000000000000000001ns",
		"1.9223372036854775808s", "0.1ns", "0.9ns", "1.9ns", "-0.9ns", "-1.9ns", "0.1ns0.9ns", "0.5ns0.5ns",
		"0.0001us", "0.0009us", "0.0010us", "0.000000001s", "0.0000000001s", "0.0000000009s",
		"0.00000000000027777777h", "0.00000000000027777778h", "0.0000000000166666666m", "0.0000000000166666667m",
		strings.Repeat("1s", 50), strings.Repeat("1h", 500), strings.Repeat("0s", 500), strings.Repeat("-", 50),
		strings.Repeat("0", 1000)+"s", strings.Repeat("9", 1000)+"s", "."+strings.Repeat("0", 1000)+"s",
		"."+strings.Repeat("9", 1000)+"s")
}

// borders are the greatest and least durations, the nearest ones beyond, and
// the numbers at which 64 bits end.
func borders() {
	var all []string
	all = append(all, "9223372036854775807ns", "9223372036854775808ns", "9223372036854775809ns",
		"9223372036854775806ns", "9223372036854775806.9ns", "9223372036854775807.9ns",
		"9223372036854775808.0ns", "9223372036854775808.9ns", "09223372036854775807ns",
		"9223372036854775807.0ns", "9223372036854775808", "9223372036854775807",
		"18446744073709551615ns", "18446744073709551616ns", "18446744073709551617ns",
		"9223372036854775810ns", "9223372036854775800ns", "92233720368547758070ns", "99999999999999999999ns",
		"9999999999999999999ns", "100000000000000000000000000000ns", "340282366920938463463374607431768211456ns",
		"2562047h47m16.854775806s", "2562047h47m16.854775807s", "2562047h47m16.854775808s",
		"2562047h47m16.854775809s", "2562047h47m16.8547758079s", "2562047h47m16.854775807s1ns",
		"2562047h47m16.854775807s0.9ns", "2562047h47m16.854775807s0ns", "2562047h47m16.854775806s1ns",
		"2562047h47m16.854775806s2ns", "2562047h47m16.854775806s3ns", "2562047h47m16.854775808s0ns",
		"2562047h47m16.854775808s0s", "2562047h47m16s854ms775us807ns", "2562047h47m16s854ms775us808ns",
		"2562047h47m16s854ms775us809ns", "2562047h47m17s", "2562047h48m", "2562047h", "2562048h", "2562047.5h",
		"2562047.788015215h", "2562047.7880152155h", "2562047.78801521550194h", "2562047.788015216h", "2562047.8h",
		"153722867m", "153722868m", "153722867.2809129m", "153722867.2809129301m", "153722867.28091294m",
		"153722867m16.854775807s", "153722867m16.854775808s", "153722867m16.854775809s", "9223372036s",
		"9223372037s", "9223372036.854775807s", "9223372036.854775808s", "9223372036.854775809s",
		"9223372036.8547758079999s", "9223372036.854775808000s", "9223372036854ms", "9223372036855ms",
		"9223372036854.775807ms", "9223372036854.775808ms", "9223372036854.775809ms", "9223372036854775us",
		"9223372036854776us", "9223372036854775.807us", "9223372036854775.808us", "9223372036854775.809us",
		"9223372036854775.807"+micro, "9223372036854775.808"+micro, "9223372036854775.807"+mu,
		"9223372036854775.808"+mu, "9223372036854775807us", "9223372036854775807ms", "9223372036854775807s",
		"9223372036854775807m", "9223372036854775807h", "9223372036854775808h", "9223372036854775808.5h",
		"9223372036854775807ns1ns", "9223372036854775807ns0.9ns", "9223372036854775808ns0ns",
		"9223372036854775808ns0.9ns", "1ns9223372036854775807ns", "1ns9223372036854775806ns",
		"1ns9223372036854775808ns", "4611686018427387904ns4611686018427387903ns",
		"4611686018427387904ns4611686018427387904ns", "4611686018427387904ns4611686018427387905ns",
		"1281023h1281024h", "1281024h1281024h", "2000000h600000h", "8000000000s2000000000s", "9223372036854775808ns1h",
		"9223372036854775808ns9223372036854775808ns", "0h9223372036854775808ns", "1000000000000h", "100000000000000000000h",
		"922337203685477580700ns", "9.223372036854775807ns", "9223372036.9s", "0.9223372036854775808s",
		"0.92233720368547758070s", "0.922337203685477580799s", "0.18446744073709551616s", "0.18446744073709551616h",
		"0.99999999999999999999999h", "2562047h47m16.85477580700000000000000000000000000001s",
		"2562047h47m16.85477580799999999999999999999999999999s", "2562047h47m16.85477580800000000000000000000000000001s")
	for _, s := range all {
		add(s, "-"+s, "+"+s)
	}
}

func random() {
	r := rng(20090323)
	for i := 0; i < 700; i++ {
		add(r.duration())
	}
	for i := 0; i < 600; i++ {
		s := r.mutate(r.duration())
		if s != "" && r.chance(20) {
			s = r.mutate(s)
		}
		add(s)
	}
	// Near the borders: many digits before the unit.
	for i := 0; i < 200; i++ {
		u := r.below(len(units))
		length := []int{19, 16, 16, 16, 13, 10, 9, 7}[u]
		s := r.one([]string{"", "-", "+"}) + strconv.Itoa(1+r.below(9)) + r.digits(length-2+r.below(2))
		if r.chance(50) {
			s += "." + r.digits(1+r.below(25))
		}
		s += units[u]
		if r.chance(30) {
			s += r.number() + r.one(units)
		}
		add(s)
	}
}

// literal is a JSON string in ASCII only.
func literal(s string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	var out strings.Builder
	for _, c := range strings.TrimSuffix(buf.String(), "\n") {
		switch {
		case c < 0x7f:
			out.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&out, "\\u%04x", c)
		default:
			c -= 0x10000
			fmt.Fprintf(&out, "\\u%04x\\u%04x", 0xd800+c>>10, 0xdc00+c&0x3ff)
		}
	}
	var back string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back != s {
		panic("not the same string: " + out.String())
	}
	return out.String()
}

func main() {
	chosen()
	borders()
	random()
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	fmt.Fprintf(w, "# time.ParseDuration of %s; written by generate.go\n", runtime.Version())
	fmt.Fprintf(w, "# columns, separated by a tab: input (a JSON string), nanoseconds or `error`\n")
	for _, s := range inputs {
		d, err := time.ParseDuration(s)
		if err != nil {
			fmt.Fprintf(w, "%s\terror\n", literal(s))
		} else {
			fmt.Fprintf(w, "%s\t%d\n", literal(s), d.Nanoseconds())
		}
	}
}
